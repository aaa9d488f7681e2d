// SPDX-License-Identifier: BSD-2-Clause
/* What later files must say again: definitions here, tasks and open intervals next door. */
#include "userspace/trace/carry_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/trace/records.h"
#include "userspace/trace/trace.h"

enum kind {
	NOT_CARRIED,
	DEFINITION,
	OF_TASK,
	OPENS,
	ASKED, /* of use when the hooks were asked what is open */
	MEETS, /* then, and always as what it is about is not to be forgotten */
};

const uint8_t trace_carry_types[REC_TYPE_MAX] = {
	[REC_META] = DEFINITION,
	[REC_CLOCK] = DEFINITION,
	[REC_HOOK] = DEFINITION,
	[REC_NAME] = DEFINITION,
	[REC_DEVICE] = DEFINITION,
	[REC_DISK] = DEFINITION,
	[REC_CPU_STAT] = DEFINITION,
	[REC_IRQ_NAME] = DEFINITION,
	[REC_FILE] = DEFINITION,
	[REC_ROLE] = DEFINITION,
	[REC_TASK] = OF_TASK,
	[REC_TASK_FORK] = OF_TASK,
	[REC_TASK_EXEC] = OF_TASK,
	[REC_TASK_EXIT] = OF_TASK,
	[REC_TASK_COMM] = OF_TASK,
	[REC_MAP] = OF_TASK,
	[REC_MAP_COMM] = OF_TASK,
	[REC_MAP_FORK] = OF_TASK,
	[REC_MAP_EXIT] = OF_TASK,
	[REC_RANGE_BEGIN] = OPENS,
	[REC_RANGE_END] = OPENS,
	[REC_RANGE_OPEN] = OPENS,
	[REC_UNIT_BEGIN] = OPENS,
	[REC_UNIT_HANDOVER] = OPENS,
	[REC_UNIT_END] = OPENS,
	[REC_UNIT_OPEN] = OPENS,
	[REC_IOCTL] = ASKED,
	[REC_IOCTL_BLOCKED] = ASKED,
	[REC_FILE_IO] = MEETS,
	[REC_FILE_BLOCKED] = ASKED,
	[REC_STACK] = DEFINITION,
	[REC_PMU_COUNTER] = DEFINITION,
	[REC_FUTEX_WAIT] = ASKED,
	[REC_FUTEX_BLOCKED] = ASKED,
	[REC_BLOCK] = ASKED,
	[REC_BLOCK_OPEN] = ASKED,
	[REC_FENCE] = ASKED,
	[REC_FENCE_OPEN] = ASKED,
	[REC_FENCE_WAIT] = ASKED,
	[REC_FENCE_BLOCKED] = ASKED,
	[REC_JOB] = ASKED,
	[REC_JOB_OPEN] = ASKED,
	[REC_DMA_DEVICE] = DEFINITION,
	[REC_STREAM] = DEFINITION,
	[REC_STREAM_IO] = MEETS,
	[REC_STREAM_BLOCKED] = ASKED,
	[REC_WAIT] = ASKED,
	[REC_WAIT_BLOCKED] = ASKED,
	[REC_IO_URING] = ASKED,
	[REC_IO_URING_OPEN] = ASKED,
};

/*
 * So many bytes after the head of a definition say what it defines; the last that came is the one
 * that counts. Of facts the key does, of roles the thread.
 */
static const uint8_t key_bytes[REC_TYPE_MAX] = {
	[REC_CLOCK] = 4,       [REC_HOOK] = 4,	     [REC_NAME] = 8,	[REC_DEVICE] = 4,
	[REC_DISK] = 4,	       [REC_IRQ_NAME] = 4,   [REC_FILE] = 16,	[REC_STACK] = 8,
	[REC_PMU_COUNTER] = 4, [REC_DMA_DEVICE] = 8, [REC_STREAM] = 12, [REC_CPU_STAT] = 4,
};

_Static_assert(offsetof(struct rec_file, fs) == sizeof(struct rec) + 16, "inode, device, mount");
_Static_assert(offsetof(struct rec_stream, peer_pid) == sizeof(struct rec) + 12, "inode, device");

struct trace_carry *trace_carry__new(void)
{
	return calloc(1, sizeof(struct trace_carry));
}

void carry__free_values(struct map *m)
{
	struct map_slot *slot;

	for (slot = map__next(m, NULL); slot; slot = map__next(m, slot))
		free(slot->value);
	map__free(m);
}

void trace_carry__free(struct trace_carry *c)
{
	if (!c)
		return;
	carry__free_values(&c->def_of);
	carry_task__free(c);
	carry_open__free(c);
	free(c);
}

int carry__keep(struct map *m, uint64_t key, const void *data, uint32_t size)
{
	void *old = map__get(m, key), *copy = malloc(size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	if (map__put(m, key, copy)) {
		free(copy);
		return -ENOMEM;
	}
	free(old);
	return 0;
}

uint64_t trace_carry__types(void)
{
	uint64_t types = 0;
	int i;

	for (i = 0; i < REC_TYPE_MAX; i++)
		if (trace_carry_types[i] && trace_carry_types[i] != ASKED)
			types |= TRACE_TYPE(i);
	return types;
}

/* ---- definitions ---- */

uint64_t carry__hash(uint64_t h, const void *data, size_t size)
{
	const uint8_t *p = data;
	size_t i;

	for (i = 0; i < size; i++)
		h = (h ^ p[i]) * 0x100000001b3ULL; /* FNV-1a */
	return h;
}

static uint64_t key_of_type(uint16_t type)
{
	return carry__hash(CARRY_HASH, &type, sizeof(type));
}

static uint64_t key_of(const struct rec *rec)
{
	uint64_t h = key_of_type(rec->type);
	const char *text;
	size_t len;

	if (rec->type == REC_ROLE)
		return carry__hash(h, &rec->tid, sizeof(rec->tid));
	if (rec->type != REC_META)
		return carry__hash(h, rec + 1, key_bytes[rec->type]);
	text = record__text(rec, 0, &len);
	return carry__hash(h, text, len);
}

/* Facts of one file are not those of the next. */
static bool is_of_one_file(const struct rec *rec)
{
	const char *text;
	size_t len;

	if (rec->type != REC_META)
		return false;
	text = record__text(rec, 0, &len);
	return (len > 5 && memcmp(text, "part.", 5) == 0) ||
	       (len > 6 && memcmp(text, "carry.", 6) == 0);
}

static enum carry_sort sort_of(uint16_t type)
{
	return type == REC_FILE ? CARRY_FILE : type == REC_STREAM ? CARRY_STREAM : CARRY_OTHER;
}

static void put_last(struct carry_defs *l, struct carry_def *d)
{
	d->prev = l->last;
	d->next = NULL;
	if (l->last)
		l->last->next = d;
	else
		l->first = d;
	l->last = d;
	l->n++;
}

static void take_out(struct carry_defs *l, struct carry_def *d)
{
	if (d->prev)
		d->prev->next = d->next;
	else
		l->first = d->next;
	if (d->next)
		d->next->prev = d->prev;
	else
		l->last = d->prev;
	l->n--;
}

/* @d, which def_of has no more. */
static void let_go(struct trace_carry *c, struct carry_def *d)
{
	take_out(&c->defs[sort_of(d->rec.type)], d);
	c->bytes -= d->rec.size;
	free(d);
}

/* The one that was not met for longest. */
static void let_first_go(struct trace_carry *c, struct carry_defs *l)
{
	let_go(c, map__del(&c->def_of, l->first->key));
}

static int define(struct trace_carry *c, const struct rec *rec)
{
	static const uint32_t most[CARRY_SORTS] = {UINT32_MAX, CARRY_MAX_FILES, CARRY_MAX_STREAMS};
	enum carry_sort sort = sort_of(rec->type);
	uint64_t key = key_of(rec);
	struct carry_def *before = map__get(&c->def_of, key), *d;

	if (is_of_one_file(rec))
		return 0;
	if (!before && c->bytes + rec->size > CARRY_MAX_BYTES) {
		c->left_out++;
		return 0;
	}
	d = malloc(offsetof(struct carry_def, rec) + rec->size);
	if (!d || map__put(&c->def_of, key, d)) {
		free(d);
		return -ENOMEM;
	}
	d->key = key;
	memcpy(&d->rec, rec, rec->size);
	if (before)
		let_go(c, before);
	put_last(&c->defs[sort], d);
	c->bytes += rec->size;
	if (c->defs[sort].n > most[sort])
		let_first_go(c, &c->defs[sort]);
	return 0;
}

/* A call is about what is defined by @key: that goes out last. */
static void meet(struct trace_carry *c, enum carry_sort sort, uint64_t key)
{
	struct carry_defs *l = &c->defs[sort];
	struct carry_def *d = l->last;

	if (!d || d->key == key)
		return;
	d = map__get(&c->def_of, key);
	if (!d)
		return;
	take_out(l, d);
	put_last(l, d);
}

/* As key_of() has it, from the parts of what it defines. */
static uint64_t key_of_inode(uint16_t type, uint64_t inode, uint32_t dev)
{
	uint64_t h = carry__hash(key_of_type(type), &inode, sizeof(inode));

	return carry__hash(h, &dev, sizeof(dev));
}

static void meet_what(struct trace_carry *c, const struct rec *rec)
{
	const struct rec_stream_io *s = (const void *)rec;
	const struct rec_file_io *f = (const void *)rec;
	uint64_t key;

	if (rec->type == REC_FILE_IO) {
		key = key_of_inode(REC_FILE, f->inode, f->dev);
		meet(c, CARRY_FILE, carry__hash(key, &f->mount, sizeof(f->mount)));
		return;
	}
	if (s->inode)
		meet(c, CARRY_STREAM, key_of_inode(REC_STREAM, s->inode, s->dev));
	if (s->to_inode)
		meet(c, CARRY_STREAM, key_of_inode(REC_STREAM, s->to_inode, s->to_dev));
}

void carry__forget_role(struct trace_carry *c, uint32_t tid)
{
	const struct rec rec = {.type = REC_ROLE, .tid = tid};
	struct carry_def *d = map__del(&c->def_of, key_of(&rec));

	if (d)
		let_go(c, d);
}

/* ---- all ---- */

int trace_carry__feed(struct trace_carry *c, const struct rec *rec)
{
	switch (trace_carry_types[rec->type]) {
	case DEFINITION:
		return define(c, rec);
	case OF_TASK:
		return carry_task__feed(c, rec);
	case OPENS:
		return carry_open__feed(c, rec);
	case MEETS:
		meet_what(c, rec);
		/* fall through */
	case ASKED:
		return c->asked ? carry_open__feed_asked(c, rec) : 0;
	default:
		return 0;
	}
}

int trace_carry__settle(struct trace_carry *c, uint64_t watermark_ns)
{
	if (!c->ended || watermark_ns < CARRY_SETTLED_NS)
		return 0;
	return carry_task__settle(c, watermark_ns - CARRY_SETTLED_NS);
}

void trace_carry__ask(struct trace_carry *c)
{
	c->asked = true;
}

static int tell_definitions(const struct carry_defs *l, const struct carry_teller *t)
{
	struct carry_def *d;
	uint64_t before;
	int err = 0;

	for (d = l->first; !err && d; d = d->next) {
		before = d->rec.time_ns;
		d->rec.time_ns = t->time_ns;
		err = t->emit(t->arg, &d->rec);
		d->rec.time_ns = before;
	}
	return err;
}

static int tell_left_out(const struct trace_carry *c, const struct carry_teller *t)
{
	const struct rec_meta fixed = {
		.hdr = {.type = REC_META, .size = sizeof(fixed), .time_ns = t->time_ns},
	};
	char text[24];
	const char *const texts[] = {"carry.left_out", text};
	uint64_t buf[16];

	if (!c->left_out)
		return 0;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)c->left_out);
	return t->emit(t->arg, record__build(buf, sizeof(buf), &fixed.hdr, texts, 2));
}

int trace_carry__tell(struct trace_carry *c, uint64_t time_ns,
		      int (*emit)(void *arg, const struct rec *rec), void *arg)
{
	const struct carry_teller t = {emit, arg, time_ns};
	int sort, err = 0;

	for (sort = 0; !err && sort < CARRY_SORTS; sort++)
		err = tell_definitions(&c->defs[sort], &t);
	if (!err)
		err = carry_task__tell(c, &t);
	if (!err)
		err = carry_open__tell(c, &t);
	if (!err)
		err = tell_left_out(c, &t);
	c->asked = false;
	carry__free_values(&c->calls);
	carry__free_values(&c->returned);
	carry__free_values(&c->requests);
	return err;
}
