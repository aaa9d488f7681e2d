/* SPDX-License-Identifier: BSD-2-Clause */
/* Columns of numbers to bytes and back, as trace(5) says. Private to this folder. */
#ifndef XPUGAP_TRACE_PACK_H
#define XPUGAP_TRACE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the encoder may assume about a column; each is only a hint to find the shortest form. */
enum pack_hint {
	PACK_PLAIN,
	PACK_SIGNED, /* two's complement of its width */
	PACK_TIME,   /* near the record's own time; 8 bytes */
	PACK_RISING, /* never falls; 8 bytes */
	PACK_REAL,   /* doubles: differences are of no use */
};

#define PACK_EXCEPTIONS 1024

/* Scratch for one column; big, so it is kept by whoever packs many. */
struct packer {
	uint32_t exception_at[PACK_EXCEPTIONS];
	uint64_t exception_high[PACK_EXCEPTIONS];
	uint64_t dict[256];
	uint64_t slot_value[1024];
	uint16_t slot_code[1024]; /* place in dict + 1; 0: free */
	uint8_t codes[65536];
};

/*
 * What pack__column() writes at most: 3/2 of the values and 3/4 bytes for each, and a head. It may
 * scribble over 8 bytes more.
 */
#define PACK_HEAD_BYTES 64

/* What is remembered of a column from one chunk to the next: it will be much the same. */
struct pack_memory {
	uint64_t cost;	/* of the packed form when it was last looked at */
	uint8_t trials; /* so often the dictionary is used, or not tried, without a new look */
	bool dict;	/* it was better */
};

/*
 * Write @n values of @width bytes (1, 2, 4, 8; zero-extended in @v) to @out. @times are the
 * absolute times of their records, needed for PACK_TIME only; @memory may be NULL. @v is
 * overwritten. Returns the end.
 */
uint8_t *pack__column(struct packer *p, uint8_t *out, uint64_t *v, uint32_t n, unsigned int width,
		      enum pack_hint hint, const uint64_t *times, struct pack_memory *memory);

/* The same for a column of equal values. */
uint8_t *pack__constant(uint8_t *out, uint64_t v, unsigned int width);

uint8_t *pack__varint(uint8_t *out, uint64_t v);

/*
 * Read one column of @n values into @v, zero-extended to its width, which is stored in @width.
 * Up to 8 bytes past @end must be readable. Returns the end of the column, NULL if it is damaged.
 */
const uint8_t *unpack__column(const uint8_t *in, const uint8_t *end, uint64_t *v, uint32_t n,
			      const uint64_t *times, unsigned int *width);

/* Do the values equal each other, so that @value (if not NULL) is all there is to know? */
bool unpack__constant(const uint8_t *in, const uint8_t *end, uint64_t *value, unsigned int *width);

/* Pass over a column without decoding it; as unpack__column() otherwise. */
const uint8_t *unpack__skip(const uint8_t *in, const uint8_t *end, uint32_t n, unsigned int *width);

/* NULL if it is damaged. */
const uint8_t *unpack__varint(const uint8_t *in, const uint8_t *end, uint64_t *v);

#endif
