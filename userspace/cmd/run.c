// SPDX-License-Identifier: BSD-2-Clause
/* xpugap run: workloads of the suite, one after another, each on all devices, traced. */
#include "userspace/cmd/run.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/tree.h"
#include "userspace/lib/column.h"
#include "userspace/lib/log.h"
#include "userspace/source/probe.h"
#include "workloads/suite/options.h"

static const struct opt rows[] = {
	{"device", 'd', OPT_LIST, "DEVICE,...",
	 "run on these at once, a process each (default cpu)",
	 .more = "A device is named as 'xpugap list devices' does, with what it needs behind a "
		 "colon: cpu:0-3 is four cores. Devices of one kind make one row of the table, as "
		 "in Milabench; of different kinds, a row each.",
	 .complete = OPT_COMPLETE_DEVICE, OPT_OFFSET(run_opts, devices)},
	{"size", 's', OPT_CHOICE, "SIZE", "how much work", .choices = workload_sizes,
	 .more = "tiny is for tests, small takes less than a minute on two cores, full is the "
		 "published shape.",
	 OPT_OFFSET(run_opts, size), .def = "small"},
	{"stop", 'n', OPT_U64, "N", "observations of each workload; 0: what belongs to the size",
	 .more = "As with Milabench there is one more than that, and no warm-up: the summary "
		 "leaves out the least and the greatest.",
	 OPT_OFFSET(run_opts, stop), .def = "0"},
	{"repeat", 'r', OPT_U64, "N", "run each workload N times, each time with another seed",
	 OPT_OFFSET(run_opts, repeat), .def = "1"},
	{"max-duration", 0, OPT_TIME, "TIME", "end a workload that takes longer; 0: never",
	 .more = "It begins no step after TIME and counts with the observations that it has. One "
		 "that does not end by itself then hangs: it is ended by SIGTERM, and two seconds "
		 "later by SIGKILL with all that it has started, and has failed.",
	 OPT_OFFSET(run_opts, max_ns), .def = "10m"},
	{"seed", 0, OPT_U64, "N", "of weights, order and augmentation", OPT_OFFSET(run_opts, seed),
	 .def = "1"},
	{"output", 'o', OPT_STR, "DIR", "where results go (default runs/NAME.DATE)",
	 .complete = OPT_COMPLETE_DIR, OPT_OFFSET(run_opts, output)},
	{"force", 'f', OPT_FLAG, NULL, "replace the results in DIR", OPT_OFFSET(run_opts, force)},
	{"data-dir", 0, OPT_STR, "DIR", "where generated input is kept (default ~/.cache/xpugap)",
	 .complete = OPT_COMPLETE_DIR, OPT_OFFSET(run_opts, data_dir)},
	{"verify", 0, OPT_FLAG, NULL, "check each workload's results against a reference",
	 OPT_OFFSET(run_opts, verify)},
	{"trace", 0, OPT_FLAG, NULL, "record the kernel's view and the program's marks (default)",
	 OPT_OFFSET(run_opts, trace), .def = "yes"},
	{"probe", 'e', OPT_LIST, "NAME,...", "record only these probes (see 'xpugap list probes')",
	 OPT_OFFSET(run_opts, probes)},
	{"as-root", 0, OPT_FLAG, NULL, "run workloads as root even when called through sudo",
	 OPT_OFFSET(run_opts, as_root)},
	{"OPTION", 0, OPT_OTHER, "VALUE", "an option of a workload ('xpugap list NAME' shows them)",
	 .more = "It holds for every workload that has it; --WORKLOAD.OPTION is for one alone.",
	 OPT_OFFSET(run_opts, others), .others = workload__all_options},
	{0},
};

/* A directory that all may write to would not do: another could have put there what we read. */
static const char *home_of(const struct caller *caller)
{
	const char *home = getenv("HOME");
	const struct passwd *pw;

	if (caller && caller->sudo)
		return caller->home ? caller->home : ".";
	if (home && *home)
		return home;
	pw = getpwuid(geteuid());
	return pw ? pw->pw_dir : ".";
}

char *run__data_dir(const struct caller *caller)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	char *dir = NULL;
	int n;

	if (cache && *cache && !(caller && caller->sudo))
		n = asprintf(&dir, "%s/xpugap", cache);
	else
		n = asprintf(&dir, "%s/.cache/xpugap", home_of(caller));
	return n < 0 ? NULL : dir;
}

/* ---- what is asked ---- */

static int check_devices(const struct opt_list *names)
{
	size_t i;

	for (i = 0; i < names->n; i++)
		if (!device__find(names->items[i], NULL))
			return -EINVAL;
	return 0;
}

static int check_opts(const struct run_opts *o, const struct workload *const *w, int n)
{
	if (n == 0) {
		log_error("run what? (name workloads, a group or 'all'; see 'xpugap list')");
		return -EINVAL;
	}
	if (o->repeat == 0) {
		log_error("run: --repeat must be at least 1");
		return -EINVAL;
	}
	return workload__check_options(w, (size_t)n, &o->others) ?: check_devices(&o->devices);
}

static int resolve(struct run *r, const struct workload *const *w, int n)
{
	char path[4096];
	ssize_t len;
	int i;

	r->rows = calloc((size_t)n, sizeof(*r->rows));
	if (!r->rows)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		r->rows[i].workload = w[i];
		r->rows[i].values =
			workload__options(w[i], &r->o->others, (enum workload_size)r->o->size);
		if (!r->rows[i].values)
			return -errno;
		r->nrows++;
	}
	/* where the program has been replaced by a new one, the old one goes on */
	len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[len < 0 ? 0 : len] = '\0';
	r->exe = strdup(access(path, X_OK) == 0 ? path : "/proc/self/exe");
	r->data_dir = r->o->data_dir ? strdup(r->o->data_dir) : run__data_dir(&r->caller);
	r->devices = json_object();
	if (!r->exe || !r->data_dir || !r->devices) {
		log_error("out of memory");
		return -ENOMEM;
	}
	return 0;
}

/* ---- tracing ---- */

static int open_trace(struct run *r)
{
	if (asprintf(&r->trace_path, "%s/trace.xpt", r->dir) < 0) {
		r->trace_path = NULL;
		return -ENOMEM;
	}
	return output__open(&r->trace, r->trace_path, r->replaces, &r->caller);
}

/* Asked while hooks are loaded and attached. */
static bool is_interrupted(void *arg)
{
	struct signalfd_siginfo s;
	struct run *r = arg;

	while (read(r->signal_fd, &s, sizeof(s)) == sizeof(s))
		r->asked++;
	return r->asked > 0;
}

static int start_recorder(struct run *r)
{
	struct recorder_opts opts = {
		.fd = r->trace.fd,
		.interrupted = is_interrupted,
		.arg = r,
		.caller = &r->caller,
		.probes = r->probes->names,
		.args = r->probes->args,
	};

	r->recorder = recorder__new(&opts);
	return r->recorder ? recorder__start(r->recorder) : -errno;
}

static void drop_trace(struct run *r)
{
	recorder__free(r->recorder);
	r->recorder = NULL;
	output__discard(&r->trace);
}

/* Without a trace the workloads can still be measured. */
static void begin_trace(struct run *r)
{
	if (!r->o->trace)
		return;
	if (open_trace(r) == 0 && start_recorder(r) == 0)
		return;
	if (!r->asked)
		log_warning("running without a trace (--no-trace does so from the beginning)");
	drop_trace(r);
}

static int end_trace(struct run *r)
{
	struct recorder_stats s;
	char bytes[32];
	int err, e;

	if (!r->recorder)
		return 0;
	err = recorder__stop(r->recorder);
	e = recorder__finish(r->recorder);
	recorder__stats(r->recorder, &s);
	log_info("'%s/trace.xpt': %llu records, %s, %llu lost", r->dir,
		 (unsigned long long)s.records, format__bytes(bytes, sizeof(bytes), s.bytes),
		 (unsigned long long)s.lost);
	return err ? err : e;
}

/* ---- the run ---- */

static int open_events(struct run *r)
{
	struct epoll_event ev = {.events = EPOLLIN};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, &r->mask) < 0)
		return -errno;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->epoll_fd < 0 || r->signal_fd < 0)
		return -errno;
	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, r->signal_fd, &ev) < 0 ? -errno : 0;
}

/* From here on we are the caller, and what we start is, too. */
static int become_caller(const struct run *r)
{
	int err = caller__become(&r->caller, false);

	if (err) {
		log_error("cannot give up rights: %s", log__err(err));
		return err;
	}
	caller__set_env(&r->caller);
	return 0;
}

static int prepare(struct run *r)
{
	int err = run_dir__create(r);

	if (err)
		return err;
	err = open_events(r);
	if (err) {
		log_error("cannot wait for workloads: %s", log__err(err));
		return err;
	}
	begin_trace(r);
	err = become_caller(r);
	if (err)
		return err;
	if (r->asked && !r->recorder) { /* before it began */
		log_warning("interrupted before anything was run");
		if (r->made_dir)
			rmdir(r->dir);
		return -EINTR;
	}
	err = run_dir__replace(r);
	if (err)
		return err;
	tree__adopt();
	return run_dir__write_config(r) ?: run_dir__write_machine(r);
}

static int run_rows(struct run *r)
{
	uint64_t repeat;
	size_t i;
	int err = 0;

	for (i = 0; i < r->nrows; i++)
		for (repeat = 0; repeat < r->o->repeat && !r->asked && !err; repeat++)
			err = run__row(r, &r->rows[i], repeat);
	return err;
}

static int run_all(struct run *r)
{
	int err = prepare(r), e;

	if (err) {
		drop_trace(r);
		return err;
	}
	err = run_rows(r);
	e = end_trace(r);
	err = err ? err : e;
	if (r->asked < 2 && r->finished) {
		e = run_dir__summarise(r);
		err = err ? err : e;
	}
	log_info("results in '%s'", r->dir);
	return err ? err : r->err;
}

static void release(struct run *r)
{
	size_t i;

	recorder__free(r->recorder);
	if (r->trace.fd >= 0)
		output__close(&r->trace);
	for (i = 0; i < r->nrows; i++)
		workload__free_options(r->rows[i].workload, r->rows[i].values);
	free(r->rows);
	free(r->exe);
	free(r->data_dir);
	free(r->dir);
	free(r->trace_path);
	json_decref(r->devices);
	caller__free(&r->caller);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
}

static int run(const void *values, int argc, char **argv)
{
	static char cpu[] = "cpu", *default_devices[] = {cpu};
	struct run_opts o = *(const struct run_opts *)values;
	struct run r = {.o = &o, .argc = argc, .argv = argv, .epoll_fd = -1, .signal_fd = -1};
	const struct workload *chosen[workload__count() + 1];
	struct probe_list probes;
	int n = workload__select(argv, argc, chosen), status = EXIT_USAGE;

	r.trace.fd = -1;
	if (probe_list__parse(&probes, &o.probes) || n < 0 || check_opts(&o, chosen, n))
		goto out;
	r.probes = &probes;
	if (o.devices.n == 0)
		o.devices = (struct opt_list){.items = default_devices, .n = 1};
	if (caller__get(&r.caller, o.as_root) == 0 && resolve(&r, chosen, n) == 0)
		status = run_all(&r) || r.failed || r.asked ? EXIT_FAILED : EXIT_OK;
out:
	release(&r);
	probe_list__free(&probes);
	return status;
}

static const struct cmd_example examples[] = {
	{"the suite, small, traced, as yourself", "sudo xpugap run all"},
	{"one workload without a trace, eight loader processes",
	 "xpugap run resnet50 --no-trace --workers 8 --kind processes"},
	{"two sets of cores at once, three times", "xpugap run flops -d cpu:0-3,cpu:4-7 -r 3 -o D"},
	{0},
};

const struct cmd cmd_run = {
	.name = "run",
	.summary = "run workloads and measure them",
	.operands = "WORKLOAD...",
	.description =
		"Runs workloads of the suite one after another, each in a process of its own, and "
		"while they run records what the kernel and they themselves do. A workload is "
		"given by "
		"its name or that of its group; 'all' is every one. At the end Milabench's table "
		"and "
		"score are printed.\n\n"
		"DIR then holds trace.xpt (see 'xpugap report DIR'), config.json with everything "
		"that "
		"was asked, machine.json, summary.json, and for each process a .data file in "
		"Milabench's format with its rates, losses and output.\n\n"
		"A workload that fails, crashes, hangs or whose loss is not a number is a failed "
		"row; "
		"the rest goes on. Where the kernel refuses to be watched, that is said and the "
		"rest is "
		"recorded.\n\n"
		"Ctrl-C, SIGTERM or SIGHUP once: the workload ends after its step, and what is "
		"there "
		"is summed up. Twice: all ends at once. Nothing that a workload has started "
		"outlives "
		"it.",
	.opts = rows,
	.opts_size = sizeof(struct run_opts),
	.examples = examples,
	.exit_status = "0 only if every workload succeeded.",
	.see_also = "xpugap-list(1), xpugap-record(1), xpugap-report(1), xpugap-workload(1), "
		    "rundir(5), trace(5)",
	.run = run,
};
