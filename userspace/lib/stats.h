/* SPDX-License-Identifier: BSD-2-Clause */
/* Plain statistics over arrays of doubles. */
#ifndef XPUGAP_LIB_STATS_H
#define XPUGAP_LIB_STATS_H

#include <stddef.h>

/* A growing array of doubles. */
struct series {
	double *v;
	size_t n, size;
};

int series__push(struct series *s, double v); /* 0 or -ENOMEM */
void series__free(struct series *s);

/* Ascending; NaN last. */
void stats__sort(double *v, size_t n);

/*
 * The @q quantile (0..1) of ascending @v by linear interpolation at (n - 1) q: Hyndman and Fan's
 * type 7, NumPy's default. NaN if n is 0.
 */
double stats__quantile(const double *sorted, size_t n, double q);

double stats__mean(const double *v, size_t n); /* NaN if n is 0 */
/* Of the population (divided by n), in two passes; NaN if n is 0. */
double stats__std(const double *v, size_t n);

/* An estimate and its 95 % confidence interval. */
struct estimate {
	double value, low, high;
};

/*
 * Where the centre of a symmetric distribution lies: the median of all averages of two of @v, each
 * value with itself included (Hodges and Lehmann 1963), with the interval of Wilcoxon's signed
 * rank test in its normal approximation (Hollander, Wolfe and Chicken, Nonparametric Statistical
 * Methods, 3rd ed., 3.3), good from some 10 values on. Some values far off hardly move it. Time
 * and memory grow with n^2 (1,000 values: 4 MB). 0, -EINVAL if n < 2, or -ENOMEM.
 */
int stats__hodges_lehmann(const double *v, size_t n, struct estimate *e);

/* The mean with the interval of Student's t, its quantile by Cornish and Fisher; as above. */
int stats__student(const double *v, size_t n, struct estimate *e);

#endif
