/* SPDX-License-Identifier: BSD-2-Clause */
/* From totals of calls that the kernel counts to records: what is more than the time before. */
#ifndef XPUGAP_SOURCE_AGG_H
#define XPUGAP_SOURCE_AGG_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/source/hooks.h"
#include "userspace/trace/trace.h"

struct agg;

/* NULL with errno. */
struct agg *agg__new(uint64_t now_ns);
void agg__free(struct agg *a);

/* Write all that came since the last time. 0 or -errno. */
int agg__read(struct agg *a, struct hooks *h, struct trace_writer *w);

/*
 * The inside of it, for tests: @value of @key, which is read at @now_ns and says the maximum of the
 * interval @turn. @ended: its thread has; it may still have counted since @value was read, so it is
 * forgotten the next time. 1: it can be forgotten; 0; -errno
 */
int agg__take(struct agg *a, struct trace_writer *w, const struct agg_key *key,
	      const struct agg_value *value, uint32_t turn, uint64_t now_ns, bool ended);
void agg__end_interval(struct agg *a, uint64_t now_ns);

#endif
