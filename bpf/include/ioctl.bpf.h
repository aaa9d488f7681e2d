/* SPDX-License-Identifier: GPL-2.0-only */
/* The record of an ioctl that has not returned, emitted by whoever sees that it waits. */
#ifndef XPUGAP_IOCTL_BPF_H
#define XPUGAP_IOCTL_BPF_H

#include "bpf/include/calls.bpf.h"

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
	__u64 start = call->start_ns;
	struct rec_ioctl_blocked *rec;

	rec = call__reserve_open(h, task, start, REC_IOCTL_BLOCKED, sizeof(*rec));
	if (!rec)
		return;
	rec->start_ns = start;
	rec->cmd = call->cmd;
	rec->fd = call->fd;
	rec->rdev = call->rdev;
	rec->mode = call->mode;
	rec->inode = call->inode;
	call__submit_open(h, rec, start, &call->start_ns);
}

#endif
