// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/agg.h"

#include <errno.h>
#include <stdlib.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/map.h"

/* What was told of a thread and number. */
struct told {
	uint64_t count;
	uint64_t total_ns;
	uint32_t log2[AGG_BUCKETS];
};

struct agg {
	struct map told;     /* by thread and number */
	struct map ended[2]; /* threads that have, in this interval and the one before */
	uint64_t since_ns;   /* when the interval began */
};

/* One pass over the totals. */
struct pass {
	struct agg *agg;
	struct trace_writer *writer;
	uint32_t turn;
	uint64_t now_ns;
};

struct agg *agg__new(uint64_t now_ns)
{
	struct agg *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->since_ns = now_ns;
	return a;
}

void agg__free(struct agg *a)
{
	struct map_slot *slot;

	if (!a)
		return;
	for (slot = map__next(&a->told, NULL); slot; slot = map__next(&a->told, slot))
		free(slot->value);
	map__free(&a->told);
	map__free(&a->ended[0]);
	map__free(&a->ended[1]);
	free(a);
}

/* Threads are known by their ids; who starts a program takes its leader's. */
int agg__saw(struct agg *a, const struct rec *rec)
{
	uint32_t tid = rec->tid;

	if (rec->type == REC_TASK_EXEC)
		tid = ((const struct rec_task_exec *)rec)->old_tid;
	else if (rec->type != REC_TASK_EXIT)
		return 0;
	if (rec->type == REC_TASK_EXEC && tid == rec->tid)
		return 0;
	return map__put(&a->ended[0], tid, a);
}

static bool has_ended(const struct agg *a, uint32_t tid)
{
	return map__get(&a->ended[0], tid) || map__get(&a->ended[1], tid);
}

static struct told *told_of(struct agg *a, uint64_t key)
{
	struct told *t = map__get(&a->told, key);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t || map__put(&a->told, key, t)) {
		free(t);
		return NULL;
	}
	return t;
}

/* What came after the interval ended and is counted in it all the same is no longer than this. */
static uint64_t longest(const struct agg_value *v, uint32_t turn)
{
	uint64_t ns = v->turn >= turn ? v->max_ns : 0;

	return v->before == turn && v->before_ns > ns ? v->before_ns : ns;
}

/* -1: no system call */
static int32_t nr_of(const struct agg_key *key)
{
	return key->nr == AGG_NONE ? -1 : (int32_t)(key->nr & ~AGG_COMPAT);
}

static uint32_t flags_of(const struct agg_key *key)
{
	return key->nr != AGG_NONE && key->nr & AGG_COMPAT ? REC_AGG_COMPAT : 0;
}

static int put_total(const struct agg *a, struct trace_writer *w, const struct agg_key *key,
		     const struct agg_value *v, const struct told *t, uint32_t turn,
		     uint64_t now_ns)
{
	const struct rec_syscall_agg rec = {
		.hdr = {REC_SYSCALL_AGG, sizeof(rec), key->tid, now_ns},
		.since_ns = a->since_ns,
		.until_ns = now_ns,
		.count = v->count - t->count,
		.total_ns = v->total_ns - t->total_ns,
		.max_ns = longest(v, turn),
		.nr = nr_of(key),
		.flags = flags_of(key),
	};

	return trace_writer__append(w, TRACE_RING_META, &rec.hdr);
}

static int put_bucket(const struct agg *a, struct trace_writer *w, const struct agg_key *key,
		      uint32_t log2, uint32_t count, uint64_t now_ns)
{
	const struct rec_syscall_hist rec = {
		.hdr = {REC_SYSCALL_HIST, sizeof(rec), key->tid, now_ns},
		.since_ns = a->since_ns,
		.until_ns = now_ns,
		.count = count,
		.nr = nr_of(key),
		.flags = flags_of(key),
		.log2_ns = log2,
	};

	return trace_writer__append(w, TRACE_RING_META, &rec.hdr);
}

static uint64_t id_of(const struct agg_key *key)
{
	return (uint64_t)key->tid << 32 | key->nr;
}

int agg__take(struct agg *a, struct trace_writer *w, const struct agg_key *key,
	      const struct agg_value *value, uint32_t turn, uint64_t now_ns)
{
	struct told *t = told_of(a, id_of(key));
	uint32_t i;
	int err;

	if (!t)
		return -ENOMEM;
	if (value->count == t->count)
		return has_ended(a, key->tid);
	err = put_total(a, w, key, value, t, turn, now_ns);
	for (i = 0; !err && i < AGG_BUCKETS; i++) {
		if (value->log2[i] != t->log2[i])
			err = put_bucket(a, w, key, i, value->log2[i] - t->log2[i], now_ns);
		t->log2[i] = value->log2[i];
	}
	t->count = value->count;
	t->total_ns = value->total_ns;
	return err;
}

/* Another thread may have got its id, and have counted since. */
int agg__forget(struct agg *a, struct trace_writer *w, const struct agg_key *key,
		const struct agg_value *value, uint32_t turn, uint64_t now_ns)
{
	int err = agg__take(a, w, key, value, turn, now_ns);

	free(map__del(&a->told, id_of(key)));
	return err < 0 ? err : 0;
}

void agg__end_interval(struct agg *a, uint64_t now_ns)
{
	a->since_ns = now_ns;
	map__free(&a->ended[1]);
	a->ended[1] = a->ended[0];
	a->ended[0] = (struct map)MAP_INIT;
}

static int take(void *arg, const struct agg_key *key, const struct agg_value *value)
{
	struct pass *p = arg;

	return agg__take(p->agg, p->writer, key, value, p->turn, p->now_ns);
}

static int forget(void *arg, const struct agg_key *key, const struct agg_value *value)
{
	struct pass *p = arg;

	return agg__forget(p->agg, p->writer, key, value, p->turn, p->now_ns);
}

int agg__read(struct agg *a, struct hooks *h, struct trace_writer *w)
{
	struct pass p = {.agg = a, .writer = w, .turn = hooks__next_turn(h)};
	int err;

	p.now_ns = hostclock__now();
	err = hooks__each_agg(h, take, forget, &p);
	agg__end_interval(a, p.now_ns);
	return err == -ENOENT ? 0 : err;
}
