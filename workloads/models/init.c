// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/models/init.h"

#include <math.h>

#include "workloads/data/rng.h"

/* Box and Muller: two normal numbers of two uniform ones. */
static void normal_pair(struct rng *r, float *a, float *b)
{
	float radius = sqrtf(-2 * logf((float)(1 - rng__f64(r))));
	float angle = (float)(2 * M_PI * rng__f64(r));

	*a = radius * cosf(angle);
	*b = radius * sinf(angle);
}

void init__normal(float *x, size_t n, double deviation, uint64_t seed, uint64_t stream)
{
	struct rng r = rng__of(seed, 0, stream);
	float a, b;
	size_t i;

	for (i = 0; i < n; i += 2) {
		normal_pair(&r, &a, &b);
		x[i] = (float)deviation * a;
		if (i + 1 < n)
			x[i + 1] = (float)deviation * b;
	}
}

void init__uniform(float *x, size_t n, double low, double high, uint64_t seed, uint64_t stream)
{
	struct rng r = rng__of(seed, 0, stream);
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = rng__uniform(&r, low, high);
}

void init__constant(float *x, size_t n, float value)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = value;
}
