/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Named ranges of the program (RANGE_BEGIN, RANGE_END), by name: how often, how long, and how much
 * of that was the range's own, outside of the ranges that it encloses on its thread.
 *
 * Ranges are summed over the threads of a workload: all processes of one row of the suite, else
 * those of one name.
 */
#ifndef XPUGAP_ANALYSIS_RANGES_H
#define XPUGAP_ANALYSIS_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"

struct range_row {
	const char *workload, *device; /* device NULL if not of the suite */
	const char *range;	       /* after finish; "" if its name was not told */
	uint64_t count, total_ns, own_ns, max_ns;
	double mean_ns;
	/* its own time inside of complete steps of the workload's first step thread, and by those
	 * steps' time (NaN without any); more than 1 where several threads have it at once */
	uint64_t in_steps_ns;
	double share;

	uint64_t id, pending_ns;
	struct range_row *pending; /* the next one with pending_ns */
};

struct ranges;

/* Workload by workload, and in each most own time first; after finish. */
const struct range_row *ranges__rows(const struct ranges *a, size_t *n);
/* That had begun and not ended, or whose end may be lost; they are in no row. */
uint64_t ranges__open(const struct ranges *a);

extern const struct column *const range_columns;
extern const size_t nrange_columns;

#endif
