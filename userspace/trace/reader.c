// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"

/* ---- the heap of rings ---- */

static bool before(const struct ring *a, const struct ring *b)
{
	return a->next_ns != b->next_ns ? a->next_ns < b->next_ns : a->id < b->id;
}

static void sift_down(struct trace_reader *r)
{
	struct ring *moved = r->heap[0];
	uint32_t i = 0, child;

	for (;;) {
		child = 2 * i + 1;
		if (child >= r->n_heap)
			break;
		if (child + 1 < r->n_heap && before(r->heap[child + 1], r->heap[child]))
			child++;
		if (!before(r->heap[child], moved))
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = moved;
}

int heap__push(struct trace_reader *r, struct ring *ring)
{
	uint32_t i = r->n_heap, parent, cap = r->cap_heap ? r->cap_heap * 2 : 64;
	struct ring **heap;

	if (r->n_heap == r->cap_heap) {
		heap = realloc(r->heap, cap * sizeof(*heap));
		if (!heap)
			return -ENOMEM;
		r->heap = heap;
		r->cap_heap = cap;
	}
	r->n_heap++;
	for (; i; i = parent) {
		parent = (i - 1) / 2;
		if (!before(ring, r->heap[parent]))
			break;
		r->heap[i] = r->heap[parent];
	}
	r->heap[i] = ring;
	return 0;
}

static void pop_heap(struct trace_reader *r)
{
	r->heap[0] = r->heap[--r->n_heap];
	if (r->n_heap)
		sift_down(r);
}

/* Until when the first ring of the heap can deliver without a look at the others. */
static void set_bound(struct trace_reader *r)
{
	uint64_t bound = r->limit_ns == UINT64_MAX ? UINT64_MAX : r->limit_ns + 1;
	uint32_t i;

	for (i = 1; i < 3 && i < r->n_heap; i++)
		if (r->heap[i]->next_ns < bound)
			bound = r->heap[i]->next_ns;
	r->bound_ns = bound;
}

/* ---- records ---- */

static void close_rows(struct trace_reader *r, struct ring *ring)
{
	ring->open = false;
	r->open_bytes -= ring->rows.size;
	if (r->n_spare < SPARES)
		r->spare[r->n_spare++] = ring->rows;
	else
		free(ring->rows.rows);
	ring->rows = (struct decoded){0};
}

static const struct rec *current(const struct ring *ring)
{
	return (const struct rec *)(ring->rows.rows + ring->at);
}

/* Decode the ring's next chunk. 1: it has records; 0: it brought none; -errno. */
static int open_rows(struct trace_reader *r, struct ring *ring)
{
	struct waiting *w = ring->first;
	int err = -EBADMSG;

	ring->first = w->next;
	if (!ring->first)
		ring->last = &ring->first;
	r->held_bytes -= sizeof(*w) + w->head.stored;
	if (r->n_spare)
		ring->rows = r->spare[--r->n_spare];
	if (r->open_bytes + ring->rows.size < READER_MAX_BYTES)
		err = decoder__decode(r->decoder, &w->head, w->payload,
				      reader__wanted_types(r, &w->head), &ring->rows);
	if (err == -EBADMSG) {
		reader__bad_chunk(r, &w->head);
		r->held -= w->head.count;
	} else {
		r->damage.unknown_records += ring->rows.unknown;
		r->held -= ring->rows.unknown;
	}
	free(w);
	r->open_bytes += ring->rows.size;
	ring->open = !err && ring->rows.count;
	ring->at = 0;
	if (ring->open) {
		ring->next_ns = current(ring)->time_ns;
		return 1;
	}
	close_rows(r, ring);
	return err == -EBADMSG ? 0 : err;
}

/* Move the first ring of the heap to its next record, or its next chunk. */
static void advance(struct trace_reader *r)
{
	struct ring *ring = r->heap[0];

	if (ring->open) {
		ring->at += current(ring)->size;
		if (ring->at >= ring->rows.bytes)
			close_rows(r, ring);
	}
	if (ring->open) {
		ring->next_ns = current(ring)->time_ns;
		sift_down(r);
	} else if (ring->first) {
		ring->next_ns = ring->first->head.first_ns;
		sift_down(r);
	} else {
		pop_heap(r);
	}
}

static int deliver(struct trace_reader *r, struct trace_event *ev)
{
	struct ring *ring = r->heap[0];

	ev->rec = current(ring);
	ev->ring = ring->id;
	r->delivered = true;
	r->records++;
	return 1;
}

static bool passes(const struct trace_filter *f, const struct rec *rec)
{
	uint64_t types = rec->time_ns < f->from_ns ? f->before : f->types;

	return types & TRACE_TYPE(rec->type) && rec->time_ns <= f->to_ns;
}

/* The record after the delivered one, if it is in the same chunk and older than all others. */
static bool next_nearby(struct trace_reader *r)
{
	struct ring *ring = r->heap[0];
	const struct rec *rec;
	uint32_t at = ring->at + current(ring)->size;

	if (at >= ring->rows.bytes)
		return false;
	rec = (const struct rec *)(ring->rows.rows + at);
	if (rec->time_ns >= r->bound_ns || !passes(&r->filter, rec))
		return false;
	ring->at = at;
	return true;
}

/* May the first of the heap be delivered, or must more be read before? */
static bool may_deliver(const struct trace_reader *r)
{
	return r->n_heap &&
	       (r->heap[0]->next_ns <= r->limit_ns || r->held_bytes > READER_MAX_BYTES);
}

static int next_slowly(struct trace_reader *r, struct trace_event *ev)
{
	struct ring *ring;
	int err;

	if (r->delivered) {
		if (r->floor_ns < current(r->heap[0])->time_ns)
			r->floor_ns = current(r->heap[0])->time_ns;
		advance(r);
	}
	r->delivered = false;
	for (;;) {
		while (!may_deliver(r)) {
			if (r->at_end)
				return r->in.err;
			err = reader__load(r);
			if (err)
				return err;
		}
		ring = r->heap[0];
		if (ring->next_ns > r->filter.to_ns)
			return 0;
		if (!ring->open) {
			err = open_rows(r, ring);
			if (err < 0)
				return err;
			if (err)
				sift_down(r); /* what came first may have been left out */
			else
				advance(r);
			continue;
		}
		if (!passes(&r->filter, current(ring))) {
			advance(r);
			continue;
		}
		set_bound(r);
		return deliver(r, ev);
	}
}

int trace_reader__next(struct trace_reader *r, struct trace_event *ev)
{
	int ret;

	if (r->delivered && next_nearby(r))
		return deliver(r, ev);
	ret = next_slowly(r, ev);
	if (ret < 0)
		log_error("cannot read trace '%s': %s", r->name, log__err(ret));
	return ret;
}
