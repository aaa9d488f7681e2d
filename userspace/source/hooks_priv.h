/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside hooks: what hooks.c, hooks_object.c and hooks_target.c share. */
#ifndef XPUGAP_SOURCE_HOOKS_PRIV_H
#define XPUGAP_SOURCE_HOOKS_PRIV_H

#include <bpf/libbpf.h>

#include "userspace/source/hooks.h"
#include "userspace/source/kernel.h"

/* One family, or one part of it: the object that is loaded and its links. */
struct family {
	struct hook_report report;
	const char *lack; /* set by an open function that failed: a reason in place of its error */
	void *skel;
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct bpf_link **links;
	unsigned int nlinks;
	unsigned int at;	   /* the rung */
	struct bpf_link *walk;	   /* of its iterator over tasks */
	struct bpf_link *walk_now; /* of the one for while the hooks run */
};

struct maps_bpf;

/* Places of families: their numbers, and behind them those of parts, see struct ladder. */
enum {
	FAMILY_FENCE = HOOK_SEATS,
	FAMILY_JOB,
	FAMILY_DMA,
	FAMILIES,
};

struct hooks {
	struct hooks_opts opts;
	struct kernel_facts facts;
	bool plain; /* without the kernel's type information: targets are known by their tids */
	struct maps_bpf *maps;
	struct bpf_object *maps_obj;
	int rings_fd, tasks_fd, tids_fd; /* of maps; -1: not in this recording */
	struct family family[FAMILIES];
	struct ring *rings;
	unsigned int ncpus;
	struct cpu_state *cpus;
	size_t cpus_bytes;
	struct hook_counter counters[PMU_COUNTERS];
	unsigned int ncounters;
	char counters_why[PMU_WHY_MAX]; /* of those that are refused */
	char perf_why[160];		/* performance events are */
	char tracefs_why[128];		/* tracefs cannot be read */
	const struct cgroup_ref *group; /* that is followed */
	struct hook_report parts;	/* what hooks__report() says of a family of several */
	uint64_t moved;			/* what the task hook's counter was when we looked */
	uint64_t looked_ns;
	uint32_t *detaching; /* of the syscall hook's memory; NULL: it is not loaded */
	uint32_t *agg_turn;  /* of the syscall hook's memory; NULL: no calls are counted */
};

#define MAX_VARIANTS 3
#define MAX_RUNGS    4

/*
 * struct rung - a way to attach a family
 * @way: its name; NULL ends a ladder that has fewer than MAX_RUNGS
 * @lacks: what it does not tell that the first does; "": nothing, it is as good
 * @without: probes of the family that it does not record, with commas, or NULL
 * @plain: for kernels that do not describe their types, on which no other rung is tried
 * @ready: called when the object is loaded and before it is attached: 0 or -errno; may be NULL
 * @open: objects that record the same in different ways, of which the first that the kernel takes
 *	  is used
 */
struct rung {
	const char *way;
	const char *lacks;
	const char *without;
	bool plain;
	int (*ready)(struct hooks *h, struct family *f);
	int (*open[MAX_VARIANTS + 1])(struct hooks *h, struct family *f);
};

/*
 * struct ladder - the ways to attach a family, or a part of it that is attached by itself
 * @probe: that asks for the part; NULL: the ladder is that of the whole family
 * @place: of a part among the families
 */
struct ladder {
	enum rec_hook_id hook;
	struct rung rungs[MAX_RUNGS]; /* the best first */
	const char *probe;
	unsigned int place;
};

/* In the order of loading and attaching; a row of zeros ends them. */
extern const struct ladder ladders[];

/* Take over what NAME_bpf__open() returned; the families' skeletons differ in type only. */
#define ADOPT(family, s)                                                                           \
	do {                                                                                       \
		(family)->skel = (s);                                                              \
		(family)->skeleton = (s)->skeleton;                                                \
		(family)->obj = (s)->obj;                                                          \
	} while (0)

/*
 * Define open_NAME() of the object NAME. @cannot: 0, or as -errno why it cannot be used here; @set:
 * sets its switches, 0 or -errno. Both see h, f and, the latter, the skeleton s.
 */
#define OPEN_OBJECT(name, cannot, set)                                                             \
	int open_##name(struct hooks *h, struct family *f)                                         \
	{                                                                                          \
		struct name##_bpf *s;                                                              \
		int err = (cannot);                                                                \
                                                                                                   \
		(void)h;                                                                           \
		if (err)                                                                           \
			return err;                                                                \
		s = name##_bpf__open();                                                            \
		if (!s)                                                                            \
			return -errno;                                                             \
		ADOPT(f, s);                                                                       \
		return (set);                                                                      \
	}

/* Programs on classic tracepoints read fields whose places tracefs tells. */
#define NO_TRACEFS(h) (*(h)->facts.tracefs ? 0 : -ENODEV)

/*
 * Call @each with each key and value of the family's hash map @name until it returns other than 0,
 * which is returned; or -errno. None comes twice; what changes meanwhile may come or not.
 */
int hooks_map__each(const struct family *f, const char *name,
		    int (*each)(void *arg, const void *key, const void *value), void *arg);

/* hooks_gpu.c: the objects of the gpu hook */
int open_gpu_dma(struct hooks *h, struct family *f);
int open_gpu_dma_func(struct hooks *h, struct family *f);
int open_gpu_dma_kprobe(struct hooks *h, struct family *f);
int open_gpu_dma_plain(struct hooks *h, struct family *f);
int open_gpu_job(struct hooks *h, struct family *f);
int open_gpu_job_plain(struct hooks *h, struct family *f);
int open_gpu_fence(struct hooks *h, struct family *f);
int open_gpu_fence_nameless(struct hooks *h, struct family *f);
int open_gpu_fence_plain(struct hooks *h, struct family *f);

/* hooks_io_uring.c: the objects of the io_uring hook */
int open_io_uring(struct hooks *h, struct family *f);
int open_io_uring_read(struct hooks *h, struct family *f);
int open_io_uring_plain(struct hooks *h, struct family *f);

struct family *ladder__family(struct hooks *h, const struct ladder *l);

/* Load the family if it is wanted, by the first rung that works; what went wrong is reported. */
void family__load(struct hooks *h, const struct ladder *l);

/* Attach it; a rung that cannot be attached makes place for the next. 0, or the last's error. */
int family__attach(struct hooks *h, const struct ladder *l);

/* Keep @link with the family until it is detached; taken over even on error. 0 or -ENOMEM. */
int family__keep(struct family *f, struct bpf_link *link);

void family__detach(struct family *f);
void family__close(struct family *f);

/* Attach @prog to its perf event, which goes by the program's name, on all cpus that are on. */
int perf_hooks__attach(struct hooks *h, struct family *f, struct bpf_program *prog);

/* Open the counters that are asked for: 0, or -errno if none can be, which @f then explains. */
int pmu_hooks__open(struct hooks *h, struct family *f);
/* How many could be opened, and the places of these among those that were asked for. */
unsigned int pmu_hooks__count(const struct hooks *h, uint8_t numbers[PMU_COUNTERS]);
/* Give them to the object, which is loaded. 0 or -errno. */
int pmu_hooks__give(struct hooks *h, struct family *f);
void pmu_hooks__close(struct hooks *h);

/* Can the processor's cycles be counted? 0 or -errno. */
int perf_hooks__try_cycles(void);

/* Frames that the kernel takes of a stack, at most @most. */
uint32_t perf_hooks__max_frames(uint32_t most);

/* Whatever is recorded, the task hook is what follows the target's children and threads. */
bool ladder__wanted(const struct hooks_opts *o, const struct ladder *l);
bool hooks__wanted(const struct hooks_opts *o);

/* Why something failed, and what to do; @what is "create the maps", "load", "attach". */
void family__explain(struct hooks *h, struct family *f, const char *what, int err);

/* hooks__add() and hooks__add_group() where targets are known by their thread ids. */
int plain__add(struct hooks *h, pid_t pid);
int plain__add_group(struct hooks *h, const struct cgroup_ref *g);

/* What libbpf says is kept for the reason from here on. */
void libbpf_words__clear(void);

#endif
