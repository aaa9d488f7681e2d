/* SPDX-License-Identifier: GPL-2.0-only */
/* The probe futex: waits for locks of the program, from their beginnings to their returns. */
#ifndef XPUGAP_FUTEX_BPF_H
#define XPUGAP_FUTEX_BPF_H

#include "bpf/include/arch.bpf.h"
#include "bpf/include/calls.bpf.h"
#include "bpf/include/futex_args.bpf.h"
#include "bpf/include/pid.bpf.h"

/* @nr as a thread that lives, of @task's process if @own; 0 if it is none. */
static __always_inline __u32 futex__thread(struct task_struct *task, __u32 nr, bool own)
{
	struct task_struct *owner = nr ? pid__task(task, nr) : NULL;

	if (!owner || BPF_CORE_READ(owner, exit_state))
		return 0;
	if (own && BPF_CORE_READ(owner, tgid) != task->tgid)
		return 0;
	return BPF_CORE_READ(owner, pid);
}

/*
 * Who owns the lock. The kernel itself demands that the word of a PI futex holds the owner. Robust
 * mutexes of glibc, and all but the plain ones of musl, do the same; other mutexes of glibc have
 * the owner behind the word. That a number is one of the process's own threads tells such a mutex
 * from what merely looks like one.
 */
static __always_inline void futex__owner(struct futex_call *c, struct task_struct *task)
{
	__u32 nr = 0, how;

	if (c->op == REC_FUTEX_OP_LOCK_PI) {
		how = REC_FUTEX_OWNER_PI;
		nr = c->word & FUTEX_TID;
	} else if (c->op != REC_FUTEX_OP_WAIT && c->op != REC_FUTEX_OP_WAIT_BITSET &&
		   c->op != REC_FUTEX_OP_CALL) {
		return;
	} else if (c->word & FUTEX_WAITERS) {
		how = REC_FUTEX_OWNER_WORD;
		nr = c->word & FUTEX_TID;
	} else if (c->word == LOCKED_CONTEND) {
		how = REC_FUTEX_OWNER_GLIBC;
		bpf_probe_read_user(&nr, sizeof(nr), (void *)(c->address + OWNER_BEHIND));
	} else {
		return;
	}
	c->owner_tid = futex__thread(task, nr, how != REC_FUTEX_OWNER_PI);
	if (c->owner_tid)
		c->flags |= how;
}

static __always_inline void futex__enter(struct pt_regs *regs, __u64 nr)
{
	struct task_struct *task;
	struct hook_counts *h;
	struct futex_call *c;
	struct task_state *s;
	__u64 a[5], t;
	__u8 op;

	if (!futex__is_call(nr))
		return;
	a[0] = regs__arg0(regs, false);
	a[1] = regs__arg1(regs, false);
	op = futex__op_of(nr, a[1]);
	task = bpf_get_current_task_btf();
	if ((!op && nr != NR_RESTART_CALL) || task__compat(task))
		return;
	s = filter__find(task);
	h = counts__get(REC_HOOK_SYSCALL);
	if (!s || !h)
		return;
	c = &s->futex;
	/* its hit is counted at its end */
	t = (h->hits + 1) % COST_EVERY == 0 ? bpf_ktime_get_ns() : 0;
	if (op) {
		a[2] = regs__arg2(regs, false);
		a[3] = regs__arg3(regs);
		a[4] = regs__arg4(regs);
		__builtin_memset(c, 0, sizeof(*c));
		c->op = op;
		futex__fill(c, a);
		futex__owner(c, task);
	} else if (!futex__goes_on(c, nr, a[0])) {
		return;
	}
	c->nvcsw = task->nvcsw;
	c->start_ns = bpf_ktime_get_ns();
	c->cost_ns = t ? c->start_ns - t : 0;
}

static __always_inline void futex__exit(__u64 nr, long ret)
{
	struct task_struct *task;
	struct hook_counts *h;
	struct task_state *s;

	if (!futex__is_call(nr))
		return;
	task = bpf_get_current_task_btf();
	if (task__compat(task))
		return;
	s = filter__find(task);
	h = counts__get(REC_HOOK_SYSCALL);
	if (!s || !h || !s->futex.start_ns)
		return;
	futex__end(h, &s->futex, task->pid, ret,
		   task->nvcsw != s->futex.nvcsw ? REC_FUTEX_SLEPT : 0);
}

/* The recording ends: tell of the wait that @task is in, if it is in one. */
static __always_inline void futex__blocked(struct task_struct *task, const struct futex_call *c)
{
	struct hook_counts *h = counts__get(REC_HOOK_SYSCALL);
	__u64 start = c->start_ns;
	struct rec_futex_blocked *rec;

	rec = call__reserve_open(h, task, start, REC_FUTEX_BLOCKED, sizeof(*rec));
	if (!rec)
		return;
	rec->start_ns = start;
	rec->address = c->address;
	rec->owner_tid = c->owner_tid;
	rec->word = c->word;
	rec->futexes = c->futexes;
	rec->flags = c->flags | (task->nvcsw != c->nvcsw ? REC_FUTEX_SLEPT : 0);
	rec->op = c->op;
	rec->pad = 0;
	call__submit_open(h, rec, start, &c->start_ns);
}

#endif
