// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/suite/harness.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/mark/xpugap_mark.h"
#include "workloads/suite/voir.h"

#define STATUS_NS 200000000ULL /* between two lines of setup's progress */

struct harness {
	const struct harness_opts *o;
	const struct workload *w;
	const struct device_ops *ops;
	struct device *device;
	bool computes; /* results of the device mean something */
	void *state;
	uint64_t begin_ns;
	uint64_t wanted; /* observations */
	uint64_t done;
};

static volatile sig_atomic_t asked_to_stop;

static void on_term(int sig)
{
	asked_to_stop = 1;
}

/* Once: the second SIGTERM ends the process. */
static void catch_term(void)
{
	struct sigaction sa = {.sa_handler = on_term, .sa_flags = SA_RESETHAND | SA_RESTART};

	asked_to_stop = 0;
	sigaction(SIGTERM, &sa, NULL);
}

uint64_t harness__observations(const struct workload *w, enum workload_size size, uint64_t stop)
{
	if (!stop)
		stop = w->stop[size];
	return stop == UINT64_MAX ? stop : stop + 1;
}

/* ---- setup ---- */

/* The callback has no argument of its own: a process runs one workload. */
static int status_fd = -1;

static int show_progress(const char *fmt, ...)
{
	static uint64_t last_ns;
	uint64_t now = xpugap_now();
	char text[200];
	va_list ap;

	if (asked_to_stop)
		return -EINTR;
	if (last_ns && now - last_ns < STATUS_NS)
		return 0;
	last_ns = now;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (status_fd >= 0)
		voir__status(status_fd, text);
	else
		log__progress("setup", "%s", text);
	return 0;
}

static int report_device(struct harness *h)
{
	struct device_info info = {0};
	json_t *data;

	h->ops->info(h->device, &info);
	h->computes = info.computes;
	if (!h->o->status)
		return 0;
	data = json_pack("{s:o, s:o, s:s, s:I, s:I, s:b}", "spec", voir__text(h->o->device), "name",
			 voir__text(info.name), "runtime", info.runtime, "units",
			 (json_int_t)info.units, "memory_bytes", (json_int_t)info.memory_bytes,
			 "bf16", info.bf16);
	return voir__event(h->o->data_fd, "device", data);
}

static int open_device(struct harness *h)
{
	const char *rest;
	char reason[256] = "";
	int err;

	h->ops = device__find(h->o->device, &rest);
	if (!h->ops)
		return -EINVAL;
	err = h->ops->probe(reason, sizeof(reason));
	if (err) {
		log_error("cannot use device '%s': %s", h->o->device,
			  *reason ? reason : log__err(err));
		return err;
	}
	h->device = h->ops->open(rest);
	return h->device ? report_device(h) : -errno;
}

static int set_up(struct harness *h)
{
	struct workload_ctx ctx = {
		.ops = h->ops,
		.device = h->device,
		.size = h->o->size,
		.seed = h->o->seed,
		.opts = h->o->opts,
		.data_dir = h->o->data_dir,
		.progress = show_progress,
	};
	int err;

	status_fd = h->o->status ? h->o->data_fd : -1;
	xpugap_range_begin("setup");
	err = h->w->setup(&h->state, &ctx);
	xpugap_range_end("setup");
	log__progress(NULL, NULL);
	if (!err && asked_to_stop)
		err = -EINTR;
	if (err && err != -EINTR)
		log_error("%s: setup failed: %s", h->w->name, log__err(err));
	return err;
}

/* ---- steps ---- */

static int report_loss(const struct harness *h, const struct workload_step *step)
{
	int err;

	if (!step->has_loss || !h->computes)
		return 0;
	xpugap_counter("loss", step->loss);
	err = voir__loss(h->o->data_fd, step->loss);
	if (!err && isnan(step->loss)) {
		log_error("%s: the loss is not a number (NaN) in step %" PRIu64, h->w->name,
			  h->done);
		err = -EDOM;
	}
	return err;
}

static int report_step(struct harness *h, const struct workload_step *step, uint64_t ns)
{
	struct voir_rate rate = {.units = h->w->unit,
				 .time_s = hostclock__date(),
				 .elapsed_s = (double)ns * 1e-9};
	int err;

	ns = ns ? ns : 1;
	rate.rate = h->w->rate ? h->w->rate(step, ns) : (double)step->items * 1e9 / (double)ns;
	xpugap_counter("rate", rate.rate);
	err = report_loss(h, step);
	if (!err && isfinite(rate.rate))
		err = voir__rate(h->o->data_fd, &rate);
	h->done++;
	/* Milabench counts up to what was wanted and one */
	return err ?: voir__progress(h->o->data_fd, h->done, h->wanted - 1);
}

static bool time_is_over(const struct harness *h)
{
	return h->o->max_ns && xpugap_now() - h->begin_ns >= h->o->max_ns;
}

static int run_steps(struct harness *h)
{
	struct workload_step step = {0};
	uint64_t last = xpugap_now(), now;
	int err = voir__progress(h->o->data_fd, 0, h->wanted - 1);

	while (!err && h->done < h->wanted && !asked_to_stop && !time_is_over(h)) {
		xpugap_step(h->done, step.items);
		step = (struct workload_step){0};
		err = h->w->step(h->state, &step);
		if (err) {
			log_error("%s: step %" PRIu64 " failed: %s", h->w->name, h->done,
				  log__err(err));
			break;
		}
		now = xpugap_now();
		err = report_step(h, &step, now - last);
		last = now;
	}
	/* one that failed has no end: it is no step that can be counted */
	if (!err)
		xpugap_step_end(step.items);
	if (!err && asked_to_stop)
		err = -EINTR;
	if (!err && h->done == 0) {
		log_error("%s: no time was left for a step after the setup of %.1f s", h->w->name,
			  (double)(last - h->begin_ns) * 1e-9);
		err = -ETIME;
	}
	return err;
}

static int verify(struct harness *h)
{
	int err;

	if (!h->o->verify || !h->w->verify || !h->computes)
		return 0;
	err = h->w->verify(h->state);
	if (err)
		log_error("%s: its results are wrong: %s", h->w->name, log__err(err));
	return err;
}

/* ---- the whole ---- */

static int run_phases(struct harness *h)
{
	int fd = h->o->data_fd, err;

	err = voir__phase(fd, "init") ?: open_device(h);
	if (!err)
		err = voir__phase(fd, "load_script") ?: set_up(h);
	if (!err)
		err = voir__phase(fd, "run_script") ?: run_steps(h);
	if (!err)
		err = voir__phase(fd, "finalize") ?: verify(h);
	return err;
}

int harness__run(const struct harness_opts *opts)
{
	struct harness h = {
		.o = opts,
		.w = opts->workload,
		.begin_ns = xpugap_now(),
		.wanted = harness__observations(opts->workload, opts->size, opts->stop),
	};
	int err;

	catch_term();
	err = run_phases(&h);
	if (err)
		voir__error(opts->data_fd, err == -EINTR ? "Interrupted" : "RuntimeError",
			    log__err(err));
	h.w->teardown(h.state);
	if (h.device)
		h.ops->close(h.device);
	/* last of all: who has this has everything */
	if (!err && h.done == h.wanted)
		err = voir__stop(opts->data_fd);
	return err;
}
