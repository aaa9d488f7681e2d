// SPDX-License-Identifier: BSD-2-Clause
/* What later files must say again: definitions here, tasks and open intervals next door. */
#include "userspace/trace/carry_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/trace/grow.h"
#include "userspace/trace/records.h"
#include "userspace/trace/trace.h"

enum kind {
	NOT_CARRIED,
	DEFINITION,
	OF_TASK,
	OPENS,
	ASKED, /* of use when the hooks were asked what is open */
};

const uint8_t trace_carry_types[REC_TYPE_MAX] = {
	[REC_META] = DEFINITION,
	[REC_CLOCK] = DEFINITION,
	[REC_HOOK] = DEFINITION,
	[REC_NAME] = DEFINITION,
	[REC_DEVICE] = DEFINITION,
	[REC_DISK] = DEFINITION,
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
	[REC_FILE_IO] = ASKED,
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
	[REC_STREAM_IO] = ASKED,
	[REC_STREAM_BLOCKED] = ASKED,
	[REC_WAIT] = ASKED,
	[REC_WAIT_BLOCKED] = ASKED,
};

/*
 * So many bytes after the head of a definition say what it defines; the last that came is the one
 * that counts. Of facts the key does, of roles the thread.
 */
static const uint8_t key_bytes[REC_TYPE_MAX] = {
	[REC_CLOCK] = 4,       [REC_HOOK] = 4,	     [REC_NAME] = 8,	[REC_DEVICE] = 4,
	[REC_DISK] = 4,	       [REC_IRQ_NAME] = 4,   [REC_FILE] = 16,	[REC_STACK] = 8,
	[REC_PMU_COUNTER] = 4, [REC_DMA_DEVICE] = 8, [REC_STREAM] = 12,
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
	uint32_t i;

	if (!c)
		return;
	for (i = 0; i < c->n_defs; i++)
		free(c->defs[i]);
	free(c->defs);
	map__free(&c->def_at);
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

static uint64_t key_of(const struct rec *rec)
{
	uint64_t h = carry__hash(CARRY_HASH, &rec->type, sizeof(rec->type));
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

/* Of those a program may have any number. */
static bool is_file(const struct rec *rec)
{
	return rec->type == REC_FILE || rec->type == REC_STREAM;
}

static int make_room(struct trace_carry *c)
{
	uint32_t cap = c->cap_defs ? c->cap_defs * 2 : 64;

	if (c->n_defs < c->cap_defs)
		return 0;
	if (grow(&c->defs, cap, sizeof(struct rec *)))
		return -ENOMEM;
	c->cap_defs = cap;
	return 0;
}

static int add_definition(struct trace_carry *c, uint64_t key, struct rec *copy)
{
	int err = make_room(c);

	if (!err)
		err = map__put(&c->def_at, key, (void *)(uintptr_t)(c->n_defs + 1));
	if (err) {
		free(copy);
		return err;
	}
	c->defs[c->n_defs++] = copy;
	c->bytes += copy->size;
	c->files += is_file(copy);
	return 0;
}

static int define(struct trace_carry *c, const struct rec *rec)
{
	uint64_t key = key_of(rec);
	uintptr_t at = (uintptr_t)map__get(&c->def_at, key);
	struct rec *copy;

	if (is_of_one_file(rec))
		return 0;
	if (!at && (c->bytes + rec->size > CARRY_MAX_BYTES ||
		    (is_file(rec) && c->files >= CARRY_MAX_FILES))) {
		c->left_out++;
		return 0;
	}
	copy = malloc(rec->size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, rec, rec->size);
	if (!at)
		return add_definition(c, key, copy);
	c->bytes += copy->size;
	c->bytes -= c->defs[at - 1]->size;
	free(c->defs[at - 1]);
	c->defs[at - 1] = copy;
	return 0;
}

/* Places of what was forgotten are taken by what comes after. */
static void close_gaps(struct trace_carry *c)
{
	uint32_t i, n = 0;

	for (i = 0; i < c->n_defs; i++) {
		if (!c->defs[i])
			continue;
		c->defs[n++] = c->defs[i];
		/* it is there: its place changes, no room is needed */
		map__put(&c->def_at, key_of(c->defs[i]), (void *)(uintptr_t)n);
	}
	c->n_defs = n;
}

void carry__forget_role(struct trace_carry *c, uint32_t tid)
{
	const struct rec rec = {.type = REC_ROLE, .tid = tid};
	uintptr_t at = (uintptr_t)map__del(&c->def_at, key_of(&rec));

	if (!at)
		return;
	c->bytes -= c->defs[at - 1]->size;
	free(c->defs[at - 1]);
	c->defs[at - 1] = NULL;
	if (c->def_at.n < c->n_defs / 2)
		close_gaps(c);
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

static int tell_definitions(struct trace_carry *c, const struct carry_teller *t)
{
	uint64_t before;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < c->n_defs; i++) {
		if (!c->defs[i])
			continue;
		before = c->defs[i]->time_ns;
		c->defs[i]->time_ns = t->time_ns;
		err = t->emit(t->arg, c->defs[i]);
		c->defs[i]->time_ns = before;
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
	int err;

	err = tell_definitions(c, &t);
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
