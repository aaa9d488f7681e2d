/* SPDX-License-Identifier: GPL-2.0-only */
/* The record of an ioctl that has not returned, emitted by whoever sees that it waits. */
#ifndef XPUGAP_IOCTL_BPF_H
#define XPUGAP_IOCTL_BPF_H

#include "bpf/include/filter.bpf.h"

/* Tell, once for each call, that @task is inside an ioctl, if it is. */
static __always_inline void ioctl__blocked(struct task_struct *task, struct call *call)
{
	struct rec_ioctl_blocked *rec;
	struct hook_counts *h;

	if (!call->start_ns || call->flags & CALL_TOLD)
		return;
	h = counts__get(REC_HOOK_SYSCALL);
	if (!h)
		return;
	h->hits++;
	rec = ring__reserve(h, REC_IOCTL_BLOCKED, sizeof(*rec));
	if (!rec)
		return;
	call->flags |= CALL_TOLD;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->start_ns = call->start_ns;
	rec->cmd = call->cmd;
	rec->fd = call->fd;
	rec->rdev = call->rdev;
	rec->mode = call->mode;
	rec->inode = call->inode;
	ring__submit(h, rec);
}

/*
 * The same in an iterator while the hooks run: as often as it is asked, and nothing of the call is
 * changed.
 */
static __always_inline void ioctl__open_now(struct task_struct *task, const struct call *call)
{
	struct hook_counts *h = counts__get(REC_HOOK_SYSCALL);
	struct rec_ioctl_blocked *rec;

	if (!call->start_ns || !h)
		return;
	__sync_fetch_and_add(&h->hits, 1);
	rec = ring__reserve(h, REC_IOCTL_BLOCKED, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->start_ns = call->start_ns;
	rec->cmd = call->cmd;
	rec->fd = call->fd;
	rec->rdev = call->rdev;
	rec->mode = call->mode;
	rec->inode = call->inode;
	if (*(const volatile __u64 *)&call->start_ns == rec->start_ns) {
		ring__submit_preemptible(h, rec);
	} else { /* it returned meanwhile, and what was copied may be of another */
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
		__sync_fetch_and_add(&h->hits, -1);
	}
}

#endif
