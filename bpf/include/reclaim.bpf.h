/* SPDX-License-Identifier: GPL-2.0-only */
/* What the objects of the reclaim hook share. */
#ifndef XPUGAP_RECLAIM_BPF_H
#define XPUGAP_RECLAIM_BPF_H

#include "bpf/include/ring.bpf.h"

/* @s is of the current task, NULL where that is no target. */
static __always_inline int reclaim__begin(struct task_state *s)
{
	if (s)
		s->reclaim_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int reclaim__end(struct task_state *s, __u64 pages, __u64 cgroup)
{
	struct hook_counts *h = counts__get(REC_HOOK_RECLAIM);
	struct rec_reclaim *rec;
	__u64 start;

	if (!s || !h || !s->reclaim_ns)
		return 0;
	start = s->reclaim_ns;
	s->reclaim_ns = 0;
	h->hits++;
	rec = ring__reserve(h, REC_RECLAIM, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = (__u32)bpf_get_current_pid_tgid();
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = rec->hdr.time_ns - start;
	rec->pages = pages;
	rec->cgroup = cgroup;
	ring__submit(h, rec);
	return 0;
}

#endif
