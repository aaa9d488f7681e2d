// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/crc32c.h"
#include "userspace/lib/hostclock.h"
#include "userspace/trace/grow.h"

#define WRITE_BYTES (256u << 10) /* sealed chunks are written when they reach this */

int writer__fail(struct trace_writer *w, int err)
{
	if (!w->stats.err)
		w->stats.err = err;
	return w->stats.err;
}

int writer__remember(struct trace_writer *w, const struct rec *rec)
{
	int err = trace_carry__feed(w->carry, rec);

	return err ? writer__fail(w, err) : 0;
}

void writer__count_lost(struct trace_writer *w, uint64_t n, uint64_t from_ns, uint64_t to_ns)
{
	if (!n)
		return;
	if (!w->stats.lost || from_ns < w->lost_since)
		w->lost_since = from_ns;
	if (to_ns > w->lost_until)
		w->lost_until = to_ns;
	w->stats.lost += n;
}

/* ---- from chunks to the file ---- */

/* Should the end not fit behind the chunks that follow, the file is cut back to here. */
static void remember_place(struct trace_writer *w)
{
	if (w->n_places == PLACES) {
		w->n_places--;
		memmove(w->places, w->places + 1, w->n_places * sizeof(*w->places));
	}
	w->places[w->n_places++] = w->file;
}

static void chunk_is_written(struct trace_writer *w, const struct chunk_head *head)
{
	struct place *f = &w->file;

	remember_place(w);
	f->written += sizeof(*head) + head->stored;
	f->seq = head->seq + 1;
	if (head->kind == CHUNK_RECORDS) {
		f->records += head->count;
		f->round_records += head->count;
		f->round_chunks++;
	} else if (head->kind == CHUNK_WATERMARK) {
		f->watermark = head->last_ns;
		f->round_records = f->round_chunks = 0;
	}
}

static void chunk_is_lost(struct trace_writer *w, const struct chunk_head *head)
{
	if (w->seq > head->seq)
		w->seq = head->seq;
	if (head->kind != CHUNK_RECORDS)
		return;
	writer__count_lost(w, head->count, head->first_ns, head->last_ns);
	w->stats.records -= head->count;
	w->round.records -= head->count;
	w->round.chunks--;
}

/* @done bytes of what was to be written are in the file: chunks that are not wholly are lost. */
static void take_written(struct trace_writer *w, size_t done)
{
	struct chunk_head head;
	size_t at = 0, size;

	for (; at < w->out_used; at += size) {
		memcpy(&head, w->out + at, sizeof(head));
		size = sizeof(head) + head.stored;
		if (at + size <= done)
			chunk_is_written(w, &head);
		else
			chunk_is_lost(w, &head);
	}
	w->out_used = 0;
}

int writer__flush(struct trace_writer *w)
{
	size_t done;
	int err;

	if (!w->out_used || w->window)
		return 0;
	err = sink__write(w->sink, w->out, w->out_used, &done);
	take_written(w, done);
	return err ? writer__fail(w, err) : 0;
}

static int put_chunk(struct trace_writer *w, struct chunk_head *head, const void *payload)
{
	size_t need = w->out_used + sizeof(*head) + head->stored;

	if (need > w->out_cap) {
		if (grow(&w->out, need + WRITE_BYTES, 1))
			return -ENOMEM;
		w->out_cap = need + WRITE_BYTES;
	}
	head->magic = CHUNK_MAGIC;
	head->seq = w->seq++;
	head->head_crc =
		crc32c((const uint8_t *)head + CHUNK_CRC_FROM, sizeof(*head) - CHUNK_CRC_FROM);
	memcpy(w->out + w->out_used, head, sizeof(*head));
	if (head->stored)
		memcpy(w->out + w->out_used + sizeof(*head), payload, head->stored);
	w->out_used = need;
	return 0;
}

int writer__emit(struct trace_writer *w, struct chunk_head *head, const void *payload)
{
	head->crc = crc32c(payload, head->stored);
	return put_chunk(w, head, payload);
}

static void add_to_round(struct trace_writer *w, const struct chunk_head *head)
{
	struct round *r = &w->round;

	if (!r->chunks++) {
		r->first_ns = head->first_ns;
		r->last_ns = head->last_ns;
	}
	if (head->first_ns < r->first_ns)
		r->first_ns = head->first_ns;
	if (head->last_ns > r->last_ns)
		r->last_ns = head->last_ns;
	r->records += head->count;
	r->types |= head->types;
	r->bytes += sizeof(*head) + head->stored;
}

int writer__emit_again(struct trace_writer *w, const struct chunk_head *head, const void *payload)
{
	struct chunk_head copy = *head;
	int err = put_chunk(w, &copy, payload);

	if (err)
		return writer__fail(w, err);
	add_to_round(w, &copy);
	w->stats.records += copy.count;
	if (copy.last_ns > w->newest)
		w->newest = copy.last_ns;
	return w->out_used >= WRITE_BYTES ? writer__flush(w) : 0;
}

/* The file begins with the first record, whose time is the beginning if none was given. */
int writer__begin(struct trace_writer *w, uint64_t time_ns)
{
	struct trace_head head = {
		.major = TRACE_VERSION_MAJOR,
		.minor = TRACE_VERSION_MINOR,
		.head_bytes = sizeof(head),
		.begin_ns = w->begin_ns ? w->begin_ns : time_ns,
	};
	struct timespec real;
	size_t done;
	int err;

	clock_gettime(CLOCK_REALTIME, &real);
	memcpy(head.magic, TRACE_MAGIC, sizeof(head.magic));
	head.realtime_ns = w->realtime_ns ? w->realtime_ns
					  : timespec_ns(&real) - hostclock__now() + head.begin_ns;
	head.crc = crc32c(&head, offsetof(struct trace_head, crc));
	err = sink__write(w->sink, &head, sizeof(head), &done);
	if (err)
		return writer__fail(w, err);
	w->file.written = sizeof(head);
	w->round.offset = w->file.written;
	return 0;
}

/* ---- from records to chunks ---- */

struct by_time {
	uint64_t time_ns;
	uint32_t offset;
};

static int compare_time(const void *a, const void *b)
{
	const struct by_time *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->offset < y->offset ? -1 : 1;
}

static int sort_rows(struct ring *r)
{
	struct by_time *keys = malloc(r->count * sizeof(*keys));
	uint8_t *rows = malloc(r->cap), *to = rows;
	const struct rec *rec;
	uint32_t at = 0, i;

	if (!keys || !rows) {
		free(keys);
		free(rows);
		return -ENOMEM;
	}
	for (i = 0; i < r->count; i++, at += rec->size) {
		rec = (const struct rec *)(r->rows + at);
		keys[i] = (struct by_time){rec->time_ns, at};
	}
	qsort(keys, r->count, sizeof(*keys), compare_time);
	for (i = 0; i < r->count; i++, to += rec->size) {
		rec = (const struct rec *)(r->rows + keys[i].offset);
		memcpy(to, rec, rec->size);
	}
	free(keys);
	free(r->rows);
	r->rows = rows;
	return 0;
}

int writer__seal(struct trace_writer *w, struct ring *r)
{
	struct chunk_head head;
	struct encoded e;
	uint32_t at = 0;
	int err = 0;

	if (!r->count)
		return 0;
	if (r->unsorted)
		err = sort_rows(r);
	for (; !err && at < r->used; at += e.bytes) {
		err = encoder__encode(w->encoder, r->rows + at, r->used - at, &e);
		if (err)
			break;
		head = (struct chunk_head){
			.kind = CHUNK_RECORDS,
			.codec = e.codec,
			.ring = r->id,
			.count = e.count,
			.stored = e.stored,
			.raw = e.raw,
			.first_ns = e.first_ns,
			.last_ns = e.last_ns,
			.types = e.types,
		};
		err = writer__emit(w, &head, e.payload);
		if (err)
			break;
		add_to_round(w, &head);
		w->stats.records += e.count;
		r->count -= e.count;
	}
	writer__count_lost(w, r->count, w->watermark, r->newest); /* none unless memory ran out */
	r->floor = r->newest;
	r->used = r->count = 0;
	r->unsorted = false;
	return err ? writer__fail(w, err) : w->out_used >= WRITE_BYTES ? writer__flush(w) : 0;
}
