// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/record_opts.h"

#include <errno.h>
#include <unistd.h>

#include "userspace/lib/column.h"
#include "userspace/lib/log.h"
#include "userspace/source/probe.h"

#define RING_LEAST     4096
#define RING_MOST      (16u << 20)
#define DEFAULT_MEMORY (64u << 20)

const struct opt record_rows[] = {
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

bool record_opts__check(const struct record_opts *o, bool program, const char *const *probes,
			const char *const *require)
{
	bool attach = record_target__asked(&o->target);

	if (o->level < 1 || o->level > 19) {
		log_error("record: --level must be 1 to 19");
		return false;
	}
	if (!program && !attach && !o->source) {
		log_error("record what? (xpugap record [OPTIONS] -- CMD [ARG...], or -p PID)");
		return false;
	}
	return !excludes(o, program, attach) && !check_memory(o->memory) &&
	       !probe__check_required(require, probes);
}
