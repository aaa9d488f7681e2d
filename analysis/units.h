/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Units of work that carry an id, such as requests: UNIT_BEGIN, UNIT_HANDOVER and UNIT_END. At
 * each moment one thread carries a unit; the host states of its carriers add up to its wall time
 * to the nanosecond. A unit that ends on a thread which was not handed it stays with its carrier.
 */
#ifndef XPUGAP_ANALYSIS_UNITS_H
#define XPUGAP_ANALYSIS_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/account/facts.h"
#include "analysis/analysis.h"

struct unit_row {
	uint64_t unit;
	const char *kind; /* after finish; "" if its name was not told */
	const char *name; /* of the suite's row, else of the process it began in */
	uint64_t begin_ns, end_ns, wall_ns, items;
	uint64_t handovers;
	struct facts
		facts; /* of its carriers; ioctls count where they returned while it was there */
	bool lost;     /* records that the facts rest on were lost in its time */

	uint64_t kind_id;
	bool ended;
};

struct units;

/* The complete units in the order of their begins; after finish. */
const struct unit_row *units__rows(const struct units *a, size_t *n);
uint64_t units__open(const struct units *a); /* that had begun and not ended */

#endif
