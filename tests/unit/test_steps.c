// SPDX-License-Identifier: BSD-2-Clause
/* Steps against a made-up machine that knows the truth, and record by record. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/script.h"

static void expect_stream(const struct step_stream *st, const struct sim_stream *want,
			  uint64_t seed)
{
	static const char *const groups[] = {"step", "loaders", "others"};
	size_t i, g;

	cr_assert_eq(st->n, want->n);
	cr_assert_eq(st->unfinished, want->open);
	for (i = 0; i < st->n; i++) {
		cr_assert_eq(st->steps[i].number, want->steps[i].number);
		cr_assert_eq(st->steps[i].begin_ns, want->steps[i].begin_ns);
		cr_assert_eq(st->steps[i].end_ns, want->steps[i].end_ns);
		cr_assert_eq(st->steps[i].items, want->steps[i].items);
		cr_assert(!st->steps[i].lost);
		for (g = 0; g < STEP_GROUPS; g++) {
			expect_facts(&st->steps[i].facts[g], &want->steps[i].facts[g], groups[g],
				     seed, i);
			cr_assert_eq(st->steps[i].facts[g].ioctl_ns,
				     want->steps[i].facts[g].ioctl_ns);
		}
	}
}

Test(steps, equal_the_truth_to_the_nanosecond)
{
	struct analysis_set *set;
	size_t steps = 0, i;
	uint64_t seed;
	struct sim *s;

	for (seed = 1; seed <= 1000; seed++) {
		s = sim__play(seed, 4000);
		set = analyse(s, 0);
		cr_assert_leq(steps__streams(steps_of(set)), SIM_STREAMS);
		for (i = 0; i < steps__streams(steps_of(set)); i++) {
			const struct step_stream *st = steps__stream(steps_of(set), i);

			expect_stream(st, &s->streams[st->tid / 100 - 1], seed);
			steps += st->n;
		}
		analysis_set__free(set);
		sim__free(s);
	}
	cr_expect_gt(steps, 5000);
}

/* Whatever is lost, a step's states add up to its wall time. */
Test(steps, states_add_up_under_losses)
{
	struct analysis_set *set;
	uint64_t seed, unknown = 0;
	size_t i, k;
	struct sim *s;

	for (seed = 1; seed <= 200; seed++) {
		s = sim__play(seed, 2000);
		set = analyse(s, 2 + seed % 30);
		for (i = 0; i < steps__streams(steps_of(set)); i++) {
			const struct step_stream *st = steps__stream(steps_of(set), i);

			for (k = 0; k < st->n; k++) {
				const struct facts *f = &st->steps[k].facts[STEP_CARRIER];

				cr_assert_eq(facts__total_ns(f),
					     st->steps[k].end_ns - st->steps[k].begin_ns);
				unknown += f->host_ns[HOST_UNKNOWN];
			}
		}
		analysis_set__free(set);
		sim__free(s);
	}
	cr_expect_gt(unknown, 0);
}

Test(steps, none_marked)
{
	struct analysis_table table;
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 5, "prog");
	mark_step(2000, 10, REC_NO_STEP, 0);
	set = end_script();
	cr_expect_eq(steps__streams(steps_of(set)), 0);
	cr_assert_eq(analysis_steps.table(analysis_set__state(set, &analysis_steps), &table), 0);
	cr_expect_eq(table.n, 0);
	analysis_set__free(set);
}

Test(steps, one_without_scheduler_records)
{
	const struct step_stream *st;
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 5, "prog");
	mark_step(2000, 10, 0, 0);
	mark_step(5000, 10, REC_NO_STEP, 32);
	set = end_script();
	cr_assert_eq(steps__streams(steps_of(set)), 1);
	st = steps__stream(steps_of(set), 0);
	cr_assert_eq(st->n, 1);
	cr_expect(!st->unfinished);
	cr_expect_str_eq(st->name, "prog");
	cr_expect_eq(st->steps[0].items, 32);
	cr_expect_eq(st->steps[0].facts[STEP_CARRIER].host_ns[HOST_UNKNOWN], 3000);
	cr_expect_float_eq(step__rate(&st->steps[0]), 32 / 3e-6, 1);
	analysis_set__free(set);
}

Test(steps, numbers_that_jump_are_marks_that_are_missing)
{
	const struct step_stream *st;
	struct analysis_set *set;

	begin_script();
	mark_step(2000, 10, 7, 0);
	mark_step(3000, 10, 8, 1);
	mark_step(4000, 10, 11, 1);
	mark_step(5000, 10, 3, 1);
	set = end_script();
	st = steps__stream(steps_of(set), 0);
	cr_assert_eq(st->n, 3);
	cr_expect(st->unfinished);
	cr_expect_eq(st->missing, 2);
	cr_expect(!st->steps[0].gap && !st->steps[1].gap && st->steps[2].gap);
	cr_expect_str_eq(st->name, "tid 10"); /* nothing more is known of it */
	analysis_set__free(set);
}

Test(steps, losses_mark_the_steps_they_touch)
{
	const struct step_stream *st;
	struct analysis_set *set;
	int i;

	begin_script();
	for (i = 0; i < 5; i++)
		mark_step(2000 + 1000 * (uint64_t)i, 10, (uint64_t)i, 1);
	SIM_EMIT(&script, 0, LOST, lost, 0, .hook = REC_HOOK_SCHED, .count = 9, .since_ns = 3500);
	at(script.now + 1);
	SIM_EMIT(&script, 0, LOST, lost, 0, .hook = 77, .count = 1, .since_ns = 9000);
	set = end_script();
	st = steps__stream(steps_of(set), 0);
	cr_assert_eq(st->n, 4);
	cr_expect(!st->steps[0].lost && st->steps[1].lost && st->steps[2].lost &&
		  st->steps[3].lost);
	cr_expect_eq(analysis_set__session(set)->lost_total, 10);
	cr_expect_eq(analysis_set__session(set)->lost_by_hook[REC_HOOK_SCHED], 9);
	analysis_set__free(set);
}

/* ---- what is not touched by a loss is right ---- */

struct window {
	uint64_t begin, end; /* all that lies in between is lost */
};

#define WINDOWS 3

static bool is_in(const struct window *w, uint64_t t)
{
	return w->begin < t && t <= w->end;
}

/* What a thread did, not who it is nor where steps begin: that is not told again. */
static bool may_be_lost(const struct rec *rec)
{
	if (rec->type == REC_SCHED_SWITCH)
		return ((const struct rec_sched_switch *)rec)->prev_state != 0x20;
	return rec->type == REC_SCHED_WAKING || rec->type == REC_IOCTL ||
	       rec->type == REC_IOCTL_BLOCKED;
}

/* Windows of some length, each cut where something is that may not be lost. */
static void make_windows(struct sim *s, struct window *w)
{
	uint64_t length = s->now - s->sched_from;
	struct sim_record *r;
	struct rec *rec;
	size_t at, i;

	for (i = 0; i < WINDOWS; i++) {
		w[i].begin = s->sched_from + length * (i + 1) / (WINDOWS + 2);
		w[i].end = w[i].begin + length / (WINDOWS + 2);
	}
	for (at = 0; at < s->used; at += sizeof(*r) + r->size) {
		r = (struct sim_record *)(s->records + at);
		rec = (struct rec *)r->bytes;
		for (i = 0; i < WINDOWS; i++)
			if (is_in(&w[i], rec->time_ns) && !may_be_lost(rec))
				w[i].end = rec->time_ns - 1;
	}
}

static void tell_lost(struct analysis_set *set, const struct window *w, uint32_t hook)
{
	const struct rec_lost lost = {
		.hdr = {.type = REC_LOST, .size = sizeof(lost), .time_ns = w->end},
		.hook = hook,
		.count = 1,
		.since_ns = w->begin,
	};
	struct trace_event ev = {&lost.hdr, UINT16_MAX};

	cr_assert_eq(analysis_set__event(set, &ev), 0);
}

static struct analysis_set *analyse_with_windows(struct sim *s, const struct window *w,
						 size_t *dropped)
{
	struct analysis_set *set = new_set();
	struct sim_record *r;
	struct trace_event ev;
	size_t at, done = 0;

	for (at = 0; at < s->used; at += sizeof(*r) + r->size) {
		r = (struct sim_record *)(s->records + at);
		ev.rec = (const struct rec *)r->bytes;
		ev.ring = (uint16_t)r->ring;
		for (; done < WINDOWS && w[done].end < ev.rec->time_ns; done++) {
			if (s->seed & 1) {
				tell_lost(set, &w[done], REC_HOOK_META);
				continue;
			}
			tell_lost(set, &w[done], REC_HOOK_SCHED);
			tell_lost(set, &w[done], REC_HOOK_SYSCALL);
		}
		if (done < WINDOWS && is_in(&w[done], ev.rec->time_ns)) {
			++*dropped;
			continue;
		}
		cr_assert_eq(analysis_set__event(set, &ev), 0);
	}
	cr_assert_eq(analysis_set__finish(set), 0);
	return set;
}

static uint64_t asleep(const struct facts *f)
{
	return f->host_ns[HOST_BLOCKED] + f->host_ns[HOST_STOPPED];
}

/* Not known may be what was, but nothing may be said that was not; true if all was known. */
static bool expect_nothing_wrong(const struct facts *got, const struct facts *want)
{
	cr_assert_eq(facts__total_ns(got), facts__total_ns(want));
	cr_assert_leq(got->host_ns[HOST_RUNNING], want->host_ns[HOST_RUNNING]);
	cr_assert_leq(got->host_ns[HOST_RUNNABLE], want->host_ns[HOST_RUNNABLE]);
	/* of a thread that is woken first, no record tells whether it slept or was stopped */
	cr_assert_leq(asleep(got), asleep(want));
	cr_assert_leq(got->ioctl_ns, want->ioctl_ns);
	cr_assert_eq(got->voluntary, want->voluntary);
	cr_assert_eq(got->involuntary, want->involuntary);
	cr_assert_eq(got->ioctls, want->ioctls);
	return got->host_ns[HOST_UNKNOWN] == want->host_ns[HOST_UNKNOWN];
}

Test(steps, what_no_loss_touches_is_right)
{
	size_t i, k, g, exact = 0, unknown = 0, lost = 0, dropped = 0;
	const struct step_stream *st;
	struct window w[WINDOWS];
	struct analysis_set *set;
	uint64_t seed;
	struct sim *s;

	for (seed = 1; seed <= 400; seed++) {
		s = sim__play(seed, 4000);
		make_windows(s, w);
		set = analyse_with_windows(s, w, &dropped);
		for (i = 0; i < steps__streams(steps_of(set)); i++) {
			st = steps__stream(steps_of(set), i);
			for (k = 0; k < st->n; k++) {
				lost += st->steps[k].lost;
				for (g = 0; g < STEP_GROUPS && !st->steps[k].lost; g++) {
					struct facts *want =
						s->streams[st->tid / 100 - 1].steps[k].facts;

					if (expect_nothing_wrong(&st->steps[k].facts[g], &want[g]))
						exact++;
					else
						unknown++;
				}
			}
		}
		analysis_set__free(set);
		sim__free(s);
	}
	cr_expect_gt(lost, 500);
	cr_expect_gt(dropped, 5000);
	cr_expect_gt(exact, 9 * unknown, "%zu exact, %zu not known", exact, unknown);
}

Test(steps, a_lost_return_does_not_keep_a_thread_in_its_ioctl)
{
	const struct rec_meta meta = {.key_len = 9, .value_len = 6};
	const struct step *steps;
	struct analysis_set *set;
	uint32_t tid;

	begin_script();
	sim__emit_text(&script, &((struct rec_meta){meta.hdr, 9, 6}).hdr, REC_META, sizeof(meta), 0,
		       "host.archx86_64");
	for (tid = 10; tid < 16; tid++)
		task(tid, 10, 1, 5, "prog");
	mark_step(2000, 10, 0, 0);
	for (tid = 11; tid < 16; tid++)
		SIM_EMIT(&script, 0, IOCTL_BLOCKED, ioctl_blocked, tid, .start_ns = 2000);
	at(3000);
	/* 11 is in none, 12 in another call, 13 in the same; 14 marks; of 15 nothing is heard */
	SIM_EMIT(&script, 0, SCHED_SWITCH, sched_switch, 11, .prev_state = 1, .prev_nr = -1,
		 .flags = REC_SCHED_PREV_TARGET);
	SIM_EMIT(&script, 0, SCHED_SWITCH, sched_switch, 12, .prev_state = 1, .prev_nr = 202,
		 .flags = REC_SCHED_PREV_TARGET);
	SIM_EMIT(&script, 0, SCHED_SWITCH, sched_switch, 13, .prev_state = 1, .prev_nr = 16,
		 .flags = REC_SCHED_PREV_TARGET);
	SIM_EMIT(&script, 100, UNIT_BEGIN, unit_begin, 14, .unit = 1);
	mark_step(4000, 10, 1, 1);
	mark_step(5000, 10, REC_NO_STEP, 1);
	set = end_script();
	steps = steps__stream(steps_of(set), 0)->steps;
	cr_expect_eq(steps[0].facts[STEP_OTHERS].ioctl_ns, 2 * 2000);
	cr_expect_eq(steps[1].facts[STEP_OTHERS].ioctl_ns, 2 * 1000);
	cr_expect_eq(steps__stream(steps_of(set), 0)->open_ioctls, 2);
	analysis_set__free(set);

	begin_script();
	task(10, 10, 1, 5, "prog");
	task(11, 10, 1, 5, "prog");
	mark_step(2000, 10, 0, 0);
	SIM_EMIT(&script, 0, IOCTL_BLOCKED, ioctl_blocked, 11, .start_ns = 2000);
	mark_step(3000, 10, 1, 1);
	SIM_EMIT(&script, 0, LOST, lost, 0, .hook = REC_HOOK_SYSCALL, .count = 1, .since_ns = 2500);
	mark_step(4000, 10, 2, 1);
	mark_step(5000, 10, REC_NO_STEP, 1);
	set = end_script();
	steps = steps__stream(steps_of(set), 0)->steps;
	cr_expect(steps[0].lost && !steps[1].lost);
	cr_expect_eq(steps[1].facts[STEP_OTHERS].ioctl_ns, 0);
	cr_expect_eq(steps__stream(steps_of(set), 0)->open_ioctls, 0);
	analysis_set__free(set);
}

/* The disk was full, or the file is damaged: it may have been anything. */
Test(steps, a_loss_of_the_recorder_itself_is_one_of_all)
{
	const struct step_stream *st;
	const struct unit_row *units;
	struct analysis_set *set;
	size_t n;

	begin_script();
	mark_step(2000, 10, 0, 0);
	SIM_EMIT(&script, 0, UNIT_BEGIN, unit_begin, 10, .unit = 1);
	mark_step(3000, 10, 1, 1);
	SIM_EMIT(&script, 0, UNIT_END, unit_end, 10, .unit = 1);
	at(3500);
	SIM_EMIT(&script, 0, UNIT_BEGIN, unit_begin, 10, .unit = 2);
	mark_step(4000, 10, 2, 1);
	SIM_EMIT(&script, 0, UNIT_END, unit_end, 10, .unit = 2);
	SIM_EMIT(&script, 0, LOST, lost, 0, .hook = REC_HOOK_META, .count = 9, .since_ns = 3200);
	set = end_script();
	st = steps__stream(steps_of(set), 0);
	cr_assert_eq(st->n, 2);
	cr_expect(!st->steps[0].lost && st->steps[1].lost);
	units = units_of(set, &n);
	cr_assert_eq(n, 2);
	cr_expect(!units[0].lost && units[1].lost);
	analysis_set__free(set);
}

/* TASK_EXIT is lost: the last switch tells the end as well. */
Test(steps, a_thread_whose_end_was_lost_is_in_no_later_step)
{
	static const uint32_t last_states[] = {0x10, 0x20};
	const struct step *steps;
	struct analysis_set *set;
	size_t i;

	for (i = 0; i < 2; i++) {
		begin_script();
		task(10, 10, 1, 5, "prog");
		task(11, 10, 1, 5, "prog");
		sched_switch(1500, 0, 0, 11);
		mark_step(2000, 10, 0, 0);
		sched_switch(2500, 11, last_states[i], 0);
		mark_step(3000, 10, 1, 1);
		mark_step(4000, 10, 2, 1);
		set = end_script();
		steps = steps__stream(steps_of(set), 0)->steps;
		cr_expect_eq(steps[0].facts[STEP_OTHERS].host_ns[HOST_RUNNING], 500);
		cr_expect_eq(facts__total_ns(&steps[0].facts[STEP_OTHERS]), 500);
		cr_expect_eq(facts__total_ns(&steps[1].facts[STEP_OTHERS]), 0);
		analysis_set__free(set);
	}
}

Test(steps, workers_in_child_processes_are_loaders)
{
	const struct step_stream *st;
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 5, "train");
	SIM_EMIT(&script, 0, TASK_FORK, task_fork, 10, .child_tid = 20, .child_pid = 20);
	SIM_EMIT(&script, 0, TASK_FORK, task_fork, 20, .child_tid = 30, .child_pid = 30);
	SIM_EMIT(&script, 0, TASK_FORK, task_fork, 10, .child_tid = 11, .child_pid = 10);
	/* XXH64 of "loader": the record that names it comes later */
	SIM_EMIT(&script, 0, ROLE, role, 30, .name = 0x5c4cf14165b38b4fULL);
	SIM_EMIT(&script, 0, ROLE, role, 20, .name = 99);
	mark_step(2000, 10, 0, 0);
	mark_step(2500, 10, 1, 8);
	at(2600);
	name(99, "loader.worker");
	mark_step(3000, 10, 2, 8);
	set = end_script();
	st = steps__stream(steps_of(set), 0);
	cr_expect_eq(st->n, 2);
	cr_expect_eq(st->steps[0].facts[STEP_LOADERS].host_ns[HOST_UNKNOWN], 1000);
	cr_expect_eq(st->steps[0].facts[STEP_OTHERS].host_ns[HOST_UNKNOWN], 500);
	cr_expect_eq(st->loaders, 2);
	cr_expect_eq(st->others, 1);
	analysis_set__free(set);
}

Test(steps, a_role_counts_once_its_name_is_told)
{
	const struct step_stream *st;
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 5, "train");
	task(11, 10, 1, 6, "train");
	mark_step(2000, 10, 0, 0);
	sched_switch(2100, 0, 0, 11);
	SIM_EMIT(&script, 0, ROLE, role, 11, .name = 99);
	sched_switch(2300, 11, 1, 0);
	sched_switch(2400, 0, 0, 11);
	name(99, "loader.worker");
	sched_switch(2600, 11, 1, 0);
	mark_step(3000, 10, 1, 8);
	set = end_script();
	st = steps__stream(steps_of(set), 0);
	cr_expect_eq(st->steps[0].facts[STEP_OTHERS].host_ns[HOST_RUNNING], 200);
	cr_expect_eq(st->steps[0].facts[STEP_LOADERS].host_ns[HOST_RUNNING], 200);
	cr_expect_eq(st->loaders, 1);
	cr_expect_eq(st->others, 0);
	analysis_set__free(set);
}

Test(steps, a_tid_used_again_is_another_thread)
{
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 5, "first");
	mark_step(2000, 10, 0, 0);
	mark_step(3000, 10, 1, 1);
	task(10, 10, 1, 900000000, "second");
	mark_step(4000, 10, 0, 0);
	mark_step(5000, 10, 1, 1);
	set = end_script();
	cr_assert_eq(steps__streams(steps_of(set)), 2);
	cr_expect_str_eq(steps__stream(steps_of(set), 0)->name, "first");
	cr_expect_str_eq(steps__stream(steps_of(set), 1)->name, "second");
	cr_expect(steps__stream(steps_of(set), 0)->unfinished);
	cr_expect_eq(steps__stream(steps_of(set), 0)->n, 1);
	analysis_set__free(set);
}

Test(steps, a_task_told_again_is_the_same)
{
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 5, "prog");
	mark_step(2000, 10, 0, 0);
	task(10, 10, 1, 10000005, "prog"); /* /proc counts starts in ticks */
	mark_step(3000, 10, 1, 1);
	set = end_script();
	cr_assert_eq(steps__streams(steps_of(set)), 1);
	cr_expect_eq(steps__stream(steps_of(set), 0)->n, 1);
	analysis_set__free(set);
}

Test(steps, a_thread_that_calls_exec_takes_its_leaders_id)
{
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 5, "old");
	task(11, 10, 1, 6, "old");
	mark_step(2000, 11, 0, 0);
	mark_step(3000, 11, 1, 1);
	at(3500);
	SIM_EMIT(&script, 0, TASK_EXIT, task_exit, 10, .pid = 10);
	sim__emit_text(&script,
		       &((struct rec_task_exec){.pid = 10, .old_tid = 11, .file_len = 4}).hdr,
		       REC_TASK_EXEC, sizeof(struct rec_task_exec), 10, "/new");
	SIM_EMIT(&script, 0, TASK_COMM, task_comm, 10, .pid = 10, .comm = "new");
	mark_step(4000, 10, 0, 0);
	mark_step(5000, 10, 1, 1);
	set = end_script();
	cr_assert_eq(steps__streams(steps_of(set)), 2);
	cr_expect_str_eq(steps__stream(steps_of(set), 1)->name, "new");
	cr_expect_eq(steps__stream(steps_of(set), 1)->tid, 10);
	cr_expect_eq(steps__stream(steps_of(set), 0)->n, 1);
	analysis_set__free(set);
}

Test(steps, rows_name_what_runs_below_them)
{
	struct rec_row row = {.pid = 20, .state = REC_ROW_BEGIN, .name_len = 8, .device_len = 3};
	const struct step_stream *st;
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 5, "xpugap");
	SIM_EMIT(&script, 0, TASK_FORK, task_fork, 10, .child_tid = 20, .child_pid = 20);
	sim__emit_text(&script, &row.hdr, REC_ROW, sizeof(row), 10, "resnet50cpu");
	SIM_EMIT(&script, 0, TASK_FORK, task_fork, 20, .child_tid = 30, .child_pid = 30);
	mark_step(2000, 30, 0, 0);
	mark_step(3000, 30, 1, 1);
	SIM_EMIT(&script, 0, ROW, row, 10, .pid = 20, .state = REC_ROW_END, .status = 256);
	set = end_script();
	st = steps__stream(steps_of(set), 0);
	cr_expect_str_eq(st->name, "resnet50");
	cr_expect_str_eq(st->device, "cpu");
	cr_expect_eq(analysis_set__session(set)->nrows, 1);
	cr_expect(analysis_set__session(set)->rows[0]->ended);
	cr_expect_eq(analysis_set__session(set)->rows[0]->status, 256);
	analysis_set__free(set);
}

Test(steps, an_ioctl_is_counted_where_it_returns_and_timed_where_it_is)
{
	const struct step *steps;
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 5, "prog");
	task(11, 10, 1, 6, "prog");
	mark_step(2000, 10, 0, 0);
	mark_step(3000, 10, 1, 1);
	mark_step(4000, 10, 2, 1);
	at(4500);
	SIM_EMIT(&script, 0, IOCTL, ioctl, 11, .duration_ns = 2000);
	SIM_EMIT(&script, 0, IOCTL_BLOCKED, ioctl_blocked, 11, .start_ns = 4600);
	mark_step(5000, 10, 3, 1);
	at(6000);
	SIM_EMIT(&script, 0, IOCTL, ioctl, 10, .duration_ns = UINT64_MAX);
	set = end_script();
	cr_assert_eq(steps__stream(steps_of(set), 0)->n, 3);
	steps = steps__stream(steps_of(set), 0)->steps;
	cr_expect_eq(steps[0].facts[STEP_OTHERS].ioctl_ns, 500);
	cr_expect_eq(steps[1].facts[STEP_OTHERS].ioctl_ns, 1000);
	cr_expect_eq(steps[2].facts[STEP_OTHERS].ioctl_ns, 500 + 400);
	cr_expect_eq(steps[1].facts[STEP_OTHERS].ioctls, 0);
	cr_expect_eq(steps[2].facts[STEP_OTHERS].ioctls, 1);
	cr_expect_eq(steps__stream(steps_of(set), 0)->open_ioctls, 1);
	cr_expect_eq(steps[0].facts[STEP_CARRIER].ioctl_ns, 1000); /* an impossible duration */
	analysis_set__free(set);
}

static void counter(uint32_t tid, uint64_t id, double value)
{
	SIM_EMIT(&script, 100, COUNTER, counter, tid, .name = id, .value = value);
}

Test(steps, counters_without_room_are_counted)
{
	struct analysis_set *set;
	const struct step_stream *st;

	begin_script();
	task(10, 10, 1, 5, "prog");
	mark_step(2000, 10, 0, 0);
	for (uint64_t i = 1; i <= STEPS_COUNTERS + 4; i++)
		counter(10, i, 1);
	counter(10, 1, 1);
	mark_step(3000, 10, REC_NO_STEP, 1);
	set = end_script();
	st = steps__stream(steps_of(set), 0);
	cr_expect_eq(st->ncounters, STEPS_COUNTERS);
	cr_expect_eq(st->dropped_counters, 4);
	analysis_set__free(set);
}

Test(steps, counters_are_means_of_each_step)
{
	const struct series *loss, *depth;
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 5, "prog");
	counter(10, 2, 100); /* before the first step */
	mark_step(2000, 10, 0, 0);
	counter(10, 1, 7);
	mark_step(3000, 10, 1, 1);
	counter(10, 1, 5);
	counter(10, 2, 1);
	counter(10, 2, 2);
	counter(10, 2, 0.0 / 0.0);
	mark_step(4000, 10, 2, 1);
	mark_step(5000, 10, REC_NO_STEP, 1);
	name(1, "loss");
	name(2, "queue");
	set = end_script();
	loss = step_stream__counter(steps_of(set), steps__stream(steps_of(set), 0), "loss");
	depth = step_stream__counter(steps_of(set), steps__stream(steps_of(set), 0), "queue");
	cr_assert_not_null(loss);
	cr_assert_eq(loss->n, 3);
	cr_expect_eq(loss->v[0], 7);
	cr_expect_eq(loss->v[1], 5);
	cr_expect(loss->v[2] != loss->v[2]);
	cr_assert_eq(depth->n, 3);
	cr_expect_eq(depth->v[1], 1.5);
	cr_expect(depth->v[0] != depth->v[0]);
	cr_expect_null(step_stream__counter(steps_of(set), steps__stream(steps_of(set), 0), "x"));
	analysis_set__free(set);
}

/* A fault counts where it was resolved, for as many as it stands for; its time is of both steps. */
Test(steps, have_their_faults)
{
	const struct step_stream *st;
	struct analysis_set *set;

	begin_script();
	task(10, 10, 1, 1, "prog");
	task(11, 10, 1, 1, "prog");
	mark_step(1000, 10, 0, 0);
	mark_step(2000, 10, 1, 0);
	at(2100);
	SIM_EMIT(&script, 0, FAULT, fault, 10, .duration_ns = 400, .unseen = 2);
	at(2200);
	SIM_EMIT(&script, 0, FAULT, fault, 11, .duration_ns = 50);
	mark_step(3000, 10, 2, 0);
	set = end_script();
	st = steps__stream(steps_of(set), 0);
	cr_assert_eq(st->n, 2);
	cr_expect_eq(st->steps[0].facts[STEP_CARRIER].faults, 0);
	cr_expect_eq(st->steps[0].facts[STEP_CARRIER].fault_ns, 300);
	cr_expect_eq(st->steps[1].facts[STEP_CARRIER].faults, 3);
	cr_expect_eq(st->steps[1].facts[STEP_CARRIER].fault_ns, 100);
	cr_expect_eq(st->steps[1].facts[STEP_OTHERS].faults, 1);
	cr_expect_eq(st->steps[1].facts[STEP_OTHERS].fault_ns, 50);
	analysis_set__free(set);
}
