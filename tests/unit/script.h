/* SPDX-License-Identifier: BSD-2-Clause */
/* Records written by hand, one after the other, and their analysis. */
#ifndef TESTS_UNIT_SCRIPT_H
#define TESTS_UNIT_SCRIPT_H

#include "analysis/steps.h"
#include "analysis/threads.h"
#include "analysis/units.h"
#include "tests/unit/sim.h"

extern struct sim script; /* only its clock and its records are used */

void begin_script(void); /* at time 1000 */
void at(uint64_t t);
void task(uint32_t tid, uint32_t pid, uint32_t ppid, uint64_t start, const char *comm);
void name(uint64_t id, const char *text);
void mark_step(uint64_t t, uint32_t tid, uint64_t number, uint64_t items);
/* A switch on cpu 0 between targets; 0 is the idle task. */
void sched_switch(uint64_t t, uint32_t prev, uint32_t prev_state, uint32_t next);
struct analysis_set *end_script(void); /* analysed, finished */

struct analysis_set *new_set(void); /* of all analyses */
/* All records of @s; unless @drop is 0, one in @drop of the scheduler's is left out at random. */
struct analysis_set *analyse(struct sim *s, uint64_t drop);
const struct steps *steps_of(struct analysis_set *set);
const struct threads *threads_of(struct analysis_set *set);
const struct unit_row *units_of(struct analysis_set *set, size_t *n);
void expect_facts(const struct facts *got, const struct facts *want, const char *what,
		  uint64_t seed, size_t i);

#endif
