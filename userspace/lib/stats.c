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

#define Z_95 1.959964 /* of the normal distribution: 95 % lie within */

int stats__hodges_lehmann(const double *v, size_t n, struct estimate *e)
{
	double pairs = (double)n * (double)(n + 1) / 2, *w, rank;
	size_t i, j, k = 0, first;

	if (n < 2)
		return -EINVAL;
	w = malloc((size_t)pairs * sizeof(*w));
	if (!w)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		for (j = i; j < n; j++)
			w[k++] = v[i] / 2 + v[j] / 2;
	stats__sort(w, k);
	rank = pairs / 2 - Z_95 * sqrt(pairs * (2 * (double)n + 1) / 12);
	first = rank < 1 ? 0 : (size_t)lround(rank) - 1;
	*e = (struct estimate){stats__quantile(w, k, 0.5), w[first], w[k - 1 - first]};
	free(w);
	return 0;
}

int stats__student(const double *v, size_t n, struct estimate *e)
{
	double z = Z_95, df = (double)n - 1, mean, t, half;

	if (n < 2)
		return -EINVAL;
	t = z + (z * z * z + z) / (4 * df) +
	    (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * df * df);
	mean = stats__mean(v, n);
	half = t * stats__std(v, n) / sqrt(df);
	*e = (struct estimate){mean, mean - half, mean + half};
	return 0;
}
