// SPDX-License-Identifier: BSD-2-Clause
/*
 * The timeline against a slow oracle that reads the table in timeline.h: for each thread it
 * gathers all its events first, then says for each two neighbours what lies between them. Records
 * of the scheduler are missing at random.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/session.h"
#include "tests/unit/sim.h"

#define MAX_TASKS 4096

enum kind {
	WATCH, /* begins, or begins anew after a loss */
	IN,
	OUT,
	ACT,
	LOSS, /* another thread left the cpu that this one was on */
	END,
};

struct happening {
	enum kind kind;
	uint64_t t;
	uint32_t cpu;
	enum host_state to; /* OUT: where it went */
	size_t record;
};

struct span {
	enum host_state state;
	uint64_t begin, end;
};

struct spans {
	struct span *v;
	size_t n, size;
};

static void add_span(struct spans *s, enum host_state state, uint64_t begin, uint64_t end)
{
	struct span *last = s->n ? &s->v[s->n - 1] : NULL;

	if (end <= begin)
		return;
	if (last && last->state == state && last->end == begin) {
		last->end = end;
		return;
	}
	if (s->n == s->size) {
		s->size = 2 * s->size + 64;
		s->v = realloc(s->v, s->size * sizeof(*s->v));
	}
	s->v[s->n++] = (struct span){state, begin, end};
}

/* ---- what the session says ---- */

static struct spans said[MAX_TASKS];
static size_t ntasks;

static void on_begin(void *ctx, struct task *t, uint64_t time_ns)
{
	cr_assert_lt(ntasks, MAX_TASKS);
	t->priv[0] = &said[ntasks++];
}

static void on_interval(void *ctx, struct task *t, enum host_state state, uint64_t begin,
			uint64_t end)
{
	struct spans *s = t->priv[0];

	/* no gap, no overlap */
	cr_assert(!s->n || s->v[s->n - 1].end == begin);
	add_span(s, state, begin, end);
}

/* ---- the oracle ---- */

static struct sim *sim;
static const struct rec **records;
static uint32_t *rings;
static size_t nrecords;

static void index_records(uint64_t drop)
{
	struct sim_record *r;
	size_t at;

	records = calloc(sim->nrecords, sizeof(*records));
	rings = calloc(sim->nrecords, sizeof(*rings));
	nrecords = 0;
	for (at = 0; at < sim->used; at += sizeof(*r) + r->size) {
		const struct rec *rec;

		r = (struct sim_record *)(sim->records + at);
		rec = (const struct rec *)r->bytes;
		if ((rec->type == REC_SCHED_SWITCH || rec->type == REC_SCHED_WAKING) && drop &&
		    sim__random(sim, drop) == 0)
			continue;
		rings[nrecords] = r->ring;
		records[nrecords++] = rec;
	}
}

static bool woken_between(uint32_t tid, size_t from, size_t to, uint64_t *first)
{
	size_t i;

	for (i = from + 1; i < to; i++)
		if (records[i]->type == REC_SCHED_WAKING &&
		    ((const struct rec_sched_waking *)records[i])->wakee_tid == tid) {
			*first = records[i]->time_ns;
			return true;
		}
	return false;
}

/* After IN at record @in: does somebody else leave that cpu before @tid has its next switch? */
static bool displaced(uint32_t tid, size_t in, size_t to, size_t *at)
{
	const struct rec_sched_switch *r;
	size_t i;

	for (i = in + 1; i < to; i++) {
		r = (const struct rec_sched_switch *)records[i];
		if (r->hdr.type != REC_SCHED_SWITCH)
			continue;
		if (rings[i] == rings[in] && r->hdr.tid != tid) {
			*at = i;
			return true;
		}
		if (r->hdr.tid == tid || r->next_tid == tid)
			return false;
	}
	return false;
}

static enum host_state where_to(const struct rec_sched_switch *r)
{
	if (r->flags & REC_SCHED_PREEMPT)
		return HOST_RUNNABLE;
	return r->prev_state == 4 ? HOST_STOPPED : HOST_BLOCKED;
}

static bool acts(const struct rec *rec)
{
	return rec->type == REC_MARK_STEP || rec->type == REC_ROLE ||
	       (rec->type >= REC_UNIT_BEGIN && rec->type <= REC_UNIT_END);
}

/* All that happened to @tid in records (from, to). */
static size_t gather(uint32_t tid, size_t from, size_t to, struct happening *h)
{
	const struct rec_sched_switch *r;
	size_t i, n = 0, at;

	for (i = from + 1; i < to; i++) {
		r = (const struct rec_sched_switch *)records[i];
		if (acts(&r->hdr) && r->hdr.tid == tid)
			h[n++] = (struct happening){ACT, r->hdr.time_ns, 0, 0, i};
		if (r->hdr.type != REC_SCHED_SWITCH)
			continue;
		if (r->hdr.tid == tid)
			h[n++] = (struct happening){OUT, r->hdr.time_ns, rings[i], where_to(r), i};
		if (r->next_tid == tid)
			h[n++] = (struct happening){IN, r->hdr.time_ns, rings[i], 0, i};
	}
	/* losses in their places */
	for (i = 0; i < n; i++) {
		size_t k;

		if (h[i].kind != IN || !displaced(tid, h[i].record, to, &at))
			continue;
		for (k = i + 1; k < n && h[k].record < at; k++)
			;
		memmove(&h[k + 1], &h[k], (n - k) * sizeof(*h));
		h[k] = (struct happening){LOSS, records[at]->time_ns, 0, 0, at};
		n++;
	}
	return n;
}

/* What lies between @a and @b; @early: woken while it ran, before @a. */
static void classify(struct spans *out, uint32_t tid, const struct happening *a,
		     const struct happening *b, bool same_cpu, bool early)
{
	bool asleep = a->kind == OUT && a->to != HOST_RUNNABLE;
	enum host_state state = HOST_UNKNOWN, after = HOST_RUNNABLE;
	uint64_t w = b->t;
	bool woken = woken_between(tid, a->record, b->record, &w);

	if (a->kind == WATCH || a->kind == LOSS) {
		if (b->kind == OUT || b->kind == ACT)
			state = HOST_RUNNING;
		else if (woken)
			state = HOST_BLOCKED;
		else if (b->kind == IN)
			state = HOST_RUNNABLE;
		if (state == HOST_RUNNING)
			w = b->t;
	} else if (a->kind == IN || a->kind == ACT) {
		if (b->kind == ACT || b->kind == END || (b->kind == OUT && same_cpu))
			state = HOST_RUNNING;
		w = b->t;
	} else if (!asleep) {
		if (b->kind == IN || b->kind == END)
			state = HOST_RUNNABLE;
		w = b->t;
	} else {
		if (woken || b->kind == END || (b->kind == IN && !early))
			state = a->to;
		else if (b->kind == IN)
			state = HOST_RUNNABLE;
		if (b->kind != IN && b->kind != END)
			after = HOST_UNKNOWN;
	}
	add_span(out, state, a->t, w);
	add_span(out, after, w, b->t);
}

static void oracle(struct spans *out, uint32_t tid, uint64_t born, uint64_t died, size_t from,
		   size_t to)
{
	struct happening *h = calloc(2 * (to - from) + 4, sizeof(*h)), *all = h + 1;
	uint64_t watch = born > sim->sched_from ? born : sim->sched_from, w;
	size_t n, i, run = 0;
	bool early = false, running, unknown_cpu = true;
	uint32_t cpu = 0;

	while (from < to && records[from]->time_ns < watch)
		from++; /* marks before the watch say nothing about it */
	add_span(out, HOST_UNKNOWN, born, watch < died ? watch : died);
	if (watch >= died)
		goto out;
	n = gather(tid, from ? from - 1 : 0, to, all);
	h[0] = (struct happening){WATCH, watch, 0, 0, from ? from - 1 : 0};
	h[n + 1] = (struct happening){END, died, 0, 0, to};
	for (i = 0; i <= n; i++) {
		const struct happening *a = &h[i], *b = &h[i + 1];

		if (a->kind == IN) {
			cpu = a->cpu;
			unknown_cpu = false;
		}
		if (a->kind == WATCH || a->kind == LOSS || a->kind == OUT)
			unknown_cpu = true;
		if (a->kind == ACT && i && h[i - 1].kind == OUT)
			unknown_cpu = true;
		if (a->kind != ACT || h[i - 1].kind == OUT)
			run = a->record;
		running = b->kind == OUT && a->kind != OUT && (unknown_cpu || cpu == b->cpu);
		classify(out, tid, a, b, unknown_cpu || cpu == b->cpu, early);
		if (b->kind == OUT)
			early = running && woken_between(tid, run, b->record, &w);
	}
out:
	free(h);
}

static bool same(const struct span *a, const struct span *b)
{
	return a->state == b->state && a->begin == b->begin && a->end == b->end;
}

/* Each task from the record that tells of it to the one that tells of its end. */
static void expect_as_oracle(uint64_t seed)
{
	const struct rec_task_fork *f;
	size_t i, k, task = 0, n;
	struct spans want;
	uint32_t tid;

	for (i = 0; i < nrecords; i++) {
		f = (const struct rec_task_fork *)records[i];
		if (f->hdr.type != REC_TASK && f->hdr.type != REC_TASK_FORK)
			continue;
		tid = f->hdr.type == REC_TASK ? f->hdr.tid : f->child_tid;
		for (k = i + 1; k < nrecords; k++)
			if (records[k]->type == REC_TASK_EXIT && records[k]->tid == tid)
				break;
		memset(&want, 0, sizeof(want));
		oracle(&want, tid, f->hdr.time_ns,
		       k < nrecords ? records[k]->time_ns : records[nrecords - 1]->time_ns, i, k);
		cr_assert_lt(task, ntasks);
		for (n = 0; n < want.n && n < said[task].n; n++)
			cr_assert(same(&want.v[n], &said[task].v[n]),
				  "seed %zu tid %u: %d %zu-%zu, oracle %d %zu-%zu", (size_t)seed,
				  tid, said[task].v[n].state, (size_t)said[task].v[n].begin,
				  (size_t)said[task].v[n].end, want.v[n].state,
				  (size_t)want.v[n].begin, (size_t)want.v[n].end);
		cr_assert_eq(want.n, said[task].n, "seed %zu tid %u: %zu spans, oracle %zu",
			     (size_t)seed, tid, said[task].n, want.n);
		free(want.v);
		task++;
	}
	cr_assert_eq(task, ntasks);
}

static void play(uint64_t seed, size_t events, uint64_t drop)
{
	static const struct session_ops ops = {.task_begin = on_begin, .interval = on_interval};
	struct session *s = session__new();
	struct trace_event ev;
	size_t i;

	sim = sim__play(seed, events);
	index_records(drop);
	memset(said, 0, sizeof(said));
	ntasks = 0;
	cr_assert_eq(session__observe(s, &ops, NULL), 0);
	for (i = 0; i < nrecords; i++) {
		ev.rec = records[i];
		ev.ring = (uint16_t)rings[i];
		cr_assert_eq(session__event(s, &ev), 0);
	}
	session__finish(s);
	expect_as_oracle(seed);
	session__free(s);
	for (i = 0; i < ntasks; i++)
		free(said[i].v);
	free(records);
	free(rings);
	sim__free(sim);
}

Test(timeline, equals_the_oracle_on_whole_streams)
{
	uint64_t seed;

	for (seed = 1; seed <= 100; seed++)
		play(seed, 500, 0);
}

Test(timeline, equals_the_oracle_on_streams_with_losses)
{
	static const uint64_t drops[] = {100, 20, 5, 2};
	uint64_t seed;

	for (seed = 1; seed <= 400; seed++)
		play(1000 + seed, 500, drops[seed % 4]);
}
