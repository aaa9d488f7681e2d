// SPDX-License-Identifier: BSD-2-Clause
/* xpugap record: run a program and record it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/output.h"
#include "userspace/cmd/record_opts.h"
#include "userspace/cmd/record_parts.h"
#include "userspace/cmd/record_source.h"
#include "userspace/cmd/record_target.h"
#include "userspace/cmd/tree.h"
#include "userspace/lib/caller.h"
#include "userspace/lib/column.h"
#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/lib/text.h"
#include "userspace/source/launch.h"
#include "userspace/source/probe.h"
#include "userspace/source/recorder.h"

static const struct cmd_example examples[] = {
	{"record a program as yourself, all probes", "sudo xpugap record -- ./train --epochs 1"},
	{"ioctls only, for ten seconds", "sudo xpugap record -e ioctl --max-duration 10 -- ./prog"},
	{"look at it while it runs", "sudo xpugap record -o - -- ./prog | xpugap dump -"},
	{"a running program and its tree, for a minute",
	 "sudo xpugap record -p 4711 --max-duration 1m"},
	{"for days, the last ten gigabytes", "sudo xpugap record --rotate-size 1G --keep 10 -a"},
	{"the minute before each slow step",
	 "sudo xpugap record --flight 1m --dump-on 'step > 1.5*p50' -- ./train"},
	{0},
};

/* What there is of a recording while it runs. */
struct record {
	const struct record_opts *opts;
	struct caller caller;
	struct output out;
	struct record_parts parts; /* if they are used, in place of out */
	struct recorder *recorder;
	struct launch *launch;	     /* NULL: what is recorded runs already */
	struct record_target target; /* then */
	int signal_fd;
	sigset_t mask;	    /* of signals, as we were started with */
	const char *name;   /* of the target */
	unsigned int asked; /* how often we were asked to end */
	int asked_by;	    /* the signal */
	bool runs;	    /* the target was let go */
	bool ended;	    /* and has ended */
	bool adopts;	    /* what the target leaves behind becomes our child */
	bool recording;
	int status;	      /* of the target, as waitpid() gives it */
	uint64_t deadline_ns; /* 0: none */
};

/* ---- signals ---- */

static int open_signals(struct record *r)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	if (record_parts__fly(&r->parts))
		sigaddset(&set, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &set, &r->mask) < 0)
		return -errno;
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signal_fd < 0 ? -errno : 0;
}

static void reap(struct record *r)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (!r->launch || pid != launch__pid(r->launch)) /* a child that we were given */
			continue;
		r->ended = true;
		r->status = status;
	}
}

/*
 * Asked once, the target is asked in turn, and the recording ends when it has ended; what the
 * terminal sends, the target got itself. Asked again, all ends at once.
 */
static void ask_to_end(struct record *r, const struct signalfd_siginfo *s)
{
	pid_t pid;

	r->asked++;
	r->asked_by = (int)s->ssi_signo;
	if (r->ended || !r->runs)
		return;
	pid = launch__pid(r->launch);
	if (r->asked > 1) {
		log_warning("ending at once: '%s' is killed", r->name);
		kill(pid, SIGKILL);
		return;
	}
	if (s->ssi_code <= 0)
		kill(pid, s->ssi_signo);
	log_info("waiting for '%s' to end (once more ends it at once)", r->name);
}

static void take_signals(struct record *r)
{
	struct signalfd_siginfo s;

	while (read(r->signal_fd, &s, sizeof(s)) == sizeof(s)) {
		if (s.ssi_signo == SIGCHLD && (r->runs || !r->launch))
			reap(r);
		else if (s.ssi_signo == SIGCHLD)
			continue; /* of what waits to become the target: it will be missed */
		else if (s.ssi_signo == SIGUSR1)
			record_parts__ask(&r->parts);
		else
			ask_to_end(r, &s);
	}
}

static void on_step(void *arg, const struct rec *rec)
{
	struct record *r = arg;

	record_parts__step(&r->parts, rec);
}

/* Nothing else is done while the reader of the trace takes nothing: look who calls. */
static bool give_up(void *arg)
{
	struct record *r = arg;

	take_signals(r);
	return r->asked > 1;
}

/* Asked while hooks are loaded and attached. */
static bool is_interrupted(void *arg)
{
	struct record *r = arg;

	take_signals(r);
	return r->asked > 0;
}

/* ---- the recording ---- */

static int write_command(struct record *r, char **argv)
{
	char *text = NULL, cwd[4096];
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int i, err;

	if (!f)
		return -ENOMEM;
	for (i = 0; argv[i]; i++) {
		fputs(i ? " " : "", f);
		text__shell_word(f, argv[i], strlen(argv[i]));
	}
	err = fclose(f) ? -ENOMEM : recorder__meta(r->recorder, "target.command", text);
	free(text);
	if (!err && getcwd(cwd, sizeof(cwd)))
		err = recorder__meta(r->recorder, "target.directory", cwd);
	return err;
}

static int write_target(struct record *r)
{
	char text[24];
	int err;

	snprintf(text, sizeof(text), "%d", launch__pid(r->launch));
	err = recorder__meta(r->recorder, "target.pid", text);
	snprintf(text, sizeof(text), "%u", r->caller.uid);
	return err ? err : recorder__meta(r->recorder, "target.uid", text);
}

/* Where no hook tells of tasks, what the target leaves behind is waited for as children are. */
static void prepare_wait_tree(struct record *r)
{
	struct recorder_stats stats;

	recorder__stats(r->recorder, &stats);
	r->adopts = r->opts->wait_tree && stats.live < 0;
	if (r->adopts)
		tree__adopt();
}

static void set_deadline(struct record *r)
{
	if (r->opts->max_duration_ns)
		r->deadline_ns = hostclock__now() + r->opts->max_duration_ns;
}

static int give_up_rights(const struct record *r)
{
	int err = caller__become(&r->caller, false);

	if (err)
		log_error("cannot give up rights: %s", log__err(err));
	return err;
}

/*
 * What was there makes place for something better, and that can still be undone: numbered files
 * need their names; one file may stay beside the old one until replace_old().
 */
static int set_old_aside(struct record *r)
{
	if (record_parts__used(&r->parts))
		return parts__set_aside(&r->parts.files);
	output__exchange(&r->out);
	return 0;
}

static int replace_old(struct record *r)
{
	return record_parts__used(&r->parts) ? parts__replace(&r->parts.files)
					     : output__replace(&r->out);
}

/*
 * A user's program must not run while we have rights that it has not. Root's has them all, and
 * files in somebody else's folder may need them until it runs.
 */
static bool gives_up_early(const struct record *r)
{
	return r->launch && r->caller.uid != 0;
}

/* Everything up to the moment when the target begins to run. */
static int begin(struct record *r, char **argv)
{
	struct launch_opts lopts = {
		.argv = argv,
		.caller = &r->caller,
		.out_fd = strcmp(r->opts->output, "-") == 0 ? STDERR_FILENO : -1,
		.err_fd = -1,
		.mask = &r->mask,
	};
	int err;

	lopts.env = recorder__env(r->recorder);
	r->launch = launch__new(&lopts);
	if (!r->launch)
		return -errno;
	err = write_command(r, argv);
	if (!err)
		err = record_parts__begin(&r->parts, r->recorder);
	if (!err)
		err = recorder__start(r->recorder);
	if (!err && is_interrupted(r))
		err = -EINTR;
	if (!err)
		err = recorder__add(r->recorder, launch__pid(r->launch));
	if (!err)
		err = write_target(r);
	if (!err)
		err = set_old_aside(r);
	if (!err && gives_up_early(r))
		err = give_up_rights(r);
	if (err)
		return err;
	prepare_wait_tree(r);
	err = recorder__flush(r->recorder);
	if (!err && is_interrupted(r))
		err = -EINTR;
	if (!err)
		err = launch__exec(r->launch);
	r->runs = !err;
	set_deadline(r);
	return err;
}

/* The same for what runs already. */
static int begin_attached(struct record *r)
{
	bool grows = record_target__grows(&r->target);
	int err = record_parts__begin(&r->parts, r->recorder);

	if (!err)
		err = recorder__start(r->recorder);
	if (!err)
		err = record_target__add(&r->target, r->recorder);
	if (!err)
		err = set_old_aside(r);
	if (!err)
		err = recorder__flush(r->recorder);
	if (!err)
		log_info("recording %s until it %s (or Ctrl-C)", r->name,
			 r->opts->target.all ? "is asked to end"
			 : grows	     ? "is gone"
					     : "has ended");
	set_deadline(r);
	return err;
}

static bool reached_limit(struct record *r)
{
	struct recorder_stats stats;

	if (r->deadline_ns && hostclock__now() >= r->deadline_ns)
		return true;
	if (!r->opts->max_size)
		return false;
	recorder__stats(r->recorder, &stats);
	return stats.bytes >= r->opts->max_size;
}

static bool tree_lives(struct record *r)
{
	struct recorder_stats stats;
	siginfo_t info;

	recorder__stats(r->recorder, &stats);
	if (!r->adopts)
		return stats.live > 0;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static bool goes_on(struct record *r)
{
	if (!r->launch)
		return !r->asked && !record_target__ended(&r->target, r->recorder);
	return !r->ended || (r->opts->wait_tree && !r->asked && tree_lives(r));
}

/* Until the target has ended, or the recording must. 0 or -errno. */
static int loop(struct record *r)
{
	int n;

	while (goes_on(r)) {
		if (r->asked > 1 || reached_limit(r))
			return 0;
		n = recorder__poll(r->recorder, r->signal_fd);
		take_signals(r);
		if (n >= 0 && record_parts__used(&r->parts))
			n = record_parts__poll(&r->parts, r->recorder);
		if (n < 0)
			return n;
	}
	return 0;
}

static void sum_up(struct record *r)
{
	struct recorder_stats s;
	char bytes[32], lost[48] = "none lost", names[512];

	recorder__stats(r->recorder, &s);
	if (record_parts__used(&r->parts))
		parts__names(&r->parts.files, names, sizeof(names));
	else
		snprintf(names, sizeof(names), "'%.500s'", r->out.path);
	if (s.lost)
		snprintf(lost, sizeof(lost), "%llu LOST", (unsigned long long)s.lost);
	log_info("%s: %llu records, %s, %s", names, (unsigned long long)s.records,
		 format__bytes(bytes, sizeof(bytes), s.bytes), lost);
	if (r->ended && s.live > 0)
		log_info("%lld tasks that '%s' started live on, no longer recorded (--wait-tree "
			 "waits for them)",
			 (long long)s.live, r->name);
}

/* Stop, complete the file, sum up. @err: what the loop ended with. */
static int end(struct record *r, int err)
{
	char text[64];
	int e;

	if (r->ended && !err)
		err = recorder__meta(r->recorder, "target.end",
				     launch__describe(r->status, text, sizeof(text)));
	e = recorder__stop(r->recorder);
	if (!err)
		err = e;
	e = record_parts__stop(&r->parts, r->recorder);
	if (!err)
		err = e;
	e = recorder__finish(r->recorder);
	if (!err)
		err = e;
	e = record_parts__used(&r->parts) ? parts__close(&r->parts.files) : output__close(&r->out);
	sum_up(r);
	return err ? err : e;
}

/* The recording is over; the target may not be. */
static void wait_target(struct record *r)
{
	struct timespec t = {.tv_sec = 1};
	sigset_t set;
	siginfo_t info;

	if (!r->ended && r->asked < 2)
		log_info("the recording has ended, '%s' runs on", r->name);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	while (!r->ended) {
		struct signalfd_siginfo s = {0};

		reap(r);
		if (r->ended || sigtimedwait(&set, &info, &t) < 0 || info.si_signo == SIGCHLD)
			continue;
		s.ssi_signo = info.si_signo;
		s.ssi_code = info.si_code;
		ask_to_end(r, &s);
	}
}

static void discard(struct record *r)
{
	if (record_parts__used(&r->parts))
		parts__discard(&r->parts.files, NULL);
	else
		output__discard(&r->out);
}

/* It did not begin: nothing is left of it. The exit status. */
static int end_early(struct record *r)
{
	discard(r);
	if (!r->asked)
		return EXIT_FAILED;
	log_warning("interrupted before the recording began");
	return 128 + r->asked_by;
}

/* It has begun, and old files are dealt with. Who may come later is looked at with our rights. */
static int give_up_late(const struct record *r)
{
	if (gives_up_early(r) || (!r->launch && record_target__grows(&r->target)))
		return 0;
	return give_up_rights(r);
}

static int record(struct record *r, char **argv)
{
	int err = *argv ? begin(r, argv) : begin_attached(r), replaced;

	if (err)
		return end_early(r);
	replaced = replace_old(r);
	err = give_up_late(r);
	err = end(r, err ? err : loop(r)) ?: replaced;
	if (!r->launch)
		return err ? EXIT_FAILED : EXIT_OK;
	wait_target(r);
	if (r->status) {
		char text[64];

		log_error("'%s' %s", r->name, launch__describe(r->status, text, sizeof(text)));
	}
	return err ? EXIT_FAILED : launch__exit_status(r->status);
}

/* Create where the trace goes. 0 or -errno (printed). */
static int open_output(struct record *r, struct recorder_opts *ropts)
{
	const struct record_opts *o = r->opts;
	int err;

	if (record_parts__used(&r->parts))
		return record_parts__open(&r->parts, o->output, o->force, &r->caller, ropts);
	err = output__open(&r->out, o->output, o->force, &r->caller);
	ropts->fd = r->out.fd;
	return err;
}

static int run_source(const struct record_opts *o)
{
	struct caller caller;
	const struct record_source_opts opts = {
		.source = o->source,
		.output = o->output,
		.force = o->force,
		.pace = o->pace,
		.sync = o->sync,
		.level = (int)o->level,
		.caller = &caller,
	};
	int status;

	if (caller__get(&caller, o->as_root))
		return EXIT_FAILED;
	status = record_source(&opts);
	caller__free(&caller);
	return status;
}

static int run(const void *values, int argc, char **argv)
{
	const struct record_opts *o = values;
	struct record r = {
		.opts = o,
		.signal_fd = -1,
		.out.fd = -1,
	};
	const char **require = opt_list__names(&o->require);
	struct probe_list probes;
	struct recorder_opts ropts = {
		.require = require,
		.memory_bytes = o->memory,
		.caller = &r.caller,
		.no_btf = !o->btf,
		.no_python = !o->python,
		.level = o->level,
		.give_up = give_up,
		.interrupted = is_interrupted,
		.on_step = o->parts.dump_on ? on_step : NULL,
		.arg = &r,
		.no_sync = !o->sync,
		.no_priority = !o->priority,
	};
	int status = EXIT_USAGE;

	if (probe_list__parse(&probes, &o->probes))
		goto out;
	ropts.probes = probes.names;
	ropts.args = probes.args;
	if (o->quiet)
		log__set_level(LOG_WARNING);
	if (!record_opts__check(o, argc > 0, probes.names, require) ||
	    record_parts__init(&r.parts, &o->parts, o->output, o->source != NULL))
		goto out;
	if (o->source) {
		status = run_source(o);
		goto out;
	}
	ropts.attach = record_target__asked(&o->target);
	r.name = ropts.attach ? r.target.name : argv[0];
	if (ropts.attach && (status = record_target__find(&r.target, &o->target)))
		goto out;
	status = EXIT_FAILED;
	if (open_signals(&r) || caller__get(&r.caller, o->as_root) || open_output(&r, &ropts))
		goto out;
	r.recorder = recorder__new(&ropts);
	status = r.recorder ? record(&r, argv) : end_early(&r);
out:
	launch__free(r.launch);
	recorder__free(r.recorder);
	record_parts__free(&r.parts);
	caller__free(&r.caller);
	record_target__free(&r.target);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	probe_list__free(&probes);
	free(require);
	return status;
}

const struct cmd cmd_record = {
	.name = "record",
	.summary = "run a program, or take one that runs, and record it",
	.operands = "-- CMD [ARG...]",
	.runs_program = true,
	.description =
		"Runs CMD and records it and all that it starts, from the first system call on, "
		"until "
		"CMD ends.\n\n"
		"Hooks in the kernel need rights: CAP_BPF and CAP_PERFMON, which root has. They "
		"are "
		"attached first; then all rights are given up, but with --cgroup, --container and "
		"-a, where "
		"more processes may come. Called through sudo, CMD runs as "
		"the "
		"user who called, and the trace belongs to him. A hook that the kernel refuses is "
		"said "
		"and the rest is recorded; without any rights that is what CMD tells of itself by "
		"marks.\n\n"
		"Ctrl-C, SIGTERM or SIGHUP once: CMD is asked to end, and the recording ends with "
		"it. "
		"Twice: CMD is killed and the trace completed at once. While hooks are still being "
		"attached: all ends, CMD is not run, and there is no trace. If the recorder itself "
		"is "
		"killed, CMD lives on and the trace can be read; the last quarter of a second may "
		"be "
		"missing.\n\n"
		"With -p, --cgroup, --container or -a no CMD is run, but what runs already is "
		"recorded, from then on and without touching it, until it has ended or Ctrl-C.\n\n"
		"When CMD has ended, processes that it left behind are no longer recorded unless "
		"--wait-tree is given. The exit status is that of CMD.",
	.opts = record_rows,
	.opts_size = sizeof(struct record_opts),
	.examples = examples,
	.exit_status = "With CMD, the status is that of CMD: what it exited with, or 128 and the "
		       "number of the signal that killed it. It is 1 if the recording failed, "
		       "however CMD ended, or if CMD could not be run, and 128 and the signal if "
		       "one ended all before CMD "
		       "ran; a message then says so, as "
		       "it says how CMD ended if not with 0. The trace has that too (target.end).",
	.see_also = "xpugap-dump(1), xpugap-info(1), xpugap-report(1), xpugap-doctor(1), trace(5)",
	.run = run,
};
