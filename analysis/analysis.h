/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Analyses: one row in the table, one file, one page, one test.
 *
 * A set reads a trace once: each record goes into the session (analysis/session.h), then to every
 * analysis that wants its type. An analysis may also observe the session, which tells it of host
 * states, and of tasks that come and go.
 */
#ifndef XPUGAP_ANALYSIS_ANALYSIS_H
#define XPUGAP_ANALYSIS_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/session.h"
#include "userspace/lib/column.h"
#include "userspace/lib/opt.h"

/* What an analysis found, as rows that are the same in text, CSV and JSON. */
struct analysis_table {
	const struct column *columns;
	size_t ncolumns;
	const void *rows; /* belongs to the analysis */
	size_t n, stride;
};

/*
 * new:    NULL with errno; @opts as opts__parse() filled it, NULL for the defaults
 * event:  0 or -errno; @rec has gone into the session already
 * finish: the session has ended all tasks; 0 or -errno
 * table:  after finish; 0 or -ENOMEM
 * free:   a no-op on NULL; the session is gone already
 */
struct analysis {
	const char *name;
	const char *summary;
	const uint16_t *wants; /* record types, 0 ends the list */
	const struct opt *opts;
	size_t opts_size;
	void *(*new)(struct session *s, const void *opts);
	int (*event)(void *a, const struct rec *rec);
	int (*finish)(void *a);
	int (*table)(void *a, struct analysis_table *out);
	void (*free)(void *a);
};

#define ANALYSIS_TABLE(X)                                                                          \
	X(steps, "training steps and what the host did in each")                                   \
	X(units, "units of work with an id, such as requests")                                     \
	X(threads, "where the time of each thread went over the whole recording")                  \
	X(ranges, "named ranges of the program, by name")

#define ANALYSIS_DECLARE(name, what) extern const struct analysis analysis_##name;
ANALYSIS_TABLE(ANALYSIS_DECLARE)
#undef ANALYSIS_DECLARE

/* NULL-terminated, in the order of the table. */
extern const struct analysis *const analyses[];
const struct analysis *analysis__find(const char *name);

#define ANALYSIS_SET_MAX 16

struct analysis_set;

struct analysis_set *analysis_set__new(void); /* NULL with errno */
/* 0, -ENOSPC, or -errno of the analysis' new. */
int analysis_set__add(struct analysis_set *set, const struct analysis *a, const void *opts);
struct session *analysis_set__session(struct analysis_set *set);
/* What the analysis' new returned, or NULL if it is not in the set. */
void *analysis_set__state(struct analysis_set *set, const struct analysis *a);

/* 0, or the first -errno of anything. */
int analysis_set__event(struct analysis_set *set, const struct trace_event *ev);
int analysis_set__finish(struct analysis_set *set);
/* All of a trace; what nobody wants is not even decoded. Segments of one trace follow each other.
 */
int analysis_set__read(struct analysis_set *set, struct trace_reader *r);

void analysis_set__free(struct analysis_set *set);

#endif
