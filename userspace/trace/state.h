/* SPDX-License-Identifier: BSD-2-Clause */
/* What a trace has defined so far: names of tasks, their processes, strings behind ids. */
#ifndef XPUGAP_TRACE_STATE_H
#define XPUGAP_TRACE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/include/events.h"

#define TRACE_TASKS_MAX (4u << 20) /* more than a kernel can have at a time */

struct trace_state;

struct trace_task {
	uint32_t pid; /* 0: not known */
	uint8_t comm_len;
	char comm[REC_COMM_LEN]; /* not NUL-terminated; comm_len 0: not known */
};

/* NULL with errno. */
struct trace_state *trace_state__new(void);
void trace_state__free(struct trace_state *s);

/* Take in @rec, in order of time. Records that define nothing are passed over; 0 or -ENOMEM. */
int trace_state__feed(struct trace_state *s, const struct rec *rec);

/*
 * The task @tid as it is now; NULL if the trace has not told of it. Tasks that ended are known
 * until some thousand others have ended after them.
 */
const struct trace_task *trace_state__task(const struct trace_state *s, uint32_t tid);

/* The string of NAME id @id, not NUL-terminated, with its length; NULL if not defined so far. */
const char *trace_state__name(const struct trace_state *s, uint64_t id, size_t *len);

/* Of these types trace_state__feed() makes use. */
#define TRACE_STATE_TYPES                                                                          \
	(TRACE_TYPE(REC_TASK) | TRACE_TYPE(REC_TASK_FORK) | TRACE_TYPE(REC_TASK_EXEC) |            \
	 TRACE_TYPE(REC_TASK_EXIT) | TRACE_TYPE(REC_TASK_COMM) | TRACE_TYPE(REC_NAME))

#endif
