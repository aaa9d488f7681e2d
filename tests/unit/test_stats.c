// SPDX-License-Identifier: BSD-2-Clause
/* Estimates against figures from books. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>

#include "userspace/lib/stats.h"

/*
 * Depression scores of nine patients at two visits (Salsburg 1970), in Hollander and Wolfe,
 * Nonparametric Statistical Methods, examples 3.1 to 3.4: the estimate is -0.46, the interval that
 * covers 96.1 % is -0.786 to -0.010.
 */
Test(stats, hodges_lehmann)
{
	const double x[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
	const double y[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
	struct estimate e;
	double z[9];
	int i;

	for (i = 0; i < 9; i++)
		z[i] = y[i] - x[i];
	cr_assert_eq(stats__hodges_lehmann(z, 9, &e), 0);
	cr_assert_float_eq(e.value, -0.46, 0.0005);
	cr_assert_float_eq(e.low, -0.786, 0.0005);
	cr_assert_float_eq(e.high, -0.010, 0.0005);
	cr_assert_eq(stats__hodges_lehmann(z, 1, &e), -EINVAL);
}

/* Gosset's own example (The probable error of a mean, 1908): hours of sleep gained; t is 2.262 */
Test(stats, student)
{
	const double z[] = {1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4};
	struct estimate e;

	cr_assert_eq(stats__student(z, 10, &e), 0);
	cr_assert_float_eq(e.value, 1.58, 1e-9);
	cr_assert_float_eq(e.low, 1.58 - 2.262 * 1.230 / sqrt(10), 2e-3);
	cr_assert_float_eq(e.high, 1.58 + 2.262 * 1.230 / sqrt(10), 2e-3);
	cr_assert_eq(stats__student(z, 1, &e), -EINVAL);
}
