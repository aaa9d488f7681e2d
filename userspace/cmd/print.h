/* SPDX-License-Identifier: BSD-2-Clause */
/* Records as lines of text or JSON. */
#ifndef XPUGAP_CMD_PRINT_H
#define XPUGAP_CMD_PRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/lib/out.h"
#include "userspace/trace/state.h"
#include "userspace/trace/trace.h"

enum print_clock {
	PRINT_RELATIVE, /* seconds since the recording began */
	PRINT_MONOTONIC,
	PRINT_REAL, /* UTC */
};

struct printer;

/*
 * @out and @state stay the caller's. @begin_ns and @realtime_ns are the beginning of the recording
 * by both clocks. NULL with errno.
 */
struct printer *printer__new(struct out *out, const struct trace_state *state, bool json,
			     enum print_clock clock, uint64_t begin_ns, uint64_t realtime_ns);
void printer__free(struct printer *p);

/* Print one line; errors are the buffer's. */
void printer__print(struct printer *p, const struct trace_event *ev);

#endif
