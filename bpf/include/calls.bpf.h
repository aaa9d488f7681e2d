/* SPDX-License-Identifier: GPL-2.0-only */
/* What the probes of the syscall hook share: numbers of calls, and calls that have not returned. */
#ifndef XPUGAP_CALLS_BPF_H
#define XPUGAP_CALLS_BPF_H

#include "bpf/include/filter.bpf.h"

#define MAX_NR 512

/* what a probe keeps of a call in a byte: which it is to the record, and how it passes its
 * arguments */
#define CALL_OF	 0x0f
#define SHAPE_OF 0xf0

/*
 * In an iterator, while the hooks run: begin the record of a call of @task that began at @start_ns
 * and has not returned; NULL if it is in none (0), or (counted) if there is no room.
 */
static __always_inline void *call__reserve_open(struct hook_counts *h, struct task_struct *task,
						__u64 start_ns, __u32 type, __u32 size)
{
	struct rec *rec;

	if (!start_ns || !h)
		return NULL;
	__sync_fetch_and_add(&h->hits, 1);
	rec = ring__reserve(h, type, size);
	if (!rec)
		return NULL;
	rec->tid = task->pid;
	rec->time_ns = bpf_ktime_get_ns();
	return rec;
}

/* Submit it, if the call, whose beginning is kept at @now, is still the one of @start_ns. */
static __always_inline void call__submit_open(struct hook_counts *h, void *rec, __u64 start_ns,
					      const __u64 *now)
{
	if (*(const volatile __u64 *)now == start_ns) {
		ring__submit_preemptible(h, rec);
	} else { /* it returned meanwhile, and what was copied may be of another */
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
		__sync_fetch_and_add(&h->hits, -1);
	}
}

#endif
