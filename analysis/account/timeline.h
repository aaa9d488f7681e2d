/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host state of every thread at every moment, from the scheduler's records.
 *
 * A thread's time is cut at its scheduler events into intervals, each of one state; they follow
 * one another without gap or overlap from the moment the thread is known to its end. The state of
 * an interval is told by the events at both its ends, so it is delivered when it closes:
 *
 *   begins with          ends with                        state
 *   switched in          switched out                     RUNNING
 *   switched out running switched in                      RUNNABLE
 *   switched out asleep  woken                            BLOCKED (STOPPED: by signal or tracer)
 *   woken                switched in                      RUNNABLE
 *   switched out asleep  switched in, woken while it      RUNNABLE: the wake-up came between its
 *                        still ran                        going to sleep and its switch
 *   switched out asleep  switched in, never woken         BLOCKED: the wake-up was not recorded
 *   begin of the watch   switched out                     RUNNING
 *   begin of the watch   switched in                      RUNNABLE, or if it was woken in between,
 *                                                         BLOCKED before that
 *   (anything else)                                       UNKNOWN: an event was lost
 *
 * The watch begins when the thread is known and scheduler records flow, whichever is later; the
 * time before it is UNKNOWN. A mark that the thread itself emits proves that it runs. The last
 * interval has no second end; it gets the state that its beginning suggests. After a lost event
 * the watch begins anew. So it does for all threads where events are known to be lost, whosever
 * they were: from the loss on to its end all is UNKNOWN that no event tells.
 */
#ifndef XPUGAP_ANALYSIS_ACCOUNT_TIMELINE_H
#define XPUGAP_ANALYSIS_ACCOUNT_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum host_state {
	HOST_UNKNOWN,
	HOST_RUNNING,
	HOST_RUNNABLE,
	HOST_BLOCKED,
	HOST_STOPPED,
	HOST_STATES,
};

#define TIMELINE_NO_CPU UINT32_MAX

struct timeline_thread {
	uint64_t since;		   /* the open interval's beginning */
	uint64_t sum[HOST_STATES]; /* of the closed intervals */
	uint64_t voluntary, involuntary;
	uint32_t cpu;	   /* where it runs */
	uint8_t state;	   /* enum host_state as it seems now */
	bool watched;	   /* false: the open interval lies before the watch */
	bool open;	   /* watched, and no event yet: the next one tells */
	bool woken;	   /* a wake-up came while it ran */
	uint64_t woken_at; /* first wake-up while open, 0: none */
	bool woken_early;  /* one came before the switch that began this interval */
	/* among those whose state a loss would make uncertain */
	bool told;
	struct timeline_thread *next_told, **link_told;
};

struct timeline_ops {
	/* an interval has closed; not called for empty ones */
	void (*interval)(void *ctx, struct timeline_thread *th, enum host_state state,
			 uint64_t begin_ns, uint64_t end_ns);
	/* @th left its cpu at @t, to sleep (voluntary) or because another had to run */
	void (*left)(void *ctx, struct timeline_thread *th, uint64_t t, bool voluntary);
};

struct timeline {
	const struct timeline_ops *ops;
	void *ctx;
	struct timeline_thread **on_cpu; /* who runs there as far as records tell */
	size_t ncpus;
	struct timeline_thread *told; /* watched and not open */
	uint64_t lost_until;
};

void timeline__init(struct timeline *tl, const struct timeline_ops *ops, void *ctx);
void timeline__free(struct timeline *tl);

/* @th is known from @t on; watch: scheduler records flow already. */
void timeline__begin(struct timeline *tl, struct timeline_thread *th, uint64_t t, bool watch);
/* Scheduler records flow from @t on. */
void timeline__watch(struct timeline *tl, struct timeline_thread *th, uint64_t t);
/* Nothing more will be said of @th. */
void timeline__end(struct timeline *tl, struct timeline_thread *th, uint64_t t);

/*
 * On @cpu, @prev gave way to @next; NULL for one that is not followed (a task that is no target,
 * the idle task). prev_state as SCHED_SWITCH has it; preempted: it could have run on.
 * 0 or -ENOMEM.
 */
int timeline__switch(struct timeline *tl, uint32_t cpu, uint64_t t, struct timeline_thread *prev,
		     uint32_t prev_state, bool preempted, struct timeline_thread *next);
void timeline__waking(struct timeline *tl, struct timeline_thread *th, uint64_t t);
/* Events between @since and @t were lost, of whichever thread. */
void timeline__lost(struct timeline *tl, uint64_t since, uint64_t t);
/* @th did something of itself at @t. Closes the open interval there, so that sum[] is exact. */
void timeline__acted(struct timeline *tl, struct timeline_thread *th, uint64_t t);

#endif
