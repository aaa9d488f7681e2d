/* SPDX-License-Identifier: BSD-2-Clause */
/* What carry.c, carry_task.c and carry_open.c share. */
#ifndef XPUGAP_TRACE_CARRY_PRIV_H
#define XPUGAP_TRACE_CARRY_PRIV_H

#include "userspace/lib/map.h"
#include "userspace/trace/carry.h"

/*
 * Of the ends of neighbours nothing is told. The hooks remember so many, too, and tell again of one
 * that they have forgotten.
 */
#define CARRY_NEIGHBOURS 8192
#define CARRY_SETTLED_NS 1000000000ULL /* so late records of who has ended may still come */

/* A definition, in a list of those of its sort. */
struct carry_def {
	struct carry_def *prev, *next;
	uint64_t key;	/* in def_of */
	struct rec rec; /* and what follows of it */
};

struct carry_defs {
	struct carry_def *first, *last; /* the last is the one that came, or was met, last */
	uint32_t n;
};

/* Sorts of definitions. A program may have any number of files and streams. */
enum carry_sort {
	CARRY_OTHER,
	CARRY_FILE,
	CARRY_STREAM,
	CARRY_SORTS,
};

struct trace_carry {
	struct carry_defs defs[CARRY_SORTS];
	struct map def_of; /* what is defined → struct carry_def */
	uint64_t bytes;	   /* of definitions and mappings */
	uint64_t left_out;
	struct map tasks;     /* by tid */
	struct map processes; /* by pid: what they have mapped */
	uint32_t ended;	      /* tasks and processes that did and are still known */
	uint32_t neighbours[CARRY_NEIGHBOURS]; /* tids of the last that were told of, a ring */
	uint32_t n_neighbours;
	struct map ranges; /* by tid */
	struct map units;
	bool asked;
	struct map calls;    /* by tid: the *_BLOCKED record */
	struct map returned; /* by tid: when the last call that returned had begun */
	struct map requests; /* to disks, GPUs and io_uring, and waits: the *_OPEN record */
};

/* One way to hand records on, which counts what it was given. */
struct carry_teller {
	int (*emit)(void *arg, const struct rec *rec);
	void *arg;
	uint64_t time_ns;
};

/* Keep a copy of @rec; replaces what was there. */
int carry__keep(struct map *m, uint64_t key, const void *data, uint32_t size);
void carry__free_values(struct map *m);

#define CARRY_HASH 0xcbf29ce484222325ULL /* to begin with */
uint64_t carry__hash(uint64_t h, const void *data, size_t size);

/* ---- carry_task.c ---- */
int carry_task__feed(struct trace_carry *c, const struct rec *rec);
int carry_task__settle(struct trace_carry *c, uint64_t before_ns);
int carry_task__tell(struct trace_carry *c, const struct carry_teller *t);
void carry_task__free(struct trace_carry *c);

/* ---- carry_open.c ---- */
int carry_open__feed(struct trace_carry *c, const struct rec *rec);
int carry_open__feed_asked(struct trace_carry *c, const struct rec *rec);
void carry_open__task_ended(struct trace_carry *c, uint32_t tid);
int carry_open__tell(struct trace_carry *c, const struct carry_teller *t);
void carry_open__free(struct trace_carry *c);

/* ---- carry.c ---- */
void carry__forget_role(struct trace_carry *c, uint32_t tid);

#endif
