/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every mark does: take the thread's ring, reserve room, stamp, publish. Inlined into each
 * kind of mark; the parts that are rarely needed are in write.c.
 */
#ifndef XPUGAP_MARK_WRITE_H
#define XPUGAP_MARK_WRITE_H

#include <string.h>
#include <time.h>

#include "userspace/mark/state.h"

#pragma GCC visibility push(hidden)

static inline uint64_t mark__clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec -
	       (uint64_t)mark_time_offset;
}

/* For what is no mark and must not interrupt one: the thread's ring, or NULL; mark__leave() then.
 */
static inline struct mark_thread *mark__enter_uncounted(void)
{
	struct mark_thread *t;

	mark_tls.busy = 1;
	__asm__ volatile("" ::: "memory");
	t = mark_tls.thread;
	return likely(mark__has_ring(t)) ? t : mark__claim();
}

static inline void mark__leave(void)
{
	__asm__ volatile("" ::: "memory");
	mark_tls.busy = 0;
}

/*
 * For a mark: the thread's ring, attached to a recorder, and mark__leave() follows. NULL: there is
 * nothing to write to, or the mark interrupts another; it is counted.
 */
static inline struct mark_thread *mark__enter(void)
{
	struct mark_thread *t = NULL;

	if (likely(!mark_tls.busy)) {
		t = mark__enter_uncounted();
		if (unlikely(!t))
			mark__leave();
	}
	if (unlikely(!t))
		mark__count_lost();
	return t;
}

/* At the end of the ring, or the consumer's position is stale; NULL if it is full (counted). */
void *mark__reserve_slow(struct mark_thread *t, uint32_t size);

/* Room for a record of @size bytes, or NULL if there is none: the mark is lost and counted. */
static inline void *mark__reserve(struct mark_thread *t, uint16_t type, uint32_t size)
{
	uint64_t at = t->head & (t->bytes - 1);
	struct rec *r;

	if (likely(at + size <= t->bytes && t->head - t->tail + size <= t->bytes))
		r = (struct rec *)(t->data + at);
	else
		r = mark__reserve_slow(t, size);
	if (likely(r)) {
		__atomic_store_n(&t->ring->head, t->head | MARK_WRITING, __ATOMIC_RELEASE);
		__asm__ volatile("" ::: "memory");
		r->type = type;
		r->size = (uint16_t)size;
		r->tid = t->tid;
		r->time_ns = mark__clock_ns();
	}
	return r;
}

static inline void mark__commit(struct mark_thread *t, uint32_t size)
{
	t->head += size;
	__atomic_store_n(&t->ring->head, t->head, __ATOMIC_RELEASE);
}

static inline struct mark_known *mark__known_at(const struct mark_thread *t, const char *name)
{
	_Static_assert(MARK_KNOWN == 64, "six bits");
	return &t->known[((uintptr_t)name * 0x9E3779B97F4A7C15ULL) >> 58];
}

static inline void mark__know(struct mark_known *k, const char *name, size_t len, uint64_t id)
{
	if (len >= sizeof(k->text))
		return;
	memcpy(k->text, name, len + 1);
	k->id = id;
	k->where = name;
}

/* A name that @k does not hold. */
bool mark__name_id_slow(struct mark_thread *t, const char *name, uint64_t *id,
			struct mark_known *k);

/* The id of @name; false if the name found no room, which loses the mark that has it. */
static inline bool mark__name_id(struct mark_thread *t, const char *name, uint64_t *id)
{
	struct mark_known *k = mark__known_at(t, name);

	if (likely(k->where == name && name && !strcmp(k->text, name))) {
		*id = k->id;
		return true;
	}
	if (name)
		return mark__name_id_slow(t, name, id, k);
	*id = 0;
	return true;
}

/* A span as it stands in its record. */
struct mark_span {
	uint32_t device;
	uint16_t queue;
	uint8_t kind;
	uint64_t start_ns, end_ns, corr, bytes;
};

static inline void mark__put_span(struct mark_thread *t, const char *name,
				  const struct mark_span *span)
{
	struct rec_span *r;
	uint64_t id;

	if (!mark__name_id(t, name, &id))
		return;
	r = mark__reserve(t, REC_SPAN, sizeof(*r));
	if (!r)
		return;
	r->start_ns = span->start_ns;
	r->end_ns = span->end_ns;
	r->corr = span->corr;
	r->name = id;
	r->bytes = span->bytes;
	r->device = span->device;
	r->queue = span->queue;
	r->kind = span->kind;
	r->tier = 'A';
	mark__commit(t, sizeof(*r));
}

#pragma GCC visibility pop

#endif
