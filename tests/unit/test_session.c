// SPDX-License-Identifier: BSD-2-Clause
/* What a session knows: facts, hooks, losses, tasks; and the table of analyses. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/script.h"

Test(session, facts_hooks_and_counts)
{
	struct rec_meta meta = {.key_len = 3, .value_len = 5};
	struct rec_hook hook = {.hook = REC_HOOK_SCHED,
				.state = REC_HOOK_DEGRADED,
				.way_len = 6,
				.reason_len = 4};
	struct analysis_set *set;
	struct session *s;

	begin_script();
	sim__emit_text(&script, &meta.hdr, REC_META, sizeof(meta), 0, "keyvalue");
	meta.value_len = 3;
	sim__emit_text(&script, &meta.hdr, REC_META, sizeof(meta), 0, "keynew");
	sim__emit_text(&script, &hook.hdr, REC_HOOK, sizeof(hook), 0, "raw_tpwhy?");
	SIM_EMIT(&script, 0, HOOK_COUNT, hook_count, 0, .hook = REC_HOOK_SCHED, .cpu = 0,
		 .hits = 5);
	SIM_EMIT(&script, 0, HOOK_COUNT, hook_count, 0, .hook = REC_HOOK_SCHED, .cpu = 1,
		 .hits = 7);
	SIM_EMIT(&script, 0, HOOK_COUNT, hook_count, 0, .hook = REC_HOOK_SCHED, .cpu = 0,
		 .hits = 9);
	SIM_EMIT(&script, 0, HOOK, hook, 0, .hook = 4242);
	SIM_EMIT(&script, 0, HOOK_COUNT, hook_count, 0, .hook = 4242);
	sim__emit(&script, 0, &((struct rec_meta){0}).hdr, 999, sizeof(struct rec), 10);
	sim__emit(&script, 0, &((struct rec_mark_step){0}).hdr, REC_MARK_STEP, sizeof(struct rec),
		  10);
	set = end_script();
	s = analysis_set__session(set);
	cr_expect_str_eq(session__fact(s, "key"), "new");
	cr_expect_null(session__fact(s, "other"));
	cr_expect_str_eq(s->hooks[REC_HOOK_SCHED].way, "raw_tp");
	cr_expect_str_eq(s->hooks[REC_HOOK_SCHED].reason, "why?");
	cr_expect_eq(s->hooks[REC_HOOK_SCHED].hits, 16);
	cr_expect(s->sched_flows);
	analysis_set__free(set);
}

Test(session, memory_is_bounded_by_what_is_alive)
{
	struct analysis_set *set;
	struct session *s;
	uint32_t i;

	begin_script();
	task(10, 10, 1, 5, "prog");
	for (i = 0; i < 50000; i++) {
		at(2000 + i);
		SIM_EMIT(&script, 0, TASK_FORK, task_fork, 10, .child_tid = 100 + i,
			 .child_pid = 100 + i, .start_ns = i);
		SIM_EMIT(&script, 0, TASK_EXIT, task_exit, 100 + i, .pid = 100 + i);
	}
	set = new_set();
	s = analysis_set__session(set);
	for (size_t p = 0; p < script.used;) {
		struct sim_record *r = (struct sim_record *)(script.records + p);
		struct trace_event ev = {(const struct rec *)r->bytes, 0};

		cr_assert_eq(analysis_set__event(set, &ev), 0);
		cr_assert_leq(s->tasks.n, 2);
		cr_assert_leq(s->processes.n, 3);
		p += sizeof(*r) + r->size;
	}
	free(script.records);
	analysis_set__free(set); /* without finish */
}

Test(session, many_losses_keep_their_totals)
{
	struct analysis_set *set;
	struct session *s;
	uint64_t i;

	begin_script();
	for (i = 0; i < 10000; i++) {
		at(1000 + 10 * i);
		SIM_EMIT(&script, 0, LOST, lost, 0, .hook = REC_HOOK_SCHED + i % 2, .count = i,
			 .since_ns = script.now - 5);
	}
	set = end_script();
	s = analysis_set__session(set);
	cr_expect_leq(s->nlosses, SESSION_MAX_LOSSES);
	cr_expect_eq(s->lost_total, 9999 * 10000 / 2);
	for (i = 0; i < 10000; i++)
		cr_assert(session__lost_between(s, 1u << (REC_HOOK_SCHED + i % 2), 10 * i + 996,
						10 * i + 997));
	cr_expect(!session__lost_between(s, ~0u, 0, 990));
	analysis_set__free(set);
}

/* ---- traces made to cost time: what costs n for each of n records never ends with these ---- */

#define MANY 300000

static void numbered(char *text, size_t size, const char *format, uint32_t i)
{
	snprintf(text, size, format, i);
}

Test(session, facts_and_devices_without_end)
{
	struct rec_meta meta = {.key_len = 10, .value_len = 1};
	struct rec_device device = {.name_len = 3};
	struct analysis_set *set;
	struct session *s;
	char text[32];
	uint32_t i;

	begin_script();
	for (i = 0; i < MANY; i++) {
		numbered(text, sizeof(text), "%010uv", i);
		sim__emit_text(&script, &meta.hdr, REC_META, sizeof(meta), 0, text);
		device.device = i;
		sim__emit_text(&script, &device.hdr, REC_DEVICE, sizeof(device), 0, "dev");
	}
	set = end_script();
	s = analysis_set__session(set);
	cr_expect_eq(s->nfacts, SESSION_MAX_FACTS);
	cr_expect_str_eq(session__fact(s, "0000000007"), "v");
	cr_expect_eq(s->ndevices, SESSION_MAX_DEVICES);
	cr_expect_eq(s->devices[77]->device, 77);
	analysis_set__free(set);
}

/* Rows that never end, each of another process that is told of then. */
Test(session, rows_without_end)
{
	struct rec_row row = {.state = REC_ROW_BEGIN, .name_len = 3, .device_len = 3};
	struct analysis_set *set;
	uint32_t i;

	begin_script();
	for (i = 1; i < MANY / 3; i++) {
		row.pid = i;
		sim__emit_text(&script, &row.hdr, REC_ROW, sizeof(row), 0, "rowdev");
		task(i, i, i - 1, 5, "prog");
	}
	set = end_script();
	cr_expect_eq(analysis_set__session(set)->nrows, SESSION_MAX_ROWS);
	analysis_set__free(set);
}

/* Units that never end, while tasks do; and each named after another program. */
Test(session, units_and_names_without_end)
{
	struct analysis_set *set;
	const struct unit_row *units;
	char comm[REC_COMM_LEN];
	uint32_t i;
	size_t n;

	begin_script();
	for (i = 1; i <= MANY; i++) {
		numbered(comm, sizeof(comm), "p%u", i);
		task(10, 10, 1, 5, comm);
		SIM_EMIT(&script, 0, UNIT_BEGIN, unit_begin, 10, .unit = i);
	}
	for (i = 1; i <= MANY; i++) {
		task(11, 11, 1, 5, "short");
		SIM_EMIT(&script, 0, TASK_EXIT, task_exit, 11, .pid = 11);
	}
	SIM_EMIT(&script, 0, UNIT_END, unit_end, 10, .unit = MANY);
	set = end_script();
	units = units_of(set, &n);
	cr_assert_eq(n, 1);
	numbered(comm, sizeof(comm), "p%u", MANY);
	cr_expect_str_eq(units[0].name, comm);
	cr_expect_eq(units__open(analysis_set__state(set, &analysis_units)), MANY - 1);
	analysis_set__free(set);
}

/* Threads of one process that each mark a step, and end or do not. */
Test(session, streams_without_end)
{
	struct analysis_set *set;
	uint32_t i;

	begin_script();
	for (i = 2; i < MANY / 3; i++) {
		task(i, 1, 0, 5, "prog");
		SIM_EMIT(&script, 100, MARK_STEP, mark_step, i, .step = 1);
		if (i % 2)
			SIM_EMIT(&script, 0, TASK_EXIT, task_exit, i, .pid = 1);
	}
	set = end_script();
	cr_expect_eq(steps__streams(steps_of(set)), MANY / 3 - 2);
	analysis_set__free(set);
}

/* Losses without end, while there are threads whose state they make uncertain. */
Test(session, losses_without_end)
{
	struct analysis_set *set;
	uint32_t i;

	begin_script();
	SIM_EMIT(&script, 0, HOOK, hook, 0, .hook = REC_HOOK_SCHED, .state = REC_HOOK_ATTACHED);
	for (i = 1; i < MANY; i++) {
		task(i, i, i - 1, 5, "prog");
		sched_switch(1000 + i, i, 1, 0);
	}
	for (i = 1; i < MANY; i++) {
		at(1000000 + i);
		SIM_EMIT(&script, 0, LOST, lost, 0, .hook = REC_HOOK_META, .count = 1,
			 .since_ns = 999999 + i);
	}
	set = end_script();
	cr_expect_eq(analysis_set__session(set)->lost_total, MANY - 1);
	analysis_set__free(set);
}

Test(analysis, found_by_name)
{
	const struct analysis *const *a;

	for (a = analyses; *a; a++)
		cr_expect_eq(analysis__find((*a)->name), *a);
	cr_expect_null(analysis__find("nothing"));
}
