// SPDX-License-Identifier: BSD-2-Clause
/* Counters of the hook pmu in steps. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/script.h"

static void counter(uint32_t number, const char *called, int err)
{
	struct rec_pmu_counter r = {.counter = number,
				    .err = err,
				    .scale = 1,
				    .name_len = (uint32_t)strlen(called)};

	sim__emit_text(&script, &r.hdr, REC_PMU_COUNTER, sizeof(r), 0, called);
}

/* Of [@since, @t) the counter was there for half the time if @turns. */
static void count(uint64_t since, uint64_t t, uint32_t tid, uint32_t number, uint64_t value,
		  bool turns)
{
	at(t);
	SIM_EMIT(&script, 0, PMU_READ, pmu_read, tid, .since_ns = since, .value = value,
		 .enabled_ns = t - since, .running_ns = (t - since) / (turns ? 2 : 1),
		 .counter = number);
}

static struct analysis_set *set;
static struct steps *steps;

static const struct step_stream *analyse_two_steps(void)
{
	begin_script();
	task(10, 10, 1, 5, "prog");
	task(11, 10, 1, 6, "prog");
	counter(0, "page-faults", 0);
	counter(1, "cycles", -2); /* refused */
	counter(2, "cs", 0);
	count(1000, 1900, 10, 0, 77, false); /* before the first step */
	mark_step(2000, 10, 1, 0);
	count(2000, 2500, 10, 0, 8, false);
	count(2500, 2600, 11, 0, 5, false);
	mark_step(3000, 10, 2, 0);
	count(2500, 3500, 10, 0, 1000, false); /* half of it in each */
	count(3500, 3600, 10, 2, 100, true);   /* as if it had been there all the time */
	count(3500, 3600, 10, 1, 9, false);    /* it is refused */
	count(3500, 3600, 10, 99, 9, false);   /* nor place for that one */
	SIM_EMIT(&script, 0, PMU_READ, pmu_read, 10, .since_ns = 3700, .value = 9, .counter = 2);
	mark_step(4000, 10, REC_NO_STEP, 0);
	count(3900, 5000, 10, 0, 1100, false); /* one eleventh of it before the end */
	set = end_script();
	steps = analysis_set__state(set, &analysis_steps);
	cr_assert_eq(steps__streams(steps), 1);
	return steps__stream(steps, 0);
}

Test(steps_pmu, a_reading_belongs_to_the_steps_that_it_touches)
{
	const struct step_stream *st = analyse_two_steps();

	cr_assert_eq(st->n, 2);
	cr_expect_float_eq(st->steps[0].pmu[STEP_CARRIER][0], 8 + 500, 1e-9);
	cr_expect_float_eq(st->steps[0].pmu[STEP_OTHERS][0], 5, 1e-9);
	cr_expect_float_eq(st->steps[1].pmu[STEP_CARRIER][0], 500 + 100, 1e-9);
	cr_expect_float_eq(st->steps[1].pmu[STEP_CARRIER][2], 200, 1e-9);
	cr_expect_eq(st->steps[1].pmu[STEP_OTHERS][0], 0);
	analysis_set__free(set);
}

Test(steps_pmu, each_counter_is_a_column_of_each_group)
{
	const struct step_stream *st = analyse_two_steps();
	const struct column *columns;
	size_t n = steps__columns(steps, &columns), fixed = steps__columns(NULL, &columns);
	struct step_row row;

	cr_assert_eq(n, fixed + 6);
	cr_assert_eq(steps__columns(steps, &columns), n);
	cr_expect_str_eq(columns[fixed].name, "step_page-faults");
	cr_expect_str_eq(columns[fixed + 1].name, "step_cs");
	cr_expect_str_eq(columns[fixed + 2].name, "loader_page-faults");
	cr_expect_str_eq(columns[n - 1].name, "other_cs");
	step__row(&row, steps, st, &st->steps[1]);
	cr_expect_float_eq(*(double *)((char *)&row + columns[fixed + 1].offset), 200, 1e-9);
	cr_expect_null(steps_pmu__counter(steps__pmu(steps), 1));
	cr_expect_str_eq(steps_pmu__counter(steps__pmu(steps), 2)->name, "cs");
	analysis_set__free(set);
}
