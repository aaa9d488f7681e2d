// SPDX-License-Identifier: BSD-2-Clause
/*
 * How fast the analyses of report are, and what memory they need.
 *
 * usage: steps EVENTS: a training program with 64 threads on 8 cpus, 16 of them loaders, that
 * switch and wake each other; an ioctl every tenth event, a step every thousandth. Records are made
 * as they are needed; making them alone is timed first and subtracted.
 *
 * Prints EVENTS_PER_SECOND PEAK_BYTES STEPS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analysis/steps.h"

#define THREADS 64
#define CPUS	8
#define LOADERS 16

struct maker {
	uint64_t now, seed, made, steps;
	uint32_t on_cpu[CPUS]; /* tid, 0: idle */
	bool asleep[THREADS];
	union {
		struct rec rec;
		struct rec_sched_switch sw;
		struct rec_sched_waking waking;
		struct rec_ioctl ioctl;
		struct rec_mark_step mark;
		struct rec_task task;
		struct rec_role role;
	} u;
};

static uint64_t rnd(struct maker *m, uint64_t below)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return m->seed % below;
}

static void head(struct maker *m, uint16_t type, size_t size, uint32_t tid)
{
	memset(&m->u, 0, size);
	m->u.rec.type = type;
	m->u.rec.size = (uint16_t)size;
	m->u.rec.tid = tid;
	m->u.rec.time_ns = m->now += 100 + rnd(m, 2000);
}

/* Is thread @i on a cpu? */
static bool runs(const struct maker *m, size_t i)
{
	size_t c;

	for (c = 0; c < CPUS; c++)
		if (m->on_cpu[c] == 1000 + i)
			return true;
	return false;
}

static void make_switch(struct maker *m, uint16_t cpu)
{
	uint32_t prev = m->on_cpu[cpu], next = 0;
	size_t i = rnd(m, THREADS), tries;
	bool sleeps = rnd(m, 2);

	for (tries = 0; tries < THREADS && !next; tries++, i = (i + 1) % THREADS)
		if (!m->asleep[i] && !runs(m, i))
			next = 1000 + (uint32_t)i;
	head(m, REC_SCHED_SWITCH, sizeof(m->u.sw), prev);
	m->u.sw.next_tid = next;
	m->u.sw.prev_state = sleeps ? 1 : 0;
	m->u.sw.flags = (prev ? REC_SCHED_PREV_TARGET : 0) | (next ? REC_SCHED_NEXT_TARGET : 0) |
			(sleeps ? 0 : REC_SCHED_PREEMPT);
	if (prev && sleeps)
		m->asleep[prev - 1000] = true;
	m->on_cpu[cpu] = next;
}

static void make_waking(struct maker *m, uint16_t cpu)
{
	size_t i = rnd(m, THREADS);

	head(m, REC_SCHED_WAKING, sizeof(m->u.waking), m->on_cpu[cpu]);
	m->u.waking.wakee_tid = 1000 + (uint32_t)i;
	m->u.waking.wakee_pid = 1000;
	m->u.waking.flags = REC_SCHED_NEXT_TARGET;
	m->asleep[i] = false;
}

static void make_task(struct maker *m, uint32_t i)
{
	head(m, REC_TASK, sizeof(m->u.task), 1000 + i);
	m->u.task.pid = 1000;
	m->u.task.start_ns = 1;
	m->u.task.flags = REC_TASK_TARGET;
}

static const struct trace_event *make(struct maker *m, struct trace_event *ev)
{
	uint64_t n = m->made++;
	uint16_t cpu = (uint16_t)rnd(m, CPUS);

	ev->rec = &m->u.rec;
	ev->ring = cpu;
	if (n < THREADS) {
		make_task(m, (uint32_t)n);
	} else if (n < THREADS + LOADERS) {
		head(m, REC_ROLE, sizeof(m->u.role), 1001 + (uint32_t)(n - THREADS));
		m->u.role.name = 0x5c4cf14165b38b4fULL; /* "loader" */
	} else if (n % 1000 == 0) {
		head(m, REC_MARK_STEP, sizeof(m->u.mark), 1000);
		m->u.mark.step = m->steps++;
		m->u.mark.items = 32;
	} else if (n % 10 == 0 && m->on_cpu[cpu]) {
		head(m, REC_IOCTL, sizeof(m->u.ioctl), m->on_cpu[cpu]);
		m->u.ioctl.duration_ns = 500;
	} else if (rnd(m, 3)) {
		make_switch(m, cpu);
	} else {
		make_waking(m, cpu);
	}
	return ev;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double make_all(uint64_t events)
{
	struct maker m = {.seed = 1};
	struct trace_event ev;
	double from = seconds();

	while (m.made < events)
		make(&m, &ev);
	return seconds() - from;
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	struct analysis_set *set = analysis_set__new();
	struct maker m = {.seed = 1};
	double making = make_all(events), from, took;
	struct trace_event ev;
	struct rusage usage;

	if (!set || analysis_set__add(set, &analysis_steps, NULL) ||
	    analysis_set__add(set, &analysis_units, NULL))
		return 1;
	from = seconds();
	while (m.made < events)
		if (analysis_set__event(set, make(&m, &ev)))
			return 1;
	if (analysis_set__finish(set))
		return 1;
	took = seconds() - from - making;
	getrusage(RUSAGE_SELF, &usage);
	printf("%.0f %ld %zu\n", (double)events / took, usage.ru_maxrss * 1024,
	       steps__stream(analysis_set__state(set, &analysis_steps), 0)->n);
	analysis_set__free(set);
	return 0;
}
