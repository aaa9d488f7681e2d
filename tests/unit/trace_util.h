/* SPDX-License-Identifier: BSD-2-Clause */
/* Made-up records and traces in memory, for the tests of the trace. */
#ifndef TESTS_UNIT_TRACE_UTIL_H
#define TESTS_UNIT_TRACE_UTIL_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/trace/records.h"
#include "userspace/trace/trace.h"

/* xorshift64*: the same numbers everywhere. */
uint64_t rnd(uint64_t *state);

/*
 * Fill @buf (REC_MAX_SIZE bytes) with a record of @desc whose fields are random, of the sort that
 * is typical for their format or, one time in eight, anything at all; tails are random text.
 */
struct rec *random_record(void *buf, const struct record_desc *desc, uint64_t time_ns,
			  uint64_t *state);

/* A file in memory, with @size bytes of @data. */
int memory_file(const void *data, size_t size);

/* All of @fd, which the caller frees. */
uint8_t *whole_file(int fd, size_t *size);

/* FNV-1a over bytes, continued from @hash. */
uint64_t fnv(uint64_t hash, const void *data, size_t size);

#endif
