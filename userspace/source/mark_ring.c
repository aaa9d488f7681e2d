// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/mark_ring.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "userspace/mark/abi.h"
#include "userspace/mark/hash.h"

/* How far the end of a span may lie ahead: device clocks are known to within less than this. */
#define FUTURE_NS 1000000000ULL

/* The text of @len bytes that follows a fixed part and fills the record. */
static bool check_text(struct rec *r, size_t fixed, uint32_t len)
{
	char *text = (char *)r + fixed;

	if (len > MARK_NAME_MAX || r->size != ((fixed + len + REC_ALIGN - 1) & ~(REC_ALIGN - 1UL)))
		return false;
	if (memchr(text, '\0', len))
		return false;
	memset(text + len, 0, r->size - fixed - len);
	return true;
}

static bool check_name(struct rec *r)
{
	struct rec_name *n = (struct rec_name *)r;

	if (r->size < sizeof(*n) || !check_text(r, sizeof(*n), n->name_len))
		return false;
	n->pad = 0;
	return n->id == mark_hash(n + 1, n->name_len);
}

static bool check_device(struct rec *r)
{
	struct rec_device *d = (struct rec_device *)r;

	return r->size >= sizeof(*d) && check_text(r, sizeof(*d), d->name_len);
}

static bool check_span(const struct mark_walk *w, const struct rec *r)
{
	const struct rec_span *span = (const struct rec_span *)r;

	return r->size == sizeof(*span) && span->start_ns <= span->end_ns &&
	       span->end_ns <= w->now_ns + FUTURE_NS && span->kind <= REC_SPAN_COLLECTIVE &&
	       span->tier >= 'A' && span->tier <= 'D';
}

static bool check_launch(struct rec *r)
{
	struct rec_launch *l = (struct rec_launch *)r;

	if (r->size != sizeof(*l) || l->kind > REC_SPAN_COLLECTIVE)
		return false;
	l->pad = 0;
	return true;
}

static bool check_record(const struct mark_walk *w, struct rec *r)
{
	switch (r->type) {
	case REC_NAME:
		return check_name(r);
	case REC_DEVICE:
		return check_device(r);
	case REC_SPAN:
		return check_span(w, r);
	case REC_LAUNCH:
		return check_launch(r);
	case REC_MARK_STEP:
		return r->size == sizeof(struct rec_mark_step);
	case REC_UNIT_BEGIN:
		return r->size == sizeof(struct rec_unit_begin);
	case REC_UNIT_HANDOVER:
		return r->size == sizeof(struct rec_unit_handover);
	case REC_UNIT_END:
		return r->size == sizeof(struct rec_unit_end);
	case REC_RANGE_BEGIN:
		return r->size == sizeof(struct rec_range_begin);
	case REC_RANGE_END:
		return r->size == sizeof(struct rec_range_end);
	case REC_ROLE:
		return r->size == sizeof(struct rec_role);
	case REC_COUNTER:
		return r->size == sizeof(struct rec_counter);
	default:
		return false;
	}
}

static void correct_time(struct mark_walk *w, struct rec *r)
{
	uint64_t t = r->time_ns;

	if (t > w->now_ns)
		t = w->limit_ns < w->now_ns ? w->limit_ns : w->now_ns;
	if (t < w->last_ns)
		t = w->last_ns;
	w->moved = t != r->time_ns;
	r->time_ns = t;
}

int mark_walk__next(struct mark_walk *w, struct rec **rec)
{
	for (; w->len - w->at >= 8; w->at += (*rec)->size) {
		struct rec *r = (struct rec *)(w->buf + w->at);
		uint64_t room = w->ring_bytes - ((w->pos + w->at) & (w->ring_bytes - 1));

		*rec = r;
		if (r->size < 8 || r->size % REC_ALIGN || r->size > room)
			return -EBADMSG;
		if (r->type == MARK_PAD ? r->size != room : r->size < sizeof(*r))
			return -EBADMSG;
		if (r->size > w->len - w->at)
			return 0;
		if (r->type == MARK_PAD)
			continue;
		if (check_record(w, r)) {
			correct_time(w, r);
			return 1;
		}
		w->bad++;
	}
	return 0;
}

void mark_walk__take(struct mark_walk *w, const struct rec *rec)
{
	w->at += rec->size;
	w->last_ns = rec->time_ns;
}
