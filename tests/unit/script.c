// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/script.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct analysis_set *new_set(void)
{
	struct analysis_set *set = analysis_set__new();

	cr_assert_not_null(set);
	cr_assert_eq(analysis_set__add(set, &analysis_steps, NULL), 0);
	cr_assert_eq(analysis_set__add(set, &analysis_units, NULL), 0);
	cr_assert_eq(analysis_set__add(set, &analysis_threads, NULL), 0);
	cr_assert_eq(analysis_set__add(set, &analysis_ranges, NULL), 0);
	return set;
}

/* All records of @s but those that @drop says; 0 drops none, else one in @drop of the sched's. */
struct analysis_set *analyse(struct sim *s, uint64_t drop)
{
	struct analysis_set *set = new_set();
	struct sim_record *r;
	struct trace_event ev;
	size_t at;

	for (at = 0; at < s->used; at += sizeof(*r) + r->size) {
		r = (struct sim_record *)(s->records + at);
		ev.rec = (const struct rec *)r->bytes;
		ev.ring = (uint16_t)r->ring;
		if (drop && ev.rec->type / 10 == 2 && sim__random(s, drop) == 0)
			continue;
		cr_assert_eq(analysis_set__event(set, &ev), 0);
	}
	cr_assert_eq(analysis_set__finish(set), 0);
	return set;
}

const struct steps *steps_of(struct analysis_set *set)
{
	return analysis_set__state(set, &analysis_steps);
}

const struct unit_row *units_of(struct analysis_set *set, size_t *n)
{
	return units__rows(analysis_set__state(set, &analysis_units), n);
}

const struct threads *threads_of(struct analysis_set *set)
{
	return analysis_set__state(set, &analysis_threads);
}

void expect_facts(const struct facts *got, const struct facts *want, const char *what,
		  uint64_t seed, size_t i)
{
	int k;

	for (k = 0; k < HOST_STATES; k++)
		cr_assert_eq(got->host_ns[k], want->host_ns[k],
			     "seed %zu %s %zu state %d: %zu, truth %zu", (size_t)seed, what, i, k,
			     (size_t)got->host_ns[k], (size_t)want->host_ns[k]);
	cr_assert_eq(got->voluntary, want->voluntary);
	cr_assert_eq(got->involuntary, want->involuntary);
	cr_assert_eq(got->ioctls, want->ioctls);
}

struct sim script;

void at(uint64_t t)
{
	script.now = t;
}

void begin_script(void)
{
	memset(&script, 0, sizeof(script));
	at(1000);
}

void task(uint32_t tid, uint32_t pid, uint32_t ppid, uint64_t start, const char *comm)
{
	struct rec_task r = {.pid = pid, .ppid = ppid, .start_ns = start, .flags = REC_TASK_TARGET};

	snprintf(r.comm, sizeof(r.comm), "%s", comm);
	sim__emit(&script, 0, &r.hdr, REC_TASK, sizeof(r), tid);
}

void name(uint64_t id, const char *text)
{
	struct rec_name r = {.id = id, .name_len = (uint32_t)strlen(text)};

	sim__emit_text(&script, &r.hdr, REC_NAME, sizeof(r), 0, text);
}

void mark_step(uint64_t t, uint32_t tid, uint64_t number, uint64_t items)
{
	at(t);
	SIM_EMIT(&script, 100, MARK_STEP, mark_step, tid, .step = number, .items = items);
}

struct analysis_set *end_script(void)
{
	struct analysis_set *set = analyse(&script, 0);

	free(script.records);
	return set;
}

void sched_switch(uint64_t t, uint32_t prev, uint32_t prev_state, uint32_t next)
{
	at(t);
	SIM_EMIT(&script, 0, SCHED_SWITCH, sched_switch, prev, .next_tid = next,
		 .prev_state = prev_state, .prev_nr = -1,
		 .flags = (prev ? REC_SCHED_PREV_TARGET : 0) | (next ? REC_SCHED_NEXT_TARGET : 0) |
			  (prev_state ? 0 : REC_SCHED_PREEMPT));
}
