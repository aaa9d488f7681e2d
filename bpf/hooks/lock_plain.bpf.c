// SPDX-License-Identifier: GPL-2.0-only
/* The lock hook by classic tracepoints: who holds a lock is not known here, nor which it is. */
#include "bpf/include/plain.bpf.h"
#include "bpf/include/lock.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* offsets in the tracepoints' data */
const volatile __u32 at_begin_lock, at_begin_flags, at_end_lock, at_end_ret;

SEC("tracepoint/lock/contention_begin")
int contention_begin(void *ctx)
{
	struct task_state *s = plain__find(plain__tid());
	__u64 lock = plain__u64(ctx, at_begin_lock);
	struct lock_wait *w = s ? lock__begin(s, lock) : NULL;

	if (!w)
		return 0;
	w->flags = plain__u32(ctx, at_begin_flags) & LOCK_KINDS;
	w->holder_tid = 0;
	return 0;
}

SEC("tracepoint/lock/contention_end")
int contention_end(void *ctx)
{
	struct task_state *s = plain__find(plain__tid());

	if (s)
		lock__end(s, plain__u64(ctx, at_end_lock), plain__u32(ctx, at_end_ret));
	return 0;
}
