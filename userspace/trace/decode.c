// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/chunk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "userspace/trace/grow.h"
#include "userspace/trace/pack.h"
#include "userspace/trace/trace.h"

/* The block of one type: where its parts lie in the payload, and how long its records become. */
struct block {
	uint16_t type;
	const struct record_desc *desc; /* NULL: not wanted */
	uint32_t count;
	uint32_t fixed; /* bytes in the file */
	bool tails;
	uint64_t tail_bytes;
	const uint8_t *columns;
	const uint8_t *blob;
	uint32_t start; /* of its rows in decoder.order */
	union {
		struct rec rec;
		uint8_t bytes[RECORD_FIXED_MAX];
	} pattern;
};

struct decoder {
	ZSTD_DCtx *zstd;
	uint8_t *raw; /* capacity @cap_raw, with room to read past its end */
	uint32_t cap_raw;
	struct block *blocks; /* capacity @cap_blocks */
	uint32_t n_blocks, cap_blocks;
	uint64_t types; /* that are wanted */
	uint32_t unknown;
	/* for each record, capacity @cap */
	uint32_t cap;
	uint64_t *time;
	uint64_t *value;
	uint64_t *block_time;
	uint32_t *tid;
	uint32_t *order; /* where the record's row begins, grouped by type */
	uint32_t *tail;	 /* lengths, grouped by type */
	uint8_t *block;
};

struct decoder *decoder__new(void)
{
	return calloc(1, sizeof(struct decoder));
}

void decoder__free(struct decoder *d)
{
	if (!d)
		return;
	ZSTD_freeDCtx(d->zstd);
	free(d->raw);
	free(d->blocks);
	free(d->time);
	free(d->value);
	free(d->block_time);
	free(d->tid);
	free(d->order);
	free(d->tail);
	free(d->block);
	free(d);
}

static int reserve(struct decoder *d, uint32_t n)
{
	uint32_t cap = d->cap ? d->cap : 1024;

	if (n <= d->cap)
		return 0;
	while (cap < n)
		cap *= 2;
	if (grow(&d->time, cap, sizeof(*d->time)) || grow(&d->value, cap, sizeof(*d->value)) ||
	    grow(&d->block_time, cap, sizeof(*d->block_time)) ||
	    grow(&d->tid, cap, sizeof(*d->tid)) || grow(&d->order, cap, sizeof(*d->order)) ||
	    grow(&d->tail, cap, sizeof(*d->tail)) || grow(&d->block, cap, sizeof(*d->block)))
		return -ENOMEM;
	d->cap = cap;
	return 0;
}

/* What only compressed chunks need. */
static int reserve_raw(struct decoder *d, uint32_t bytes)
{
	if (!d->zstd)
		d->zstd = ZSTD_createDCtx();
	if (!d->zstd)
		return -ENOMEM;
	if (bytes + 8 <= d->cap_raw)
		return 0;
	if (grow(&d->raw, bytes + 8, 1))
		return -ENOMEM;
	d->cap_raw = bytes + 8;
	return 0;
}

/* Undo the codec; returns the payload in its raw form. */
static const uint8_t *inflate(struct decoder *d, const struct chunk_head *head,
			      const uint8_t *payload)
{
	size_t n;

	if (head->codec == CODEC_NONE)
		return head->raw == head->stored ? payload : NULL;
	if (head->codec != CODEC_ZSTD)
		return NULL;
	n = ZSTD_decompressDCtx(d->zstd, d->raw, head->raw, payload, head->stored);
	return !ZSTD_isError(n) && n == head->raw ? d->raw : NULL;
}

static const uint8_t *get_times(struct decoder *d, const struct chunk_head *head, const uint8_t *in,
				const uint8_t *end)
{
	uint64_t first = head->first_ns, last = first;
	unsigned int width;
	uint32_t i;

	in = unpack__column(in, end, d->time, head->count, NULL, &width);
	if (!in)
		return NULL;
	for (i = 0; i < head->count; i++) {
		d->time[i] += first;
		if (d->time[i] < last)
			return NULL;
		last = d->time[i];
	}
	return d->time[0] == first && last == head->last_ns ? in : NULL;
}

static const uint8_t *get_tids(struct decoder *d, const struct chunk_head *head, const uint8_t *in,
			       const uint8_t *end)
{
	unsigned int width;
	uint32_t i;

	in = unpack__column(in, end, d->value, head->count, NULL, &width);
	for (i = 0; in && i < head->count; i++)
		d->tid[i] = (uint32_t)d->value[i];
	return in;
}

/*
 * Which block each record belongs to; counts them into blocks[].count. NULL with *@err unless it
 * is the chunk that is bad.
 */
static const uint8_t *get_types(struct decoder *d, const struct chunk_head *head, const uint8_t *in,
				const uint8_t *end, int *err)
{
	unsigned int width;
	uint32_t start = 0, i;
	uint64_t n;

	in = unpack__varint(in, end, &n);
	if (!in || n < 1 || n > CHUNK_MAX_TYPES)
		return NULL;
	if (n > d->cap_blocks) {
		*err = grow(&d->blocks, n, sizeof(*d->blocks));
		if (*err)
			return NULL;
		d->cap_blocks = (uint32_t)n;
	}
	d->n_blocks = (uint32_t)n;
	memset(d->blocks, 0, n * sizeof(d->blocks[0]));
	if (n == 1) {
		memset(d->block, 0, head->count);
		d->blocks[0].count = head->count;
		return in;
	}
	in = unpack__column(in, end, d->value, head->count, NULL, &width);
	for (i = 0; in && i < head->count; i++) {
		if (d->value[i] >= n)
			return NULL;
		d->block[i] = (uint8_t)d->value[i];
		d->blocks[d->block[i]].count++;
	}
	for (i = 0; i < n; i++) {
		d->blocks[i].start = start;
		start += d->blocks[i].count;
	}
	return in;
}

static const uint8_t *get_tails(struct decoder *d, struct block *b, const uint8_t *in,
				const uint8_t *end)
{
	unsigned int width;
	uint64_t sum = 0;
	uint32_t i;

	in = unpack__column(in, end, d->value, b->count, NULL, &width);
	if (!in)
		return NULL;
	for (i = 0; i < b->count; i++) {
		if (d->value[i] > REC_MAX_SIZE || d->value[i] % REC_ALIGN)
			return NULL;
		d->tail[b->start + i] = (uint32_t)d->value[i];
		sum += d->value[i];
	}
	b->blob = in;
	b->tail_bytes = sum;
	return sum <= (uint64_t)(end - in) ? in + sum : NULL;
}

/* Read the head of a block and find its parts; columns are only passed over. */
static const uint8_t *get_block(struct decoder *d, struct block *b, const uint8_t *in,
				const uint8_t *end)
{
	uint64_t type, count, fixed, tails, at;
	unsigned int width;

	in = unpack__varint(in, end, &type);
	in = in ? unpack__varint(in, end, &count) : NULL;
	in = in ? unpack__varint(in, end, &fixed) : NULL;
	in = in ? unpack__varint(in, end, &tails) : NULL;
	if (!in || type > UINT16_MAX || count != b->count || !count || fixed > REC_MAX_SIZE ||
	    fixed % REC_ALIGN || tails > 1)
		return NULL;
	b->type = (uint16_t)type;
	b->desc = record__find(b->type);
	if (!b->desc)
		d->unknown += b->count;
	else if (!(TRACE_TYPE(b->type) & d->types))
		b->desc = NULL;
	b->fixed = (uint32_t)fixed;
	b->tails = tails;
	b->columns = in;
	for (at = 0; at < fixed; at += width) {
		in = unpack__skip(in, end, b->count, &width);
		if (!in)
			return NULL;
	}
	if (at != fixed)
		return NULL;
	return tails ? get_tails(d, b, in, end) : in;
}

static const uint8_t *get_blocks(struct decoder *d, const uint8_t *in, const uint8_t *end)
{
	uint32_t i;

	for (i = 0; in && i < d->n_blocks; i++)
		in = get_block(d, &d->blocks[i], in, end);
	return in == end ? in : NULL;
}

/* Make room for all records of known types. */
static int make_room(struct decoder *d, struct decoded *out)
{
	const struct block *b;
	uint64_t total = 0;
	uint8_t *rows;
	uint32_t i;

	for (i = 0; i < d->n_blocks; i++) {
		b = &d->blocks[i];
		if (b->desc)
			total += (uint64_t)b->count * b->desc->size + b->tail_bytes;
	}
	if (total > CHUNK_MAX_BYTES)
		return -EBADMSG;
	if (total > out->size) {
		rows = realloc(out->rows, total);
		if (!rows)
			return -ENOMEM;
		out->rows = rows;
		out->size = total;
	}
	out->bytes = (uint32_t)total;
	return 0;
}

/* What is the same in all records of a block: its type, its size without tail, constant columns. */
static int make_pattern(struct block *b, const uint8_t *end)
{
	uint32_t known = b->desc->size - (uint32_t)sizeof(struct rec), at;
	const uint8_t *in = b->columns;
	unsigned int width;
	uint64_t value;

	memset(&b->pattern, 0, sizeof(b->pattern));
	b->pattern.rec.type = b->type;
	b->pattern.rec.size = b->desc->size;
	for (at = 0; at < b->fixed && at < known; at += width) {
		if (unpack__constant(in, end, &value, &width))
			memcpy(b->pattern.bytes + sizeof(struct rec) + at, &value,
			       width < known - at ? width : known - at);
		in = unpack__skip(in, end, b->count, &width);
		if (!in)
			return -EBADMSG;
	}
	return 0;
}

/* Find a place for every record, and write there what is the same in all of its type. */
static int lay_out(struct decoder *d, const struct chunk_head *head, struct decoded *out)
{
	uint32_t next[CHUNK_MAX_TYPES], at = 0, size, i, k;
	const struct block *b;
	struct rec *rec;

	for (i = 0; i < d->n_blocks; i++)
		next[i] = d->blocks[i].start;
	for (i = 0; i < head->count; i++) {
		b = &d->blocks[d->block[i]];
		if (!b->desc)
			continue;
		k = next[d->block[i]]++;
		size = b->desc->size + (b->tails ? d->tail[k] : 0);
		if (size > REC_MAX_SIZE)
			return -EBADMSG;
		rec = (struct rec *)(out->rows + at);
		memcpy(rec, b->pattern.bytes, b->desc->size);
		rec->size = (uint16_t)size;
		rec->tid = d->tid[i];
		rec->time_ns = d->time[i];
		d->order[k] = at;
		d->block_time[k] = d->time[i];
		at += size;
		out->count++;
	}
	return 0;
}

/* Write the values of a column to @n rows; @rows points at the column's place in the first. */
static void scatter(uint8_t *rows, const uint32_t *order, const uint64_t *v, uint32_t n,
		    unsigned int width)
{
	uint32_t i;

#define SCATTER(type)                                                                              \
	for (i = 0; i < n; i++) {                                                                  \
		type x = (type)v[i];                                                               \
		memcpy(rows + order[i], &x, sizeof(x));                                            \
	}                                                                                          \
	break
	switch (width) {
	case 1:
		SCATTER(uint8_t);
	case 2:
		SCATTER(uint16_t);
	case 4:
		SCATTER(uint32_t);
	case 8:
		SCATTER(uint64_t);
	default:
		for (i = 0; i < n; i++)
			memcpy(rows + order[i], &v[i], width);
	}
#undef SCATTER
}

static int fill_columns(struct decoder *d, const struct block *b, const uint8_t *end, uint8_t *rows)
{
	uint32_t known = b->desc->size - (uint32_t)sizeof(struct rec), at;
	const uint32_t *order = d->order + b->start;
	const uint8_t *in = b->columns;
	unsigned int width;

	for (at = 0; at < b->fixed && at < known; at += width) {
		if (unpack__constant(in, end, NULL, &width)) {
			in = unpack__skip(in, end, b->count, &width);
			continue; /* that was in the pattern */
		}
		in = unpack__column(in, end, d->value, b->count, d->block_time + b->start, &width);
		if (!in)
			return -EBADMSG;
		scatter(rows + sizeof(struct rec) + at, order, d->value, b->count,
			width < known - at ? width : known - at);
	}
	return 0;
}

static int fill_tails(struct decoder *d, const struct block *b, uint8_t *rows)
{
	const uint8_t *from = b->blob;
	const struct rec *rec;
	uint32_t i, len;
	uint8_t *row;

	for (i = 0; i < b->count; i++) {
		row = rows + d->order[b->start + i];
		rec = (const struct rec *)row;
		len = b->tails ? d->tail[b->start + i] : 0;
		if (len) { /* else there may be no blob */
			memcpy(row + b->desc->size, from, len);
			from += len;
		}
		if (record__check(rec))
			return -EBADMSG;
	}
	return 0;
}

int decoder__decode(struct decoder *d, const struct chunk_head *head, const uint8_t *payload,
		    uint64_t types, struct decoded *out)
{
	const uint8_t *in, *end;
	uint32_t i;
	int err;

	out->bytes = out->count = out->unknown = d->unknown = 0;
	d->types = types;
	if (!head->count || head->count > CHUNK_MAX_COUNT)
		return -EBADMSG;
	err = reserve(d, head->count);
	if (!err && head->codec == CODEC_ZSTD)
		err = reserve_raw(d, head->raw);
	if (err)
		return err;
	in = inflate(d, head, payload);
	if (!in)
		return -EBADMSG;
	end = in + head->raw;
	in = get_times(d, head, in, end);
	in = in ? get_tids(d, head, in, end) : NULL;
	in = in ? get_types(d, head, in, end, &err) : NULL;
	in = in ? get_blocks(d, in, end) : NULL;
	if (!in)
		return err ? err : -EBADMSG;
	out->unknown = d->unknown;
	err = make_room(d, out);
	for (i = 0; !err && i < d->n_blocks; i++)
		if (d->blocks[i].desc)
			err = make_pattern(&d->blocks[i], end);
	if (!err)
		err = lay_out(d, head, out);
	for (i = 0; !err && i < d->n_blocks; i++) {
		if (!d->blocks[i].desc)
			continue;
		err = fill_columns(d, &d->blocks[i], end, out->rows);
		if (!err && (d->blocks[i].tails || d->blocks[i].desc->has_tail))
			err = fill_tails(d, &d->blocks[i], out->rows);
	}
	return err;
}
