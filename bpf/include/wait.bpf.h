/* SPDX-License-Identifier: GPL-2.0-only */
/* The probe wait: calls that wait for descriptors, for a time or for children. */
#ifndef XPUGAP_WAIT_BPF_H
#define XPUGAP_WAIT_BPF_H

#include "bpf/include/arch.bpf.h"
#include "bpf/include/calls.bpf.h"

#define MAX_POLLED    16 /* of which one that is ready is looked for */
#define TIMER_ABSTIME 1
#define P_PID	      1
#define MAX_SECONDS   (1LL << 33) /* more are for ever, and would not fit */

/* how a call passes what it waits for and how long */
enum wait_shape {
	WAIT_POLL = 1 << 4,    /* descriptors, how many, milliseconds */
	WAIT_PPOLL = 2 << 4,   /* descriptors, how many, struct timespec */
	WAIT_SELECT = 3 << 4,  /* how many, three sets, struct timeval */
	WAIT_PSELECT = 4 << 4, /* how many, three sets, struct timespec */
	WAIT_EPOLL = 5 << 4,   /* fd, events, how many, milliseconds */
	WAIT_EPOLL2 = 6 << 4,  /* fd, events, how many, struct timespec */
	WAIT_SLEEP = 7 << 4,   /* struct timespec */
	WAIT_CLOCK = 8 << 4,   /* clock, flags, struct timespec */
	WAIT_WAIT4 = 9 << 4,   /* pid */
	WAIT_WAITID = 10 << 4, /* of which kind, id */
	WAIT_AGAIN = 11 << 4,  /* nothing */
};

const volatile bool probe_wait = false;

#if defined(__TARGET_ARCH_x86)
#define WAITS_BY_NUMBER(X)                                                                         \
	X(7, POLL, POLL)                                                                           \
	X(23, SELECT, SELECT)                                                                      \
	X(35, SLEEP, SLEEP)                                                                        \
	X(61, CHILD, WAIT4)                                                                        \
	X(219, RESTART, AGAIN)                                                                     \
	X(230, SLEEP, CLOCK)                                                                       \
	X(232, EPOLL, EPOLL)                                                                       \
	X(247, CHILD, WAITID)                                                                      \
	X(270, SELECT, PSELECT)                                                                    \
	X(271, POLL, PPOLL)                                                                        \
	X(281, EPOLL, EPOLL)                                                                       \
	X(441, EPOLL, EPOLL2)
#elif defined(__TARGET_ARCH_arm64)
#define WAITS_BY_NUMBER(X)                                                                         \
	X(22, EPOLL, EPOLL)                                                                        \
	X(72, SELECT, PSELECT)                                                                     \
	X(73, POLL, PPOLL)                                                                         \
	X(95, CHILD, WAITID)                                                                       \
	X(101, SLEEP, SLEEP)                                                                       \
	X(115, SLEEP, CLOCK)                                                                       \
	X(128, RESTART, AGAIN)                                                                     \
	X(260, CHILD, WAIT4)                                                                       \
	X(441, EPOLL, EPOLL2)
#endif

/* As poll() takes it: less than 0 is for ever. */
static __always_inline void set_milliseconds(struct wait_call *c, __s32 ms)
{
	if (ms < 0)
		return;
	c->timeout_ns = ms * 1000000ULL;
	c->flags |= REC_WAIT_TIMEOUT;
}

/* Seconds and a fraction in units of @unit_ns at @from; none is for ever. */
static __always_inline void fetch_timeout(struct wait_call *c, __u64 from, __u32 unit_ns)
{
	__s64 t[2];

	if (!from || bpf_probe_read_user(t, sizeof(t), (void *)from) || t[0] < 0 || t[1] < 0 ||
	    t[0] >= MAX_SECONDS)
		return;
	c->timeout_ns = t[0] * 1000000000ULL + t[1] * unit_ns;
	c->flags |= REC_WAIT_TIMEOUT;
}

static __always_inline void read_polled(struct wait_call *c, struct pt_regs *regs, __u8 shape)
{
	switch (shape) {
	case WAIT_POLL:
	case WAIT_PPOLL:
		c->polled = regs__arg0(regs, false);
		c->count = regs__arg1(regs, false);
		break;
	case WAIT_SELECT:
	case WAIT_PSELECT:
		c->count = regs__arg0(regs, false);
		break;
	case WAIT_EPOLL:
	case WAIT_EPOLL2:
		c->fd = regs__arg0(regs, false);
		c->count = regs__arg2(regs, false);
		break;
	case WAIT_WAIT4:
		c->pid = regs__arg0(regs, false);
		break;
	case WAIT_WAITID:
		c->pid = regs__arg0(regs, false) == P_PID ? (__s32)regs__arg1(regs, false) : -1;
		break;
	}
}

static __always_inline void read_timeout(struct wait_call *c, struct pt_regs *regs, __u8 shape)
{
	switch (shape) {
	case WAIT_POLL:
		set_milliseconds(c, regs__arg2(regs, false));
		break;
	case WAIT_PPOLL:
		fetch_timeout(c, regs__arg2(regs, false), 1);
		break;
	case WAIT_SELECT:
		fetch_timeout(c, regs__arg4(regs), 1000);
		break;
	case WAIT_PSELECT:
		fetch_timeout(c, regs__arg4(regs), 1);
		break;
	case WAIT_EPOLL:
		set_milliseconds(c, regs__arg3(regs));
		break;
	case WAIT_EPOLL2:
		fetch_timeout(c, regs__arg3(regs), 1);
		break;
	case WAIT_SLEEP:
		fetch_timeout(c, regs__arg0(regs, false), 1);
		break;
	case WAIT_CLOCK:
		if (regs__arg1(regs, false) & TIMER_ABSTIME)
			c->flags |= REC_WAIT_UNTIL;
		else
			fetch_timeout(c, regs__arg2(regs, false), 1);
		break;
	}
}

static __always_inline void wait__enter(struct hook_counts *h, struct task_state *s,
					struct pt_regs *regs, __u8 known)
{
	/* its hit is counted at its end */
	__u64 t = (h->hits + 1) % COST_EVERY == 0 ? bpf_ktime_get_ns() : 0;
	struct wait_call *c = &s->wait;

	__builtin_memset(c, 0, sizeof(*c));
	c->call = known & CALL_OF;
	c->fd = -1;
	read_polled(c, regs, known & SHAPE_OF);
	read_timeout(c, regs, known & SHAPE_OF);
	c->start_ns = bpf_ktime_get_ns();
	c->cost_ns = t ? c->start_ns - t : 0;
}

/* The first descriptor that poll says is ready. */
static __always_inline __s32 first_ready(const struct wait_call *c)
{
	struct {
		__s32 fd;
		__u16 events, ready;
	} polled;
	__u32 i;

	for (i = 0; i < MAX_POLLED && i < c->count; i++) {
		if (bpf_probe_read_user(&polled, sizeof(polled),
					(void *)(c->polled + i * sizeof(polled))))
			break;
		if (polled.ready)
			return polled.fd;
	}
	return -1;
}

/* What WAIT and WAIT_BLOCKED have in common, which are two types. */
#define COPY_WAIT(rec, c)                                                                          \
	do {                                                                                       \
		(rec)->timeout_ns = (c)->timeout_ns;                                               \
		(rec)->count = (c)->count;                                                         \
		(rec)->fd = (c)->fd;                                                               \
		(rec)->pid = (c)->pid;                                                             \
		(rec)->flags = (c)->flags;                                                         \
		(rec)->call = (c)->call;                                                           \
		(rec)->pad = 0;                                                                    \
	} while (0)

static __always_inline void wait__exit(struct hook_counts *h, struct task_struct *task,
				       struct wait_call *c, __u8 known, long ret)
{
	__u64 start = c->start_ns, t;
	struct rec_wait *rec;

	c->start_ns = 0;
	if (!start || c->call != (known & CALL_OF)) /* it did not return in the usual way */
		return;
	t = c->cost_ns ? bpf_ktime_get_ns() - c->cost_ns : 0;
	h->hits++;
	rec = ring__reserve(h, REC_WAIT, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = rec->hdr.time_ns - start;
	rec->ret = ret;
	if (c->polled && ret > 0)
		c->fd = first_ready(c);
	COPY_WAIT(rec, c);
	ring__submit(h, rec);
	cost__end(h, t);
}

/* The recording ends: tell of the call that @task is in, if it is in one. */
static __always_inline void wait__blocked(struct task_struct *task, const struct wait_call *c)
{
	struct hook_counts *h = counts__get(REC_HOOK_SYSCALL);
	__u64 start = c->start_ns;
	struct rec_wait_blocked *rec;

	rec = call__reserve_open(h, task, start, REC_WAIT_BLOCKED, sizeof(*rec));
	if (!rec)
		return;
	rec->start_ns = start;
	COPY_WAIT(rec, c);
	call__submit_open(h, rec, start, &c->start_ns);
}

#endif
