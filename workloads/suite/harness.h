/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One workload in this process: device, setup, steps, end.
 *
 * Each step is one observation. As with Milabench there is no warm-up and one observation more
 * than `stop` asks for; a step's time runs from the end of the one before. SIGTERM ends it after
 * the step that is under way.
 */
#ifndef XPUGAP_SUITE_HARNESS_H
#define XPUGAP_SUITE_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "workloads/suite/workload.h"

struct harness_opts {
	const struct workload *workload;
	const char *device; /* "cpu:0-1" */
	enum workload_size size;
	uint64_t stop;	 /* observations; 0: what the workload's size wants */
	uint64_t max_ns; /* begin no step later than this; 0: no limit */
	uint64_t seed;
	const char *data_dir;
	const void *opts; /* of the workload */
	bool verify;
	int data_fd; /* where voir's lines go */
	bool status; /* setup's progress goes there, too; else to the terminal */
};

/*
 * Run it. 0; -EINTR after SIGTERM; -ETIME if no step was done in the time; -EDOM if the loss
 * became NaN; or what setup, step or verify returned. Printed.
 */
int harness__run(const struct harness_opts *opts);

/* Observations that a run has: stop and one. */
uint64_t harness__observations(const struct workload *w, enum workload_size size, uint64_t stop);

#endif
