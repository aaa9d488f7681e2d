// SPDX-License-Identifier: BSD-2-Clause
/* What a session knows: facts, hooks, losses, tasks; and the table of analyses. */
#include <criterion/criterion.h>
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

Test(analysis, found_by_name)
{
	const struct analysis *const *a;

	for (a = analyses; *a; a++)
		cr_expect_eq(analysis__find((*a)->name), *a);
	cr_expect_null(analysis__find("nothing"));
}
