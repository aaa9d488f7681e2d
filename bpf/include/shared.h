/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the hooks and the recorder share besides records: counters and the state of a task. */
#ifndef XPUGAP_SHARED_H
#define XPUGAP_SHARED_H

#include "bpf/include/events.h"

#define HOOK_SEATS 32	/* families that the counters have room for */
#define COST_EVERY 1024 /* every so many hits a hook measures its own run time */

_Static_assert(REC_HOOK_MAX <= HOOK_SEATS, "no seat for the last hook family");

/*
 * struct hook_counts - totals of a hook family on a cpu
 * @hits: events of the target that the hook saw
 * @records: what it put into the ring
 * @lost_ring: records for which the ring had no room
 * @lost_state: events missed because a task's state could not be allocated
 * @cost_ns, @cost_hits: run time of the programs over that many hits
 *
 * Written on its cpu only, so plain additions do.
 */
struct hook_counts {
	__u64 hits;
	__u64 records;
	__u64 lost_ring;
	__u64 lost_state;
	__u64 cost_ns;
	__u64 cost_hits;
};

struct cpu_counts {
	struct hook_counts hook[HOOK_SEATS];
};

enum task_state_flags {
	TASK_STATE_DEFINED = 1, /* a TASK or TASK_FORK record told of it */
	TASK_STATE_BORN = 2,	/* recorded from its first instruction */
	TASK_STATE_BLOCKED = 4, /* IOCTL_BLOCKED told of the call that it is in */
	TASK_STATE_SAMPLED = 8, /* this call measures what the hook costs */
};

/*
 * struct task_state - what is kept for each task of the target; having one makes it a target
 * @start_ns: when the ioctl began that the task is in; 0: in none
 */
struct task_state {
	__u64 start_ns;
	__u64 inode;
	__u64 arg;
	__u32 cmd;
	__s32 fd;
	__u32 rdev;
	__u32 mode;
	__u32 flags;
	__u32 pad;
};

#endif
