// SPDX-License-Identifier: BSD-2-Clause
/* Conditions over steps, and the quantiles they speak of. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/trace_util.h"
#include "userspace/cmd/trigger.h"
#include "userspace/lib/quantile.h"
#include "userspace/lib/stats.h"

/* ---- quantiles ---- */

/* The example that the paper works through (table I): 20 values, the median is 4.44 in the end. */
Test(quantile, as_in_the_paper)
{
	static const double values[] = {0.02,  0.15,  0.74,  3.39,  0.83,  22.37, 10.15,
					15.43, 38.62, 15.92, 34.60, 10.28, 1.47,  0.40,
					0.05,  11.39, 0.27,  0.42,  0.09,  11.37};
	struct quantile e;
	size_t i;

	quantile__init(&e, 0.5);
	cr_expect(isnan(quantile__value(&e)));
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		quantile__add(&e, values[i]);
		if (i == 4)
			cr_expect_float_eq(quantile__value(&e), 0.74, 1e-12);
		if (i == 5)
			cr_expect_float_eq(quantile__value(&e), 0.74, 0.005);
	}
	cr_expect_float_eq(quantile__value(&e), 4.44, 0.005);
	cr_expect_eq(e.height[0], 0.02);
	cr_expect_eq(e.height[4], 38.62);
}

/* Against all values sorted, for shapes that steps have: narrow, skewed, of two kinds. */
Test(quantile, near_the_true_one)
{
	static double v[20000];
	uint64_t seed = 11;
	int shape, q;
	size_t i;

	for (shape = 0; shape < 3; shape++) {
		for (q = 1; q < 10; q += 4) {
			struct quantile e;
			double u, spread;

			quantile__init(&e, q / 10.0);
			for (i = 0; i < 20000; i++) {
				u = (double)(rnd(&seed) >> 11) / 9007199254740992.0;
				v[i] = shape == 0   ? 10 + u
				       : shape == 1 ? -log(1 - u)
						    : (i % 4 == 0 ? 30 : 10) + u;
				quantile__add(&e, v[i]);
			}
			stats__sort(v, 20000);
			spread = stats__quantile(v, 20000, fmin(1, q / 10.0 + 0.02)) -
				 stats__quantile(v, 20000, fmax(0, q / 10.0 - 0.02));
			cr_expect_float_eq(quantile__value(&e), stats__quantile(v, 20000, q / 10.0),
					   spread + 0.02, "shape %d, q 0.%d: %g", shape, q,
					   quantile__value(&e));
		}
	}
}

/* ---- conditions ---- */

static const struct trigger_values values = {.step = 30e6, .p50 = 10e6, .p90 = 20e6, .mean = 12e6};

static void expect(const char *text, bool holds)
{
	char why[160] = "";
	struct trigger *t = trigger__new(text, why, sizeof(why));

	cr_assert_not_null(t, "%s: %s", text, why);
	cr_expect_eq(trigger__holds(t, &values), holds, "%s", text);
	trigger__free(t);
}

static void refuse(const char *text, const char *reason)
{
	char why[160] = "";
	struct trigger *t = trigger__new(text, why, sizeof(why));

	cr_expect_null(t, "'%s' was taken", text);
	cr_expect_eq(errno, EINVAL);
	cr_expect(strstr(why, reason), "'%s': %s", text, why);
	trigger__free(t);
}

Test(trigger, holds_or_not)
{
	expect("step > 1.5*p50", true);
	expect("step>3*p50", false);
	expect("step >= 3*p50", true);
	expect("step < 30.5ms", true);
	expect("step <= 29999us", false);
	expect("step > 0.03s", false);
	expect("step >= 30000000ns", true);
	expect("p90 - p50 > mean / 2", true);
	expect("step / p50 > 2.9", true);
	expect("2 * 3 + 4 * 5 > 25.9", true); /* 26 */
	expect("2 * (3 + 4) * 5 > 70", false);
	expect("10 - 4 - 3 < 3.5", true); /* from the left */
	expect("100 / 10 / 5 < 2.1", true);
	expect("step > 1s || step > 20ms && p50 < 11ms", true);
	expect("(step > 1s || step > 20ms) && p50 > 11ms", false);
	expect("step > 20ms || step > 1s && p50 > 11ms", true); /* && binds more */
	expect("step / 0 > 1s", true);				/* endless */
	expect("(step - step) / 0 > 1s", false);		/* no number */
}

Test(trigger, takes_no_nonsense)
{
	refuse("", "ends too early");
	refuse("step", "no condition");
	refuse("step > ", "ends too early (at character 8)");
	refuse("step > 1.5", "unit");
	refuse("step > 1.5*p5", "'p5' is none of");
	refuse("stepp > 1s", "'stepp' is none of");
	refuse("step > 5m", "'m' is none of the units");
	refuse("step > 5msec", "'msec' is none");
	refuse("step * step > 5ms", "unit");
	refuse("step > 5ms > 3ms", "cannot follow");
	refuse("step > 5ms step", "cannot follow");
	refuse("step > 5 ms", "unit");
	refuse("step > 1.ms", "a number is");
	refuse("step > .5s", "a number is");
	refuse("step > 1e3ms", "'e3ms' is none");
	refuse("step > -5ms", "missing");
	refuse("step == 5ms", "cannot follow");
	refuse("step && p50", "joins conditions");
	refuse("(step > 1s) + p50 > 2s", "no number");
	refuse("(step > 1s) * 2 > 2s", "no number");
	refuse("(step > 1s", ") is missing");
	refuse("step > 1s)", "cannot follow");
	refuse("((((((((((((((((((step > 1s))))))))))))))))))", "parentheses");
	refuse("step * step * step * step * step > 1s", "too many");
	refuse("1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1 > 2",
	       "operands");
	refuse("step > 123456789012345678901234567890s", "a number is");
}

static bool mark(struct trigger *t, uint32_t tid, uint64_t time_ms, uint64_t step,
		 struct trigger_hit *hit)
{
	const struct rec_mark_step rec = {
		.hdr = {REC_MARK_STEP, sizeof(rec), tid, time_ms * 1000000},
		.step = step,
	};

	return trigger__step(t, &rec.hdr, hit);
}

Test(trigger, knows_each_thread_and_its_steps_before)
{
	char why[80];
	struct trigger *t = trigger__new("step > 1.5*p50", why, sizeof(why));
	struct trigger_hit hit;
	uint64_t i;

	/* one thread steps in 10 ms, the other in 40, which is slow for the first only */
	for (i = 0; i <= TRIGGER_WARM_UP; i++) {
		cr_expect_not(mark(t, 1, 10 * i, i, &hit));
		cr_expect_not(mark(t, 2, 40 * i, i, &hit));
	}
	cr_expect_not(mark(t, 2, 40 * i, i, &hit));
	cr_expect_not(mark(t, 1, 10 * i + 4, i, &hit));	 /* 14 */
	cr_expect(mark(t, 1, 10 * i + 20, i + 1, &hit)); /* 16 */
	cr_expect(hit.tid == 1 && hit.step == i && hit.step_ns == 16e6 && hit.p50_ns == 10e6);
	/* between two steps there may be none */
	cr_expect_not(mark(t, 1, 10 * i + 30, REC_NO_STEP, &hit));
	cr_expect_not(mark(t, 1, 10 * i + 900, 50, &hit));
	cr_expect_not(mark(t, 1, 10 * i + 910, 51, &hit));
	trigger__free(t);
	/* what needs nothing of before holds from the first on */
	t = trigger__new("step > 15ms", why, sizeof(why));
	cr_expect_not(mark(t, 1, 0, 0, &hit));
	cr_expect(mark(t, 1, 16, 1, &hit));
	cr_expect(isnan(hit.p50_ns));
	trigger__free(t);
}

Test(trigger, follows_so_many_threads)
{
	char why[80];
	struct trigger *t = trigger__new("step > 15ms", why, sizeof(why));
	struct trigger_hit hit;
	uint32_t i, n = 0;

	for (i = 1; i < 3000; i++) {
		mark(t, i, 0, 0, &hit);
		n += mark(t, i, 20, 1, &hit);
	}
	cr_expect_eq(n, TRIGGER_MAX_THREADS);
	trigger__free(t);
}
