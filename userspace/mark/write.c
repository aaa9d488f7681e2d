// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/mark/write.h"

#include "userspace/mark/hash.h"

void *mark__reserve_slow(struct mark_thread *t, uint32_t size)
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
	struct rec_name *r = mark__reserve(t, REC_NAME, size);

	if (!r)
		return false;
	r->id = id;
	r->name_len = (uint32_t)len;
	r->pad = 0;
	put_text((char *)(r + 1), name, len);
	mark__commit(t, size);
	return true;
}

/*
 * The table of names that went out is a cache: one that was driven out goes out again. It has no
 * lock; two threads may both send a name, which does no harm.
 */
static bool see_name(struct mark_thread *t, uint64_t id, const char *name, size_t len)
{
	uint64_t salted = id ^ t->salt;
	uint64_t *slot = NULL;

	for (uint32_t i = 0; i < 8; i++) {
		uint64_t *s = &mark_seen[(id + i) % MARK_SEEN];
		uint64_t v = __atomic_load_n(s, __ATOMIC_RELAXED);

		if (v == salted)
			return true;
		if (!v && !slot)
			slot = s;
	}
	if (!emit_name(t, id, name, len))
		return false;
	__atomic_store_n(slot ? slot : &mark_seen[id % MARK_SEEN], salted, __ATOMIC_RELAXED);
	return true;
}

bool mark__name_id_slow(struct mark_thread *t, const char *name, uint64_t *id, struct mark_known *k)
{
	size_t len = strnlen(name, MARK_NAME_MAX);

	*id = mark_hash(name, len);
	if (__atomic_load_n(&mark_seen[*id % MARK_SEEN], __ATOMIC_RELAXED) != (*id ^ t->salt) &&
	    !see_name(t, *id, name, len))
		return false;
	mark__know(k, name, len, *id);
	return true;
}

bool mark__emit_device(struct mark_thread *t, uint32_t device, const char *name)
{
	size_t len = strnlen(name, MARK_NAME_MAX);
	uint32_t size = (uint32_t)sizeof(struct rec_device) + text_size(len);
	struct rec_device *r = mark__reserve(t, REC_DEVICE, size);

	if (!r)
		return false;
	r->device = device;
	r->name_len = (uint32_t)len;
	put_text((char *)(r + 1), name, len);
	mark__commit(t, size);
	return true;
}
