/* SPDX-License-Identifier: BSD-2-Clause */
/* From totals of calls that the kernel counts to records: what is more than the time before. */
#ifndef XPUGAP_SOURCE_AGG_H
#define XPUGAP_SOURCE_AGG_H

#include <stdint.h>

#include "userspace/source/hooks.h"
#include "userspace/trace/trace.h"

struct agg;

/* NULL with errno. */
struct agg *agg__new(uint64_t now_ns);
void agg__free(struct agg *a);

/* A record that tells whose thread has ended, or any other. 0 or -ENOMEM. */
int agg__saw(struct agg *a, const struct rec *rec);

/* Write all that came since the last time. 0 or -errno. */
int agg__read(struct agg *a, struct hooks *h, struct trace_writer *w);

/*
 * The inside of it, for tests: @value of @key, which is read at @now_ns and says the maximum of the
 * interval @turn. 1: its thread has ended and nothing came since the last time, so that it can be
 * forgotten; 0; -errno. agg__forget() takes what it was when it was removed.
 */
int agg__take(struct agg *a, struct trace_writer *w, const struct agg_key *key,
	      const struct agg_value *value, uint32_t turn, uint64_t now_ns);
int agg__forget(struct agg *a, struct trace_writer *w, const struct agg_key *key,
		const struct agg_value *value, uint32_t turn, uint64_t now_ns);
void agg__end_interval(struct agg *a, uint64_t now_ns);

#endif
