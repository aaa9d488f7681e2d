/* SPDX-License-Identifier: BSD-2-Clause */
/* Made-up records and traces in memory, for the tests of the trace. */
#ifndef TESTS_UNIT_TRACE_UTIL_H
#define TESTS_UNIT_TRACE_UTIL_H

#include <stdbool.h>
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

#define SUM_RINGS 5

/* What a ring has brought: a checksum over content and order after each record. */
struct ring_sums {
	uint64_t *after; /* of records 0..n */
	uint64_t n, cap;
};

struct sums {
	struct ring_sums ring[SUM_RINGS];
	uint64_t count;
};

void sums__add(struct sums *s, unsigned int ring, const struct rec *rec);
void sums__free(struct sums *s);
/* Did every ring bring the same records in the same order? */
bool sums__equal(const struct sums *a, const struct sums *b);
/* Did every ring of @a bring the first of those that it brought in @b? */
bool sums__prefix(const struct sums *a, const struct sums *b);

/*
 * Write @n records of all types over SUM_RINGS rings, times rising by up to 2 us from 1 s on, with
 * a sweep after each 100, and finish. @sums may be NULL.
 */
void write_random(struct trace_writer *w, uint64_t n, uint64_t seed, struct sums *sums);

/* A whole trace of such records in memory, in rounds of 1 ms. */
uint8_t *random_trace(uint64_t n, uint64_t seed, struct sums *sums, size_t *size);

/* Read to the end, checking that times never fall; returns what trace_reader__next() did last. */
int read_all(struct trace_reader *r, struct sums *sums);

/* FNV-1a over bytes, continued from @hash. */
uint64_t fnv(uint64_t hash, const void *data, size_t size);

#endif
