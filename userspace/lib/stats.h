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

#endif
