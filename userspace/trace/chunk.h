/* SPDX-License-Identifier: BSD-2-Clause */
/* Records to the payload of a chunk and back. Private to this folder. */
#ifndef XPUGAP_TRACE_CHUNK_H
#define XPUGAP_TRACE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/trace/format.h"
#include "userspace/trace/records.h"

#define RECORD_FIXED_MAX 512 /* bytes of head and fixed part of any type */
#define X(id, NAME, name, hook, tail, what)                                                        \
	_Static_assert(sizeof(struct rec_##name) <= RECORD_FIXED_MAX, "rec_" #name " is too "      \
								      "long");
REC_RECORDS(X)
#undef X

struct encoder;

/* What one call of encoder__encode() made: valid until the next. */
struct encoded {
	const uint8_t *payload;
	uint32_t stored;
	uint32_t raw;
	uint8_t codec;
	uint32_t count;
	uint32_t bytes; /* of the records taken */
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t types;
};

/* @level of zstd; a negative one never compresses. NULL with errno. */
struct encoder *encoder__new(int level);
void encoder__free(struct encoder *e);

/*
 * Encode records that lie one after the other in @rows, @bytes long (at most ENCODE_MAX_BYTES), in
 * order of time, well formed and, if their type is known, at least as long as its struct. As many
 * as fit one chunk are taken, at least one; @out->bytes says how far that went. 0 or -ENOMEM.
 */
#define ENCODE_MAX_BYTES (CHUNK_MAX_BYTES / 4)
int encoder__encode(struct encoder *e, const uint8_t *rows, uint32_t bytes, struct encoded *out);

struct decoder;

struct decoder *decoder__new(void);
void decoder__free(struct decoder *d);

struct decoded {
	uint8_t *rows; /* owned by the caller, grown as needed */
	size_t size;   /* allocated */
	uint32_t bytes;
	uint32_t count;	  /* records in rows, maybe 0 */
	uint32_t unknown; /* records left out: of types that this program does not know */
};

/*
 * Decode the payload (stored form, its checksum already verified) of the chunk with @head; at
 * least 8 bytes past it must be readable. Only records of the @types (see TRACE_TYPE) that this
 * program knows come out; they are well formed and in order of time. 0, -EBADMSG (damaged) or
 * -ENOMEM.
 */
int decoder__decode(struct decoder *d, const struct chunk_head *head, const uint8_t *payload,
		    uint64_t types, struct decoded *out);

#endif
