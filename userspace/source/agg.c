// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/agg.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/map.h"
#include "userspace/source/proc.h"

/* What was told of a thread and number. */
struct told {
	uint64_t count;
	uint64_t total_ns;
	uint32_t log2[AGG_BUCKETS];
	bool ended; /* the thread had, when that was told */
};

struct agg {
	struct map told;
	uint64_t since_ns; /* when the interval began */
	bool sees_threads; /* by the ids that the kernel counts by */
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
	a->sees_threads = proc__in_first_namespace();
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
	free(a);
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
		.nr = (int32_t)(key->nr & ~AGG_COMPAT),
		.flags = key->nr & AGG_COMPAT ? REC_AGG_COMPAT : 0,
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
		.nr = (int32_t)(key->nr & ~AGG_COMPAT),
		.flags = key->nr & AGG_COMPAT ? REC_AGG_COMPAT : 0,
		.log2_ns = log2,
	};

	return trace_writer__append(w, TRACE_RING_META, &rec.hdr);
}

int agg__take(struct agg *a, struct trace_writer *w, const struct agg_key *key,
	      const struct agg_value *value, uint32_t turn, uint64_t now_ns, bool ended)
{
	uint64_t id = (uint64_t)key->tid << 32 | key->nr;
	struct told *t = told_of(a, id);
	uint32_t i;
	int err = 0;

	if (!t)
		return -ENOMEM;
	if (value->count != t->count)
		err = put_total(a, w, key, value, t, turn, now_ns);
	for (i = 0; !err && i < AGG_BUCKETS; i++) {
		if (value->log2[i] != t->log2[i])
			err = put_bucket(a, w, key, i, value->log2[i] - t->log2[i], now_ns);
		t->log2[i] = value->log2[i];
	}
	t->count = value->count;
	t->total_ns = value->total_ns;
	if (err)
		return err;
	if (ended && t->ended) {
		free(map__del(&a->told, id));
		return 1;
	}
	t->ended = ended;
	return 0;
}

void agg__end_interval(struct agg *a, uint64_t now_ns)
{
	a->since_ns = now_ns;
}

static int take(void *arg, const struct agg_key *key, struct agg_value *value)
{
	struct pass *p = arg;
	bool ended = p->agg->sees_threads && kill((pid_t)key->tid, 0) < 0 && errno == ESRCH;

	return agg__take(p->agg, p->writer, key, value, p->turn, p->now_ns, ended);
}

int agg__read(struct agg *a, struct hooks *h, struct trace_writer *w)
{
	struct pass p = {.agg = a, .writer = w, .turn = hooks__next_turn(h)};
	int err;

	p.now_ns = hostclock__now();
	err = hooks__each_agg(h, take, &p);
	agg__end_interval(a, p.now_ns);
	return err == -ENOENT ? 0 : err;
}
