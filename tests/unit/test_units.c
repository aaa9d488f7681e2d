// SPDX-License-Identifier: BSD-2-Clause
/* Units of work against a made-up machine that knows the truth, and record by record. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/script.h"

static void expect_units(struct analysis_set *set, const struct sim *s, uint64_t seed)
{
	const struct unit_row *rows;
	size_t n, i, u = 0;

	rows = units_of(set, &n);
	for (i = 0; i < s->nunits; i++) {
		if (!s->units[i].end_ns)
			continue;
		cr_assert_lt(u, n);
		cr_assert_eq(rows[u].unit, s->units[i].id);
		cr_assert_eq(rows[u].wall_ns, s->units[i].end_ns - s->units[i].begin_ns);
		expect_facts(&rows[u].facts, &s->units[i].facts, "unit", seed, i);
		u++;
	}
	cr_assert_eq(u, n);
	cr_assert_eq(units__open(analysis_set__state(set, &analysis_units)), s->nunits - n);
}

Test(units, equal_the_truth_to_the_nanosecond)
{
	struct analysis_set *set;
	uint64_t seed, units = 0;
	struct sim *s;

	for (seed = 1; seed <= 500; seed++) {
		s = sim__play(seed, 4000);
		set = analyse(s, 0);
		expect_units(set, s, seed);
		units += s->nunits;
		analysis_set__free(set);
		sim__free(s);
	}
	cr_expect_gt(units, 5000);
}

Test(units, states_add_up_under_losses)
{
	const struct unit_row *rows;
	struct analysis_set *set;
	size_t seed, i, n;
	struct sim *s;

	for (seed = 1; seed <= 200; seed++) {
		s = sim__play(seed, 2000);
		set = analyse(s, 2 + seed % 30);
		rows = units_of(set, &n);
		for (i = 0; i < n; i++)
			cr_assert_eq(facts__total_ns(&rows[i].facts), rows[i].wall_ns);
		analysis_set__free(set);
		sim__free(s);
	}
}

Test(units, without_a_begin_or_a_carrier)
{
	const struct unit_row *rows;
	struct analysis_set *set;
	size_t n;

	begin_script();
	SIM_EMIT(&script, 0, UNIT_HANDOVER, unit_handover, 10, .unit = 1);
	SIM_EMIT(&script, 0, UNIT_END, unit_end, 10, .unit = 1);
	SIM_EMIT(&script, 0, UNIT_BEGIN, unit_begin, 10, .unit = 2, .kind = 5);
	SIM_EMIT(&script, 0, UNIT_BEGIN, unit_begin, 11, .unit = 3, .kind = 5);
	at(2000);
	SIM_EMIT(&script, 0, TASK_EXIT, task_exit, 10, .pid = 10);
	SIM_EMIT(&script, 0, UNIT_BEGIN, unit_begin, 11, .unit = 3, .kind = 5); /* again */
	at(3000);
	SIM_EMIT(&script, 0, UNIT_END, unit_end, 12, .unit = 2, .items = 4);
	name(5, "request");
	set = end_script();
	rows = units_of(set, &n);
	cr_assert_eq(n, 1);
	cr_expect_eq(rows[0].unit, 2);
	cr_expect_eq(rows[0].wall_ns, 2000);
	cr_expect_eq(facts__total_ns(&rows[0].facts), 2000);
	cr_expect_str_eq(rows[0].kind, "request");
	cr_expect_eq(units__open(analysis_set__state(set, &analysis_units)), 1);
	analysis_set__free(set);
}

/* A file that is not the first of its recording tells of units that an earlier one began. */
Test(units, that_an_earlier_file_began)
{
	const struct unit_row *rows;
	struct analysis_set *set;
	size_t n;

	begin_script();
	at(5000);
	task(10, 10, 1, 1, "prog");
	SIM_EMIT(&script, 0, UNIT_OPEN, unit_open, 10, .unit = 2, .kind = 5, .start_ns = 1500);
	at(7000);
	SIM_EMIT(&script, 0, UNIT_END, unit_end, 10, .unit = 2, .items = 4);
	name(5, "request");
	set = end_script();
	rows = units_of(set, &n);
	cr_assert_eq(n, 1);
	cr_expect_eq(rows[0].begin_ns, 1500);
	cr_expect_eq(rows[0].wall_ns, 5500);
	cr_expect_eq(facts__total_ns(&rows[0].facts), 5500);
	cr_expect_geq(rows[0].facts.host_ns[HOST_UNKNOWN], 3500);
	cr_expect_str_eq(rows[0].kind, "request");
	analysis_set__free(set);
}
