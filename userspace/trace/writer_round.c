// SPDX-License-Identifier: BSD-2-Clause
/* Rounds, the index, the end. */
#include "userspace/trace/writer.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "userspace/lib/hostclock.h"

/* Two neighbours become one when the index is full. */
static void halve_index(struct trace_writer *w)
{
	struct index_entry *a, *b;
	uint32_t i;

	for (i = 0; i < w->n_index / 2; i++) {
		a = &w->index[2 * i];
		b = a + 1;
		a->first_ns = b->first_ns < a->first_ns ? b->first_ns : a->first_ns;
		a->last_ns = b->last_ns > a->last_ns ? b->last_ns : a->last_ns;
		a->records += b->records;
		a->types |= b->types;
		w->index[i] = *a;
	}
	w->n_index = i;
	w->index_step *= 2;
}

static void add_to_index(struct trace_writer *w)
{
	struct index_entry *e;

	if (!w->round.chunks)
		return;
	if (w->n_index == INDEX_MAX && w->index_fill == w->index_step)
		halve_index(w);
	if (w->n_index && w->index_fill < w->index_step) {
		e = &w->index[w->n_index - 1];
		e->first_ns = w->round.first_ns < e->first_ns ? w->round.first_ns : e->first_ns;
		e->last_ns = w->round.last_ns > e->last_ns ? w->round.last_ns : e->last_ns;
		e->records += w->round.records;
		e->types |= w->round.types;
		w->index_fill++;
		return;
	}
	w->index[w->n_index++] = (struct index_entry){
		.offset = w->round.offset,
		.first_ns = w->round.first_ns,
		.last_ns = w->round.last_ns,
		.records = w->round.records,
		.types = w->round.types,
	};
	w->index_fill = 1;
}

/* The watermark @until_ns ends the round, whose chunks can be written. */
static int close_round(struct trace_writer *w, uint64_t until_ns)
{
	struct chunk_head head = {
		.kind = CHUNK_WATERMARK,
		.ring = TRACE_RING_META,
		.count = w->round.chunks,
		.first_ns = w->file.watermark,
		.last_ns = until_ns > w->watermark ? until_ns : w->watermark,
		.types = w->round.types,
	};
	uint32_t i;
	int err;

	err = writer__emit(w, &head, NULL);
	w->watermark = head.last_ns;
	for (i = 0; i < w->n_touched; i++) {
		if (w->rings[w->touched[i]]->newest > w->newest)
			w->newest = w->rings[w->touched[i]]->newest;
		w->rings[w->touched[i]]->touched = false;
	}
	w->n_touched = 0;
	return err ? writer__fail(w, err) : 0;
}

int writer__end_round(struct trace_writer *w, uint64_t until_ns)
{
	int err = close_round(w, until_ns);

	if (!err)
		err = w->window ? window__take(w) : writer__flush(w);
	if (err)
		return err;
	if (w->window) {
		w->round = (struct round){0};
		return 0;
	}
	add_to_index(w);
	w->round = (struct round){.offset = w->file.written};
	sink__sync(w->sink);
	return 0;
}

static int seal_all(struct trace_writer *w)
{
	uint32_t i;
	int err;

	for (i = 0; i < w->n_touched; i++) {
		err = writer__seal(w, w->rings[w->touched[i]]);
		if (err)
			return err;
	}
	return 0;
}

/*
 * The caller lets a round grow very long. How far its sweep came is not known: a ring that it has
 * not reached yet may hold what is older than all that it brought. So nothing new is promised, and
 * a reader holds this round until the sweep ends.
 */
int writer__cut_round(struct trace_writer *w)
{
	int err = seal_all(w);

	return err ? err : writer__end_round(w, w->watermark);
}

int trace_writer__round(struct trace_writer *w, uint64_t swept_ns, bool force)
{
	int err;

	if (w->stats.err)
		return w->stats.err;
	if (!force && swept_ns < w->last_round + w->round_ns && w->round.bytes < w->round_max)
		return 0;
	w->last_round = swept_ns;
	/* a reader still holds back what is newer than the watermark */
	if (!w->n_touched && w->newest <= w->watermark)
		return 0;
	err = seal_all(w);
	if (!err)
		err = writer__end_round(w, swept_ns);
	if (!err && w->carry && trace_carry__settle(w->carry, swept_ns))
		err = writer__fail(w, -ENOMEM);
	return err;
}

static int write_index(struct trace_writer *w)
{
	struct chunk_head index = {
		.kind = CHUNK_INDEX,
		.ring = TRACE_RING_META,
		.count = w->n_index,
		.stored = w->n_index * (uint32_t)sizeof(*w->index),
		.raw = w->n_index * (uint32_t)sizeof(*w->index),
		.first_ns = w->n_index ? w->index[0].first_ns : 0,
		.last_ns = w->newest,
	};
	struct chunk_head end = {
		.kind = CHUNK_END,
		.ring = TRACE_RING_META,
		.first_ns = w->file.written + w->out_used,
	};
	int err;

	end.last_ns = end.first_ns + 2 * sizeof(end) + index.stored;
	err = writer__emit(w, &index, w->index);
	if (!err)
		err = writer__emit(w, &end, NULL);
	return err ? writer__fail(w, err) : writer__flush(w);
}

/* All that is still here goes to the file with its end, in one piece. */
static int write_rest(struct trace_writer *w, bool indexed)
{
	uint64_t until = w->newest;
	uint32_t i;
	int err;

	for (i = 0; i < w->n_touched; i++)
		if (w->rings[w->touched[i]]->newest > until)
			until = w->rings[w->touched[i]]->newest;
	err = seal_all(w);
	if (!err)
		err = close_round(w, until);
	if (indexed)
		add_to_index(w);
	else
		w->n_index = 0;
	w->rest_indexed |= indexed;
	return err ? err : write_index(w);
}

int writer__end_file(struct trace_writer *w)
{
	int err = w->file.written ? 0 : writer__begin(w, hostclock__now());

	return err ? err : write_rest(w, true);
}

/* Cut the file back to @p and end it there with @lost, which counts what was lost before that. */
static int finish_at(struct trace_writer *w, const struct place *p, struct rec_lost lost,
		     bool indexed)
{
	int err = sink__rewind(w->sink, p->written);

	if (w->stats.records > p->records) {
		lost.count += w->stats.records - p->records;
		if (!lost.since_ns || p->watermark < lost.since_ns)
			lost.since_ns = p->watermark;
	}
	w->stats.records = p->records;
	w->stats.err = err;
	w->file = *p;
	w->watermark = p->watermark;
	w->seq = p->seq;
	w->round.records = p->round_records;
	w->round.chunks = p->round_chunks;
	if (!err)
		err = trace_writer__append(w, TRACE_RING_META, &lost.hdr);
	if (!err)
		err = write_rest(w, indexed);
	w->stats.lost = lost.count; /* that record is none of those */
	return err;
}

/*
 * The file took no more: after its last whole chunk there is room for as much as was written of
 * the one that failed. Say there what is missing, and index what is not; if that does not fit,
 * without the index, and at last in place of the last chunks.
 */
static int finish_cut_short(struct trace_writer *w)
{
	struct rec_lost lost = {
		.hdr = {.type = REC_LOST, .size = sizeof(lost)},
		.hook = REC_HOOK_META,
		.cpu = ~0u,
		.why = REC_LOST_WRITE,
	};
	const struct place here = w->file;
	const uint32_t n_places = w->n_places;
	struct place places[PLACES];
	struct trace_writer_stats stats;
	struct ring *r;
	uint32_t i;
	int err;

	for (i = 0; i < w->n_touched; i++) {
		r = w->rings[w->touched[i]];
		writer__count_lost(w, r->count, r->floor, r->newest);
		r->used = r->count = 0;
	}
	memcpy(places, w->places, sizeof(places)); /* more are remembered while this goes on */
	stats = w->stats;
	lost.hdr.time_ns = w->lost_until > w->newest ? w->lost_until : w->newest;
	lost.count = stats.lost;
	lost.since_ns = w->lost_since;
	err = finish_at(w, &here, lost, !w->rest_indexed);
	for (i = 0; err && i <= n_places; i++) {
		w->stats = stats;
		err = finish_at(w, i ? &places[n_places - i] : &here, lost, false);
	}
	if (err) {
		sink__rewind(w->sink, here.written);
		w->stats = stats;
	}
	w->stats.err = stats.err;
	return w->stats.err;
}

int trace_writer__finish(struct trace_writer *w)
{
	int err, sync_err;

	if (w->finished)
		return w->stats.err;
	w->finished = true;
	if (w->window)
		return w->stats.err;
	err = w->stats.err ? w->stats.err : writer__end_file(w);
	if (err)
		err = finish_cut_short(w);
	sync_err = sink__finish(w->sink);
	return err ? err : sync_err ? writer__fail(w, sync_err) : 0;
}
