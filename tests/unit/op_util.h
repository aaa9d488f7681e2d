/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of one operation, and comparing their results with the reference's. */
#ifndef XPUGAP_TESTS_OP_UTIL_H
#define XPUGAP_TESTS_OP_UTIL_H

#include "workloads/device/op.h"

struct bench_device {
	const struct device_ops *ops;
	struct device *device;
	struct device_queue *queue;
	struct program *program;
};

/* Open @spec ("cpu", "cpu:0", …), with a queue and an empty program. */
struct bench_device bench__open(const char *spec);
/* Finish the program, let @fill write its inputs, run it once, and wait. */
void bench__run(struct bench_device *b, void (*fill)(struct bench_device *b, void *arg), void *arg);
void bench__close(struct bench_device *b);

/* Zeroed memory that lives until test__free(), the suite's fini. */
void *test__alloc(size_t n, size_t size);
void test__free(void);
float *zeros(size_t n);
float *randoms(size_t n, unsigned int seed);

/* Numbers of about 1 that repeat for the same seed. */
void fill_random(float *x, size_t n, unsigned int seed);
double *doubles(const float *x, size_t n);

/* |a - b| / |b|, Euclidean. */
double relative_error(const float *a, const double *b, size_t n);

#endif
