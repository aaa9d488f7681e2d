/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the time of a whole recording went: each thread and each process as one span, from the
 * moment it is known to its end. The five host states of a thread add up to that to the
 * nanosecond, a process is the sum of its threads, and the total that of all.
 *
 * Of each kind the THREADS_KEEP with the most time on a cpu have rows; the rest is summed.
 */
#ifndef XPUGAP_ANALYSIS_THREADS_H
#define XPUGAP_ANALYSIS_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/account/facts.h"
#include "analysis/analysis.h"

#define THREADS_KEEP 1024

/* A thread, a process (tid 0), or several of them (both 0). */
struct thread_row {
	uint64_t process;  /* tells apart processes that had the same pid */
	uint64_t pid, tid; /* pid 0: not told */
	uint64_t threads;
	uint64_t begin_ns, end_ns; /* since the trace's beginning */
	uint64_t wall_ns;	   /* of a process the sum over its threads */
	uint64_t open_ioctls;	   /* that had not returned at the end: timed, not counted */
	char comm[REC_COMM_LEN + 1];
	const char *name; /* comm; after finish */
	struct facts facts;
};

struct threads;

/* Most time on a cpu first; after finish. Threads of a process that has no row have none. */
const struct thread_row *threads__processes(const struct threads *a, size_t *n);
/* Process by process in that order, and in each most time on a cpu first. */
const struct thread_row *threads__threads(const struct threads *a, size_t *n);
const struct thread_row *threads__total(const struct threads *a);
size_t threads__process_count(const struct threads *a); /* with those that have no row */

/* @to = what @all has beyond @part. */
void thread_row__rest(struct thread_row *to, const struct thread_row *all,
		      const struct thread_row *part);
void thread_row__add(struct thread_row *to, const struct thread_row *row);

extern const struct column *const thread_columns;
extern const size_t nthread_columns;

#endif
