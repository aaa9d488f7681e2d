/* SPDX-License-Identifier: BSD-2-Clause */
/* What a whole trace says about itself: facts, hooks, losses, clocks, counts. */
#ifndef XPUGAP_CMD_SUMMARY_H
#define XPUGAP_CMD_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/cpu_times.h"
#include "userspace/cmd/traces.h"
#include "userspace/lib/map.h"
#include "userspace/trace/trace.h"

#define SUMMARY_CLOCKS_MAX 64
#define SUMMARY_FACTS_MAX  1024

struct summary_fact {
	char *key, *value;
};

struct summary_hook {
	const char *name; /* NULL: this hook is not mentioned */
	const char *state;
	char *way, *reason;
	uint64_t rung;
	int64_t err;
	double cost_ns; /* NaN: not measured */
	uint64_t hits, records, lost;
};

struct summary_count {
	const char *type;
	const char *hook;
	uint64_t count;
	uint64_t bytes; /* decoded */
};

struct summary_clock {
	uint64_t clock;
	const char *name; /* "realtime", or the device's */
	uint64_t readings;
	uint64_t uncertainty_ns; /* the largest */
	double drift_ppm;	 /* against CLOCK_MONOTONIC; NaN with less than two readings */
	uint64_t first_host_ns, first_ticks;
};

#define SUMMARY_PMU_MAX 16

/* A counter of the hook pmu, over all threads. */
struct summary_pmu {
	char *name, *unit, *by, *why;
	uint64_t number;
	int64_t err;
	double count; /* times @scale it is in @unit */
	double scale;
	double running_pct; /* of the time in which it was wanted */
	uint64_t enabled_ns, running_ns;
};

struct summary {
	char *path;
	struct trace_info info;
	struct trace_damage damage;
	uint64_t first_ns, last_ns; /* of all records */
	struct summary_fact *facts;
	size_t n_facts;
	struct summary_hook hooks[REC_HOOK_MAX];
	struct summary_clock clocks[SUMMARY_CLOCKS_MAX];
	size_t n_clocks;
	struct summary_count counts[REC_TYPE_MAX]; /* by type */
	uint64_t rings, cpus, user_rings;
	uint64_t tasks; /* that belong to the target */
	struct summary_pmu pmu[SUMMARY_PMU_MAX];
	size_t n_pmu;
	struct losses losses;
	struct cpu_times cpu_times;
	/* not for others */
	struct map counters; /* HOOK_COUNT by hook and cpu: the last one counts */
	uint64_t ring_seen[(UINT16_MAX + 1) / 64];
};

/* Read the trace at @path. NULL with errno after printing why. */
struct summary *summary__read(const char *path);
void summary__free(struct summary *s);

/* ---- inside: summary_pmu.c ---- */

int summary_pmu__define(struct summary *s, const struct rec_pmu_counter *rec);
void summary_pmu__add(struct summary *s, const struct rec_pmu_read *rec);
void summary_pmu__free(struct summary *s);

#endif
