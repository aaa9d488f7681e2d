/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps from MARK_STEP records, and what the kernel did with the program's threads in each.
 *
 * A stream is the sequence of steps that one thread, the carrier, marked. The other threads of its
 * process and of the processes below it (down to those that have streams of their own) belong to
 * the stream: with the role "loader" (or "loader…") as loaders, else as others. Their host states
 * are cut at the steps' ends to the nanosecond: for the carrier the five states add up to the
 * step's wall time, for n loaders that live throughout to n times it.
 */
#ifndef XPUGAP_ANALYSIS_STEPS_H
#define XPUGAP_ANALYSIS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/account/facts.h"
#include "analysis/analysis.h"
#include "userspace/lib/stats.h"

enum step_group {
	STEP_CARRIER,
	STEP_LOADERS,
	STEP_OTHERS,
	STEP_GROUPS,
};

#define STEPS_PMU      8
#define STEPS_PMU_NAME 64

/* A counter of the hook pmu. */
struct steps_counter {
	char name[STEPS_PMU_NAME]; /* "": there is none of that number */
	bool is_ns;
};

struct steps_pmu {
	struct steps_counter counter[STEPS_PMU];
	size_t n; /* the highest number, plus one */
	char column[STEP_GROUPS][STEPS_PMU][STEPS_PMU_NAME + 8];
};

struct step {
	uint64_t number; /* as marked */
	uint64_t begin_ns, end_ns;
	uint64_t items;
	struct facts facts[STEP_GROUPS];
	double pmu[STEP_GROUPS][STEPS_PMU]; /* what counters of the hook pmu counted */
	bool gap;  /* its number does not follow the one before: marks are missing */
	bool lost; /* records that its facts rest on were lost in its time */
};

#define STEPS_COUNTERS 16

/* A counter that the stream's threads reported: its mean in each step, NaN without a report. */
struct step_counter {
	uint64_t name; /* NAME id */
	struct series values;
	double sum, n; /* of the step that is open */
};

struct step_stream {
	char *name;	    /* of its row, else of its process */
	const char *device; /* of its row, or NULL */
	uint32_t repeat;
	const struct session_row *row; /* of the suite, or NULL */
	uint32_t pid, tid;
	char comm[REC_COMM_LEN + 1];
	struct step *steps; /* complete ones, in order of time */
	size_t n;
	bool unfinished;      /* one had begun and not ended when the trace or the program did */
	uint64_t open_ioctls; /* that had not returned then */
	uint64_t missing;     /* steps whose marks are missing, by their numbers */
	size_t loaders;	      /* threads that were loaders at any time */
	size_t others;	      /* that were seen, and never were */
	struct step_counter counters[STEPS_COUNTERS];
	size_t ncounters;
	uint64_t dropped_counters; /* values of others, for which there is no room */
};

struct steps;

/* Streams in the order of their first marks; after finish. */
size_t steps__streams(const struct steps *a);
const struct step_stream *steps__stream(const struct steps *a, size_t i);

/* Values of counter @name (as programs call it) or NULL. */
const struct series *step_stream__counter(const struct steps *a, const struct step_stream *st,
					  const char *name);

/* A step as a row of a table, with all its numbers. */
struct step_row {
	const char *name, *device;
	uint64_t repeat, tid, number, begin_ns, wall_ns, items; /* begin_ns: since the trace's */
	double rate; /* items per second; NaN if the step reported none or took no time */
	bool gap, lost;
	struct facts facts[STEP_GROUPS];
	double pmu[STEP_GROUPS][STEPS_PMU];
};

#define STEP_COLUMNS_MAX 96

/* The columns of a step's row, with those of the counters of @a, if it is not NULL, whose they are.
 */
size_t steps__columns(struct steps *a, const struct column **columns);

struct steps_pmu *steps__pmu(struct steps *a);
/* The @i-th counter, or NULL; then those of each group as columns, which @p owns. */
const struct steps_counter *steps_pmu__counter(const struct steps_pmu *p, size_t i);
size_t steps_pmu__columns(struct steps_pmu *p, struct column *to);

double step__rate(const struct step *step);
void step__row(struct step_row *row, const struct steps *a, const struct step_stream *st,
	       const struct step *step);

#endif
