/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the reader share: reader_open.c, reader_load.c, reader.c. */
#ifndef XPUGAP_TRACE_READER_H
#define XPUGAP_TRACE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/lib/crc32c.h"
#include "userspace/trace/chunk.h"
#include "userspace/trace/format.h"
#include "userspace/trace/input.h"
#include "userspace/trace/trace.h"

#define SPARES 16 /* buffers kept for the next decoded chunk */
#define PAD    8  /* bytes past a payload that its decoder may read */

/* A chunk that waits to be decoded. */
struct waiting {
	struct waiting *next;
	struct chunk_head head;
	uint8_t payload[];
};

struct ring {
	uint16_t id;
	bool open; /* rows holds a decoded chunk, at is in it */
	uint32_t at;
	struct decoded rows;
	struct waiting *first, **last;
	uint64_t next_ns;	/* of its next record */
	uint64_t read_ns;	/* of the last chunk that was read */
	struct ring *next_ring; /* of all */
};

#define RINGS_PAGE 256

/* Where a chunk ended; a writer may cut its file back to one of the last few. */
struct chunk_end {
	uint64_t offset;
	uint32_t seq;
};

#define CHUNK_ENDS 16 /* more than a writer keeps */

struct trace_reader {
	struct input in;
	int own_fd;
	char *name;
	struct trace_head head;
	struct decoder *decoder;
	struct ring *
		*rings[(UINT16_MAX + 1) / RINGS_PAGE]; /* by id, in pages where there are any */
	struct ring *all_rings;
	struct ring **heap; /* rings that have records, the oldest first */
	uint32_t n_heap, cap_heap;
	struct decoded spare[SPARES];
	uint32_t n_spare;
	bool delivered;	     /* the first of the heap is at the record that the caller has */
	uint64_t bound_ns;   /* until before this the first of the heap stays the first */
	uint64_t limit_ns;   /* records up to here may be delivered: the watermark */
	uint64_t floor_ns;   /* no record may be older */
	uint64_t held_bytes; /* waiting */
	uint64_t open_bytes; /* decoded */
	uint32_t seq;	     /* of the next chunk */
	bool any_seq;	     /* ... is not known */
	struct chunk_end chunk_ends[CHUNK_ENDS];
	uint32_t n_chunk_ends;
	bool went_back; /* what was read once may come again, or something else */
	bool at_end;
	struct trace_filter filter;
	uint64_t records; /* delivered */
	uint64_t held;	  /* by the chunks that were read or passed over */
	bool complete;
	struct trace_damage damage;
};

/* Read on up to the next watermark, the end, or as much as may be held. 0 or -ENOMEM. */
int reader__load(struct trace_reader *r);

/* The ring with the oldest record comes first. */
int heap__push(struct trace_reader *r, struct ring *ring);

static inline void reader__bad_chunk(struct trace_reader *r, const struct chunk_head *head)
{
	r->damage.bad_chunks++;
	if (head->kind == CHUNK_RECORDS)
		r->damage.bad_records += head->count;
}

static inline bool chunk__is_sane(const struct chunk_head *h)
{
	return h->magic == CHUNK_MAGIC &&
	       h->head_crc ==
		       crc32c((const uint8_t *)h + CHUNK_CRC_FROM, sizeof(*h) - CHUNK_CRC_FROM) &&
	       h->stored <= CHUNK_MAX_BYTES && h->raw <= CHUNK_MAX_BYTES &&
	       (h->kind != CHUNK_RECORDS ||
		(h->count <= CHUNK_MAX_COUNT && h->first_ns <= h->last_ns));
}

/* Which of the chunk's records can pass the filter? */
static inline uint64_t reader__wanted_types(const struct trace_reader *r,
					    const struct chunk_head *head)
{
	const struct trace_filter *f = &r->filter;
	uint64_t types = 0;

	if (head->first_ns > f->to_ns)
		return 0;
	if (head->last_ns >= f->from_ns)
		types = f->types;
	if (head->first_ns < f->from_ns)
		types |= f->before;
	return types & head->types;
}

#endif
