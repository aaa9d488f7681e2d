/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hook families in the kernel: loading them, the ladder of ways to attach each, and what they
 * share. A family that the kernel refuses costs only itself; its report says why.
 */
#ifndef XPUGAP_SOURCE_HOOKS_H
#define XPUGAP_SOURCE_HOOKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/include/events.h"
#include "bpf/include/shared.h"
#include "userspace/pmu/event.h"
#include "userspace/source/hook_report.h"
#include "userspace/source/probe_list.h"
#include "userspace/source/ring.h"

struct hooks;

struct hooks_opts {
	const char *const *probes; /* names; NULL: the defaults */
	struct probe_args args;	   /* of probes */
	uint64_t memory_bytes;	   /* of all rings; 0: the default */
	bool attach;		   /* the task hook is needed whatever else is */
	bool no_btf;		   /* do as where the kernel does not describe its types */
	/*
	 * Called with @arg for each task that becomes a target and that the kernel's programs do
	 * not tell of, see hooks__plain(); what is not 0 ends the adding. May be NULL.
	 */
	int (*found)(void *arg, pid_t pid, pid_t tid);
	/* Asked with @arg while hooks are loaded and attached: end it? May be NULL. */
	bool (*interrupted)(void *arg);
	void *arg;
};

/*
 * Load what the probes want. NULL with errno only when memory is short, or EINTR: interrupted.
 * What the kernel refuses is in the reports.
 */
struct hooks *hooks__new(const struct hooks_opts *opts);

/* Attach what was loaded; what is refused now is in the reports. 0, or -EINTR: interrupted. */
int hooks__attach(struct hooks *h);

/* Detach; the maps and what is in the rings stay until hooks__free(). */
void hooks__detach(struct hooks *h);
void hooks__free(struct hooks *h);

/*
 * NULL for hooks that are not the kernel's. Of a family whose probes are attached each for itself
 * it is a summary, which the next call overwrites.
 */
const struct hook_report *hooks__report(struct hooks *h, enum rec_hook_id hook);

/* Of one probe: what can be said of it alone, or of its family. */
struct probe;
const struct hook_report *hooks__probe_report(struct hooks *h, const struct probe *p);

/*
 * struct hook_counter - a counter of the pmu hook
 * @err: it cannot be opened, and @why
 * @fds: of each cpu, or -1
 */
struct hook_counter {
	struct pmu_event event;
	int err;
	int *fds;
	char why[PMU_WHY_MAX];
};

/* The @i-th of those that were asked for, as PMU_READ records call it; NULL past the last, or where
 * the hook was not. */
const struct hook_counter *hooks__counter(const struct hooks *h, unsigned int i);

/*
 * Let @obj, opened but not loaded, use the maps that all hooks share. 0, or -errno: -ENODEV when
 * the kernel refused these.
 */
struct bpf_object;
int hooks__share(struct hooks *h, struct bpf_object *obj);

/*
 * Make the tree of process @pid a target: it, its threads, and all who descend from them. Each
 * task that no record has told of is told of now. 0 or -errno.
 */
int hooks__add(struct hooks *h, pid_t pid);

/*
 * Make everybody in @g a target, and whoever is created in it or moved into it later; @g must
 * live as long as @h. NULL: everybody on this machine but ourselves. 0 or -errno, -EOPNOTSUPP
 * without the task hook.
 */
struct cgroup_ref;
int hooks__add_group(struct hooks *h, const struct cgroup_ref *g);

/* Is the process a target, as far as its first thread tells? */
bool hooks__is_target(const struct hooks *h, pid_t pid);

/* Have tasks perhaps been moved into the group since hooks__look()? Which finds them. */
bool hooks__came(struct hooks *h);
int hooks__look(struct hooks *h);

/*
 * struct call_teller - gets the calls that have not returned of which the kernel's programs cannot
 * tell; what is not 0 ends the telling
 */
struct call_teller {
	int (*ioctl)(void *arg, uint32_t tid, const struct call *c);
	int (*futex)(void *arg, uint32_t tid, const struct futex_call *c);
	void *arg;
};

/* After hooks__detach(): record the calls that have not returned. 0 or -errno. */
int hooks__tell_open(struct hooks *h, const struct call_teller *tell);

/*
 * The same while the hooks run. What returns meanwhile may be told of or not; what is told of was
 * open when it was looked at.
 */
int hooks__tell_open_now(struct hooks *h, const struct call_teller *tell);

/* @tell of each request that has not been completed: struct disk_request. 0 or -errno. */
int hooks__tell_requests(struct hooks *h,
			 int (*tell)(void *arg, const void *key, const void *value), void *arg);

/*
 * Call @fence with each fence that lives (struct gpu_fence), and @wait with each wait for one
 * (struct fence_wait_key, struct fence_wait). 0 or -errno.
 */
int hooks__tell_fences(struct hooks *h, int (*fence)(void *arg, const void *key, const void *value),
		       int (*wait)(void *arg, const void *key, const void *value), void *arg);

/* The same of jobs that have not ended: struct gpu_job. */
int hooks__tell_jobs(struct hooks *h, int (*tell)(void *arg, const void *key, const void *value),
		     void *arg);

/* The same of requests through io_uring: struct uring_request. */
int hooks__tell_io_uring(struct hooks *h,
			 int (*tell)(void *arg, const void *key, const void *value), void *arg);

/* Has @r ended all the same, as the queue of completions had no room? @late says how. */
bool hooks__io_uring_late(const struct hooks *h, const struct uring_request *r,
			  struct uring_result *late);

/*
 * Calls that are counted in the kernel. Each call of hooks__next_turn() begins another interval;
 * its number is that of the one before. hooks__each_agg() gives all totals to @each, and forgets
 * those for which it returns 1: @gone is given what they were last. It ends at what is negative.
 * -ENOENT: none are counted.
 */
typedef int agg_fn(void *arg, const struct agg_key *key, const struct agg_value *value);
bool hooks__counts_calls(const struct hooks *h);
uint32_t hooks__next_turn(struct hooks *h);
int hooks__each_agg(struct hooks *h, agg_fn *each, agg_fn *gone, void *arg);

/* Are targets known by their thread ids only, so that TASK records of those added are missing? */
bool hooks__plain(const struct hooks *h);

/* Tasks of the targets that have not ended; -1: unknown (no task hook). */
int64_t hooks__live(const struct hooks *h);

/* Possible cpus, their rings and their counters; 0 cpus when there are no maps. */
unsigned int hooks__ncpus(const struct hooks *h);
struct ring *hooks__ring(struct hooks *h, unsigned int cpu);
const struct hook_counts *hooks__counts(const struct hooks *h, unsigned int cpu,
					enum rec_hook_id hook);

/* Times that a hook's programs were skipped since they were already running on the cpu. */
uint64_t hooks__nested(struct hooks *h, enum rec_hook_id hook);

/* What a hook's programs saw begin before @now may have ended where they were skipped. */
void hooks__distrust(struct hooks *h, enum rec_hook_id hook, uint64_t now);

#endif
