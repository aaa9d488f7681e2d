// SPDX-License-Identifier: BSD-2-Clause
/* The marks: each one record, written where the recorder reads it. */
#include "userspace/mark/xpugap_mark.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/mark/cost.h"
#include "userspace/mark/hash.h"
#include "userspace/mark/probes.h"
#include "userspace/mark/state.h"

PROBE_SEMAPHORE(step);
PROBE_SEMAPHORE(range_begin);
PROBE_SEMAPHORE(range_end);

static inline uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec -
	       (uint64_t)mark_time_offset;
}

/* ---- a ring ---- */

static inline struct mark_thread *enter(void)
{
	struct mark_thread *t;

	if (unlikely(mark_tls.busy)) {
		mark__nested();
		return NULL;
	}
	mark_tls.busy = 1;
	__asm__ volatile("" ::: "memory");
	t = mark_tls.thread;
	if (unlikely(!t || !t->ring || __atomic_load_n(&t->ring->closed, __ATOMIC_RELAXED))) {
		t = mark__claim();
		if (!t)
			mark_tls.busy = 0;
	}
	return t;
}

static inline void leave(void)
{
	__asm__ volatile("" ::: "memory");
	mark_tls.busy = 0;
}

/* The slow part of reserve(): at the end of the ring, or the consumer's position is stale. */
static __attribute__((noinline)) void *reserve_slow(struct mark_thread *t, uint32_t size)
{
	uint64_t at = t->head & (t->bytes - 1);
	uint64_t gap = at + size > t->bytes ? t->bytes - at : 0;
	struct rec pad = {.type = MARK_PAD, .size = (uint16_t)gap};

	t->tail = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE);
	if (t->head - t->tail > t->bytes || t->head - t->tail + gap + size > t->bytes) {
		mark__ring_full(t);
		return NULL;
	}
	if (gap) {
		memcpy(t->data + at, &pad, gap < sizeof(pad) ? 8 : sizeof(pad));
		t->head += gap; /* published with the record that follows */
		at = 0;
	}
	return t->data + at;
}

/* Room for a record of @size bytes, or NULL if there is none: the mark is lost and counted. */
static inline void *reserve(struct mark_thread *t, uint16_t type, uint32_t size)
{
	uint64_t at = t->head & (t->bytes - 1);
	struct rec *r;

	if (likely(at + size <= t->bytes && t->head - t->tail + size <= t->bytes))
		r = (struct rec *)(t->data + at);
	else
		r = reserve_slow(t, size);
	if (likely(r)) {
		__atomic_store_n(&t->ring->head, t->head | MARK_WRITING, __ATOMIC_RELAXED);
		__asm__ volatile("" ::: "memory");
		r->type = type;
		r->size = (uint16_t)size;
		r->tid = t->tid;
		r->time_ns = clock_ns();
	}
	return r;
}

static inline void commit(struct mark_thread *t, uint32_t size)
{
	t->head += size;
	__atomic_store_n(&t->ring->head, t->head, __ATOMIC_RELEASE);
}

/* ---- names ---- */

static inline uint32_t text_size(size_t len)
{
	return (uint32_t)((len + REC_ALIGN - 1) & ~(size_t)(REC_ALIGN - 1));
}

static inline void put_text(char *tail, const char *text, size_t len)
{
	memcpy(tail, text, len);
	memset(tail + len, 0, text_size(len) - len);
}

static bool emit_name(struct mark_thread *t, uint64_t id, const char *name, size_t len)
{
	uint32_t size = (uint32_t)sizeof(struct rec_name) + text_size(len);
	struct rec_name *r = reserve(t, REC_NAME, size);

	if (!r)
		return false;
	r->id = id;
	r->name_len = (uint32_t)len;
	r->pad = 0;
	put_text((char *)(r + 1), name, len);
	commit(t, size);
	return true;
}

/*
 * The table of names that went out is a cache: one that was driven out goes out again. It has no
 * lock; two threads may both send a name, which does no harm.
 */
static __attribute__((noinline)) bool see_name(struct mark_thread *t, uint64_t id, const char *name,
					       size_t len)
{
	uint64_t *slot = NULL;

	for (uint32_t i = 0; i < 8; i++) {
		uint64_t *s = &mark_seen[(id + i) % MARK_SEEN];
		uint64_t v = __atomic_load_n(s, __ATOMIC_RELAXED);

		if (v == id)
			return true;
		if (!v && !slot)
			slot = s;
	}
	if (!emit_name(t, id, name, len))
		return false;
	__atomic_store_n(slot ? slot : &mark_seen[id % MARK_SEEN], id, __ATOMIC_RELAXED);
	return true;
}

static inline struct mark_known *known_at(const struct mark_thread *t, const char *name)
{
	_Static_assert(MARK_KNOWN == 64, "six bits");
	return &t->known[((uintptr_t)name * 0x9E3779B97F4A7C15ULL) >> 58];
}

static inline void know(struct mark_known *k, const char *name, size_t len, uint64_t id)
{
	if (len >= sizeof(k->text))
		return;
	memcpy(k->text, name, len + 1);
	k->id = id;
	k->where = name;
}

static __attribute__((noinline)) bool name_id_slow(struct mark_thread *t, const char *name,
						   uint64_t *id, struct mark_known *k)
{
	size_t len = strnlen(name, MARK_NAME_MAX);

	*id = mark_hash(name, len);
	if (__atomic_load_n(&mark_seen[*id % MARK_SEEN], __ATOMIC_RELAXED) != *id &&
	    !see_name(t, *id, name, len))
		return false;
	know(k, name, len, *id);
	return true;
}

/* The id of @name; false if the name found no room, which loses the mark that has it. */
static inline bool name_id(struct mark_thread *t, const char *name, uint64_t *id)
{
	struct mark_known *k = known_at(t, name);

	if (likely(k->where == name && name && !strcmp(k->text, name))) {
		*id = k->id;
		return true;
	}
	if (name)
		return name_id_slow(t, name, id, k);
	*id = 0;
	return true;
}

/* ---- what the header declares ---- */

bool xpugap_recording(void)
{
	if (unlikely(mark__state() == MARK_TRY))
		mark__attach_now();
	return mark__state() != MARK_OFF || PROBE_WANTED(step) || PROBE_WANTED(range_begin);
}

uint64_t xpugap_now(void)
{
	if (unlikely(mark__state() == MARK_TRY))
		mark__attach_now();
	return clock_ns();
}

bool xpugap_connect(const char *address)
{
	return mark__connect(address);
}

static void mark_step(uint64_t step, uint64_t items)
{
	struct mark_thread *t = enter();
	struct rec_mark_step *r;

	if (!t)
		return;
	r = reserve(t, REC_MARK_STEP, sizeof(*r));
	if (r) {
		r->step = step;
		r->items = items;
		commit(t, sizeof(*r));
	}
	leave();
}

void xpugap_step(uint64_t step, uint64_t items)
{
	if (mark__state() != MARK_OFF) {
		mark_step(step, items);
		if (mark__state() != MARK_OFF)
			return;
	}
	if (PROBE_WANTED(step))
		STAP_PROBE2(xpugap, step, step, items);
}

void xpugap_step_end(uint64_t items)
{
	xpugap_step(REC_NO_STEP, items);
}

/* Records that hold an id and perhaps a number: struct rec_unit_* and rec_range_*. */
static void mark_unit(uint16_t type, uint64_t unit, uint64_t second, uint32_t size)
{
	struct mark_thread *t = enter();
	struct rec_unit_end *r;

	if (!t)
		return;
	r = reserve(t, type, size);
	if (r) {
		r->unit = unit;
		if (size == sizeof(*r))
			r->items = second;
		commit(t, size);
	}
	leave();
}

void xpugap_unit_begin(uint64_t unit, const char *kind)
{
	struct mark_thread *t;
	struct rec_unit_begin *r;
	uint64_t id;

	if (likely(mark__state() == MARK_OFF))
		return;
	t = enter();
	if (!t)
		return;
	if (name_id(t, kind, &id)) {
		r = reserve(t, REC_UNIT_BEGIN, sizeof(*r));
		if (r) {
			r->unit = unit;
			r->kind = id;
			commit(t, sizeof(*r));
		}
	}
	leave();
}

void xpugap_unit_handover(uint64_t unit)
{
	if (unlikely(mark__state() != MARK_OFF))
		mark_unit(REC_UNIT_HANDOVER, unit, 0, sizeof(struct rec_unit_handover));
}

void xpugap_unit_end(uint64_t unit, uint64_t items)
{
	if (unlikely(mark__state() != MARK_OFF))
		mark_unit(REC_UNIT_END, unit, items, sizeof(struct rec_unit_end));
}

/* Records that hold no more than a name: struct rec_range_begin, rec_range_end, rec_role. */
static void mark_name(uint16_t type, const char *name)
{
	struct mark_thread *t = enter();
	struct rec_role *r;
	uint64_t id;

	if (!t)
		return;
	if (name_id(t, name, &id)) {
		r = reserve(t, type, sizeof(*r));
		if (r) {
			r->name = id;
			commit(t, sizeof(*r));
		}
	}
	leave();
}

static __attribute__((noinline)) void probe_range_begin(const char *name)
{
	size_t len = name ? strnlen(name, MARK_NAME_MAX) : 0;

	STAP_PROBE3(xpugap, range_begin, name ? mark_hash(name, len) : 0, name, len);
}

static __attribute__((noinline)) void probe_range_end(const char *name)
{
	size_t len = name ? strnlen(name, MARK_NAME_MAX) : 0;

	STAP_PROBE3(xpugap, range_end, name ? mark_hash(name, len) : 0, name, len);
}

void xpugap_range_begin(const char *name)
{
	if (mark__state() != MARK_OFF) {
		mark_name(REC_RANGE_BEGIN, name);
		if (mark__state() != MARK_OFF)
			return;
	}
	if (PROBE_WANTED(range_begin))
		probe_range_begin(name);
}

void xpugap_range_end(const char *name)
{
	if (mark__state() != MARK_OFF) {
		mark_name(REC_RANGE_END, name);
		if (mark__state() != MARK_OFF)
			return;
	}
	if (PROBE_WANTED(range_end))
		probe_range_end(name);
}

void xpugap_role(const char *role)
{
	if (unlikely(mark__state() != MARK_OFF))
		mark_name(REC_ROLE, role);
}

void xpugap_counter(const char *name, double value)
{
	struct mark_thread *t;
	struct rec_counter *r;
	uint64_t id;

	if (likely(mark__state() == MARK_OFF))
		return;
	t = enter();
	if (!t)
		return;
	if (name_id(t, name, &id)) {
		r = reserve(t, REC_COUNTER, sizeof(*r));
		if (r) {
			r->name = id;
			r->value = value;
			commit(t, sizeof(*r));
		}
	}
	leave();
}

bool mark__emit_device(struct mark_thread *t, uint32_t device, const char *name)
{
	size_t len = strnlen(name, MARK_NAME_MAX);
	uint32_t size = (uint32_t)sizeof(struct rec_device) + text_size(len);
	struct rec_device *r = reserve(t, REC_DEVICE, size);

	if (!r)
		return false;
	r->device = device;
	r->name_len = (uint32_t)len;
	put_text((char *)(r + 1), name, len);
	commit(t, size);
	return true;
}

void xpugap_device(uint32_t device, const char *name)
{
	struct mark_thread *t;

	if (likely(mark__state() == MARK_OFF))
		return;
	t = enter();
	if (!t)
		return;
	name = name ? name : "";
	mark__emit_device(t, device, name);
	mark_devices__remember(device, name);
	leave();
}

uint64_t xpugap_correlation(void)
{
	struct mark_thread *t;
	uint64_t corr;

	if (likely(mark__state() == MARK_OFF))
		return 1;
	if (unlikely(mark_tls.busy))
		return mark__correlation_block(1);
	t = enter();
	if (!t)
		return mark__correlation_block(1);
	if (unlikely(t->corr == t->corr_end)) {
		t->corr = mark__correlation_block(4096);
		t->corr_end = t->corr + 4096;
	}
	corr = t->corr++;
	leave();
	return corr;
}

void xpugap_launch(uint32_t device, uint16_t queue, enum xpugap_span_kind kind, const char *name,
		   uint64_t corr)
{
	struct mark_thread *t;
	struct rec_launch *r;
	uint64_t id;

	if (likely(mark__state() == MARK_OFF))
		return;
	t = enter();
	if (!t)
		return;
	if (name_id(t, name, &id)) {
		r = reserve(t, REC_LAUNCH, sizeof(*r));
		if (r) {
			r->corr = corr;
			r->name = id;
			r->device = device;
			r->queue = queue;
			r->kind = (uint8_t)kind;
			r->pad = 0;
			commit(t, sizeof(*r));
		}
	}
	leave();
}

struct span {
	uint32_t device;
	uint16_t queue;
	uint8_t kind;
	uint64_t start_ns, end_ns, corr, bytes;
};

static inline void put_span(struct mark_thread *t, const char *name, const struct span *span)
{
	struct rec_span *r;
	uint64_t id;

	if (!name_id(t, name, &id))
		return;
	r = reserve(t, REC_SPAN, sizeof(*r));
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
	commit(t, sizeof(*r));
}

void xpugap_span(uint32_t device, uint16_t queue, enum xpugap_span_kind kind, const char *name,
		 uint64_t start_ns, uint64_t end_ns, uint64_t corr, uint64_t bytes)
{
	struct mark_thread *t;

	if (likely(mark__state() == MARK_OFF))
		return;
	t = enter();
	if (!t)
		return;
	put_span(t, name,
		 &(struct span){
			 .device = device,
			 .queue = queue,
			 .kind = (uint8_t)kind,
			 .start_ns = start_ns,
			 .end_ns = end_ns,
			 .corr = corr,
			 .bytes = bytes,
		 });
	leave();
}

/* ---- what a mark costs here ---- */

#define COST_BATCHES 8
#define COST_BATCH   500U
#define COST_RING    (64U << 10)

double mark_cost__measure(void)
{
	static const char name[] = "cost";
	struct mark_ring ring = {0};
	struct mark_thread t = {.ring = &ring, .bytes = COST_RING};
	uint64_t best = UINT64_MAX, begin, ns;

	_Static_assert(COST_BATCH * sizeof(struct rec_span) < COST_RING, "a batch fits");
	t.data = malloc(COST_RING);
	t.known = calloc(MARK_KNOWN, sizeof(*t.known));
	if (t.known)
		know(known_at(&t, name), name, strlen(name), 1);
	for (unsigned int b = 0; b < COST_BATCHES && t.data && t.known; b++) {
		begin = clock_ns();
		for (unsigned int i = 0; i < COST_BATCH; i++)
			put_span(&t, name, &(struct span){.corr = i});
		ns = clock_ns() - begin;
		if (ns < best)
			best = ns;
		ring.tail = t.head;
	}
	free(t.data);
	free(t.known);
	return best == UINT64_MAX ? 0 : (double)best / COST_BATCH;
}
