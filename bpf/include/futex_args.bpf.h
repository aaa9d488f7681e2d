/* SPDX-License-Identifier: GPL-2.0-only */
/* The probe futex: which calls wait, for what, and their records. No type of the kernel is read. */
#ifndef XPUGAP_FUTEX_ARGS_BPF_H
#define XPUGAP_FUTEX_ARGS_BPF_H

#include "bpf/include/ring.bpf.h"

#if defined(__TARGET_ARCH_x86)
#define NR_EXIT		60
#define NR_FUTEX	202
#define NR_RESTART_CALL 219
#define NR_EXIT_GROUP	231
#elif defined(__TARGET_ARCH_arm64)
#define NR_EXIT		93
#define NR_EXIT_GROUP	94
#define NR_FUTEX	98
#define NR_RESTART_CALL 128
#endif

#define NR_FUTEX_WAITV	 449
#define NR_FUTEX_WAKE	 454
#define NR_FUTEX_WAIT	 455
#define NR_FUTEX_REQUEUE 456

/* of the operation's number, and of the flags of the later calls */
#define FUTEX_PRIVATE 128
#define FUTEX_COMMAND 0x7f

/* of the word */
#define FUTEX_WAITERS  0x80000000U
#define FUTEX_TID      0x3fffffffU
#define LOCKED_CONTEND 2 /* a mutex of glibc that is locked, and somebody waits */
#define OWNER_BEHIND   8 /* bytes behind the word of such a mutex: who locked it */

#define ERESTART_RESTARTBLOCK 516

const volatile bool probe_futex = true;

/* what futex_waitv() gets for each futex */
struct waitv {
	__u64 val;
	__u64 address;
	__u32 flags;
	__u32 pad;
};

/* May the call wait for a futex? */
static __always_inline bool futex__is_call(__u64 nr)
{
	return nr == NR_FUTEX || nr == NR_FUTEX_WAIT || nr == NR_FUTEX_WAITV ||
	       nr == NR_RESTART_CALL;
}

/* The operation of futex() that @command is, if it waits. */
static __always_inline __u8 futex__op(__u64 command)
{
	switch (command & FUTEX_COMMAND) {
	case 0:
		return REC_FUTEX_OP_WAIT;
	case 6:
	case 13:
		return REC_FUTEX_OP_LOCK_PI;
	case 9:
		return REC_FUTEX_OP_WAIT_BITSET;
	case 11:
		return REC_FUTEX_OP_WAIT_REQUEUE_PI;
	default:
		return REC_FUTEX_OP_UNKNOWN;
	}
}

static __always_inline __u8 futex__op_of(__u64 nr, __u64 command)
{
	if (nr == NR_FUTEX)
		return futex__op(command);
	if (nr == NR_FUTEX_WAIT)
		return REC_FUTEX_OP_CALL;
	return nr == NR_FUTEX_WAITV ? REC_FUTEX_OP_WAITV : REC_FUTEX_OP_UNKNOWN;
}

/* futex_waitv(): of several futexes the first */
static __always_inline void futex__first(struct futex_call *c, __u64 list, __u64 n)
{
	struct waitv w = {0};

	c->futexes = n;
	if (bpf_probe_read_user(&w, sizeof(w), (void *)list))
		return;
	c->address = w.address;
	c->word = w.val;
	if (w.flags & FUTEX_PRIVATE)
		c->flags |= REC_FUTEX_PRIVATE;
}

/* Fill @c from the arguments @a of a call that waits; c->op is set and all else is 0. */
static __always_inline void futex__fill(struct futex_call *c, const __u64 a[5])
{
	__u64 private = c->op == REC_FUTEX_OP_CALL ? a[3] : a[1];
	__u64 timeout = c->op == REC_FUTEX_OP_CALL ? a[4] : a[3];

	if (timeout)
		c->flags |= REC_FUTEX_TIMED;
	if (c->op == REC_FUTEX_OP_WAITV) {
		futex__first(c, a[0], a[1]);
		return;
	}
	c->futexes = 1;
	c->address = a[0];
	c->word = c->op == REC_FUTEX_OP_CALL ? a[1] : a[2];
	if (private & FUTEX_PRIVATE)
		c->flags |= REC_FUTEX_PRIVATE;
	if (c->op == REC_FUTEX_OP_LOCK_PI) { /* passes no value */
		c->word = 0;
		bpf_probe_read_user(&c->word, sizeof(c->word), (void *)c->address);
	}
}

/*
 * A wait that a signal ended goes on as another call, with the same registers: those of what other
 * calls go on in the same way never hold the address.
 */
static __always_inline bool futex__goes_on(struct futex_call *c, __u64 nr, __u64 address)
{
	if (nr != NR_RESTART_CALL || !c->restart || c->address != address)
		return false;
	c->restart = 0;
	c->waker_tid = 0;
	c->flags |= REC_FUTEX_AGAIN;
	return true;
}

/* The wait @c of the current task, @tid, has returned. */
static __always_inline void futex__end(struct hook_counts *h, struct futex_call *c, __u32 tid,
				       long ret, __u16 flags)
{
	__u64 t = c->cost_ns ? bpf_ktime_get_ns() - c->cost_ns : 0, start = c->start_ns;
	struct rec_futex_wait *rec;

	c->start_ns = 0;
	c->restart = ret == -ERESTART_RESTARTBLOCK;
	h->hits++;
	rec = ring__reserve(h, REC_FUTEX_WAIT, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = rec->hdr.time_ns - start;
	rec->address = c->address;
	rec->owner_tid = c->owner_tid;
	rec->waker_tid =
		ret < 0 ? 0 : c->waker_tid; /* whoever woke it, that was not why it ended */
	rec->ret = ret;
	rec->word = c->word;
	rec->futexes = c->futexes;
	rec->flags = c->flags | flags;
	rec->op = c->op;
	rec->pad = 0;
	ring__submit(h, rec);
	cost__end(h, t);
}

#endif
