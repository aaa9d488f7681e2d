// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/recorder.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/source/bpf.h"
#include "userspace/source/cgroup.h"
#include "userspace/source/clock.h"
#include "userspace/source/cpu_stat.h"
#include "userspace/source/host.h"
#include "userspace/source/mark.h"
#include "userspace/source/probe.h"
#include "userspace/source/sideband.h"
#include "userspace/source/source.h"
#include "userspace/trace/trace.h"

#define MAX_SOURCES   3
#define MAX_ENV	      8
#define MIN_SLEEP_NS  500000ULL
#define MAX_SLEEP_NS  50000000ULL
#define FULL_SPEED    90000000ULL /* bytes/s that one cpu may well produce */
#define CLOCK_EVERY   1000000000ULL
#define PRIORITY_NICE (-20)

struct recorder {
	uint64_t ring_bytes; /* of each cpu; 0: none */
	struct trace_writer *writer;
	const struct source_ops *ops[MAX_SOURCES];
	struct source *sources[MAX_SOURCES];
	bool ended[MAX_SOURCES];
	unsigned int nsources;
	struct source *bpf;  /* one of them, or NULL */
	struct source *mark; /* another, or NULL */
	struct source *sideband;
	const char *env[MAX_ENV + 1];
	size_t nenv;
	const char *const *probes, *const *require;
	uint64_t sleep_ns, max_sleep_ns;
	uint64_t clock_ns; /* when the clocks were last read, and the kernel's counts of the cpus */
	struct cpu_stat cpu_stat;
	bool no_priority, started, stopped;
	int err; /* of the trace: said once */
};

/* Print once that the trace takes no more. */
static int writer_failed(struct recorder *r, int err)
{
	if (!r->err) {
		r->err = err;
		log_error("cannot write the trace: %s%s", log__err(err),
			  err == -ENOSPC      ? " (what was written before can be read)"
			  : err == -EPIPE     ? " (its reader is gone)"
			  : err == -ECANCELED ? " (its reader takes nothing)"
					      : "");
	}
	return err;
}

/* What a source returned: unless it was the trace, it has said it itself. */
static int source_failed(struct recorder *r, int err)
{
	struct trace_writer_stats stats;

	trace_writer__stats(r->writer, &stats);
	return stats.err ? writer_failed(r, stats.err) : err;
}

static int open_source(struct recorder *r, const struct source_ops *ops,
		       const struct source_ctx *ctx)
{
	unsigned int i = r->nsources;
	const char *const *env;
	int err = ops->open(&r->sources[i], ctx);

	if (err)
		return err;
	r->ops[i] = ops;
	r->nsources++;
	for (env = ops->env ? ops->env(r->sources[i]) : NULL; env && *env; env++)
		if (r->nenv < MAX_ENV)
			r->env[r->nenv++] = *env;
	return 0;
}

static int open_sources(struct recorder *r, const struct recorder_opts *o)
{
	struct source_ctx ctx = {
		.writer = r->writer,
		.probes = o->probes,
		.args = o->args,
		.memory_bytes = o->memory_bytes,
		.no_btf = o->no_btf,
		.attach = o->attach,
		.no_python = o->no_python,
		.interrupted = o->interrupted,
		.arg = o->arg,
		.uid = o->caller ? o->caller->uid : 0,
	};
	int err;

	err = open_source(r, &source_bpf, &ctx);
	if (err)
		return err;
	r->bpf = r->sources[0];
	err = open_source(r, &source_sideband, &ctx);
	if (err) {
		log_error("cannot record what is mapped: %s", log__err(err));
		return err;
	}
	r->sideband = r->sources[1];
	source_sideband__ask(r->sideband, source_bpf__is_target, r->bpf);
	if (o->attach) /* nothing that we start marks through shared memory */
		return 0;
	err = open_source(r, &source_mark, &ctx);
	if (!err)
		r->mark = r->sources[2];
	return err;
}

struct recorder *recorder__new(const struct recorder_opts *o)
{
	struct trace_writer_opts wopts = {
		.level = o->level,
		.sync = !o->no_sync,
		.carry = o->parts,
		.window_ns = o->window_ns,
		.window_bytes = o->window_bytes,
		.watch = o->on_step,
		.watch_type = REC_MARK_STEP,
		.give_up = o->give_up,
		.arg = o->arg,
	};
	struct recorder *r = calloc(1, sizeof(*r));
	uint64_t ring;
	int err = -ENOMEM;

	if (!r)
		goto out;
	caller__raise_files();
	r->probes = o->probes;
	r->require = o->require;
	r->no_priority = o->no_priority;
	r->sleep_ns = MIN_SLEEP_NS;
	r->writer = trace_writer__new(o->fd, &wopts);
	err = r->writer ? open_sources(r, o) : -errno;
	if (err)
		goto out;
	ring = r->bpf ? source_bpf__ring_bytes(r->bpf) : 0;
	r->max_sleep_ns = MAX_SLEEP_NS;
	if (ring && ring * 500000000ULL / FULL_SPEED < MAX_SLEEP_NS) /* half a ring */
		r->max_sleep_ns = ring * 500000000ULL / FULL_SPEED;
	r->ring_bytes = ring;
out:
	if (err) {
		if (!r || !r->writer) /* a source has said it itself */
			log_error("cannot begin the trace: %s", log__err(err));
		recorder__free(r);
		errno = -err;
		return NULL;
	}
	return r;
}

const char *const *recorder__env(const struct recorder *r)
{
	return r->env;
}

/* ---- a sweep ---- */

static int read_clocks(struct recorder *r, uint64_t now)
{
	struct rec_clock rec;
	int err;

	if (r->clock_ns && now - r->clock_ns < CLOCK_EVERY)
		return 0;
	r->clock_ns = now;
	clock__read_real(&rec);
	err = trace_writer__append(r->writer, TRACE_RING_META, &rec.hdr);
	return err ? err : cpu_stat__write(&r->cpu_stat, r->writer);
}

struct sweep {
	int moved;
	unsigned int fill;
	uint64_t horizon_ns;
};

static int sweep_source(struct recorder *r, unsigned int i, struct sweep *w, uint64_t begin)
{
	const struct source_ops *ops = r->ops[i];
	unsigned int fill;
	uint64_t horizon;
	int n;

	if (r->ended[i])
		return 0;
	n = ops->poll(r->sources[i]);
	if (n == -ENODATA) {
		r->ended[i] = true;
		return 0;
	}
	if (n < 0)
		return source_failed(r, n);
	w->moved += n;
	fill = ops->fill ? ops->fill(r->sources[i]) : 0;
	if (fill > w->fill)
		w->fill = fill;
	horizon = ops->horizon ? ops->horizon(r->sources[i], begin) : begin;
	if (horizon < w->horizon_ns)
		w->horizon_ns = horizon;
	return 0;
}

static int sweep(struct recorder *r, struct sweep *w, bool force)
{
	uint64_t begin = hostclock__now();
	unsigned int i;
	int err = 0;

	*w = (struct sweep){.horizon_ns = begin};
	for (i = 0; !err && i < r->nsources; i++)
		err = sweep_source(r, i, w, begin);
	if (err)
		return err;
	err = read_clocks(r, begin);
	if (!err)
		err = trace_writer__round(r->writer, w->horizon_ns, force);
	return err ? writer_failed(r, err) : 0;
}

/* ---- start ---- */

static void say_refused(const struct probe *p, const struct hook_report *h, bool required)
{
	if (required)
		log_error("cannot attach probe '%s': %s (see 'xpugap doctor')", p->name, h->reason);
	else
		log_warning("cannot attach probe '%s': %s; recording without it", p->name,
			    h->reason);
}

static bool is_required(const struct recorder *r, const char *name)
{
	const char *const *n;

	for (n = r->require; n && *n; n++)
		if (strcmp(*n, name) == 0)
			return true;
	return false;
}

static const struct hook_report *report_of(const struct recorder *r, const struct probe *p)
{
	if (p->hook == REC_HOOK_SIDEBAND)
		return source_sideband__report(r->sideband);
	return source_bpf__probe_report(r->bpf, p);
}

/* Was it not attached, though it should? That there is nothing to see counts if it was asked for.
 */
static bool is_refused(const struct recorder *r, const struct probe *p, const struct hook_report *h,
		       bool required)
{
	if (h->state == REC_HOOK_REFUSED || hook_report__leaves_out(h, p->name) ||
	    (h->partial && required))
		return true;
	return h->state == REC_HOOK_OFF && *h->reason && (required || r->probes);
}

/* Every probe that is refused is said; one that is required is an error. */
static int check_hooks(struct recorder *r)
{
	const struct hook_report *h;
	const struct probe *p;
	bool required, refused;
	int err = 0;

	for (p = probe_table; r->bpf && p->name; p++) {
		if (p->hook == REC_HOOK_MARK) /* later: recorder__check_marks() */
			continue;
		h = report_of(r, p);
		required = is_required(r, p->name);
		if (!h || h->state == REC_HOOK_ATTACHED ||
		    !(required || probe__wanted(r->probes, p->name)))
			continue;
		refused = is_refused(r, p, h, required);
		if (refused)
			say_refused(p, h, required);
		else if (h->partial)
			log_warning("probe '%s' lacks some of what was asked for: %s", p->name,
				    h->reason);
		else if (!refused && h->state == REC_HOOK_DEGRADED)
			log_warning("probe '%s' uses '%s': %s", p->name, h->way, h->reason);
		if (required && (refused || h->state != REC_HOOK_DEGRADED))
			err = h->err ? h->err : -EOPNOTSUPP;
	}
	return err;
}

static int write_ring_bytes(struct recorder *r)
{
	char text[24];

	if (!r->ring_bytes)
		return 0;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)r->ring_bytes);
	return trace_writer__meta(r->writer, hostclock__now(), "recorder.ring_bytes", text);
}

/* Does the kernel tell of tasks? */
static bool has_tasks(const struct recorder *r)
{
	const struct hook_report *h = r->bpf ? source_bpf__report(r->bpf, REC_HOOK_TASK) : NULL;

	return h && (h->state == REC_HOOK_ATTACHED || h->state == REC_HOOK_DEGRADED);
}

/*
 * Of this thread only: what it forks or starts is as before. Where the right is missing or the
 * user has set a priority, nothing changes.
 */
static void run_before_others(void)
{
	struct sched_param param = {0};

	if (getpriority(PRIO_PROCESS, 0) != 0 || sched_getscheduler(0) != SCHED_OTHER)
		return;
	if (sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &param) == 0)
		setpriority(PRIO_PROCESS, 0, PRIORITY_NICE);
}

int recorder__start(struct recorder *r)
{
	unsigned int i;
	int err;

	if (!r->no_priority)
		run_before_others();
	err = read_clocks(r, hostclock__now());
	if (!err)
		err = host__write(r->writer) ?: write_ring_bytes(r);
	if (err)
		return writer_failed(r, err);
	for (i = 0; !err && i < r->nsources; i++)
		err = r->ops[i]->start(r->sources[i]);
	if (err)
		return source_failed(r, err);
	r->started = true;
	if (r->mark && !has_tasks(r))
		source_mark__tell_tasks(r->mark);
	return check_hooks(r);
}

int recorder__flush(struct recorder *r)
{
	struct sweep w;
	int err = sweep(r, &w, true);

	return r->err ? 0 : err;
}

int recorder__add(struct recorder *r, pid_t pid)
{
	unsigned int i;
	int err;

	for (i = 0; i < r->nsources; i++) {
		err = r->ops[i]->add ? r->ops[i]->add(r->sources[i], pid) : 0;
		if (err) {
			log_error("cannot record process %d: %s", pid,
				  err == -ESRCH ? "it ended before the hooks were attached"
						: log__err(err));
			return err;
		}
	}
	return 0;
}

int recorder__add_group(struct recorder *r, const struct cgroup_ref *g)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < r->nsources; i++)
		if (r->ops[i]->add_group)
			err = r->ops[i]->add_group(r->sources[i], g);
	if (err)
		log_error("cannot record %s%s: %s", g ? "control group " : "all processes",
			  g ? g->path : "", log__err(err));
	return err;
}

int recorder__check_marks(const struct recorder *r)
{
	const struct hook_report *h = r->bpf ? source_bpf__report(r->bpf, REC_HOOK_MARK) : NULL;

	if (r->mark || !is_required(r, "mark") ||
	    (h && (h->state == REC_HOOK_ATTACHED || h->state == REC_HOOK_DEGRADED)))
		return 0;
	log_error("cannot attach probe 'mark': %s",
		  h ? h->reason : "without hooks, running programs cannot be asked");
	return h && h->err ? h->err : -EOPNOTSUPP;
}

const char *recorder__cannot_follow(const struct recorder *r)
{
	const struct hook_report *h = r->bpf ? source_bpf__report(r->bpf, REC_HOOK_TASK) : NULL;

	if (has_tasks(r))
		return NULL;
	return h && *h->reason ? h->reason : "no probe needs the kernel's hooks";
}

int recorder__append(struct recorder *r, struct rec *rec)
{
	int err;

	if (!rec->time_ns)
		rec->time_ns = hostclock__now();
	err = trace_writer__append(r->writer, TRACE_RING_META, rec);
	return err ? writer_failed(r, err) : 0;
}

int recorder__meta(struct recorder *r, const char *key, const char *value)
{
	int err = trace_writer__meta(r->writer, hostclock__now(), key, value);

	return err ? writer_failed(r, err) : 0;
}

/* ---- the loop ---- */

/* Rings that are found a tenth full are asked twice as often, nearly empty ones less often. */
static void adapt(struct recorder *r, unsigned int fill)
{
	if (fill >= 20)
		r->sleep_ns = 0;
	else if (fill >= 10)
		r->sleep_ns /= 2;
	else if (fill < 4)
		r->sleep_ns += r->sleep_ns / 2 + MIN_SLEEP_NS / 4;
	if (r->sleep_ns > r->max_sleep_ns)
		r->sleep_ns = r->max_sleep_ns;
}

int recorder__poll(struct recorder *r, int wake_fd)
{
	struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
	struct timespec t;
	struct sweep w;
	int err;

	err = sweep(r, &w, false);
	if (err)
		return err;
	adapt(r, w.fill);
	t = (struct timespec){.tv_nsec = r->sleep_ns};
	ppoll(&fd, 1, &t, NULL);
	return w.moved;
}

/* ---- another file ---- */

/* What is open is told before the end of one file, and again at the head of the next. */
static int tell_open(struct recorder *r)
{
	unsigned int i;
	int err;

	trace_writer__ask(r->writer);
	for (i = 0; i < r->nsources; i++) {
		err = r->ops[i]->tell_open && !r->ended[i] ? r->ops[i]->tell_open(r->sources[i])
							   : 0;
		if (err == -ENOMEM)
			return source_failed(r, err);
		if (err)
			log_debug("cannot tell of all that is open: %s", log__err(err));
	}
	return 0;
}

int recorder__next_file(struct recorder *r, int fd, const char *const *facts,
			struct trace_part **done)
{
	struct sweep w;
	int err;

	*done = NULL;
	err = r->stopped ? 0 : tell_open(r);
	r->clock_ns = 0; /* each file has its own reading of the clocks */
	if (!err)
		err = sweep(r, &w, true);
	if (err)
		return err;
	err = trace_writer__next_file(r->writer, fd, w.horizon_ns, facts, done);
	return err ? writer_failed(r, err) : 0;
}

/* ---- the end ---- */

/* Records that came too late to stand where they belong have another time than they came with. */
static int tell_clamped(struct recorder *r)
{
	struct trace_writer_stats w;
	char text[24];

	trace_writer__stats(r->writer, &w);
	if (!w.clamped)
		return 0;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)w.clamped);
	return trace_writer__meta(r->writer, hostclock__now(), "trace.clamped", text);
}

int recorder__stop(struct recorder *r)
{
	unsigned int i;
	struct sweep w;
	int err = 0, e;

	if (r->stopped || !r->started)
		return 0;
	r->stopped = true;
	for (i = 0; i < r->nsources; i++) {
		e = r->ops[i]->stop(r->sources[i]);
		if (e && !err)
			err = source_failed(r, e);
	}
	r->clock_ns = 0;
	if (!err)
		err = sweep(r, &w, true);
	if (err)
		return err;
	err = tell_clamped(r);
	return err ? writer_failed(r, err) : 0;
}

void recorder__stats(const struct recorder *r, struct recorder_stats *out)
{
	struct trace_writer_stats w;
	struct source_stats s;
	unsigned int i;

	trace_writer__stats(r->writer, &w);
	*out = (struct recorder_stats){.records = w.records, .bytes = w.bytes, .lost = w.lost};
	for (i = 0; i < r->nsources; i++) {
		r->ops[i]->stats(r->sources[i], &s);
		out->lost += s.lost;
	}
	out->live = r->bpf ? source_bpf__live(r->bpf) : -1;
}

int recorder__finish(struct recorder *r)
{
	int err = trace_writer__finish(r->writer);

	return err ? writer_failed(r, err) : 0;
}

void recorder__free(struct recorder *r)
{
	unsigned int i;

	if (!r)
		return;
	for (i = 0; i < r->nsources; i++)
		r->ops[i]->close(r->sources[i]);
	trace_writer__free(r->writer);
	free(r);
}
