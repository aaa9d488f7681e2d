// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/account/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* prev_state of SCHED_SWITCH */
#define STATE_STOPPED 0x04
#define STATE_TRACED  0x08

void timeline__init(struct timeline *tl, const struct timeline_ops *ops, void *ctx)
{
	memset(tl, 0, sizeof(*tl));
	tl->ops = ops;
	tl->ctx = ctx;
}

void timeline__free(struct timeline *tl)
{
	free(tl->on_cpu);
	tl->on_cpu = NULL;
	tl->ncpus = 0;
}

static void forget_told(struct timeline_thread *th)
{
	if (!th->told)
		return;
	th->told = false;
	*th->link_told = th->next_told;
	if (th->next_told)
		th->next_told->link_told = th->link_told;
}

static void keep_told(struct timeline *tl, struct timeline_thread *th)
{
	if (th->told || !th->watched)
		return;
	th->told = true;
	th->next_told = tl->told;
	th->link_told = &tl->told;
	if (tl->told)
		tl->told->link_told = &th->next_told;
	tl->told = th;
}

/* Deliver the open interval as @state; the next begins at @t. */
static void close_as(struct timeline *tl, struct timeline_thread *th, enum host_state state,
		     uint64_t t)
{
	uint64_t begin = th->since;

	th->open = false;
	keep_told(tl, th);
	if (t <= begin)
		return;
	if (!th->watched)
		state = HOST_UNKNOWN;
	th->sum[state] += t - begin;
	th->since = t;
	tl->ops->interval(tl->ctx, th, state, begin, t);
}

static void leave_cpu(struct timeline *tl, struct timeline_thread *th)
{
	if (th->cpu < tl->ncpus && tl->on_cpu[th->cpu] == th)
		tl->on_cpu[th->cpu] = NULL;
	th->cpu = TIMELINE_NO_CPU;
}

/* The watch begins: the next switch tells what it is in now. */
static void reopen(struct timeline_thread *th)
{
	forget_told(th);
	th->open = true;
	th->woken_at = 0;
	th->woken = th->woken_early = false;
}

/* The watch begins anew after a loss, in which it may have been woken while it ran. */
static void reopen_at_loss(struct timeline_thread *th)
{
	reopen(th);
	th->woken = true;
}

/* An open thread may have had events before @lost_until: what is told from now on is of later. */
static void settle(struct timeline *tl, struct timeline_thread *th)
{
	if (!th->open || th->since >= tl->lost_until)
		return;
	close_as(tl, th, HOST_UNKNOWN, tl->lost_until);
	reopen_at_loss(th);
}

/* The first event after the watch began found it not running: it slept until it was woken. */
static void close_open(struct timeline *tl, struct timeline_thread *th, uint64_t t)
{
	if (th->woken_at)
		close_as(tl, th, HOST_BLOCKED, th->woken_at);
	close_as(tl, th, HOST_RUNNABLE, t);
}

void timeline__begin(struct timeline *tl, struct timeline_thread *th, uint64_t t, bool watch)
{
	memset(th, 0, sizeof(*th));
	th->since = t;
	th->cpu = TIMELINE_NO_CPU;
	th->watched = th->open = watch;
}

void timeline__watch(struct timeline *tl, struct timeline_thread *th, uint64_t t)
{
	if (th->watched)
		return;
	close_as(tl, th, HOST_UNKNOWN, t);
	th->watched = true;
	reopen(th);
}

void timeline__end(struct timeline *tl, struct timeline_thread *th, uint64_t t)
{
	settle(tl, th);
	if (th->open && th->woken_at)
		close_open(tl, th, t);
	close_as(tl, th, th->open ? HOST_UNKNOWN : th->state, t);
	leave_cpu(tl, th);
	forget_told(th);
}

/* An event was missed: what @th did since the last one is not known, the next one tells more. */
static void lose(struct timeline *tl, struct timeline_thread *th, uint64_t t)
{
	close_as(tl, th, HOST_UNKNOWN, t);
	leave_cpu(tl, th);
	th->state = HOST_UNKNOWN;
	reopen(th);
}

/*
 * Threads that are open stay so, see settle(). So this looks at each thread once, however many
 * losses there are, unless it has had an event in between.
 */
void timeline__lost(struct timeline *tl, uint64_t since, uint64_t t)
{
	struct timeline_thread *th;

	if (t > tl->lost_until)
		tl->lost_until = t;
	while ((th = tl->told)) {
		/* a wake-up before its sleep: the switch that would tell whether may be lost */
		if (!th->woken_early)
			close_as(tl, th, th->state, since < t ? since : t);
		lose(tl, th, t);
		reopen_at_loss(th);
	}
}

static void switch_out(struct timeline *tl, struct timeline_thread *th, uint32_t cpu, uint64_t t,
		       enum host_state to)
{
	bool ran, woken;

	settle(tl, th);
	ran = th->open ||
	      (th->state == HOST_RUNNING && (th->cpu == cpu || th->cpu == TIMELINE_NO_CPU));
	woken = th->woken || (th->open && th->woken_at);
	close_as(tl, th, ran ? HOST_RUNNING : HOST_UNKNOWN, t);
	leave_cpu(tl, th);
	th->woken_early = ran && woken && to != HOST_RUNNABLE;
	th->woken = false;
	th->state = to;
	if (to == HOST_RUNNABLE)
		th->involuntary++;
	else
		th->voluntary++;
	tl->ops->left(tl->ctx, th, t, to != HOST_RUNNABLE);
}

static void switch_in(struct timeline *tl, struct timeline_thread *th, uint32_t cpu, uint64_t t)
{
	enum host_state was = th->state;

	settle(tl, th);
	if (th->open)
		close_open(tl, th, t);
	else if (was == HOST_RUNNING)
		was = HOST_UNKNOWN;
	else if (th->woken_early)
		was = HOST_RUNNABLE;
	close_as(tl, th, was, t);
	leave_cpu(tl, th);
	th->state = HOST_RUNNING;
	th->cpu = cpu;
	th->woken = th->woken_early = false;
}

static int need_cpu(struct timeline *tl, uint32_t cpu)
{
	size_t n = cpu + 1;
	struct timeline_thread **p;

	if (n <= tl->ncpus)
		return 0;
	p = realloc(tl->on_cpu, n * sizeof(struct timeline_thread *));
	if (!p)
		return -ENOMEM;
	memset(p + tl->ncpus, 0, (n - tl->ncpus) * sizeof(struct timeline_thread *));
	tl->on_cpu = p;
	tl->ncpus = n;
	return 0;
}

int timeline__switch(struct timeline *tl, uint32_t cpu, uint64_t t, struct timeline_thread *prev,
		     uint32_t prev_state, bool preempted, struct timeline_thread *next)
{
	enum host_state to = HOST_BLOCKED;
	int err = need_cpu(tl, cpu);

	if (err)
		return err;
	if (preempted || prev_state == 0)
		to = HOST_RUNNABLE;
	else if (prev_state & (STATE_STOPPED | STATE_TRACED))
		to = HOST_STOPPED;
	/* every switch away from a followed thread is recorded: one that was not seen is lost */
	if (tl->on_cpu[cpu] && tl->on_cpu[cpu] != prev)
		lose(tl, tl->on_cpu[cpu], t);
	if (prev)
		switch_out(tl, prev, cpu, t, to);
	if (next) {
		switch_in(tl, next, cpu, t);
		tl->on_cpu[cpu] = next;
	}
	return 0;
}

void timeline__waking(struct timeline *tl, struct timeline_thread *th, uint64_t t)
{
	settle(tl, th);
	if (th->open) {
		if (!th->woken_at)
			th->woken_at = t;
		return;
	}
	if (th->state == HOST_RUNNING)
		th->woken = true;
	if (th->state != HOST_BLOCKED && th->state != HOST_STOPPED)
		return;
	close_as(tl, th, th->state, t);
	th->state = HOST_RUNNABLE;
	th->woken_early = false;
}

void timeline__acted(struct timeline *tl, struct timeline_thread *th, uint64_t t)
{
	bool runs;

	settle(tl, th);
	runs = th->open || th->state == HOST_RUNNING;
	if (th->open)
		th->woken |= th->woken_at != 0;
	close_as(tl, th, runs ? HOST_RUNNING : HOST_UNKNOWN, t);
	th->state = HOST_RUNNING;
	if (!runs)
		th->woken_early = false;
}
