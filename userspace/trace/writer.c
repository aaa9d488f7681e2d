// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/lib/crc32c.h"
#include "userspace/trace/chunk.h"
#include "userspace/trace/format.h"
#include "userspace/trace/records.h"
#include "userspace/trace/sink.h"

#define ROUND_NS 250000000ULL
#define CHUNK_ROWS                                                                                 \
	(128u << 10) /* records are sealed when they reach this: fits a second-level cache */
#define FIRST_ROWS  (4u << 10)
#define WRITE_BYTES (256u << 10) /* sealed chunks are written when they reach this */

struct ring {
	uint8_t *rows;
	uint32_t used, cap;
	uint32_t limit; /* look at making room from here on */
	uint32_t count;
	uint64_t floor;	 /* no record may be older: the last of the chunk before */
	uint64_t newest; /* of the open chunk, or the floor */
	bool unsorted;
	bool touched; /* in this round */
	uint16_t id;
	struct ring *next; /* of all */
};

struct round {
	uint64_t offset;
	uint64_t first_ns, last_ns;
	uint64_t records;
	uint64_t types;
	uint64_t bytes;
	uint32_t chunks;
};

struct trace_writer {
	struct sink *sink;
	struct encoder *encoder;
	uint64_t round_ns;
	uint64_t begin_ns;
	struct ring *rings[UINT16_MAX + 1]; /* sparse: mostly never touched */
	struct ring *all_rings;
	uint16_t *touched; /* rings with records since the last watermark */
	uint32_t n_touched, cap_touched;
	uint32_t next_ring;
	/* chunks sealed but not written */
	uint8_t *out;
	size_t out_used, out_cap;
	uint64_t written; /* up to the end of the last whole chunk */
	uint32_t seq;
	struct round round;
	uint64_t watermark, newest, last_round;
	struct index_entry *index;
	uint32_t n_index;
	uint32_t index_step; /* rounds in an entry of the index */
	uint32_t index_fill; /* in the last one */
	uint64_t lost_since, lost_until;
	bool finished;
	struct trace_writer_stats stats;
};

static int grow(void *array, size_t n, size_t size)
{
	void **a = array, *p = realloc(*a, n * size);

	if (!p)
		return -ENOMEM;
	*a = p;
	return 0;
}

/* From here on nothing more is written; what is not yet is lost. */
static int fail(struct trace_writer *w, int err)
{
	if (!w->stats.err)
		w->stats.err = err;
	return w->stats.err;
}

static void count_lost(struct trace_writer *w, uint64_t n, uint64_t from_ns, uint64_t to_ns)
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

/* After a failed write: chunks that are not wholly in the file are lost. */
static void forget_unwritten(struct trace_writer *w, size_t done)
{
	struct chunk_head head;
	size_t at = 0, size;

	for (; at < w->out_used; at += size) {
		memcpy(&head, w->out + at, sizeof(head));
		size = sizeof(head) + head.stored;
		if (at + size <= done) {
			w->written += size;
			continue;
		}
		if (w->seq > head.seq)
			w->seq = head.seq;
		if (head.kind != CHUNK_RECORDS)
			continue;
		count_lost(w, head.count, head.first_ns, head.last_ns);
		w->stats.records -= head.count;
		w->round.records -= head.count;
		w->round.chunks--;
	}
	w->out_used = 0;
}

static int flush(struct trace_writer *w)
{
	size_t done;
	int err;

	if (!w->out_used)
		return 0;
	err = sink__write(w->sink, w->out, w->out_used, &done);
	if (err) {
		forget_unwritten(w, done);
		return fail(w, err);
	}
	w->written += w->out_used;
	w->out_used = 0;
	return 0;
}

/* Add a chunk to what will be written; @head gets its magic, number and checksums here. */
static int emit(struct trace_writer *w, struct chunk_head *head, const void *payload)
{
	size_t need = w->out_used + sizeof(*head) + head->stored;

	if (need > w->out_cap) {
		if (grow(&w->out, need + WRITE_BYTES, 1))
			return -ENOMEM;
		w->out_cap = need + WRITE_BYTES;
	}
	head->magic = CHUNK_MAGIC;
	head->seq = w->seq++;
	head->crc = crc32c(payload, head->stored);
	head->head_crc =
		crc32c((const uint8_t *)head + CHUNK_CRC_FROM, sizeof(*head) - CHUNK_CRC_FROM);
	memcpy(w->out + w->out_used, head, sizeof(*head));
	if (head->stored)
		memcpy(w->out + w->out_used + sizeof(*head), payload, head->stored);
	w->out_used = need;
	return 0;
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

static int seal(struct trace_writer *w, struct ring *r)
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
		err = emit(w, &head, e.payload);
		if (!err)
			add_to_round(w, &head);
		if (!err)
			w->stats.records += e.count;
		r->count -= e.count;
	}
	count_lost(w, r->count, w->watermark, r->newest); /* none unless memory ran out */
	r->floor = r->newest;
	r->used = r->count = 0;
	r->unsorted = false;
	return err ? fail(w, err) : w->out_used >= WRITE_BYTES ? flush(w) : 0;
}

static struct ring *get_ring(struct trace_writer *w, uint16_t id)
{
	struct ring *r = w->rings[id];

	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->id = id;
	r->next = w->all_rings;
	w->all_rings = r;
	w->rings[id] = r;
	return r;
}

/* Make room for @size bytes in the ring's open chunk. */
static int make_room(struct trace_writer *w, struct ring *r, uint32_t size)
{
	uint32_t cap = r->cap ? r->cap : FIRST_ROWS;
	int err;

	if (r->used + size > CHUNK_ROWS && r->used) {
		err = seal(w, r);
		if (err)
			return err;
	}
	if (r->used + size <= r->cap)
		return 0;
	while (cap < r->used + size)
		cap *= 2;
	if (grow(&r->rows, cap, 1))
		return fail(w, -ENOMEM);
	r->cap = cap;
	r->limit = cap < CHUNK_ROWS ? cap : CHUNK_ROWS;
	return 0;
}

static uint64_t to_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* The file begins with the first record, whose time is the beginning if none was given. */
static int write_head(struct trace_writer *w, uint64_t time_ns)
{
	struct trace_head head = {
		.major = TRACE_VERSION_MAJOR,
		.minor = TRACE_VERSION_MINOR,
		.head_bytes = sizeof(head),
		.begin_ns = w->begin_ns ? w->begin_ns : time_ns,
	};
	struct timespec mono, real;
	size_t done;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &real);
	memcpy(head.magic, TRACE_MAGIC, sizeof(head.magic));
	head.realtime_ns = to_ns(&real) - to_ns(&mono) + head.begin_ns;
	head.crc = crc32c(&head, offsetof(struct trace_head, crc));
	err = sink__write(w->sink, &head, sizeof(head), &done);
	if (err)
		return fail(w, err);
	w->written = sizeof(head);
	w->round.offset = w->written;
	return 0;
}

static int touch(struct trace_writer *w, struct ring *r, uint64_t time_ns)
{
	uint32_t cap = w->cap_touched ? w->cap_touched * 2 : 64;
	int err = w->written ? 0 : write_head(w, time_ns);

	if (err)
		return err;

	if (w->n_touched == w->cap_touched) {
		if (grow(&w->touched, cap, sizeof(*w->touched)))
			return fail(w, -ENOMEM);
		w->cap_touched = cap;
	}
	w->touched[w->n_touched++] = r->id;
	r->touched = true;
	if (r->newest < w->watermark)
		r->newest = w->watermark;
	if (r->floor < w->watermark)
		r->floor = w->watermark;
	return 0;
}

static int cut_round(struct trace_writer *w);

/* Copy what is a multiple of 8 bytes long and, nearly always, short. */
static void copy_words(void *to, const void *from, uint32_t size)
{
	uint64_t word;
	uint32_t i;

	for (i = 0; i < size; i += 8) {
		memcpy(&word, (const char *)from + i, 8);
		memcpy((char *)to + i, &word, 8);
	}
}

/* Put a late record where it belongs, if that is still possible. */
static void settle_late(struct trace_writer *w, struct ring *r, struct rec *row)
{
	if (row->time_ns < r->floor) {
		row->time_ns = r->floor;
		w->stats.clamped++;
	}
	r->unsorted |= row->time_ns < r->newest;
}

/* The encoder relies on the full size of known types: shorter records are filled up. */
static uint32_t full_size(const struct rec *rec)
{
	const struct record_desc *d = record__find(rec->type);

	return d && d->size > rec->size ? d->size : rec->size;
}

int trace_writer__append(struct trace_writer *w, uint16_t ring, const struct rec *rec)
{
	uint32_t size = rec->size;
	struct ring *r;
	struct rec *row;
	int err = w->stats.err;

	if (!record__is_plain(rec)) {
		if (record__check(rec))
			return -EINVAL;
		size = full_size(rec);
	}
	r = get_ring(w, ring);
	if (!r)
		err = fail(w, -ENOMEM);
	if (!err && !r->touched)
		err = touch(w, r, rec->time_ns);
	if (!err && r->used + size > r->limit)
		err = make_room(w, r, size);
	if (err) {
		count_lost(w, 1, rec->time_ns, rec->time_ns);
		return err;
	}
	row = (struct rec *)(r->rows + r->used);
	copy_words(row, rec, rec->size);
	if (size > rec->size) {
		memset((uint8_t *)row + rec->size, 0, size - rec->size);
		row->size = (uint16_t)size;
	}
	if (row->time_ns < r->newest)
		settle_late(w, r, row);
	else
		r->newest = row->time_ns;
	r->used += size;
	r->count++;
	w->stats.raw_bytes += size;
	return w->round.bytes > ROUND_CUT_BYTES ? cut_round(w) : 0;
}

/* ---- rounds ---- */

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

/* The watermark @until_ns ends the round; its chunks go to the file. */
static int end_round(struct trace_writer *w, uint64_t until_ns)
{
	struct chunk_head head = {
		.kind = CHUNK_WATERMARK,
		.ring = TRACE_RING_META,
		.count = w->round.chunks,
		.first_ns = w->watermark,
		.last_ns = until_ns > w->watermark ? until_ns : w->watermark,
		.types = w->round.types,
	};
	uint32_t i;
	int err;

	err = emit(w, &head, NULL);
	if (!err)
		err = flush(w);
	add_to_index(w);
	w->watermark = head.last_ns;
	for (i = 0; i < w->n_touched; i++) {
		if (w->rings[w->touched[i]]->newest > w->newest)
			w->newest = w->rings[w->touched[i]]->newest;
		w->rings[w->touched[i]]->touched = false;
	}
	w->n_touched = 0;
	w->round = (struct round){.offset = w->written};
	if (err)
		return fail(w, err);
	sink__sync(w->sink);
	return 0;
}

static int seal_all(struct trace_writer *w)
{
	uint32_t i;
	int err;

	for (i = 0; i < w->n_touched; i++) {
		err = seal(w, w->rings[w->touched[i]]);
		if (err)
			return err;
	}
	return 0;
}

/*
 * The caller lets a round grow beyond what a reader can hold. What can be promised without
 * knowing how far the caller's sweep came: each ring goes on where it is.
 */
static int cut_round(struct trace_writer *w)
{
	uint64_t until = UINT64_MAX;
	uint32_t i;
	int err;

	err = seal_all(w);
	if (err)
		return err;
	for (i = 0; i < w->n_touched; i++)
		if (w->rings[w->touched[i]]->newest < until)
			until = w->rings[w->touched[i]]->newest;
	return end_round(w, until);
}

int trace_writer__round(struct trace_writer *w, uint64_t swept_ns, bool force)
{
	int err;

	if (w->stats.err)
		return w->stats.err;
	if (!force && swept_ns < w->last_round + w->round_ns && w->round.bytes < ROUND_MAX_BYTES)
		return 0;
	w->last_round = swept_ns;
	/* a reader still holds back what is newer than the watermark */
	if (!w->n_touched && w->newest <= w->watermark)
		return 0;
	err = seal_all(w);
	return err ? err : end_round(w, swept_ns);
}

/* ---- the rest of the interface ---- */

struct trace_writer *trace_writer__new(int fd, const struct trace_writer_opts *opts)
{
	static const struct trace_writer_opts defaults;
	struct trace_writer *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!w)
		return NULL;
	if (!opts)
		opts = &defaults;
	w->round_ns = opts->round_ns ? opts->round_ns : ROUND_NS;
	w->begin_ns = opts->begin_ns;
	w->next_ring = TRACE_RING_USER;
	w->index_step = 1;
	w->index = calloc(INDEX_MAX, sizeof(*w->index));
	w->encoder = encoder__new(opts->level ? opts->level : 1);
	if (!w->index || !w->encoder)
		goto out;
	w->sink = sink__new(fd, opts->sync);
	err = w->sink ? 0 : -errno;
out:
	if (!err)
		return w;
	trace_writer__free(w);
	errno = -err;
	return NULL;
}

void trace_writer__free(struct trace_writer *w)
{
	struct ring *r;

	if (!w)
		return;
	while ((r = w->all_rings)) {
		w->all_rings = r->next;
		free(r->rows);
		free(r);
	}
	sink__free(w->sink);
	encoder__free(w->encoder);
	free(w->touched);
	free(w->out);
	free(w->index);
	free(w);
}

int trace_writer__new_ring(struct trace_writer *w)
{
	return w->next_ring < TRACE_RING_META ? (int)w->next_ring++ : -ENOSPC;
}

int trace_writer__append_text(struct trace_writer *w, uint16_t ring, const struct rec *fixed,
			      const char *const *texts, unsigned int n)
{
	uint64_t buf[REC_MAX_SIZE / sizeof(uint64_t)];
	const struct rec *rec = record__build(buf, sizeof(buf), fixed, texts, n);

	return rec ? trace_writer__append(w, ring, rec) : -EINVAL;
}

int trace_writer__meta(struct trace_writer *w, uint64_t time_ns, const char *key, const char *value)
{
	const char *const texts[] = {key, value};
	const struct rec_meta meta = {
		.hdr = {.type = REC_META, .size = sizeof(meta), .time_ns = time_ns},
	};

	return trace_writer__append_text(w, TRACE_RING_META, &meta.hdr, texts, 2);
}

void trace_writer__stats(const struct trace_writer *w, struct trace_writer_stats *out)
{
	uint32_t i;

	*out = w->stats;
	out->bytes = w->written + w->out_used;
	for (i = 0; i < w->n_touched; i++)
		out->records += w->rings[w->touched[i]]->count;
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
		.first_ns = w->written + w->out_used,
	};
	int err;

	end.last_ns = end.first_ns + 2 * sizeof(end) + index.stored;
	err = emit(w, &index, w->index);
	if (!err)
		err = emit(w, &end, NULL);
	return err ? fail(w, err) : flush(w);
}

static int finish_well(struct trace_writer *w)
{
	uint64_t until = w->newest;
	struct timespec now;
	uint32_t i;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!w->written)
		err = write_head(w, to_ns(&now));
	if (err)
		return err;
	for (i = 0; i < w->n_touched; i++)
		if (w->rings[w->touched[i]]->newest > until)
			until = w->rings[w->touched[i]]->newest;
	err = seal_all(w);
	if (!err)
		err = end_round(w, until);
	return err ? err : write_index(w);
}

/*
 * The file took no more: after its last whole chunk there is room for as much as was written of
 * the one that failed. Say there what is missing, and index what is not, if it fits.
 */
static int finish_cut_short(struct trace_writer *w)
{
	struct rec_lost lost = {
		.hdr = {.type = REC_LOST, .size = sizeof(lost)},
		.hook = REC_HOOK_META,
		.cpu = ~0u,
		.why = REC_LOST_WRITE,
	};
	struct trace_writer_stats kept;
	struct ring *r;
	uint32_t i;

	for (i = 0; i < w->n_touched; i++) {
		r = w->rings[w->touched[i]];
		count_lost(w, r->count, r->floor, r->newest);
		r->used = r->count = 0;
	}
	if (sink__rewind(w->sink, w->written))
		return w->stats.err;
	kept = w->stats;
	w->stats.err = 0;
	if (w->lost_until < w->newest)
		w->lost_until = w->newest;
	lost.hdr.time_ns = w->lost_until;
	lost.count = kept.lost;
	lost.since_ns = w->lost_since;
	if (trace_writer__append(w, TRACE_RING_META, &lost.hdr) == 0 && finish_well(w) != 0)
		sink__rewind(w->sink, w->written);
	w->stats.err = kept.err;
	w->stats.lost = kept.lost;
	return w->stats.err;
}

int trace_writer__finish(struct trace_writer *w)
{
	int err, sync_err;

	if (w->finished)
		return w->stats.err;
	w->finished = true;
	err = w->stats.err ? finish_cut_short(w) : finish_well(w);
	sync_err = sink__finish(w->sink);
	return err ? err : sync_err ? fail(w, sync_err) : 0;
}
