// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/ranges.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/text.h"

#define DEPTH 64 /* of ranges within ranges; what is deeper is counted as open */

/* The ranges of a workload, and the clock of its steps. */
struct group {
	struct group *next;    /* with the same hash */
	struct group *further; /* in the order of their first records */
	const struct session_row *row;
	char *name;
	struct map rows; /* NAME id → struct range_row */
	struct range_row *pending;
	uint32_t carrier;
	uint64_t before_ns; /* time in steps up to the last mark */
	uint64_t since_ns;  /* a step has been under way since then, 0: none */
};

/* A range that is open on a thread. */
struct open_range {
	uint64_t name, begin_ns, own_ns;
	uint64_t in_steps_ns; /* of own_ns, by the clock of the steps */
	uint64_t late_ns;     /* of that, what lies after the mark at @mark_ns of that clock */
	uint64_t mark_ns;
};

/* What we keep with each task that had a range. */
struct member {
	struct group *group;
	struct open_range *stack;
	size_t depth;
	uint64_t since_ns, since_clock; /* the innermost one has had the time since */
	uint64_t losses;
};

struct ranges {
	struct session *session;
	int slot;
	struct map groups; /* hash of the name → struct group */
	struct group *first, **last;
	struct range_row *rows;
	size_t n;
	uint64_t losses, open;
	int err;
};

/* ---- the clock of the steps ---- */

static uint64_t clock_at(const struct group *g, uint64_t t)
{
	return g->before_ns + (g->since_ns && t > g->since_ns ? t - g->since_ns : 0);
}

static void on_mark(struct group *g, const struct rec *rec)
{
	const struct rec_mark_step *r = RECORD(mark_step, rec);
	struct range_row *row;

	if (!g->carrier && r->step != REC_NO_STEP)
		g->carrier = rec->tid;
	if (g->carrier != rec->tid)
		return;
	g->before_ns = clock_at(g, rec->time_ns);
	g->since_ns = r->step == REC_NO_STEP ? 0 : rec->time_ns;
	for (row = g->pending; row; row = row->pending) {
		row->in_steps_ns += row->pending_ns;
		row->pending_ns = 0;
	}
	g->pending = NULL;
}

/* ---- groups ---- */

static struct group *add_group(struct ranges *a, const char *name, const struct session_row *row,
			       uint64_t hash, struct group *others)
{
	struct group *g = calloc(1, sizeof(*g));

	if (g)
		g->name = strdup(name);
	if (!g || !g->name || map__put(&a->groups, hash, g)) {
		if (g)
			free(g->name);
		free(g);
		a->err = -ENOMEM;
		return NULL;
	}
	g->row = row;
	g->next = others;
	*a->last = g;
	a->last = &g->further;
	return g;
}

static struct group *find_group(struct ranges *a, const struct task *t)
{
	const struct session_row *row = process__row(t->process);
	const char *name = row ? row->name : t->comm;
	struct group *first, *g;
	uint64_t hash;

	if (!row && t->process && t->process->comm[0])
		name = t->process->comm;
	hash = text__hash(name) ^ (uintptr_t)row;
	first = map__get(&a->groups, hash);
	for (g = first; g; g = g->next)
		if (g->row == row && strcmp(g->name, name) == 0)
			return g;
	return add_group(a, name, row, hash, first);
}

static struct group *group_of(struct ranges *a, const struct task *t)
{
	struct process *p = t->process;

	if (!p)
		return find_group(a, t);
	if (!p->priv[a->slot])
		p->priv[a->slot] = find_group(a, t);
	return p->priv[a->slot];
}

static struct range_row *row_of(struct ranges *a, struct group *g, uint64_t name)
{
	struct range_row *row = map__get(&g->rows, name);

	if (row)
		return row;
	row = calloc(1, sizeof(*row));
	if (!row || map__put(&g->rows, name, row)) {
		free(row);
		a->err = -ENOMEM;
		return NULL;
	}
	row->id = name;
	return row;
}

/* ---- ranges of a thread ---- */

static uint64_t beyond(uint64_t from, uint64_t to, uint64_t mark)
{
	return to > mark ? to - (from > mark ? from : mark) : 0;
}

/* The innermost open range has had the time up to @t. */
static void charge(struct member *m, uint64_t t)
{
	uint64_t now = clock_at(m->group, t), mark = m->group->before_ns;
	struct open_range *top = m->depth ? &m->stack[m->depth - 1] : NULL;

	if (top) {
		top->own_ns += t - m->since_ns;
		top->in_steps_ns += now - m->since_clock;
		if (top->mark_ns != mark)
			top->late_ns = 0;
		top->mark_ns = mark;
		top->late_ns += beyond(m->since_clock, now, mark);
	}
	m->since_ns = t;
	m->since_clock = now;
}

/* Where ends of ranges may be lost, nothing is known of those that are open. */
static void forget(struct ranges *a, struct member *m)
{
	a->open += m->depth;
	m->depth = 0;
}

static struct member *member_of(struct ranges *a, struct task *t)
{
	struct member *m = t->priv[a->slot];

	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m) {
			a->err = -ENOMEM;
			return NULL;
		}
		t->priv[a->slot] = m;
	}
	if (m->losses != a->losses)
		forget(a, m);
	m->losses = a->losses;
	if (!m->depth)
		m->group = group_of(a, t);
	return m->group ? m : NULL;
}

static void begin_range(struct ranges *a, struct task *t, const struct rec *rec, uint64_t name,
			uint64_t begin_ns)
{
	struct member *m = member_of(a, t);

	if (!m)
		return;
	if (!m->stack) {
		m->stack = calloc(DEPTH, sizeof(*m->stack));
		if (!m->stack) {
			a->err = -ENOMEM;
			return;
		}
	}
	if (m->depth == DEPTH) {
		a->open++;
		return;
	}
	charge(m, rec->time_ns);
	m->stack[m->depth++] = (struct open_range){
		.name = name,
		.begin_ns = begin_ns < rec->time_ns ? begin_ns : rec->time_ns,
	};
}

static void take(struct range_row *row, const struct open_range *o, struct group *g, uint64_t t)
{
	uint64_t ns = t - o->begin_ns;
	uint64_t late = o->mark_ns == g->before_ns ? o->late_ns : 0;

	row->count++;
	row->total_ns += ns;
	row->own_ns += o->own_ns;
	row->in_steps_ns += o->in_steps_ns - late;
	if (late && !row->pending_ns) {
		row->pending = g->pending;
		g->pending = row;
	}
	row->pending_ns += late; /* until that step has an end, too */
	if (ns > row->max_ns)
		row->max_ns = ns;
}

/* The innermost of that name; one that began before the recording is none. */
static void end_range(struct ranges *a, struct task *t, const struct rec *rec)
{
	uint64_t name = RECORD(range_end, rec)->name;
	struct member *m = member_of(a, t);
	struct range_row *row;
	size_t i;

	if (!m)
		return;
	for (i = m->depth; i > 0 && m->stack[i - 1].name != name; i--)
		;
	row = i ? row_of(a, m->group, name) : NULL;
	if (!row)
		return;
	charge(m, rec->time_ns);
	take(row, &m->stack[i - 1], m->group, rec->time_ns);
	memmove(&m->stack[i - 1], &m->stack[i], (m->depth - i) * sizeof(*m->stack));
	m->depth--;
}

static void on_task_end(void *ctx, struct task *t, uint64_t time_ns)
{
	struct ranges *a = ctx;
	struct member *m = t->priv[a->slot];

	if (!m)
		return;
	forget(a, m);
	free(m->stack);
	free(m);
	t->priv[a->slot] = NULL;
}

static const struct session_ops session_ops = {.task_end = on_task_end};

static int ranges_event(void *state, const struct rec *rec)
{
	struct ranges *a = state;
	struct task *t = session__task(a->session, rec->tid);
	struct group *g;

	if (rec->type == REC_LOST)
		a->losses += session__concerns(RECORD(lost, rec)->hook, 1u << REC_HOOK_MARK);
	if (!t)
		return a->err;
	switch (rec->type) {
	case REC_RANGE_BEGIN:
		begin_range(a, t, rec, RECORD(range_begin, rec)->name, rec->time_ns);
		break;
	case REC_RANGE_OPEN:
		begin_range(a, t, rec, RECORD(range_open, rec)->name,
			    RECORD(range_open, rec)->start_ns);
		break;
	case REC_RANGE_END:
		end_range(a, t, rec);
		break;
	case REC_MARK_STEP:
		g = group_of(a, t);
		if (g)
			on_mark(g, rec);
		break;
	case REC_TASK_EXEC: /* another program */
		if (t->priv[a->slot])
			forget(a, t->priv[a->slot]);
		if (t->process)
			t->process->priv[a->slot] = NULL;
		break;
	}
	return a->err;
}

static const uint16_t wants[] = {
	REC_RANGE_BEGIN, REC_RANGE_OPEN, REC_RANGE_END, REC_MARK_STEP, REC_TASK_EXEC, REC_LOST, 0};

static void *ranges_new(struct session *s, const void *opts)
{
	struct ranges *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->session = s;
	a->last = &a->first;
	a->slot = session__observe(s, &session_ops, a);
	if (a->slot < 0) {
		errno = -a->slot;
		free(a);
		return NULL;
	}
	return a;
}

/* ---- rows ---- */

static int by_own_time(const void *x, const void *y)
{
	const struct range_row *a = x, *b = y;

	if (a->own_ns != b->own_ns)
		return a->own_ns < b->own_ns ? 1 : -1;
	return strcmp(a->range, b->range);
}

static void finish_row(const struct ranges *a, const struct group *g, struct range_row *row)
{
	const char *name = session__name(a->session, row->id);

	row->workload = g->name;
	row->device = g->row ? g->row->device : NULL;
	row->range = name ? name : "";
	row->mean_ns = (double)row->total_ns / (double)row->count;
	row->share = g->before_ns ? (double)row->in_steps_ns / (double)g->before_ns : NAN;
}

static int ranges_finish(void *state)
{
	struct ranges *a = state;
	struct map_slot *slot;
	struct group *g;
	size_t n = 0, from;

	for (g = a->first; g; g = g->further)
		n += g->rows.n;
	a->rows = calloc(n + 1, sizeof(*a->rows));
	if (!a->rows)
		return -ENOMEM;
	for (g = a->first; g; g = g->further) {
		from = a->n;
		for (slot = map__next(&g->rows, NULL); slot; slot = map__next(&g->rows, slot)) {
			a->rows[a->n] = *(struct range_row *)slot->value;
			finish_row(a, g, &a->rows[a->n++]);
		}
		qsort(a->rows + from, a->n - from, sizeof(*a->rows), by_own_time);
	}
	return a->err;
}

const struct range_row *ranges__rows(const struct ranges *a, size_t *n)
{
	*n = a->n;
	return a->rows;
}

uint64_t ranges__open(const struct ranges *a)
{
	return a->open;
}

#define AT(member) .offset = offsetof(struct range_row, member)

static const struct column columns[] = {
	{"name", "name", COL_STR, -4, AT(workload)},
	{"device", "device", COL_STR, -6, AT(device)},
	{"range", "range", COL_STR, -16, AT(range)},
	{"count", "count", COL_U64, 8, AT(count)},
	{"total_ns", "total", COL_NS, 9, AT(total_ns)},
	{"own_ns", "own", COL_NS, 9, AT(own_ns)},
	{"mean_ns", "mean", COL_F64, 9, AT(mean_ns)},
	{"max_ns", "max", COL_NS, 9, AT(max_ns)},
	{"in_steps_ns", "in steps", COL_NS, 9, AT(in_steps_ns)},
	{"share", "share", COL_PCT, 7, 1, AT(share)},
};

const struct column *const range_columns = columns;
const size_t nrange_columns = sizeof(columns) / sizeof(columns[0]);

static int ranges_table(void *state, struct analysis_table *out)
{
	struct ranges *a = state;

	*out = (struct analysis_table){columns, nrange_columns, a->rows, a->n, sizeof(*a->rows)};
	return 0;
}

static void free_group(struct group *g)
{
	struct map_slot *slot;

	for (slot = map__next(&g->rows, NULL); slot; slot = map__next(&g->rows, slot))
		free(slot->value);
	map__free(&g->rows);
	free(g->name);
	free(g);
}

static void ranges_free(void *state)
{
	struct ranges *a = state;
	struct group *g, *further;

	if (!a)
		return;
	for (g = a->first; g; g = further) {
		further = g->further;
		free_group(g);
	}
	map__free(&a->groups);
	free(a->rows);
	free(a);
}

const struct analysis analysis_ranges = {
	.name = "ranges",
	.summary = "named ranges of the program, by name",
	.wants = wants,
	.new = ranges_new,
	.event = ranges_event,
	.finish = ranges_finish,
	.table = ranges_table,
	.free = ranges_free,
};
