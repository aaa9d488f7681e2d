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

#define RING_LEAST     4096
#define RING_MOST      (16u << 20)
#define DEFAULT_MEMORY (64u << 20)

struct record_opts {
	const char *output;
	bool force;
	struct opt_list probes;
	struct opt_list require;
	uint64_t memory;
	uint64_t max_duration_ns;
	uint64_t max_size;
	struct record_parts_opts parts;
	bool as_root;
	bool wait_tree;
	bool quiet;
	bool sync;
	bool priority;
	uint64_t level;
	bool btf;
	bool python;
	const char *source;
	bool pace;
	struct record_target_opts target;
};

static const struct opt rows[] = {
	{"output", 'o', OPT_STR, "FILE", "write the trace to FILE; - is standard output",
	 .more = "With -, the target's own standard output goes to standard error.",
	 .complete = OPT_COMPLETE_FILE, OPT_OFFSET(record_opts, output), .def = "xpugap.xpt"},
	{"force", 'f', OPT_FLAG, NULL, "replace FILE if it exists", OPT_OFFSET(record_opts, force)},
	{"pid", 'p', OPT_LIST, "PID,...",
	 "record these processes, which run already, and their trees",
	 .more = "All their threads and descendants, and what these create. Nothing is done to "
		 "them. The recording ends when the last of them has ended, by --max-duration, or "
		 "when it is asked to (Ctrl-C). Of marks, steps and ranges are recorded.",
	 OPT_OFFSET(record_opts, target.pids)},
	{"cgroup", 0, OPT_STR, "PATH", "record what is in this control group, now and later",
	 .more = "With all groups below it, of version 1 or 2. PATH is its directory, or what "
		 "follows in it after the mount, as in /proc/PID/cgroup. Who is moved out or "
		 "creates "
		 "others elsewhere stays recorded. Ends when asked to, or when the group is gone.",
	 .complete = OPT_COMPLETE_DIR, OPT_OFFSET(record_opts, target.cgroup)},
	{"container", 0, OPT_STR, "NAME",
	 "record a container of docker, podman, containerd or cri-o",
	 .more = "By its name, its id, or the first four or more characters of that: its control "
		 "group, as with --cgroup. No daemon is asked.",
	 OPT_OFFSET(record_opts, target.container)},
	{"all", 'a', OPT_FLAG, NULL, "record all processes, and the kernel's threads",
	 .more = "All but the recorder. Ends when it is asked to, or by --max-duration.",
	 OPT_OFFSET(record_opts, target.all)},
	{"probe", 'e', OPT_LIST, "NAME,...", "record only these probes (see 'xpugap list probes')",
	 .more = "The probe task is always among them: by it the children and threads of CMD are "
		 "followed. 'default' stands for those that are on by default. sample:HZ takes HZ "
		 "samples a second of each cpu. pmu:NAME,NAME counts these events (see 'xpugap "
		 "list counters'), names of processors' events as libpfm4 has them, or UNIT/EVENT/ "
		 "of /sys/bus/event_source/devices. "
		 "syscall:agg counts all system calls in the kernel and writes totals by thread "
		 "and number each second.",
	 OPT_OFFSET(record_opts, probes)},
	{"require", 0, OPT_LIST, "NAME,...", "fail if one of these probes cannot be attached",
	 .more = "Without it, a probe that cannot be attached is said and the rest is recorded.",
	 OPT_OFFSET(record_opts, require)},
	{"memory", 'm', OPT_SIZE, "SIZE", "memory of all kernel rings together",
	 .more = "Each cpu has a ring of its own: the largest power of two so that all fit, 4K to "
		 "16M (recorder.ring_bytes in 'xpugap info'). What finds a ring full is lost, and "
		 "counted.",
	 OPT_OFFSET(record_opts, memory), .def = "64M"},
	{"max-duration", 0, OPT_TIME, "TIME", "end the recording after TIME; the target runs on",
	 .more = "0 is no limit.", OPT_OFFSET(record_opts, max_duration_ns)},
	{"max-size", 0, OPT_SIZE, "SIZE",
	 "end the recording when FILE has SIZE; the target runs on",
	 .more = "With --rotate-size or --rotate-time: when all files together have, also those "
		 "that --keep removed.",
	 OPT_OFFSET(record_opts, max_size)},
	{"rotate-size", 0, OPT_SIZE, "SIZE", "go on in a new file when one has SIZE",
	 .more = "The files are called NAME.0001.xpt, NAME.0002.xpt and so on, after FILE. Each "
		 "opens alone: what it needs of the earlier ones stands at its head, and what is "
		 "open where it ends is told as open. Together they hold each record once. The "
		 "one that is being written is called NAME.NNNN.xpt.part.",
	 OPT_OFFSET(record_opts, parts.rotate_size)},
	{"rotate-time", 0, OPT_TIME, "TIME", "go on in a new file after TIME",
	 .more = "As --rotate-size; with both, what comes first.",
	 OPT_OFFSET(record_opts, parts.rotate_ns)},
	{"keep", 0, OPT_U64, "N", "keep the last N complete files only",
	 .more = "Of those of --rotate-size, --rotate-time and --flight: when one is complete and "
		 "durable, the one N before it is removed. 0, the default, keeps all.",
	 OPT_OFFSET(record_opts, parts.keep)},
	{"flight", 0, OPT_STR, "TIME[,SIZE]", "keep the last TIME in memory, write it when asked",
	 .more = "A flight recorder. At most SIZE (default 64M) is kept of the compressed trace; "
		 "what is older than TIME or too much is let go of. NAME.0001.xpt is written on "
		 "SIGUSR1, NAME.0002.xpt on the next, and the last at the end of the recording "
		 "(also by Ctrl-C). Each opens alone; they may overlap. While a file is being "
		 "written, what it is made of stays in memory: at most SIZE more.",
	 OPT_OFFSET(record_opts, parts.flight)},
	{"dump-on", 0, OPT_STR, "CONDITION", "with --flight: write a file when a step meets this",
	 .more = "Such as 'step > 1.5*p50' or 'step > 20ms && step > p90'. step is how long the "
		 "step took that has just ended; p50, p90 and mean are of the steps of the same "
		 "thread before it, from the tenth on. There are numbers with the units ns, us, "
		 "ms and s, + - * /, > >= < <=, &&, || and parentheses. After such a file there "
		 "is no other of this kind until TIME has passed.",
	 OPT_OFFSET(record_opts, parts.dump_on)},
	{"wait-tree", 0, OPT_FLAG, NULL,
	 "record until every process that CMD started has ended, not only CMD",
	 OPT_OFFSET(record_opts, wait_tree)},
	{"as-root", 0, OPT_FLAG, NULL, "run CMD as root even when called through sudo",
	 .more = "Otherwise CMD runs as the user who called sudo, and the trace is his.",
	 OPT_OFFSET(record_opts, as_root)},
	{"quiet", 'q', OPT_FLAG, NULL, "say only what went wrong", OPT_OFFSET(record_opts, quiet)},
	{"sync", 0, OPT_FLAG, NULL, "make the trace durable four times a second (default)",
	 .more = "--no-sync leaves it to the system when data reach the disk: a power cut may then "
		 "cost more than the last second.",
	 OPT_OFFSET(record_opts, sync), .def = "true"},
	{"priority", 0, OPT_FLAG, NULL, "run the recorder before others where allowed (default)",
	 .more = "It sleeps nearly always; on a machine without an idle cpu its rings may "
		 "overflow when it has to wait.",
	 OPT_OFFSET(record_opts, priority), .def = "true"},
	{"python", 0, OPT_FLAG, NULL, "let Python programs find the module xpugap_mark (default)",
	 .more = "Its folder, which holds nothing else, becomes the last of PYTHONPATH for CMD and "
		 "what it starts; --no-python leaves that variable alone.",
	 OPT_OFFSET(record_opts, python), .def = "true"},
	{"level", 0, OPT_U64, "N", "compression of the trace, 1 (fast, default) to 19",
	 OPT_OFFSET(record_opts, level), .def = "1"},
	{"source", 0, OPT_STR, "SOURCE",
	 "record no program but replay:TRACE, a trace again, or fake:RECIPE",
	 .more = "Replaying repairs a damaged trace as far as that is possible. fake makes records "
		 "up, for tests: RECIPE is a list such as "
		 "records=100000,rate=1000000,types=ioctl*6+sched_switch*3; further keys are "
		 "rings, user (rings of programs), threads, seed, lost (a loss after so many "
		 "records) and start (ns).",
	 OPT_OFFSET(record_opts, source)},
	{"pace", 0, OPT_FLAG, NULL, "with --source: as fast as the times of the records say",
	 OPT_OFFSET(record_opts, pace)},
	{"btf", 0, OPT_FLAG, NULL, "use the kernel's type information (default)",
	 .more = "--no-btf attaches the hooks as on a kernel that has none: by classic and raw "
		 "tracepoints, which see less.",
	 OPT_OFFSET(record_opts, btf), .def = "true"},
	{0},
};

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
	int replaced;	      /* 0, or why the file that was there still is */
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
 * Files that were there go now: there is something better, the rights to do it are still ours, and
 * the target does not run yet. Numbered files need their names; one file may stay beside the old
 * one.
 */
static int replace_old(struct record *r)
{
	if (record_parts__used(&r->parts))
		return parts__replace(&r->parts.files);
	r->replaced = output__replace(&r->out);
	return 0;
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
		err = replace_old(r);
	if (!err)
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

/* The same for what runs already. Who may come later is looked at with our rights. */
static int begin_attached(struct record *r)
{
	bool grows = record_target__grows(&r->target);
	int err = record_parts__begin(&r->parts, r->recorder);

	if (!err)
		err = recorder__start(r->recorder);
	if (!err)
		err = record_target__add(&r->target, r->recorder);
	if (!err)
		err = replace_old(r);
	if (!err && !grows)
		err = give_up_rights(r);
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

static int record(struct record *r, char **argv)
{
	int err = *argv ? begin(r, argv) : begin_attached(r), replaced;

	if (err)
		return end_early(r);
	replaced = output__replace(&r->out);
	err = end(r, loop(r)) ?: replaced;
	if (!r->launch)
		return err ? EXIT_FAILED : EXIT_OK;
	wait_target(r);
	if (r->status) {
		char text[64];

		log_error("'%s' %s", r->name, launch__describe(r->status, text, sizeof(text)));
	}
	return err ? EXIT_FAILED : launch__exit_status(r->status);
}

/* All rings together; each of them has RING_LEAST to RING_MOST. */
static int check_memory(uint64_t bytes)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char least[32], most[32];

	cpus = cpus > 0 ? cpus : 1;
	format__bytes(least, sizeof(least), (uint64_t)cpus * RING_LEAST);
	format__bytes(most, sizeof(most), (uint64_t)cpus * RING_MOST);
	if (bytes < (uint64_t)cpus * RING_LEAST) {
		log_error("record: --memory must be at least %s (4 KiB for each of %ld cpus)",
			  least, cpus);
		return -EINVAL;
	}
	/* the default is meant to be too much for a small machine */
	if (bytes > (uint64_t)cpus * RING_MOST && bytes > DEFAULT_MEMORY)
		log_info("--memory: no more than %s is used (16 MiB for each of %ld cpus)", most,
			 cpus);
	return 0;
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

/* An option that was given, and what excludes it. */
struct exclusion {
	bool given;
	const char *option;
	const char *why;
};

static bool is_excluded(const struct exclusion *e)
{
	for (; e->option; e++) {
		if (!e->given)
			continue;
		log_error("record: %s does not go with %s", e->option, e->why);
		return true;
	}
	return false;
}

static bool excludes(const struct record_opts *o, bool program, bool attach)
{
	bool source = o->source;
	const struct exclusion table[] = {
		{source && program, "a program", "--source"},
		{source && attach, "what runs already", "--source"},
		{source && o->probes.n, "--probe", "--source"},
		{source && o->require.n, "--require", "--source"},
		{source && o->max_duration_ns, "--max-duration", "--source"},
		{source && o->max_size, "--max-size", "--source"},
		{source && o->wait_tree, "--wait-tree", "--source"},
		{o->parts.flight && o->max_size, "--max-size",
		 "--flight TIME,SIZE, which says how much is kept"},
		{o->pace && !source, "--pace", "anything but --source"},
		{attach && program, "a program", "--pid, --cgroup, --container or --all"},
		{attach && o->wait_tree, "--wait-tree", "what runs already"},
		{attach && o->as_root, "--as-root", "what runs already"},
		{0},
	};

	return is_excluded(table);
}

/* Are the options such as can be? Otherwise says what is wrong. */
static bool check_asked(const struct record_opts *o, int argc, const char *const *probes,
			const char *const *require)
{
	bool attach = record_target__asked(&o->target);

	if (o->level < 1 || o->level > 19) {
		log_error("record: --level must be 1 to 19");
		return false;
	}
	if (!argc && !attach && !o->source) {
		log_error("record what? (xpugap record [OPTIONS] -- CMD [ARG...], or -p PID)");
		return false;
	}
	return !excludes(o, argc, attach) && !check_memory(o->memory) &&
	       !probe__check_required(require, probes);
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
	if (!check_asked(o, argc, probes.names, require) ||
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
	.opts = rows,
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
