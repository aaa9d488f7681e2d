// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lock hook: waits of the target for locks of the kernel, where they were contended.
 *
 * The kernel tells of the beginning more than once for one wait (a mutex is spun for, then slept
 * for): the first counts. A sleeping lock keeps who owns it, so the holder is known; a spinlock
 * does not.
 */
#include "bpf/include/filter.bpf.h"
#include "bpf/include/lock.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define OWNER_FLAGS 7UL

/* Who owns the sleeping lock at @lock: its tid, or 0. */
static __always_inline __u32 holder_of(void *lock, __u32 flags)
{
	struct task_struct *owner;
	unsigned long word;

	if (flags & REC_LOCK_MUTEX)
		word = BPF_CORE_READ((struct mutex *)lock, owner.counter);
	else if (flags & (REC_LOCK_READ | REC_LOCK_WRITE) &&
		 !(flags & (REC_LOCK_SPIN | REC_LOCK_PERCPU | REC_LOCK_RT)))
		word = BPF_CORE_READ((struct rw_semaphore *)lock, owner.counter);
	else
		return 0;
	if (!(flags & REC_LOCK_MUTEX) && word & 1) /* the last reader, who may be long gone */
		return 0;
	owner = (struct task_struct *)(word & ~OWNER_FLAGS);
	return owner ? BPF_CORE_READ(owner, pid) : 0;
}

static __always_inline void *mmap_lock_of(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	return mm ? (void *)mm + bpf_core_field_offset(struct mm_struct, mmap_lock) : NULL;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(contention_begin, void *lock, unsigned int flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *s = filter__find(task);
	struct lock_wait *w = s ? lock__begin(s, (__u64)lock) : NULL;

	if (!w)
		return 0;
	w->flags = flags & LOCK_KINDS;
	w->holder_tid = holder_of(lock, flags);
	if (lock == mmap_lock_of(task))
		w->flags |= REC_LOCK_MMAP;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(contention_end, void *lock, int ret)
{
	struct task_state *s = filter__find(bpf_get_current_task_btf());

	if (s)
		lock__end(s, (__u64)lock, ret);
	return 0;
}
