// SPDX-License-Identifier: BSD-2-Clause
/* Ranges, record by record, with the results worked out on paper. */
#include <criterion/criterion.h>
#include <math.h>

#include "analysis/ranges.h"
#include "tests/unit/script.h"

static void enter(uint64_t t, uint32_t tid, uint64_t id)
{
	at(t);
	SIM_EMIT(&script, 100, RANGE_BEGIN, range_begin, tid, .name = id);
}

static void leave(uint64_t t, uint32_t tid, uint64_t id)
{
	at(t);
	SIM_EMIT(&script, 100, RANGE_END, range_end, tid, .name = id);
}

static const struct range_row *rows_of(struct analysis_set *set, size_t *n)
{
	return ranges__rows(analysis_set__state(set, &analysis_ranges), n);
}

static uint64_t open_of(struct analysis_set *set)
{
	return ranges__open(analysis_set__state(set, &analysis_ranges));
}

Test(ranges, have_what_inner_ones_leave_them)
{
	const struct range_row *r;
	struct analysis_set *set;
	size_t n;

	begin_script();
	task(10, 10, 1, 1, "prog");
	name(1, "forward");
	name(2, "layer");
	enter(1000, 10, 1);
	enter(1100, 10, 2);
	leave(1300, 10, 2);
	enter(1400, 10, 2);
	enter(1500, 10, 2); /* within itself */
	leave(1600, 10, 2);
	leave(1700, 10, 2);
	leave(2000, 10, 1);
	leave(2100, 10, 1); /* it began before the recording */
	enter(2200, 10, 2); /* and this one has no end */
	at(3000);
	set = end_script();
	r = rows_of(set, &n);
	cr_assert_eq(n, 2);
	cr_expect_str_eq(r[0].range, "forward");
	cr_expect_str_eq(r[0].workload, "prog");
	cr_expect_eq(r[0].count, 1);
	cr_expect_eq(r[0].total_ns, 1000);
	cr_expect_eq(r[0].own_ns, 500);
	cr_expect_str_eq(r[1].range, "layer");
	cr_expect_eq(r[1].count, 3);
	cr_expect_eq(r[1].total_ns, 200 + 300 + 100);
	cr_expect_eq(r[1].own_ns, 500);
	cr_expect_eq(r[1].max_ns, 300);
	cr_expect_eq(r[1].mean_ns, 200);
	cr_expect(isnan(r[1].share));
	cr_expect_eq(open_of(set), 1);
	analysis_set__free(set);
}

/* Steps from 1000 to 2000 and 2000 to 4000; what lies outside, or in a step without end, is not. */
Test(ranges, have_a_share_of_complete_steps)
{
	const struct range_row *r;
	struct analysis_set *set;
	size_t n;

	begin_script();
	task(10, 10, 1, 1, "prog");
	task(11, 10, 1, 1, "prog");
	name(1, "work");
	name(2, "load");
	name(3, "late");
	enter(500, 11, 2); /* 3000 of 4000 in steps: another thread of the program */
	mark_step(1000, 10, 0, 0);
	enter(1800, 10, 1);
	mark_step(2000, 10, 1, 1);
	leave(2400, 10, 1); /* 600, across a mark */
	mark_step(4000, 10, 2, 1);
	leave(4500, 11, 2);
	enter(4600, 10, 3);
	leave(4700, 10, 3);
	at(5000);
	set = end_script();
	r = rows_of(set, &n);
	cr_assert_eq(n, 3);
	cr_expect_str_eq(r[0].range, "load");
	cr_expect_eq(r[0].own_ns, 4000);
	cr_expect_eq(r[0].in_steps_ns, 3000);
	cr_expect_float_eq(r[0].share, 1, 1e-12);
	cr_expect_str_eq(r[1].range, "work");
	cr_expect_eq(r[1].in_steps_ns, 600);
	cr_expect_float_eq(r[1].share, 0.2, 1e-12);
	cr_expect_str_eq(r[2].range, "late");
	cr_expect_eq(r[2].own_ns, 100);
	cr_expect_eq(r[2].in_steps_ns, 0);
	analysis_set__free(set);
}

/* Ends of ranges may be among what is lost: those that are open then are told of as open. */
Test(ranges, end_with_a_loss_of_marks)
{
	const struct range_row *r;
	struct analysis_set *set;
	size_t n;

	begin_script();
	task(10, 10, 1, 1, "prog");
	name(1, "work");
	enter(1000, 10, 1);
	at(2000);
	SIM_EMIT(&script, 0, LOST, lost, 0, .hook = REC_HOOK_MARK, .why = REC_LOST_MARK, .count = 5,
		 .since_ns = 1500);
	enter(3000, 10, 1);
	leave(3100, 10, 1);
	leave(3200, 10, 1);
	set = end_script();
	r = rows_of(set, &n);
	cr_assert_eq(n, 1);
	cr_expect_eq(r[0].count, 1);
	cr_expect_eq(r[0].total_ns, 100);
	cr_expect_eq(open_of(set), 1);
	analysis_set__free(set);
}

/* A file that is not the first of its recording tells of ranges that an earlier one began. */
Test(ranges, that_an_earlier_file_began)
{
	const struct range_row *r;
	struct analysis_set *set;
	size_t n;

	begin_script();
	at(5000);
	task(10, 10, 1, 1, "prog");
	name(1, "forward");
	SIM_EMIT(&script, 100, RANGE_OPEN, range_open, 10, .name = 1, .start_ns = 1500);
	enter(5500, 10, 1);
	leave(5600, 10, 1);
	leave(6000, 10, 1);
	set = end_script();
	r = rows_of(set, &n);
	cr_assert_eq(n, 1);
	cr_expect_eq(r[0].count, 2);
	cr_expect_eq(r[0].total_ns, 100 + 4500);
	cr_expect_eq(r[0].max_ns, 4500);
	cr_expect_eq(r[0].own_ns, 1000); /* in this file */
	cr_expect_eq(open_of(set), 0);
	analysis_set__free(set);
}
