// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/trace/grow.h"
#include "userspace/trace/records.h"

#define ROUND_NS   250000000ULL
#define CHUNK_ROWS (128u << 10) /* records are sealed at this: it fits a second-level cache */
#define FIRST_ROWS (4u << 10)

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
		err = writer__seal(w, r);
		if (err)
			return err;
	}
	if (r->used + size <= r->cap)
		return 0;
	while (cap < r->used + size)
		cap *= 2;
	if (grow(&r->rows, cap, 1))
		return writer__fail(w, -ENOMEM);
	r->cap = cap;
	r->limit = cap < CHUNK_ROWS ? cap : CHUNK_ROWS;
	return 0;
}

static int touch(struct trace_writer *w, struct ring *r, uint64_t time_ns)
{
	uint32_t cap = w->cap_touched ? w->cap_touched * 2 : 64;
	int err = w->file.written || w->window ? 0 : writer__begin(w, time_ns);

	if (err)
		return err;
	if (!w->begin_ns)
		w->begin_ns = time_ns;

	if (w->n_touched == w->cap_touched) {
		if (grow(&w->touched, cap, sizeof(*w->touched)))
			return writer__fail(w, -ENOMEM);
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
		err = writer__fail(w, -ENOMEM);
	if (!err && !r->touched)
		err = touch(w, r, rec->time_ns);
	if (!err && r->used + size > r->limit)
		err = make_room(w, r, size);
	if (err) {
		writer__count_lost(w, 1, rec->time_ns, rec->time_ns);
		return err;
	}
	row = (struct rec *)(r->rows + r->used);
	copy_words(row, rec, rec->size);
	if (size > rec->size) {
		memset((uint8_t *)row + rec->size, 0, size - rec->size);
		row->size = (uint16_t)size;
	}
	/* limit is 0 while there are no rows, so there are some now */
	if (row->time_ns < r->newest) /* NOLINT(clang-analyzer-core.NullDereference) */
		settle_late(w, r, row);
	else
		r->newest = row->time_ns;
	r->used += size;
	r->count++;
	w->stats.raw_bytes += size;
	if (w->carry && trace_carry__wants(row->type) && !w->telling && writer__remember(w, row))
		return w->stats.err;
	if (row->type == w->watch_type && w->watch)
		w->watch(w->watch_arg, row);
	return w->round.bytes > w->round_cut ? writer__cut_round(w) : 0;
}

/* Rounds are short, as memory is given back by rounds. */
static struct trace_writer *new_window(struct trace_writer *w, const struct trace_writer_opts *o)
{
	uint64_t bytes =
		o->window_bytes > WINDOW_LEAST_BYTES ? o->window_bytes : WINDOW_LEAST_BYTES;

	w->window = window__new(o->window_ns, bytes);
	if (!w->window) {
		trace_writer__free(w);
		errno = ENOMEM;
		return NULL;
	}
	if (w->round_max > bytes / 16)
		w->round_max = bytes / 16;
	w->round_cut = 4 * w->round_max;
	return w;
}

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
	w->level = opts->level ? opts->level : 1;
	w->encoder = encoder__new(w->level);
	if (!w->index || !w->encoder)
		goto out;
	w->round_max = ROUND_MAX_BYTES;
	w->round_cut = ROUND_CUT_BYTES;
	w->watch = opts->watch;
	w->watch_arg = opts->arg;
	w->watch_type = opts->watch_type;
	w->sync = opts->sync;
	if (opts->window_ns)
		return new_window(w, opts);
	w->sink = sink__new(fd, opts->sync);
	err = w->sink ? 0 : -errno;
	if (!err && opts->carry) {
		w->carry = trace_carry__new();
		err = w->carry ? 0 : -errno;
	}
	if (w->sink && opts->give_up)
		sink__on_stall(w->sink, opts->give_up, opts->arg);
out:
	if (!err)
		return w;
	trace_writer__free(w);
	errno = -err;
	return NULL;
}

void trace_writer__began(struct trace_writer *w, uint64_t begin_ns, uint64_t realtime_ns)
{
	w->begin_ns = begin_ns;
	w->realtime_ns = realtime_ns;
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
	trace_carry__free(w->carry);
	window__free(w->window);
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
	out->records += w->before.records;
	out->raw_bytes += w->before.raw_bytes;
	out->clamped += w->before.clamped;
	out->bytes = w->before.bytes + w->file.written + w->out_used;
	if (w->window)
		out->bytes += window__bytes(w->window);
	for (i = 0; i < w->n_touched; i++)
		out->records += w->rings[w->touched[i]]->count;
}
