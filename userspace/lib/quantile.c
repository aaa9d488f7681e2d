// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void quantile__init(struct quantile *e, double q)
{
	*e = (struct quantile){.q = q};
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void begin(struct quantile *e)
{
	const double q = e->q;
	const double desired[5] = {1, 1 + 2 * q, 1 + 4 * q, 3 + 2 * q, 5};
	int i;

	qsort(e->height, 5, sizeof(double), compare);
	for (i = 0; i < 5; i++) {
		e->place[i] = i + 1;
		e->desired[i] = desired[i];
	}
}

/* The marker's height one place to the right (@d 1) or left (-1), along a parabola. */
static double parabolic(const struct quantile *e, int i, double d)
{
	const double *n = e->place, *h = e->height;

	return h[i] + d / (n[i + 1] - n[i - 1]) *
			      ((n[i] - n[i - 1] + d) * (h[i + 1] - h[i]) / (n[i + 1] - n[i]) +
			       (n[i + 1] - n[i] - d) * (h[i] - h[i - 1]) / (n[i] - n[i - 1]));
}

static void adjust(struct quantile *e, int i)
{
	double off = e->desired[i] - e->place[i], d = off >= 0 ? 1 : -1, h;
	int to = i + (int)d;

	if (!(off >= 1 && e->place[i + 1] - e->place[i] > 1) &&
	    !(off <= -1 && e->place[i - 1] - e->place[i] < -1))
		return;
	h = parabolic(e, i, d);
	if (!(e->height[i - 1] < h && h < e->height[i + 1])) /* then along a line */
		h = e->height[i] +
		    d * (e->height[to] - e->height[i]) / (e->place[to] - e->place[i]);
	e->height[i] = h;
	e->place[i] += d;
}

void quantile__add(struct quantile *e, double v)
{
	const double step[5] = {0, e->q / 2, e->q, (1 + e->q) / 2, 1};
	int i, cell;

	if (e->n < 5) {
		e->height[e->n++] = v;
		if (e->n == 5)
			begin(e);
		return;
	}
	e->n++;
	if (v < e->height[0])
		e->height[0] = v;
	if (v > e->height[4])
		e->height[4] = v;
	for (cell = 1; cell < 4 && v >= e->height[cell]; cell++)
		;
	for (i = cell; i < 5; i++)
		e->place[i]++;
	for (i = 0; i < 5; i++)
		e->desired[i] += step[i];
	for (i = 1; i < 4; i++)
		adjust(e, i);
}

double quantile__value(const struct quantile *e)
{
	double sorted[5];
	size_t rank;

	if (!e->n)
		return NAN;
	if (e->n > 5)
		return e->height[2];
	memcpy(sorted, e->height, sizeof(sorted));
	qsort(sorted, e->n, sizeof(double), compare);
	rank = (size_t)ceil(e->q * (double)e->n);
	return sorted[rank ? rank - 1 : 0];
}
