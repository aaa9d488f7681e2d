// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/steps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ioctl_now.h"
#include "analysis/steps_pmu.h"

#define LOADER	  "loader"
#define LOADER_ID 0x5c4cf14165b38b4fULL /* its NAME id, XXH64: the NAME record may come late */

struct stream {
	struct step_stream pub;
	struct task *carrier; /* NULL: no more marks will come */
	/* of the same process, in the order of their beginning: those that go on, or the last */
	struct of_process *process; /* NULL: it is gone, or none of its streams any more */
	struct stream *next, **link;
	bool open;   /* pub.steps[pub.n] has begun */
	size_t size; /* of pub.steps */
};

/* What we keep with each process. */
struct of_process {
	struct stream *first, **last;
};

/* What we keep with each task. */
struct member {
	struct stream *own;    /* that it carries, the last one */
	struct stream *stream; /* that it belongs to as of @generation */
	uint64_t generation;
	enum step_group group;
	unsigned int counted; /* bits of groups in which the stream has counted it */
	struct ioctl_now ioctl;
};

struct steps {
	struct session *session;
	int slot;
	uint64_t generation; /* grows when a stream begins or ends, or a task moves */
	struct stream **streams;
	size_t nstreams;
	struct step_row *rows;
	struct steps_pmu pmu;
	struct column columns[STEP_COLUMNS_MAX];
	int err;
};

static struct member *member_of(const struct steps *a, const struct task *t)
{
	return t->priv[a->slot];
}

/* ---- which stream a task belongs to ---- */

static bool is_loader(const struct steps *a, uint64_t role)
{
	const char *name = role ? session__name(a->session, role) : NULL;

	return role == LOADER_ID || (name && strncmp(name, LOADER, strlen(LOADER)) == 0);
}

/* Of the nearest process that has streams: one that goes on, else the last. */
static struct stream *find_stream(const struct steps *a, const struct task *t)
{
	const struct of_process *list;
	const struct process *p = t->process;
	unsigned int depth;

	for (depth = 0; p && depth < SESSION_MAX_DEPTH; depth++, p = p->parent) {
		list = p->priv[a->slot];
		if (list && list->first)
			return list->first;
	}
	return NULL;
}

static void resolve(struct steps *a, struct task *t, struct member *m)
{
	struct stream *st = m->own ? m->own : find_stream(a, t);

	/* a role whose name is not told yet is looked up again */
	m->generation = !t->role || session__name(a->session, t->role) ? a->generation : 0;
	m->counted = st == m->stream ? m->counted : 0;
	m->stream = st;
	m->group = m->own ? STEP_CARRIER : is_loader(a, t->role) ? STEP_LOADERS : STEP_OTHERS;
	if (!st || m->counted & 1u << m->group)
		return;
	st->pub.loaders += m->group == STEP_LOADERS;
	if (m->group == STEP_OTHERS && !(m->counted & 1u << STEP_LOADERS))
		st->pub.others++;
	else if (m->group != STEP_OTHERS && m->counted & 1u << STEP_OTHERS)
		st->pub.others--; /* it was another thread until it took its role */
	m->counted |= 1u << m->group;
}

static struct stream *stream_of(struct steps *a, struct task *t, struct member *m)
{
	if (m->generation != a->generation)
		resolve(a, t, m);
	return m->stream;
}

static size_t count_steps(const struct stream *st)
{
	return st->pub.n + st->open;
}

/* The step of @st that @t falls into, or NULL. */
static struct step *step_at(struct stream *st, uint64_t t)
{
	size_t i = count_steps(st);

	while (i-- > 0)
		if (st->pub.steps[i].begin_ns <= t)
			return t < st->pub.steps[i].end_ns ? &st->pub.steps[i] : NULL;
	return NULL;
}

static uint64_t overlap(const struct step *step, uint64_t begin, uint64_t end)
{
	uint64_t from = begin > step->begin_ns ? begin : step->begin_ns;
	uint64_t to = end < step->end_ns ? end : step->end_ns;

	return to > from ? to - from : 0;
}

/* Add to the number @field bytes into the facts of @group what each step has of [begin, end). */
static void spread(struct stream *st, enum step_group group, size_t field, uint64_t begin,
		   uint64_t end)
{
	size_t i = count_steps(st);
	struct step *step;

	for (; i > 0 && st->pub.steps[i - 1].end_ns > begin; i--) {
		step = &st->pub.steps[i - 1];
		*(uint64_t *)((char *)&step->facts[group] + field) += overlap(step, begin, end);
	}
}

/* ---- what the session tells ---- */

static void on_task_begin(void *ctx, struct task *t, uint64_t time_ns)
{
	struct steps *a = ctx;

	t->priv[a->slot] = calloc(1, sizeof(struct member));
	if (!t->priv[a->slot])
		a->err = -ENOMEM;
}

static void on_interval(void *ctx, struct task *t, enum host_state state, uint64_t begin,
			uint64_t end)
{
	struct steps *a = ctx;
	struct member *m = member_of(a, t);
	struct stream *st = m ? stream_of(a, t, m) : NULL;

	if (st)
		spread(st, m->group, offsetof(struct facts, host_ns[state]), begin, end);
}

static void on_left(void *ctx, struct task *t, uint64_t time_ns, bool voluntary)
{
	struct steps *a = ctx;
	struct member *m = member_of(a, t);
	struct stream *st = m ? stream_of(a, t, m) : NULL;
	struct step *step = st ? step_at(st, time_ns) : NULL;

	if (!step)
		return;
	if (voluntary)
		step->facts[m->group].voluntary++;
	else
		step->facts[m->group].involuntary++;
}

static void add_ioctl_time(struct steps *a, struct task *t, struct member *m, uint64_t begin,
			   uint64_t end)
{
	struct stream *st = stream_of(a, t, m);

	if (st)
		spread(st, m->group, offsetof(struct facts, ioctl_ns), begin, end);
}

static void leave_process(struct of_process *list, struct stream *st)
{
	*st->link = st->next;
	if (st->next)
		st->next->link = st->link;
	else
		list->last = st->link;
	st->process = NULL;
}

/* No step ends any more: one that has begun is none. */
static void end_stream(struct steps *a, struct stream *st)
{
	st->carrier = NULL;
	if (st->process && (st->process->first != st || st->next))
		leave_process(st->process, st);
	st->pub.unfinished = st->open;
	st->open = false;
	a->generation++;
}

static void on_task_end(void *ctx, struct task *t, uint64_t time_ns)
{
	struct steps *a = ctx;
	struct member *m = member_of(a, t);
	struct stream *st = m ? stream_of(a, t, m) : NULL;

	if (st && ioctl_now__inside(&m->ioctl, a->session)) {
		add_ioctl_time(a, t, m, m->ioctl.since, time_ns);
		st->pub.open_ioctls++;
	}
	if (m && m->own)
		end_stream(a, m->own);
	free(m);
	t->priv[a->slot] = NULL;
}

static void on_role(void *ctx, struct task *t, uint64_t was, uint64_t time_ns)
{
	struct steps *a = ctx;
	struct member *m = member_of(a, t);

	if (m)
		m->generation = 0;
}

static void on_moved(void *ctx, struct task *t, uint64_t time_ns)
{
	struct steps *a = ctx;

	a->generation++;
}

static void on_process_end(void *ctx, struct process *p)
{
	struct steps *a = ctx;
	struct of_process *list = p->priv[a->slot];

	while (list && list->first)
		leave_process(list, list->first);
	free(list);
	p->priv[a->slot] = NULL;
}

static const struct session_ops session_ops = {
	.task_begin = on_task_begin,
	.task_end = on_task_end,
	.role = on_role,
	.moved = on_moved,
	.interval = on_interval,
	.left = on_left,
	.process_end = on_process_end,
};

/* ---- marks ---- */

static void name_stream(struct stream *st, const struct task *t)
{
	const struct session_row *row = process__row(t->process);
	const char *comm = t->process && t->process->comm[0] ? t->process->comm : t->comm;

	st->pub.pid = t->pid;
	st->pub.tid = t->tid;
	memcpy(st->pub.comm, t->comm, sizeof(st->pub.comm));
	if (row) {
		st->pub.row = row;
		st->pub.device = row->device;
		st->pub.repeat = row->repeat;
	}
	if (row)
		st->pub.name = strdup(row->name);
	else if (*comm)
		st->pub.name = strdup(comm);
	else if (asprintf(&st->pub.name, "tid %u", t->tid) < 0)
		st->pub.name = NULL;
}

static int join_process(struct steps *a, struct stream *st, struct process *p)
{
	struct of_process *list = p->priv[a->slot];

	if (!list) {
		list = calloc(1, sizeof(*list));
		if (!list)
			return -ENOMEM;
		list->last = &list->first;
		p->priv[a->slot] = list;
	}
	if (list->first && !list->first->carrier) /* the last of those before, until now */
		leave_process(list, list->first);
	st->process = list;
	st->link = list->last;
	*list->last = st;
	list->last = &st->next;
	return 0;
}

static struct stream *begin_stream(struct steps *a, struct task *t, struct member *m)
{
	struct stream *st = calloc(1, sizeof(*st)), **list;

	list = realloc(a->streams, (a->nstreams + 1) * sizeof(struct stream *));
	a->streams = list ? list : a->streams;
	if (!st || !list) {
		free(st);
		return NULL;
	}
	list[a->nstreams++] = st;
	name_stream(st, t);
	if (t->process && join_process(a, st, t->process))
		return NULL;
	st->carrier = t;
	m->own = st;
	a->generation++;
	return st;
}

/* The mean of what each counter reported in the step that ends, or in none if there are more. */
static int close_counters(struct stream *st)
{
	struct step_counter *c;
	int err = 0;

	for (c = st->pub.counters; c < st->pub.counters + st->pub.ncounters && !err; c++) {
		while (c->values.n < st->pub.n && !err) /* it began late */
			err = series__push(&c->values, NAN);
		err = err ?: series__push(&c->values, c->n ? c->sum / c->n : NAN);
		c->sum = c->n = 0;
	}
	return err;
}

static int begin_step(struct stream *st, uint64_t number, uint64_t t)
{
	struct step *steps = st->pub.steps, *step;
	size_t size = st->size ? 2 * st->size : 4, i;

	if (st->pub.n == st->size) {
		steps = realloc(steps, size * sizeof(*steps));
		if (!steps)
			return -ENOMEM;
		st->pub.steps = steps;
		st->size = size;
	}
	step = &steps[st->pub.n];
	memset(step, 0, sizeof(*step));
	step->number = number;
	step->begin_ns = t;
	step->end_ns = UINT64_MAX;
	if (st->pub.n && step[-1].end_ns == t && number != step[-1].number + 1) {
		step->gap = true;
		if (number > step[-1].number)
			st->pub.missing += number - step[-1].number - 1;
	}
	for (i = 0; i < st->pub.ncounters; i++)
		st->pub.counters[i].sum = st->pub.counters[i].n = 0;
	st->open = true;
	return 0;
}

static int on_mark(struct steps *a, struct task *t, struct member *m, const struct rec *rec)
{
	const struct rec_mark_step *r = RECORD(mark_step, rec);
	struct stream *st = m->own;
	struct step *step;
	int err;

	if (!st && r->step == REC_NO_STEP)
		return 0;
	if (!st)
		st = begin_stream(a, t, m);
	if (!st)
		return -ENOMEM;
	if (st->open) {
		step = &st->pub.steps[st->pub.n];
		step->end_ns = rec->time_ns > step->begin_ns ? rec->time_ns : step->begin_ns;
		step->items = r->items;
		err = close_counters(st);
		if (err)
			return err;
		st->pub.n++;
		st->open = false;
	}
	return r->step == REC_NO_STEP ? 0 : begin_step(st, r->step, rec->time_ns);
}

static void on_counter(struct steps *a, struct task *t, struct member *m, const struct rec *rec)
{
	const struct rec_counter *r = RECORD(counter, rec);
	struct stream *st = stream_of(a, t, m);
	struct step_counter *c;

	if (!st || !isfinite(r->value))
		return;
	for (c = st->pub.counters; c < st->pub.counters + st->pub.ncounters; c++)
		if (c->name == r->name)
			break;
	if (c == st->pub.counters + STEPS_COUNTERS) {
		st->pub.dropped_counters++;
		return;
	}
	if (c == st->pub.counters + st->pub.ncounters) {
		st->pub.ncounters++;
		c->name = r->name;
	}
	c->sum += r->value;
	c->n++;
}

static void on_ioctl(struct steps *a, struct task *t, struct member *m, const struct rec *rec)
{
	struct stream *st = stream_of(a, t, m);
	struct step *step = st ? step_at(st, rec->time_ns) : NULL;

	add_ioctl_time(a, t, m, rec->time_ns - ioctl__duration_ns(rec), rec->time_ns);
	if (step)
		step->facts[m->group].ioctls++;
}

static void on_fault(struct steps *a, struct task *t, struct member *m, const struct rec *rec)
{
	struct stream *st = stream_of(a, t, m);
	struct step *step = st ? step_at(st, rec->time_ns) : NULL;

	if (!st)
		return;
	spread(st, m->group, offsetof(struct facts, fault_ns),
	       rec->time_ns - fault__duration_ns(rec), rec->time_ns);
	if (step)
		step->facts[m->group].faults += fault__count(rec);
}

static void on_pmu(struct steps *a, struct task *t, struct member *m, const struct rec *rec)
{
	struct stream *st = stream_of(a, t, m);

	if (st)
		steps_pmu__spread(st->pub.steps, count_steps(st), m->group, rec);
}

static int steps_event(void *state, const struct rec *rec)
{
	struct steps *a = state;
	struct task *t = session__task(a->session, rec->tid);
	struct member *m = t ? member_of(a, t) : NULL;

	if (rec->type == REC_PMU_COUNTER)
		steps_pmu__define(&a->pmu, rec);
	if (!m)
		return a->err;
	ioctl_now__event(&m->ioctl, a->session, rec);
	switch (rec->type) {
	case REC_MARK_STEP:
		a->err = a->err ?: on_mark(a, t, m, rec);
		break;
	case REC_COUNTER:
		on_counter(a, t, m, rec);
		break;
	case REC_IOCTL:
		on_ioctl(a, t, m, rec);
		break;
	case REC_FAULT:
		on_fault(a, t, m, rec);
		break;
	case REC_PMU_READ:
		on_pmu(a, t, m, rec);
		break;
	case REC_TASK_EXEC: /* another program: what it marks are other steps */
		if (m->own)
			end_stream(a, m->own);
		m->own = NULL;
		break;
	}
	return a->err;
}

static const uint16_t wants[] = {IOCTL_NOW_TYPES, REC_FAULT, REC_PMU_COUNTER, REC_PMU_READ, 0};

static void *steps_new(struct session *s, const void *opts)
{
	struct steps *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->session = s;
	a->generation = 1;
	a->slot = session__observe(s, &session_ops, a);
	if (a->slot < 0) {
		errno = -a->slot;
		free(a);
		return NULL;
	}
	return a;
}

static int steps_finish(void *state)
{
	struct steps *a = state;
	struct step_stream *st;
	size_t i, k;

	for (i = 0; i < a->nstreams; i++) {
		st = &a->streams[i]->pub;
		if (!st->name)
			return -ENOMEM;
		for (k = 0; k < st->n; k++)
			st->steps[k].lost =
				session__lost_between(a->session, SESSION_HOST_HOOKS,
						      st->steps[k].begin_ns, st->steps[k].end_ns);
	}
	return a->err;
}

size_t steps__streams(const struct steps *a)
{
	return a->nstreams;
}

const struct step_stream *steps__stream(const struct steps *a, size_t i)
{
	return &a->streams[i]->pub;
}

const struct series *step_stream__counter(const struct steps *a, const struct step_stream *st,
					  const char *name)
{
	const char *known;
	size_t i;

	for (i = 0; i < st->ncounters; i++) {
		known = session__name(a->session, st->counters[i].name);
		if (known && strcmp(known, name) == 0)
			return &st->counters[i].values;
	}
	return NULL;
}

/* ---- rows ---- */

#define AT(member) .offset = offsetof(struct step_row, member)

/* One group's facts as columns: @g is its part of the names, @G its index. */
#define GROUP_COLUMNS(g, G)                                                                        \
	{g "_running_ns", g " on-cpu", COL_NS, AT(facts[G].host_ns[HOST_RUNNING])},                \
		{g "_runnable_ns", g " runq", COL_NS, AT(facts[G].host_ns[HOST_RUNNABLE])},        \
		{g "_blocked_ns", g " blocked", COL_NS, AT(facts[G].host_ns[HOST_BLOCKED])},       \
		{g "_stopped_ns", g " stopped", COL_NS, AT(facts[G].host_ns[HOST_STOPPED])},       \
		{g "_unknown_ns", g " unknown", COL_NS, AT(facts[G].host_ns[HOST_UNKNOWN])},       \
		{g "_voluntary", g " vcsw", COL_U64, AT(facts[G].voluntary)},                      \
		{g "_involuntary", g " ivcsw", COL_U64, AT(facts[G].involuntary)},                 \
		{g "_ioctls", g " ioctls", COL_U64, AT(facts[G].ioctls)},                          \
		{g "_ioctl_ns", g " ioctl", COL_NS, AT(facts[G].ioctl_ns)},                        \
		{g "_faults", g " faults", COL_U64, AT(facts[G].faults)},                          \
	{                                                                                          \
		g "_fault_ns", g " fault", COL_NS, AT(facts[G].fault_ns)                           \
	}

static const struct column columns[] = {
	{"name", "name", COL_STR, -4, AT(name)},      {"device", "device", COL_STR, -6, AT(device)},
	{"repeat", "repeat", COL_U64, AT(repeat)},    {"tid", "tid", COL_U64, AT(tid)},
	{"step", "step", COL_U64, 4, AT(number)},     {"begin_ns", "begin", COL_NS, AT(begin_ns)},
	{"wall_ns", "wall", COL_NS, AT(wall_ns)},     {"items", "items", COL_U64, AT(items)},
	{"rate", "items/s", COL_F64, 8, 1, AT(rate)}, {"gap", "gap", COL_BOOL, AT(gap)},
	{"lost", "lost", COL_BOOL, AT(lost)},	      GROUP_COLUMNS("step", STEP_CARRIER),
	GROUP_COLUMNS("loader", STEP_LOADERS),	      GROUP_COLUMNS("other", STEP_OTHERS),
};

#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

_Static_assert(NCOLUMNS + STEP_GROUPS * STEPS_PMU <= STEP_COLUMNS_MAX, "columns of a step");

size_t steps__columns(struct steps *a, const struct column **to)
{
	*to = a ? a->columns : columns;
	if (!a)
		return NCOLUMNS;
	memcpy(a->columns, columns, sizeof(columns));
	return NCOLUMNS + steps_pmu__columns(&a->pmu, a->columns + NCOLUMNS);
}

struct steps_pmu *steps__pmu(struct steps *a)
{
	return &a->pmu;
}

double step__rate(const struct step *step)
{
	uint64_t wall = step->end_ns - step->begin_ns;

	return wall && step->items ? (double)step->items * 1e9 / (double)wall : NAN;
}

void step__row(struct step_row *row, const struct steps *a, const struct step_stream *st,
	       const struct step *step)
{
	row->name = st->name;
	row->device = st->device;
	row->repeat = st->repeat;
	row->tid = st->tid;
	row->number = step->number;
	row->begin_ns = step->begin_ns - a->session->begin_ns;
	row->wall_ns = step->end_ns - step->begin_ns;
	row->items = step->items;
	row->rate = step__rate(step);
	row->gap = step->gap;
	row->lost = step->lost;
	memcpy(row->facts, step->facts, sizeof(row->facts));
	memcpy(row->pmu, step->pmu, sizeof(row->pmu));
}

static int steps_table(void *state, struct analysis_table *out)
{
	struct steps *a = state;
	const struct step_stream *st;
	size_t n = 0, i, k;

	for (i = 0; i < a->nstreams; i++)
		n += a->streams[i]->pub.n;
	free(a->rows);
	a->rows = calloc(n + 1, sizeof(*a->rows));
	if (!a->rows)
		return -ENOMEM;
	for (i = 0, n = 0; i < a->nstreams; i++) {
		st = &a->streams[i]->pub;
		for (k = 0; k < st->n; k++)
			step__row(&a->rows[n++], a, st, &st->steps[k]);
	}
	*out = (struct analysis_table){.rows = a->rows, .n = n, .stride = sizeof(*a->rows)};
	out->ncolumns = steps__columns(a, &out->columns);
	return 0;
}

static void steps_free(void *state)
{
	struct steps *a = state;
	size_t i, c;

	if (!a)
		return;
	for (i = 0; i < a->nstreams; i++) {
		for (c = 0; c < a->streams[i]->pub.ncounters; c++)
			series__free(&a->streams[i]->pub.counters[c].values);
		free(a->streams[i]->pub.steps);
		free(a->streams[i]->pub.name);
		free(a->streams[i]);
	}
	free(a->streams);
	free(a->rows);
	free(a);
}

const struct analysis analysis_steps = {
	.name = "steps",
	.summary = "training steps and what the host did in each",
	.wants = wants,
	.new = steps_new,
	.event = steps_event,
	.finish = steps_finish,
	.table = steps_table,
	.free = steps_free,
};
