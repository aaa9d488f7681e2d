/* SPDX-License-Identifier: GPL-2.0-only */
/* What the objects of the lock hook share. */
#ifndef XPUGAP_LOCK_BPF_H
#define XPUGAP_LOCK_BPF_H

#include "bpf/include/ring.bpf.h"

#define LOCK_KINDS 0x3f

/* The place of a wait for @lock: its own, or a free one; NULL if both are of others. */
static __always_inline struct lock_wait *lock__find(struct task_state *s, __u64 lock)
{
	if (s->waits[0].lock == lock)
		return &s->waits[0];
	if (s->waits[1].lock == lock)
		return &s->waits[1];
	if (!s->waits[0].lock)
		return &s->waits[0];
	return s->waits[1].lock ? NULL : &s->waits[1];
}

/* Forget waits whose ends the kernel may have skipped, and count them. */
static __always_inline void lock__forget(struct hook_counts *h, struct task_state *s)
{
	int i;

	for (i = 0; i < LOCK_WAITS; i++) {
		if (!s->waits[i].lock || s->waits[i].start_ns >= h->skipped_ns)
			continue;
		s->waits[i].lock = 0;
		__sync_fetch_and_add(&h->lost_state, 1);
	}
}

/* A wait begins: to be filled with the rest. NULL if it had begun already, or has no place. */
static __always_inline struct lock_wait *lock__begin(struct task_state *s, __u64 lock)
{
	struct hook_counts *h = counts__get(REC_HOOK_LOCK);
	struct lock_wait *w;

	if (!h)
		return NULL;
	lock__forget(h, s);
	w = lock__find(s, lock);
	if (!w || w->lock == lock)
		return NULL;
	w->start_ns = bpf_ktime_get_ns();
	w->lock = lock;
	return w;
}

static __always_inline void lock__end(struct task_state *s, __u64 lock, int ret)
{
	struct hook_counts *h = counts__get(REC_HOOK_LOCK);
	struct rec_lock_wait *rec;
	struct lock_wait *w;
	__u64 t;

	if (!h)
		return;
	lock__forget(h, s);
	w = lock__find(s, lock);
	if (!w || w->lock != lock)
		return;
	w->lock = 0;
	t = cost__begin(h);
	rec = ring__reserve(h, REC_LOCK_WAIT, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = (__u32)bpf_get_current_pid_tgid();
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = rec->hdr.time_ns - w->start_ns;
	rec->lock = lock;
	rec->holder_tid = w->holder_tid;
	rec->flags = w->flags;
	rec->ret = ret;
	rec->pad = 0;
	ring__submit(h, rec);
	cost__end(h, t);
}

#endif
