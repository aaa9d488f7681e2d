// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/sim.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MARK_RING     100
#define INTERRUPTIBLE 1
#define STOPPED	      4
#define ZOMBIE	      0x20

uint64_t sim__random(struct sim *s, uint64_t below)
{
	s->seed = s->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (s->seed >> 33) % below;
}

void sim__emit(struct sim *s, uint32_t ring, struct rec *rec, uint16_t type, size_t size,
	       uint32_t tid)
{
	struct sim_record *r;

	rec->type = type;
	rec->size = (uint16_t)size;
	rec->tid = tid;
	rec->time_ns = s->now;
	if (s->used + sizeof(*r) + size > s->size) {
		s->size = 2 * s->size + 65536;
		s->records = realloc(s->records, s->size);
		cr_assert_not_null(s->records);
	}
	r = (struct sim_record *)(s->records + s->used);
	r->ring = ring;
	r->size = (uint32_t)size;
	memcpy(r->bytes, rec, size);
	s->used += sizeof(*r) + size;
	s->nrecords++;
}

void sim__emit_text(struct sim *s, struct rec *rec, uint16_t type, size_t size, uint32_t tid,
		    const char *text)
{
	uint64_t buf[64] = {0};
	size_t n = strlen(text);

	memcpy(buf, rec, size);
	memcpy((char *)buf + size, text, n);
	sim__emit(s, 0, (struct rec *)buf, type, (size + n + 7) & ~(size_t)7, tid);
}

/* ---- the truth ---- */

static struct sim_step *open_step(struct sim *s, const struct sim_thread *t)
{
	struct sim_stream *st = &s->streams[t->process];

	return st->open ? &st->steps[st->n] : NULL;
}

static enum step_group group(const struct sim_thread *t)
{
	if (t->stream >= 0)
		return STEP_CARRIER;
	return t->loader ? STEP_LOADERS : STEP_OTHERS;
}

static struct facts *step_facts(struct sim *s, const struct sim_thread *t)
{
	struct sim_step *step = open_step(s, t);

	return step ? &step->facts[group(t)] : NULL;
}

static enum host_state visible(const struct sim *s, const struct sim_thread *t)
{
	return s->now < s->sched_from ? HOST_UNKNOWN : t->state;
}

/* Time passes, and everybody spends it in some state. */
static void advance(struct sim *s, uint64_t dt)
{
	struct sim_thread *t;
	struct facts *f;
	size_t u;

	for (t = s->threads; t < s->threads + SIM_THREADS; t++) {
		if (t->alive) {
			s->total.host_ns[visible(s, t)] += dt;
			s->total.ioctl_ns += t->ioctl_since ? dt : 0;
		}
		f = t->alive ? step_facts(s, t) : NULL;
		if (f) {
			f->host_ns[visible(s, t)] += dt;
			f->ioctl_ns += t->ioctl_since ? dt : 0;
		}
	}
	for (u = 0; u < s->nunits; u++)
		if (!s->units[u].end_ns) {
			t = &s->threads[s->units[u].carrier];
			s->units[u].facts.host_ns[visible(s, t)] += dt;
		}
	s->now += dt;
}

/* Count something of @t where it is counted: its step, and the units that it carries. */
static void count(struct sim *s, const struct sim_thread *t, size_t field)
{
	struct facts *f = step_facts(s, t);
	size_t u;

	++*(uint64_t *)((char *)&s->total + field);
	if (f)
		++*(uint64_t *)((char *)f + field);
	for (u = 0; u < s->nunits; u++)
		if (!s->units[u].end_ns && &s->threads[s->units[u].carrier] == t)
			++*(uint64_t *)((char *)&s->units[u].facts + field);
}

/* ---- what can happen ---- */

static bool flows(const struct sim *s)
{
	return s->now >= s->sched_from;
}

/* On @cpu, whoever runs there gives way with @prev_state to thread @next (-1: nobody). */
static void switch_to(struct sim *s, int cpu, uint32_t prev_state, int next)
{
	struct sim_thread *p = s->on_cpu[cpu] >= 0 ? &s->threads[s->on_cpu[cpu]] : NULL;
	struct sim_thread *n = next >= 0 ? &s->threads[next] : NULL;
	uint32_t flags = (p ? REC_SCHED_PREV_TARGET : 0) | (n ? REC_SCHED_NEXT_TARGET : 0) |
			 (p && !prev_state ? REC_SCHED_PREEMPT : 0);

	if (flows(s) && p && p->ioctl_since)
		SIM_EMIT(s, (uint32_t)cpu, IOCTL_BLOCKED, ioctl_blocked, p->tid,
			 .start_ns = p->ioctl_since);
	if (flows(s))
		SIM_EMIT(s, (uint32_t)cpu, SCHED_SWITCH, sched_switch, p ? p->tid : 0,
			 .next_tid = n ? n->tid : 0, .prev_state = prev_state,
			 .prev_nr = p && p->ioctl_since ? 16 : -1, .flags = flags);
	if (p) {
		if (flows(s))
			count(s, p,
			      prev_state ? offsetof(struct facts, voluntary)
					 : offsetof(struct facts, involuntary));
		p->state = !prev_state		   ? HOST_RUNNABLE
			   : prev_state == STOPPED ? HOST_STOPPED
						   : HOST_BLOCKED;
		p->cpu = -1;
	}
	if (n) {
		n->state = HOST_RUNNING;
		n->cpu = cpu;
	}
	s->on_cpu[cpu] = next;
}

static void waking_record(struct sim *s, const struct sim_thread *t, uint32_t flags)
{
	int cpu = (int)sim__random(s, SIM_CPUS);
	uint32_t waker = s->on_cpu[cpu] >= 0 ? s->threads[s->on_cpu[cpu]].tid : 0;

	if (flows(s))
		SIM_EMIT(s, (uint32_t)cpu, SCHED_WAKING, sched_waking, waker, .wakee_tid = t->tid,
			 .wakee_pid = t->pid, .flags = flags | REC_SCHED_NEXT_TARGET);
}

static void wake(struct sim *s, struct sim_thread *t)
{
	waking_record(s, t, 0);
	t->state = HOST_RUNNABLE;
}

/* A thread that goes to sleep and is woken before it has left the cpu. */
static void sleep_woken(struct sim *s, struct sim_thread *t)
{
	waking_record(s, t, 0);
	advance(s, 1 + sim__random(s, 50));
	switch_to(s, t->cpu, INTERRUPTIBLE, -1);
	t->state = HOST_RUNNABLE;
}

static void mark_step(struct sim *s, struct sim_thread *t)
{
	struct sim_stream *st = &s->streams[t->stream];
	struct sim_step *step = &st->steps[st->n];
	bool stop = sim__random(s, 12) == 0;
	uint64_t items = sim__random(s, 100);

	if (st->n + 1 == SIM_STEPS || (stop && !st->open))
		return;
	SIM_EMIT(s, MARK_RING, MARK_STEP, mark_step, t->tid, .step = stop ? REC_NO_STEP : st->next,
		 .items = items);
	if (st->open) {
		step->end_ns = s->now;
		step->items = items;
		st->n++;
	}
	st->open = !stop;
	if (stop)
		return;
	step = &st->steps[st->n];
	memset(step, 0, sizeof(*step));
	step->number = st->next++;
	step->begin_ns = s->now;
}

static void take_role(struct sim *s, struct sim_thread *t)
{
	t->loader = !t->loader;
	SIM_EMIT(s, MARK_RING, ROLE, role, t->tid, .name = t->loader ? SIM_LOADER : 7);
}

static void do_ioctl(struct sim *s, struct sim_thread *t)
{
	if (!t->ioctl_since) {
		t->ioctl_since = s->now;
		return;
	}
	SIM_EMIT(s, (uint32_t)t->cpu, IOCTL, ioctl, t->tid, .duration_ns = s->now - t->ioctl_since,
		 .cmd = 1, .fd = 3);
	t->ioctl_since = 0;
	count(s, t, offsetof(struct facts, ioctls));
}

static int open_unit(struct sim *s, uint64_t from)
{
	size_t i, u;

	for (i = 0; i < s->nunits; i++) {
		u = (from + i) % s->nunits;
		if (!s->units[u].end_ns)
			return (int)u;
	}
	return -1;
}

static void do_unit(struct sim *s, struct sim_thread *t)
{
	int u = s->nunits ? open_unit(s, sim__random(s, s->nunits)) : -1;
	uint64_t what = sim__random(s, 3);
	struct sim_unit *unit;

	if (what == 0 || u < 0) {
		if (s->nunits == SIM_UNITS)
			return;
		unit = &s->units[s->nunits++];
		*unit = (struct sim_unit){.id = s->nunits, .begin_ns = s->now};
		unit->carrier = (int)(t - s->threads);
		SIM_EMIT(s, MARK_RING, UNIT_BEGIN, unit_begin, t->tid, .unit = unit->id,
			 .kind = SIM_LOADER);
	} else if (what == 1) {
		s->units[u].carrier = (int)(t - s->threads);
		SIM_EMIT(s, MARK_RING, UNIT_HANDOVER, unit_handover, t->tid,
			 .unit = s->units[u].id);
	} else {
		SIM_EMIT(s, MARK_RING, UNIT_END, unit_end, t->tid, .unit = s->units[u].id,
			 .items = 1);
		s->units[u].end_ns = s->now;
	}
}

static bool carries_unit(const struct sim *s, const struct sim_thread *t)
{
	size_t u;

	for (u = 0; u < s->nunits; u++)
		if (!s->units[u].end_ns && &s->threads[s->units[u].carrier] == t)
			return true;
	return false;
}

static struct sim_thread *free_slot(struct sim *s)
{
	struct sim_thread *t;

	for (t = s->threads; t < s->threads + SIM_THREADS; t++)
		if (!t->alive)
			return t;
	return NULL;
}

/* A thread, or a process of one thread; ids are used again soon. */
static void do_fork(struct sim *s, const struct sim_thread *parent)
{
	struct sim_thread *t = free_slot(s);
	bool process = sim__random(s, 3) == 0;
	uint32_t tid;

	if (!t)
		return;
	tid = 1000 + (uint32_t)(t - s->threads);
	*t = (struct sim_thread){.alive = true, .tid = tid, .pid = process ? tid : parent->pid};
	t->state = HOST_BLOCKED;
	t->cpu = t->stream = -1;
	t->process = parent->process;
	SIM_EMIT(s, (uint32_t)parent->cpu, TASK_FORK, task_fork, parent->tid, .child_tid = tid,
		 .child_pid = t->pid, .start_ns = s->now);
	advance(s, 1 + sim__random(s, 100));
	waking_record(s, t, REC_SCHED_NEW);
	t->state = HOST_RUNNABLE;
}

static void do_exit(struct sim *s, struct sim_thread *t)
{
	int cpu = t->cpu;

	/* leaders stay: the sim does not play the end of a whole process */
	if (t->stream >= 0 || t->tid == t->pid || carries_unit(s, t) || t->ioctl_since)
		return;
	switch_to(s, cpu, ZOMBIE, -1);
	SIM_EMIT(s, (uint32_t)cpu, TASK_EXIT, task_exit, t->tid, .pid = t->pid);
	t->alive = false;
}

static void running_does(struct sim *s, struct sim_thread *t)
{
	if (t->stream >= 0 && !t->ioctl_since && sim__random(s, 3) == 0) {
		mark_step(s, t);
		return;
	}
	switch (sim__random(s, t->ioctl_since ? 6 : 12)) {
	case 0:
		switch_to(s, t->cpu, INTERRUPTIBLE, -1);
		break;
	case 1:
		switch_to(s, t->cpu, 0, -1);
		break;
	case 2:
		sleep_woken(s, t);
		break;
	case 3:
		waking_record(s, t, 0); /* to no effect */
		break;
	case 4:
		/* what stopped before the first record looks like sleep */
		switch_to(s, t->cpu, flows(s) ? STOPPED : INTERRUPTIBLE, -1);
		break;
	case 5:
	case 6:
		do_ioctl(s, t);
		break;
	case 7:
		if (sim__random(s, 8) == 0)
			take_role(s, t);
		break;
	case 8:
		do_fork(s, t);
		break;
	case 9:
		do_exit(s, t);
		break;
	default:
		do_unit(s, t);
	}
}

static void one_thing(struct sim *s)
{
	struct sim_thread *t = &s->threads[sim__random(s, SIM_THREADS)];
	int cpu = (int)sim__random(s, SIM_CPUS);

	if (!t->alive)
		return;
	switch (t->state) {
	case HOST_RUNNING:
		running_does(s, t);
		break;
	case HOST_RUNNABLE:
		switch_to(s, cpu, sim__random(s, 2) ? 0 : INTERRUPTIBLE, (int)(t - s->threads));
		break;
	default:
		wake(s, t);
	}
}

static void define(struct sim *s, struct sim_thread *t, uint32_t tid, uint32_t pid, uint32_t ppid)
{
	t->alive = true;
	t->tid = tid;
	t->pid = pid;
	t->cpu = t->stream = -1;
	t->state = sim__random(s, 2) ? HOST_BLOCKED : HOST_RUNNABLE;
	SIM_EMIT(s, 0, TASK, task, tid, .pid = pid, .ppid = ppid, .flags = REC_TASK_TARGET,
		 .start_ns = tid, .comm = "sim");
}

/* Two programs of four threads each, one of which marks steps; some run already. */
static void set_up(struct sim *s)
{
	struct sim_thread *t = s->threads;
	int p, i;

	sim__emit_text(s, &((struct rec_name){.id = SIM_LOADER, .name_len = 6}).hdr, REC_NAME,
		       sizeof(struct rec_name), 0, "loader");
	for (p = 0; p < SIM_STREAMS; p++)
		for (i = 0; i < 4; i++, t++) {
			define(s, t, (uint32_t)(100 * (p + 1) + i), (uint32_t)(100 * (p + 1)), 1);
			t->process = p;
			t->stream = i ? -1 : p;
		}
	for (i = 0; i < SIM_CPUS; i++)
		s->on_cpu[i] = -1;
	for (i = 0; i < SIM_CPUS; i++)
		if (s->threads[2 * i].state == HOST_RUNNABLE)
			switch_to(s, i, 0, 2 * i);
}

/* Every thread has a last event, so that nothing is left to be guessed. */
static void wind_down(struct sim *s)
{
	int i;

	for (i = 0; i < SIM_THREADS; i++)
		if (s->threads[i].alive && s->threads[i].state >= HOST_BLOCKED)
			wake(s, &s->threads[i]);
	for (i = 0; i < SIM_THREADS; i++)
		if (s->threads[i].alive && s->threads[i].state == HOST_RUNNABLE)
			switch_to(s, 0, 0, i);
	for (i = 0; i < SIM_CPUS; i++)
		switch_to(s, i, 0, -1);
}

struct sim *sim__play(uint64_t seed, size_t events)
{
	struct sim *s = calloc(1, sizeof(*s));

	cr_assert_not_null(s);
	s->seed = seed;
	s->now = 1000000;
	s->sched_from = s->now + 1000 + sim__random(s, 5000);
	set_up(s);
	while (events--) {
		if (!flows(s) && s->now + 300 >= s->sched_from) {
			advance(s, s->sched_from - s->now);
			SIM_EMIT(s, 0, HOOK, hook, 0, .hook = REC_HOOK_SCHED,
				 .state = REC_HOOK_ATTACHED);
		}
		one_thing(s);
		advance(s, sim__random(s, 4) ? sim__random(s, 100) : 0);
	}
	if (flows(s))
		wind_down(s);
	return s;
}

void sim__free(struct sim *s)
{
	free(s->records);
	free(s);
}
