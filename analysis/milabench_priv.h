/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by milabench.c (statistics), milabench_read.c (files) and milabench_print.c (output). */
#ifndef XPUGAP_ANALYSIS_MILABENCH_PRIV_H
#define XPUGAP_ANALYSIS_MILABENCH_PRIV_H

#include <jansson.h>

#include "analysis/milabench.h"
#include "userspace/lib/stats.h"

struct device_data {
	char *name;
	struct series rate, memory, load, power;
};

/* What the files of one name hold, before the statistics. */
struct bench_data {
	char *name;
	json_t *meta; /* or NULL */
	struct series train_rate, walltime, step_s;
	struct device_data *devices;
	size_t ndevices;
	bool expected; /* named by milabench__expect() */
	double expected_weight;
	struct milabench_bench row; /* its plain facts are set while reading */
};

struct ignored {
	char *path;
	const char *lacks;
};

struct milabench {
	struct bench_data **benches;
	size_t nbenches;
	struct milabench_bench *rows; /* after finish, sorted */
	struct ignored *ignored;
	size_t nignored;
	uint64_t files, bad_lines;
	bool interrupted;
};

struct bench_data *milabench__bench(struct milabench *m, const char *name);
struct device_data *bench__device(struct bench_data *b, const char *name);

#endif
