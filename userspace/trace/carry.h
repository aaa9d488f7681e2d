/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a later file of a recording must say again to be understood alone: facts, clocks, hooks,
 * strings, devices and files that were defined, the tasks that live and what they have mapped, the
 * ranges and units that are open, and, where the caller asked the hooks, the calls that have not
 * returned, the requests that are under way and the waits for these.
 */
#ifndef XPUGAP_TRACE_CARRY_H
#define XPUGAP_TRACE_CARRY_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/include/events.h"

/* More than this is not kept of definitions, nor more tasks; what is left out is counted. */
#define CARRY_MAX_BYTES (64u << 20)
#define CARRY_MAX_TASKS (4u << 20)
#define CARRY_MAX_OPEN	65536u /* threads with open ranges; open units */
#define CARRY_MAX_DEPTH 64u    /* of ranges in ranges */
/*
 * Of files and streams those that calls met last are kept, and nobody tells of their ends. The
 * hooks remember fewer, and tell again of one that they have forgotten: what goes out here is not
 * missed.
 */
#define CARRY_MAX_FILES	  65536u
#define CARRY_MAX_STREAMS 32768u

struct trace_carry;

/* NULL with errno. */
struct trace_carry *trace_carry__new(void);
void trace_carry__free(struct trace_carry *c);

/* Of these records, and no others, it makes use. */
extern const uint8_t trace_carry_types[REC_TYPE_MAX];

static inline bool trace_carry__wants(uint16_t type)
{
	return type < REC_TYPE_MAX && trace_carry_types[type];
}

/* The set of them, but for those that are of use after trace_carry__ask() only. */
uint64_t trace_carry__types(void);

/*
 * Take in @rec. Those of one ring come in order; where rings are read one after the other, a task
 * may be seen to end before it is seen to begin. 0 or -ENOMEM.
 */
int trace_carry__feed(struct trace_carry *c, const struct rec *rec);

/* No record older than @watermark_ns will come: who ended well before that is forgotten. */
int trace_carry__settle(struct trace_carry *c, uint64_t watermark_ns);

/* What *_BLOCKED and *_OPEN records tell of from here on is open, unless its end is told, too. */
void trace_carry__ask(struct trace_carry *c);

/*
 * Give all of it to @emit as records of @time_ns; @rec is valid during the call. What was
 * asked for is forgotten with that. 0, what @emit returned, or -ENOMEM.
 */
int trace_carry__tell(struct trace_carry *c, uint64_t time_ns,
		      int (*emit)(void *arg, const struct rec *rec), void *arg);

#endif
