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

static bool check_span(const struct mark_scan *s, const struct rec *r)
{
	const struct rec_span *span = (const struct rec_span *)r;

	return r->size == sizeof(*span) && span->start_ns <= span->end_ns &&
	       span->end_ns <= s->now_ns + FUTURE_NS && span->kind <= REC_SPAN_COLLECTIVE &&
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

static bool check_record(const struct mark_scan *s, struct rec *r)
{
	switch (r->type) {
	case REC_NAME:
		return check_name(r);
	case REC_DEVICE:
		return check_device(r);
	case REC_SPAN:
		return check_span(s, r);
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

static void clamp_time(struct mark_scan *s, struct rec *r)
{
	uint64_t t = r->time_ns;

	if (t > s->now_ns)
		t = s->now_ns;
	if (t < s->last_ns)
		t = s->last_ns;
	s->clamped += t != r->time_ns;
	s->last_ns = r->time_ns = t;
}

ssize_t mark_ring__scan(struct mark_scan *s, unsigned char *buf, size_t len, uint64_t pos,
			uint64_t ring_bytes, int (*emit)(void *arg, struct rec *rec), void *arg)
{
	size_t at = 0;
	int err;

	while (len - at >= 8) {
		struct rec *r = (struct rec *)(buf + at);
		uint64_t room = ring_bytes - ((pos + at) & (ring_bytes - 1));

		if (r->size < 8 || r->size % REC_ALIGN || r->size > room)
			return -EBADMSG;
		if (r->type == MARK_PAD && r->size != room)
			return -EBADMSG;
		if (r->type != MARK_PAD && r->size < sizeof(*r))
			return -EBADMSG;
		if (r->size > len - at)
			break;
		at += r->size;
		if (r->type == MARK_PAD)
			continue;
		if (!check_record(s, r)) {
			s->bad++;
			continue;
		}
		clamp_time(s, r);
		err = emit(arg, r);
		if (err)
			return err;
	}
	return (ssize_t)at;
}
