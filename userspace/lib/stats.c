// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int series__push(struct series *s, double v)
{
	size_t size;
	double *p;

	if (s->n == s->size) {
		size = s->size ? 2 * s->size : 64;
		p = realloc(s->v, size * sizeof(*p));
		if (!p)
			return -ENOMEM;
		s->v = p;
		s->size = size;
	}
	s->v[s->n++] = v;
	return 0;
}

void series__free(struct series *s)
{
	free(s->v);
	s->v = NULL;
	s->n = s->size = 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return (x > y) - (x < y);
}

void stats__sort(double *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), compare);
}

double stats__quantile(const double *sorted, size_t n, double q)
{
	double at, part;
	size_t i;

	if (!n)
		return NAN;
	at = (double)(n - 1) * q;
	i = (size_t)at;
	if (i + 1 >= n)
		return sorted[n - 1];
	part = at - (double)i;
	if (part == 0)
		return sorted[i];
	return sorted[i] + (sorted[i + 1] - sorted[i]) * part;
}

double stats__mean(const double *v, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += v[i];
	return n ? sum / (double)n : NAN;
}

double stats__std(const double *v, size_t n)
{
	double mean = stats__mean(v, n), sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	return n ? sqrt(sum / (double)n) : NAN;
}
