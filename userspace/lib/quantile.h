/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A quantile of a stream in fixed memory: the P-square algorithm of R. Jain and I. Chlamtac, "The
 * P2 algorithm for dynamic calculation of quantiles and histograms without storing observations",
 * Communications of the ACM 28 (10), 1985, pages 1076-1085. Five markers follow the least, the
 * greatest, the quantile and two values between; each new value moves them by at most one place,
 * along a parabola.
 */
#ifndef XPUGAP_LIB_QUANTILE_H
#define XPUGAP_LIB_QUANTILE_H

#include <stdint.h>

struct quantile {
	double q;	  /* 0 to 1 */
	uint64_t n;	  /* values so far */
	double height[5]; /* of the markers; the first values, as long as there are fewer */
	double place[5];  /* how many values are not above, from 1 */
	double desired[5];
};

void quantile__init(struct quantile *e, double q);
/* @v is finite. */
void quantile__add(struct quantile *e, double v);
/* Up to five values it is exact (the nearest rank); NaN without any. */
double quantile__value(const struct quantile *e);

#endif
