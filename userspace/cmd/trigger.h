/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A condition over the times of steps, such as "step > 1.5*p50 && step > 20ms".
 *
 *	condition  and { "||" and }
 *	and	   comparison { "&&" comparison }
 *	comparison sum [ ( ">" | ">=" | "<" | "<=" ) sum ]
 *	sum	   product { ( "+" | "-" ) product }
 *	product	   operand { ( "*" | "/" ) operand }
 *	operand	   "step" | "p50" | "p90" | "mean" | number [ unit ] | "(" condition ")"
 *	unit	   "ns" | "us" | "ms" | "s"
 *
 * Units are checked: a time can be compared with a time only, and a product of two is no time.
 */
#ifndef XPUGAP_CMD_TRIGGER_H
#define XPUGAP_CMD_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/include/events.h"

#define TRIGGER_WARM_UP	    10	 /* steps of a thread before p50, p90 and mean mean something */
#define TRIGGER_MAX_THREADS 1024 /* that are followed; of more, the steps are not looked at */

struct trigger;

/* NULL with errno: EINVAL, @why says what is wrong, or ENOMEM. */
struct trigger *trigger__new(const char *text, char *why, size_t size);
void trigger__free(struct trigger *t);

/* A step that met the condition. */
struct trigger_hit {
	uint64_t step; /* its number */
	double step_ns;
	double p50_ns; /* of the steps of its thread before; NaN: there were too few */
	uint32_t tid;
};

/*
 * Take in a MARK_STEP record, which ends a step of its thread and begins another. Did the step that
 * ended meet the condition, with p50, p90 and mean those of the steps of that thread before it?
 */
bool trigger__step(struct trigger *t, const struct rec *rec, struct trigger_hit *hit);

/* The condition for given values, for tests. */
struct trigger_values {
	double step, p50, p90, mean;
};
bool trigger__holds(const struct trigger *t, const struct trigger_values *v);

#endif
