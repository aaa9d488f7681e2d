// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "userspace/trace/grow.h"
#include "userspace/trace/pack.h"
#include "userspace/trace/trace.h"

#define COLUMNS_MAX	     32 /* of one record */
#define ONE(type, name, fmt) +1
#define TWO(name)	     +2 /* columns of 8 bytes */
#define X(id, NAME, name, hook, tail, what)                                                        \
	_Static_assert(0 REC_FIELDS_##name(ONE, TWO) <= COLUMNS_MAX, "rec_" #name " is too long");
REC_RECORDS(X)
#undef X

#define ZSTD_RETRY 32 /* chunks between two looks at whether compressing pays */

/* The records of one type in a chunk. */
struct group {
	uint16_t type;
	uint16_t size; /* of head and fixed part */
	bool tails;
	uint32_t count;
	uint32_t start; /* of its rows in encoder.order */
	const struct record_desc *desc;
};

struct encoder {
	struct packer packer;
	struct pack_memory memory[REC_TYPE_MAX][COLUMNS_MAX];
	struct pack_memory tid_memory;
	struct group groups[CHUNK_MAX_TYPES];
	uint32_t n_groups;
	uint8_t group_of[REC_TYPE_MAX]; /* + 1; 0: none yet */
	uint32_t tids_differ;		/* bits that are not the same in all */
	/* for each record, capacity @cap */
	uint32_t cap;
	uint32_t *offset; /* in rows */
	uint32_t *order;  /* offsets, grouped by type */
	uint8_t *group;
	uint64_t *time;	 /* absolute, in order of the rows */
	uint64_t *value; /* of the column at hand */
	uint64_t *group_time;
	/* the payload */
	uint8_t *raw;
	size_t raw_cap;
	uint8_t *packed;
	size_t packed_cap;
	ZSTD_CCtx *zstd;
	int level;
	uint32_t chunks;
	bool zstd_pays;
};

struct encoder *encoder__new(int level)
{
	struct encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->level = level;
	if (level >= 0) {
		e->zstd = ZSTD_createCCtx();
		if (!e->zstd) {
			encoder__free(e);
			errno = ENOMEM;
			return NULL;
		}
	}
	return e;
}

void encoder__free(struct encoder *e)
{
	if (!e)
		return;
	ZSTD_freeCCtx(e->zstd);
	free(e->offset);
	free(e->order);
	free(e->group);
	free(e->time);
	free(e->value);
	free(e->group_time);
	free(e->raw);
	free(e->packed);
	free(e);
}

static int reserve_rows(struct encoder *e, uint32_t n)
{
	uint32_t cap = e->cap ? e->cap : 64;

	if (n <= e->cap)
		return 0;
	while (cap < n)
		cap *= 2;
	if (grow(&e->offset, cap, sizeof(*e->offset)) || grow(&e->order, cap, sizeof(*e->order)) ||
	    grow(&e->group, cap, sizeof(*e->group)) || grow(&e->time, cap, sizeof(*e->time)) ||
	    grow(&e->value, cap, sizeof(*e->value)) ||
	    grow(&e->group_time, cap, sizeof(*e->group_time)))
		return -ENOMEM;
	e->cap = cap;
	return 0;
}

static int reserve_raw(struct encoder *e, size_t bytes)
{
	if (bytes <= e->raw_cap)
		return 0;
	if (grow(&e->raw, bytes, 1))
		return -ENOMEM;
	e->raw_cap = bytes;
	return 0;
}

/* The number of the group of records like @rec, -1 when a chunk can hold no more groups. */
static int find_group(struct encoder *e, const struct rec *rec)
{
	struct group *g;
	uint32_t i;

	if (rec->type < REC_TYPE_MAX && e->group_of[rec->type])
		return e->group_of[rec->type] - 1;
	for (i = 0; rec->type >= REC_TYPE_MAX && i < e->n_groups; i++)
		if (e->groups[i].type == rec->type)
			return (int)i;
	if (e->n_groups == CHUNK_MAX_TYPES)
		return -1;
	if (rec->type < REC_TYPE_MAX)
		e->group_of[rec->type] = (uint8_t)(e->n_groups + 1);
	g = &e->groups[e->n_groups];
	*g = (struct group){.type = rec->type, .size = sizeof(*rec)};
	g->desc = record__find(rec->type);
	if (g->desc)
		g->size = g->desc->size;
	return (int)e->n_groups++;
}

/* Note where each record lies, and of which type it is. */
static int survey(struct encoder *e, const uint8_t *rows, uint32_t bytes, struct encoded *out)
{
	const struct rec *rec = (const struct rec *)rows;
	uint32_t at = 0, n = 0, first_tid = rec->tid;
	int err, i = -1, type = -1;
	struct group *g = NULL;

	memset(e->group_of, 0, sizeof(e->group_of));
	e->n_groups = 0;
	e->tids_differ = 0;
	for (; at < bytes && n < CHUNK_MAX_COUNT; at += rec->size, n++) {
		rec = (const struct rec *)(rows + at);
		if (rec->type != type) {
			i = find_group(e, rec);
			if (i < 0)
				break;
			type = rec->type;
			g = &e->groups[i];
		}
		err = n < e->cap ? 0 : reserve_rows(e, n + 1);
		if (err)
			return err;
		g->count++;
		g->tails |= rec->size > g->size;
		e->tids_differ |= rec->tid ^ first_tid;
		e->offset[n] = at;
		e->group[n] = (uint8_t)i;
		e->time[n] = rec->time_ns;
	}
	out->types = 0;
	for (i = 0; i < (int)e->n_groups; i++)
		out->types |= TRACE_TYPE(e->groups[i].type);
	out->count = n;
	out->bytes = at;
	out->first_ns = e->time[0];
	out->last_ns = e->time[n - 1];
	return 0;
}

static void sort_by_group(struct encoder *e, uint32_t n)
{
	uint32_t next[CHUNK_MAX_TYPES], start = 0, i;

	for (i = 0; i < e->n_groups; i++) {
		e->groups[i].start = next[i] = start;
		start += e->groups[i].count;
	}
	for (i = 0; e->n_groups > 1 && i < n; i++)
		e->order[next[e->group[i]]++] = e->offset[i];
}

static const uint32_t *rows_of(const struct encoder *e, const struct group *g)
{
	return e->n_groups > 1 ? e->order + g->start : e->offset;
}

/* Read the value of @width bytes at @from of each of @n records. */
static void gather(uint64_t *v, const uint8_t *rows, const uint32_t *offset, uint32_t n,
		   uint32_t from, unsigned int width)
{
	uint32_t i;

	rows += from;
#define GATHER(type)                                                                               \
	for (i = 0; i < n; i++) {                                                                  \
		type x;                                                                            \
		memcpy(&x, rows + offset[i], sizeof(x));                                           \
		v[i] = x;                                                                          \
	}                                                                                          \
	break
	switch (width) {
	case 1:
		GATHER(uint8_t);
	case 2:
		GATHER(uint16_t);
	case 4:
		GATHER(uint32_t);
	default:
		GATHER(uint64_t);
	}
#undef GATHER
}

static enum pack_hint hint_of(const struct record_field *f)
{
	if (f->format == REC_FMT_TIME)
		return PACK_TIME;
	if (f->format == REC_FMT_REAL || f->format == REC_FMT_COMM)
		return PACK_REAL;
	return f->is_signed ? PACK_SIGNED : PACK_PLAIN;
}

/*
 * Find the bits of the fixed part in which the group's records are not all the same. Most fields
 * are constant in a chunk, and this passes over them several words at once.
 */
static void find_changes(uint64_t *differ, const uint8_t *rows, const uint32_t *offset, uint32_t n,
			 unsigned int words)
{
	const uint8_t *row = rows + offset[0] + sizeof(struct rec),
		      *from = rows + sizeof(struct rec);
	unsigned int at = 0;

#define FIND(k)                                                                                    \
	for (; at + (k) <= words; at += (k)) {                                                     \
		uint64_t first[k], word[k], acc[k] = {0};                                          \
		unsigned int w;                                                                    \
		uint32_t i;                                                                        \
                                                                                                   \
		memcpy(first, row + at * 8, sizeof(first));                                        \
		for (i = 1; i < n; i++) {                                                          \
			memcpy(word, from + offset[i] + at * 8, sizeof(word));                     \
			for (w = 0; w < (k); w++)                                                  \
				acc[w] |= word[w] ^ first[w];                                      \
		}                                                                                  \
		memcpy(differ + at, acc, sizeof(acc));                                             \
	}
	FIND(6)
	FIND(4)
	FIND(2)
	FIND(1)
#undef FIND
}

/* Put the column of @width bytes at @from of the record. */
static uint8_t *put_column(struct encoder *e, uint8_t *out, const uint8_t *rows,
			   const struct group *g, const uint64_t *differ, unsigned int from,
			   unsigned int width, enum pack_hint hint, struct pack_memory *memory)
{
	unsigned int word = (from - (unsigned int)sizeof(struct rec)) / 8, shift = from % 8 * 8;
	const uint32_t *offset = rows_of(e, g);
	uint64_t value = 0;

	if (!(differ[word] >> shift << (64 - 8 * width))) {
		memcpy(&value, rows + offset[0] + from, width);
		return pack__constant(out, value, width);
	}
	if (hint == PACK_TIME)
		gather(e->group_time, rows, offset, g->count, offsetof(struct rec, time_ns), 8);
	gather(e->value, rows, offset, g->count, from, width);
	return pack__column(&e->packer, out, e->value, g->count, width, hint, e->group_time,
			    memory);
}

static uint8_t *put_fixed(struct encoder *e, uint8_t *out, const uint8_t *rows,
			  const struct group *g)
{
	const struct record_field *f = g->desc->fields, *end = f + g->desc->n_fields;
	unsigned int at, width, words = (g->size - (unsigned int)sizeof(struct rec)) / 8;
	struct pack_memory *memory = e->memory[g->type];
	uint64_t differ[RECORD_FIXED_MAX / 8];

	find_changes(differ, rows, rows_of(e, g), g->count, words);
	for (; f < end; f++) {
		width = f->width < 8 ? f->width : 8;
		for (at = 0; at < f->width; at += width)
			out = put_column(e, out, rows, g, differ, f->offset + at, width, hint_of(f),
					 memory++);
	}
	return out;
}

static uint8_t *put_tails(struct encoder *e, uint8_t *out, const uint8_t *rows,
			  const struct group *g)
{
	uint32_t i, len;
	const uint32_t *offset = rows_of(e, g);
	const struct rec *rec;

	for (i = 0; i < g->count; i++) {
		rec = (const struct rec *)(rows + offset[i]);
		e->value[i] = rec->size - g->size;
	}
	out = pack__column(&e->packer, out, e->value, g->count, 4, PACK_PLAIN, NULL, NULL);
	for (i = 0; i < g->count; i++) {
		rec = (const struct rec *)(rows + offset[i]);
		len = rec->size - g->size;
		memcpy(out, (const uint8_t *)rec + g->size, len);
		out += len;
	}
	return out;
}

static uint8_t *put_group(struct encoder *e, uint8_t *out, const uint8_t *rows,
			  const struct group *g)
{
	out = pack__varint(out, g->type);
	out = pack__varint(out, g->count);
	out = pack__varint(out, g->size - sizeof(struct rec));
	out = pack__varint(out, g->tails);
	if (g->desc)
		out = put_fixed(e, out, rows, g);
	return g->tails ? put_tails(e, out, rows, g) : out;
}

static uint8_t *put_heads(struct encoder *e, uint8_t *out, const uint8_t *rows, uint32_t n)
{
	uint64_t first = e->time[0];
	uint32_t i;

	for (i = 0; i < n; i++)
		e->value[i] = e->time[i] - first;
	out = pack__column(&e->packer, out, e->value, n, 8, PACK_RISING, NULL, NULL);
	if (e->tids_differ) {
		gather(e->value, rows, e->offset, n, offsetof(struct rec, tid), 4);
		out = pack__column(&e->packer, out, e->value, n, 4, PACK_PLAIN, NULL,
				   &e->tid_memory);
	} else {
		out = pack__constant(out, ((const struct rec *)rows)->tid, 4);
	}
	out = pack__varint(out, e->n_groups);
	if (e->n_groups == 1)
		return out;
	for (i = 0; i < n; i++)
		e->value[i] = e->group[i];
	return pack__column(&e->packer, out, e->value, n, 1, PACK_PLAIN, NULL, NULL);
}

/* Compress what was packed if that gains an eighth; chunks after a failure are not tried. */
static int compress(struct encoder *e, struct encoded *out)
{
	size_t bound, n;

	out->payload = e->raw;
	out->stored = out->raw;
	out->codec = CODEC_NONE;
	if (!e->zstd || (!e->zstd_pays && e->chunks++ % ZSTD_RETRY))
		return 0;
	bound = ZSTD_compressBound(out->raw);
	if (bound > e->packed_cap) {
		if (grow(&e->packed, bound, 1))
			return -ENOMEM;
		e->packed_cap = bound;
	}
	n = ZSTD_compressCCtx(e->zstd, e->packed, e->packed_cap, e->raw, out->raw, e->level);
	e->zstd_pays = !ZSTD_isError(n) && n < out->raw - out->raw / 8;
	if (!ZSTD_isError(n) && n < out->raw) {
		out->payload = e->packed;
		out->stored = (uint32_t)n;
		out->codec = CODEC_ZSTD;
	}
	return 0;
}

int encoder__encode(struct encoder *e, const uint8_t *rows, uint32_t bytes, struct encoded *out)
{
	uint8_t *p;
	uint32_t i;
	int err;

	err = survey(e, rows, bytes, out);
	if (err)
		return err;
	/* 3/2 of the values and 3/4 bytes for each, which has a byte at least; and the heads */
	err = reserve_raw(e, (size_t)out->bytes * 9 / 4 +
				     (size_t)(e->n_groups + 1) * COLUMNS_MAX * PACK_HEAD_BYTES);
	if (err)
		return err;
	sort_by_group(e, out->count);
	p = put_heads(e, e->raw, rows, out->count);
	for (i = 0; i < e->n_groups; i++)
		p = put_group(e, p, rows, &e->groups[i]);
	out->raw = (uint32_t)(p - e->raw);
	return compress(e, out);
}
