/* SPDX-License-Identifier: BSD-2-Clause */
/* xpugap report: what it reads, what it computes from that, and how it is shown. */
#ifndef XPUGAP_CMD_REPORT_H
#define XPUGAP_CMD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/milabench.h"
#include "analysis/ranges.h"
#include "analysis/steps.h"
#include "analysis/threads.h"
#include "analysis/units.h"
#include "userspace/cmd/traces.h"
#include "userspace/lib/opt.h"
#include "userspace/trace/trace.h"

struct json;

struct report_opts {
	struct opt_list rows; /* names; none: all */
	bool steps, units, csv, json;
};

enum fact_kind {
	FACT_NS,
	FACT_COUNT,
	FACT_VALUE, /* a program's counter, or a ratio */
};

/* Which part of a workload a fact is about. */
enum fact_section {
	FACT_STEP,
	FACT_LOADERS,
	FACT_OTHERS,
	FACT_ALL,
	FACT_COUNTERS,
	FACT_SECTIONS,
};

/* One number per step. NaN where a step has none; statistics are over the others. */
struct fact {
	char *key;	   /* "running_ns" */
	const char *label; /* "on cpu" */
	enum fact_section section;
	enum fact_kind kind;
	struct series values;
	double total, mean, min, p50, p90, p99, max;
	double share; /* of the section's time; NaN: of nothing */
};

#define FACTS_MAX 96

/* A stream of steps, or where there is no trace of it, a bench of the logs. */
struct report_workload {
	const char *name, *device; /* device "" if not known */
	uint64_t repeat;
	const struct step_stream *stream;    /* or NULL */
	const struct milabench_bench *bench; /* or NULL */
	const struct session_row *row;	     /* or NULL */
	const char *units;		     /* of rate */
	struct fact rate, step_time;
	double items_per_s; /* items of all steps by the time from the first to the last; NaN */
	uint64_t items, span_ns;
	struct fact facts[FACTS_MAX];
	size_t nfacts;
	uint64_t lost_steps, gap_steps;
};

struct report {
	const struct report_opts *o;
	char *dir;   /* of a run, or NULL */
	char *trace; /* or NULL */
	struct milabench *milabench;
	bool has_benches;
	struct analysis_set *set;
	struct session *session;
	struct steps *steps;
	struct units *units;
	struct threads *threads;
	struct ranges *ranges;
	struct trace_info info;
	struct trace_damage damage;
	struct report_workload *workloads;
	size_t nworkloads;
	bool has_states, has_ioctls, has_faults; /* what the hooks could record */
};

/* Compute workloads from what was read. 0 or -errno. */
int report__compute(struct report *r);
void report__free_workloads(struct report *r);

/* Is the workload @name among those that were asked for, if any were? */
bool report__is_asked(const struct report *r, const char *name);

/*
 * Was @hook attached, as far as the trace says (one that says nothing of hooks is taken at its
 * word)? If not, *why says why.
 */
bool report__hook_works(const struct report *r, enum rec_hook_id hook, const char **why);

/*
 * Sentences on what must not be concluded from this report, the gravest first. Calls @say for
 * each; returns how many there were.
 */
size_t report__warnings(const struct report *r, void (*say)(void *ctx, const char *text),
			void *ctx);

/* The whole recording as one span, process by process; for traces without steps. */
int report__print_whole(const struct report *r, FILE *out);
void report__write_whole(const struct report *r, struct json *j);

/* The program's own ranges by name; nothing where there are none. */
int report__print_ranges(const struct report *r, FILE *out);
void report__write_ranges(const struct report *r, struct json *j);

int report__print_text(const struct report *r, FILE *out, bool colour);
int report__print_json(const struct report *r, FILE *out);
int report__print_csv(const struct report *r, FILE *out);

#endif
