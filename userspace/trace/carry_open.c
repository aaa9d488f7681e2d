// SPDX-License-Identifier: BSD-2-Clause
/* What has begun and has not ended: ranges, units, and what is open where that was asked. */
#include "userspace/trace/carry_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct range {
	uint64_t name;
	uint64_t begin_ns;
};

/* The ranges that are open on a thread, the innermost last. */
struct ranges {
	uint32_t depth;
	struct range open[CARRY_MAX_DEPTH];
};

/* ---- ranges ---- */

static int open_range(struct trace_carry *c, uint32_t tid, uint64_t name, uint64_t begin_ns)
{
	struct ranges *r = map__get(&c->ranges, tid);

	if (r ? r->depth == CARRY_MAX_DEPTH : c->ranges.n >= CARRY_MAX_OPEN) {
		c->left_out++;
		return 0;
	}
	if (!r) {
		r = calloc(1, sizeof(*r));
		if (!r || map__put(&c->ranges, tid, r)) {
			free(r);
			return -ENOMEM;
		}
	}
	r->open[r->depth++] = (struct range){name, begin_ns};
	return 0;
}

/* The innermost of that name. */
static void end_range(struct trace_carry *c, uint32_t tid, uint64_t name)
{
	struct ranges *r = map__get(&c->ranges, tid);
	uint32_t i = r ? r->depth : 0;

	while (i && r->open[i - 1].name != name)
		i--;
	if (!i)
		return;
	r->depth--;
	memmove(&r->open[i - 1], &r->open[i], (r->depth - (i - 1)) * sizeof(r->open[0]));
	if (!r->depth)
		free(map__del(&c->ranges, tid));
}

/* ---- units ---- */

static int open_unit(struct trace_carry *c, const struct rec_unit_open *rec)
{
	if (!map__get(&c->units, rec->unit) && c->units.n >= CARRY_MAX_OPEN) {
		c->left_out++;
		return 0;
	}
	return carry__keep(&c->units, rec->unit, rec, sizeof(*rec));
}

static int begin_unit(struct trace_carry *c, const struct rec_unit_begin *rec)
{
	const struct rec_unit_open open = {
		.hdr = {REC_UNIT_OPEN, sizeof(open), rec->hdr.tid, rec->hdr.time_ns},
		.unit = rec->unit,
		.kind = rec->kind,
		.start_ns = rec->hdr.time_ns,
	};

	return open_unit(c, &open);
}

static void hand_over(struct trace_carry *c, const struct rec_unit_handover *rec)
{
	struct rec_unit_open *open = map__get(&c->units, rec->unit);

	if (open)
		open->hdr.tid = rec->hdr.tid;
}

/* ---- calls ---- */

/* A thread is in one call at a time: what begins later tells that what began before has ended. */
static int returned(struct trace_carry *c, const struct rec *rec, uint64_t duration_ns)
{
	uint64_t begun_ns = rec->time_ns - duration_ns, *last = map__get(&c->returned, rec->tid);

	if (last && *last >= begun_ns)
		return 0;
	return carry__keep(&c->returned, rec->tid, &begun_ns, sizeof(begun_ns));
}

/* All that tell of an open call begin alike, and all that tell of one that returned. */
#define BEGINS_WITH(record, field)                                                                 \
	_Static_assert(offsetof(struct rec_##record, field) == sizeof(struct rec), #record)
BEGINS_WITH(ioctl_blocked, start_ns);
BEGINS_WITH(file_blocked, start_ns);
BEGINS_WITH(stream_blocked, start_ns);
BEGINS_WITH(wait_blocked, start_ns);
BEGINS_WITH(futex_blocked, start_ns);
BEGINS_WITH(ioctl, duration_ns);
BEGINS_WITH(file_io, duration_ns);
BEGINS_WITH(stream_io, duration_ns);
BEGINS_WITH(wait, duration_ns);
BEGINS_WITH(futex_wait, duration_ns);

static uint64_t start_of(const struct rec *rec)
{
	return ((const struct rec_ioctl_blocked *)rec)->start_ns;
}

/*
 * Is this what another record tells of, too? So it is of sendfile from a file into a socket, and of
 * a wait for a futex that goes on after a signal.
 */
static bool is_second(const struct rec *rec)
{
	if (rec->type == REC_WAIT_BLOCKED)
		return ((const struct rec_wait_blocked *)rec)->call == REC_WAIT_RESTART;
	return rec->type == REC_STREAM_BLOCKED;
}

static uint64_t call_key(const struct rec *rec)
{
	return rec->tid | (uint64_t)is_second(rec) << 32;
}

static int call_feed(struct trace_carry *c, const struct rec *rec)
{
	const struct rec *before = map__get(&c->calls, call_key(rec));

	if (rec->type == REC_IOCTL || rec->type == REC_FILE_IO || rec->type == REC_STREAM_IO ||
	    rec->type == REC_WAIT || rec->type == REC_FUTEX_WAIT)
		return returned(c, rec, ((const struct rec_ioctl *)rec)->duration_ns);
	if (before && start_of(before) > start_of(rec))
		return 0;
	return carry__keep(&c->calls, call_key(rec), rec, rec->size);
}

/* ---- requests to disks, GPUs and io_uring, and waits for these ---- */

/* What tells one from all others, from its beginning or from its end. */
struct request {
	uint64_t start_ns;
	uint64_t fence;
	uint64_t context;
	uint64_t seqno;
	uint32_t tid;
	uint32_t dev;
	uint64_t type; /* of the record that tells that it is open */
};

static void of_block(struct request *q, const struct rec *rec)
{
	const struct rec_block_open *open = (const void *)rec;
	const struct rec_block *over = (const void *)rec;
	bool is_open = rec->type == REC_BLOCK_OPEN;

	q->type = REC_BLOCK_OPEN;
	q->tid = rec->tid;
	q->dev = is_open ? open->dev : over->dev;
	q->start_ns = is_open ? open->start_ns : rec->time_ns - over->device_ns - over->queue_ns;
}

#define OF_FENCE(q, rec)                                                                           \
	do {                                                                                       \
		(q)->fence = (rec)->fence;                                                         \
		(q)->context = (rec)->context;                                                     \
		(q)->seqno = (rec)->seqno;                                                         \
	} while (0)

static void of_fence(struct request *q, const struct rec *rec)
{
	const struct rec_fence_open *open = (const void *)rec;
	const struct rec_fence *over = (const void *)rec;

	q->type = REC_FENCE_OPEN;
	if (rec->type == REC_FENCE_OPEN) {
		q->start_ns = open->made_ns;
		OF_FENCE(q, open);
	} else {
		q->start_ns = over->made_ns;
		OF_FENCE(q, over);
	}
}

static void of_wait(struct request *q, const struct rec *rec)
{
	const struct rec_fence_blocked *open = (const void *)rec;
	const struct rec_fence_wait *over = (const void *)rec;

	q->type = REC_FENCE_BLOCKED;
	q->tid = rec->tid;
	if (rec->type == REC_FENCE_BLOCKED) {
		q->start_ns = open->start_ns;
		OF_FENCE(q, open);
	} else {
		q->start_ns = rec->time_ns - over->duration_ns;
		OF_FENCE(q, over);
	}
}

static void of_job(struct request *q, const struct rec *rec)
{
	const struct rec_job_open *open = (const void *)rec;
	const struct rec_job *over = (const void *)rec;

	q->type = REC_JOB_OPEN;
	q->tid = rec->tid;
	if (rec->type == REC_JOB_OPEN) {
		q->start_ns = open->queued_ns;
		OF_FENCE(q, open);
	} else {
		q->start_ns = rec->time_ns - over->run_ns - over->queue_ns;
		OF_FENCE(q, over);
	}
}

static void of_uring(struct request *q, const struct rec *rec)
{
	const struct rec_io_uring_open *open = (const void *)rec;
	const struct rec_io_uring *over = (const void *)rec;
	bool is_open = rec->type == REC_IO_URING_OPEN;

	q->type = REC_IO_URING_OPEN;
	q->tid = rec->tid;
	q->start_ns = is_open ? open->start_ns : over->start_ns;
	q->dev = is_open ? open->op : over->op;
}

/* It was completed for once and goes on: true, and what is kept of it knows how often that was. */
static bool goes_on(const struct trace_carry *c, const struct rec *rec, uint64_t key)
{
	const struct rec_io_uring *once = (const void *)rec;
	struct rec_io_uring_open *open = map__get(&c->requests, key);

	if (rec->type != REC_IO_URING || !(once->flags & REC_IO_URING_MORE))
		return false;
	if (open && open->nth < once->nth)
		open->nth = once->nth;
	return true;
}

/*
 * The hooks look up what is open after the sweep before: an end that is told of later is told of by
 * a later record.
 */
static int request_feed(struct trace_carry *c, const struct rec *rec, const struct request *q)
{
	uint64_t key = carry__hash(CARRY_HASH, q, sizeof(*q));

	if (rec->type != q->type) {
		if (!goes_on(c, rec, key))
			free(map__del(&c->requests, key));
		return 0;
	}
	if (!map__get(&c->requests, key) && c->requests.n >= CARRY_MAX_OPEN) {
		c->left_out++;
		return 0;
	}
	return carry__keep(&c->requests, key, rec, rec->size);
}

int carry_open__feed_asked(struct trace_carry *c, const struct rec *rec)
{
	struct request q = {0};

	switch (rec->type) {
	case REC_BLOCK:
	case REC_BLOCK_OPEN:
		of_block(&q, rec);
		break;
	case REC_FENCE:
	case REC_FENCE_OPEN:
		of_fence(&q, rec);
		break;
	case REC_FENCE_WAIT:
	case REC_FENCE_BLOCKED:
		of_wait(&q, rec);
		break;
	case REC_JOB:
	case REC_JOB_OPEN:
		of_job(&q, rec);
		break;
	case REC_IO_URING:
	case REC_IO_URING_OPEN:
		of_uring(&q, rec);
		break;
	default:
		return call_feed(c, rec);
	}
	return request_feed(c, rec, &q);
}

/* ---- all ---- */

int carry_open__feed(struct trace_carry *c, const struct rec *rec)
{
	switch (rec->type) {
	case REC_RANGE_BEGIN:
		return open_range(c, rec->tid, ((const struct rec_range_begin *)rec)->name,
				  rec->time_ns);
	case REC_RANGE_OPEN:
		return open_range(c, rec->tid, ((const struct rec_range_open *)rec)->name,
				  ((const struct rec_range_open *)rec)->start_ns);
	case REC_RANGE_END:
		end_range(c, rec->tid, ((const struct rec_range_end *)rec)->name);
		return 0;
	case REC_UNIT_BEGIN:
		return begin_unit(c, (const void *)rec);
	case REC_UNIT_OPEN:
		return open_unit(c, (const void *)rec);
	case REC_UNIT_HANDOVER:
		hand_over(c, (const void *)rec);
		return 0;
	case REC_UNIT_END:
		free(map__del(&c->units, ((const struct rec_unit_end *)rec)->unit));
		return 0;
	default:
		return 0;
	}
}

void carry_open__task_ended(struct trace_carry *c, uint32_t tid)
{
	free(map__del(&c->ranges, tid));
}

/* ---- telling ---- */

static int tell_ranges(const struct carry_teller *t, uint32_t tid, const struct ranges *r)
{
	struct rec_range_open rec = {
		.hdr = {REC_RANGE_OPEN, sizeof(rec), tid, t->time_ns},
	};
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < r->depth; i++) {
		rec.name = r->open[i].name;
		rec.start_ns = r->open[i].begin_ns;
		err = t->emit(t->arg, &rec.hdr);
	}
	return err;
}

static int tell_copies(const struct trace_carry *c, const struct carry_teller *t,
		       const struct map *m)
{
	const uint64_t *returned_ns;
	struct map_slot *slot;
	struct rec *rec;
	int err = 0;

	for (slot = map__next(m, NULL); !err && slot; slot = map__next(m, slot)) {
		rec = slot->value;
		returned_ns = m == &c->calls ? map__get(&c->returned, rec->tid) : NULL;
		if (returned_ns && *returned_ns >= start_of(rec))
			continue;
		rec->time_ns = t->time_ns;
		err = t->emit(t->arg, rec);
	}
	return err;
}

int carry_open__tell(struct trace_carry *c, const struct carry_teller *t)
{
	struct map_slot *slot;
	int err = 0;

	for (slot = map__next(&c->ranges, NULL); !err && slot; slot = map__next(&c->ranges, slot))
		err = tell_ranges(t, (uint32_t)slot->key, slot->value);
	if (!err)
		err = tell_copies(c, t, &c->units);
	if (!err)
		err = tell_copies(c, t, &c->calls);
	return err ? err : tell_copies(c, t, &c->requests);
}

void carry_open__free(struct trace_carry *c)
{
	carry__free_values(&c->ranges);
	carry__free_values(&c->units);
	carry__free_values(&c->calls);
	carry__free_values(&c->returned);
	carry__free_values(&c->requests);
}
