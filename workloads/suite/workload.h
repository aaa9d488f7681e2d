/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Workloads: one row in the table, one file under models/, one page, one test.
 *
 * `xpugap run` starts each workload in a process of its own, which reports rates, losses and its
 * end as JSON lines on the pipe named by DATA_FD, as Milabench's benchmarks do.
 */
#ifndef XPUGAP_SUITE_WORKLOAD_H
#define XPUGAP_SUITE_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/lib/opt.h"
#include "workloads/device/device.h"

enum workload_size {
	WORKLOAD_TINY,	/* tests: a second or two, also under sanitizers */
	WORKLOAD_SMALL, /* under a minute on two cores */
	WORKLOAD_FULL,	/* the published shape */
};

struct workload_ctx {
	const struct device_ops *ops;
	struct device *device;
	enum workload_size size;
	uint64_t seed;
	const void *opts;     /* the workload's own option struct */
	const char *data_dir; /* where generated input is kept */
	/* tells how setup goes; -EINTR: somebody waits for its end, otherwise 0 */
	int (*progress)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

/* What one step did; the harness times it. */
struct workload_step {
	uint64_t items; /* in the workload's unit */
	double flops;	/* useful floating-point operations, 0 if not known */
	uint64_t bytes; /* moved to or from the device, 0 if not known */
	double loss;	/* where has_loss; NaN ends the run as failed */
	bool has_loss;
};

/*
 * In the order in which they are called:
 *
 * - settle: fill in what was left out of the options and depends on the size or on other options,
 *   so that what is written of a run is what ran; may be NULL; twice is as once
 *
 * - setup: data, weights, compilation; not timed
 *
 * - step: one step; must leave the device idle or chained, so that step time is meaningful
 *
 * - verify: check results (gradients, checksums) against a reference; 0 or -EBADMSG (printed)
 *
 * - teardown: release; a no-op on NULL
 */
struct workload {
	const char *name;
	const char *summary;
	const char *unit; /* "items/s" as Milabench logs it, or "Tflops" */
	const char *group;
	double weight;		/* in the score */
	const struct opt *opts; /* may be NULL */
	size_t opts_size;
	uint64_t stop[3]; /* observations by size, as voir's `stop` */
	void (*settle)(void *opts, enum workload_size size);
	int (*setup)(void **state, const struct workload_ctx *ctx);
	int (*step)(void *state, struct workload_step *out);
	/* the rate of a step that took @ns, in @unit */
	double (*rate)(const struct workload_step *step, uint64_t ns);
	int (*verify)(void *state);
	void (*teardown)(void *state);
};

/* X(name, what it is); a row is added together with its file models/NAME.c */
#define WORKLOAD_TABLE(X)                                                                          \
	X(flops, "square matrix products, as Milabench's flops")                                   \
	X(resnet50, "ResNet-50 trained on JPEG files")

#define WORKLOAD_DECLARE(name, what) extern const struct workload workload_##name;
WORKLOAD_TABLE(WORKLOAD_DECLARE)
#undef WORKLOAD_DECLARE

/* NULL-terminated, in the order of the table. */
extern const struct workload *const workloads[];

/* NULL if unknown, after printing so with the nearest known name. */
const struct workload *workload__find(const char *name);

/*
 * The workloads that @n words name: each a workload, a group or "all"; in the order of the words,
 * none twice. @out has room for all there are. Returns how many, or -EINVAL, printed as above.
 */
int workload__select(char *const *words, int n, const struct workload **out);
size_t workload__count(void);

/* "tiny", "small", "full", NULL-terminated: choices of an option row. */
extern const char *const workload_sizes[];
/* What each is for. */
extern const char *const workload_size_summaries[];

#endif
