// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/op_util.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

struct bench_device bench__open(const char *spec)
{
	struct bench_device b = {0};
	const char *rest;

	b.ops = device__find(spec, &rest);
	cr_assert(b.ops);
	b.device = b.ops->open(rest);
	cr_assert(b.device);
	b.queue = b.ops->queue(b.device, "test");
	cr_assert(b.queue);
	b.program = program__new(b.ops, b.device);
	cr_assert(b.program);
	return b;
}

void bench__run(struct bench_device *b, void (*fill)(struct bench_device *b, void *arg), void *arg)
{
	cr_assert_eq(program__finish(b->program), 0);
	fill(b, arg);
	cr_assert_eq(program__launch(b->program, b->queue, 0, b->program->n_ops), 0);
	cr_assert_eq(b->ops->sync(b->device, b->queue), 0);
}

void bench__close(struct bench_device *b)
{
	program__free(b->program);
	b->ops->close(b->device);
}

static void *kept[4096];
static size_t n_kept;

void *test__alloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	cr_assert(p && n_kept < sizeof(kept) / sizeof(kept[0]));
	kept[n_kept++] = p;
	return p;
}

void test__free(void)
{
	while (n_kept)
		free(kept[--n_kept]);
}

float *zeros(size_t n)
{
	return test__alloc(n, sizeof(float));
}

float *randoms(size_t n, unsigned int seed)
{
	float *x = zeros(n);

	fill_random(x, n, seed);
	return x;
}

void fill_random(float *x, size_t n, unsigned int seed)
{
	unsigned long s = seed * 2654435761UL + 12345;
	size_t i;
	int k;

	for (i = 0; i < n; i++) {
		x[i] = 0; /* nearly normal: a sum of uniforms */
		for (k = 0; k < 4; k++) {
			s = s * 6364136223846793005UL + 1442695040888963407UL;
			x[i] += (float)(s >> 40) / (1 << 24) - 0.5f;
		}
		x[i] *= 1.7f;
	}
}

double *doubles(const float *x, size_t n)
{
	double *d = test__alloc(n, sizeof(*d));
	size_t i;

	for (i = 0; i < n; i++)
		d[i] = x[i];
	return d;
}

double relative_error(const float *a, const double *b, size_t n)
{
	double diff = 0, norm = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		diff += (a[i] - b[i]) * (a[i] - b[i]);
		norm += b[i] * b[i];
	}
	cr_assert(isfinite(diff));
	return sqrt(diff) / (norm > 0 ? sqrt(norm) : 1);
}
