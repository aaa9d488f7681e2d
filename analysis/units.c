// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/ioctl_now.h"
#include "analysis/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/text.h"

/* A carrier was relieved at @t, in the midst of an interval whose state is not known yet. */
struct pending {
	size_t row;
	uint64_t t;
};

/* What we keep with each task. */
struct member {
	uint64_t ioctls, ioctl_ns;
	struct pending *pending;
	size_t npending, size;
	struct open_unit *carried;
};

/* A unit that has not ended. */
struct open_unit {
	size_t row;
	struct task *carrier;		/* NULL: its carrier has ended */
	uint64_t since_ns;		/* it carries it from then on */
	struct open_unit *next, **link; /* of the same carrier */
};

/* A name of workloads, once. */
struct name {
	struct name *next; /* with the same hash */
	char text[];
};

struct units {
	struct session *session;
	int slot;
	struct unit_row *rows;
	size_t n, size;
	struct map names; /* hash → struct name */
	struct map open;  /* unit → struct open_unit */
	int err;
};

static struct member *member_of(const struct units *a, const struct task *t)
{
	return t->priv[a->slot];
}

/* Add @sign times what @t has done up to the end of its last closed interval. */
static void take(struct units *a, struct unit_row *row, const struct task *t, uint64_t sign)
{
	const struct member *m = member_of(a, t);
	int i;

	for (i = 0; i < HOST_STATES; i++)
		row->facts.host_ns[i] += sign * t->tl.sum[i];
	row->facts.voluntary += sign * t->tl.voluntary;
	row->facts.involuntary += sign * t->tl.involuntary;
	row->facts.ioctls += sign * m->ioctls;
	row->facts.ioctl_ns += sign * m->ioctl_ns;
}

static int add_pending(struct member *m, size_t row, uint64_t t)
{
	size_t size = m->size ? 2 * m->size : 8;
	struct pending *p;

	if (m->npending == m->size) {
		p = realloc(m->pending, size * sizeof(*p));
		if (!p)
			return -ENOMEM;
		m->pending = p;
		m->size = size;
	}
	m->pending[m->npending++] = (struct pending){row, t};
	return 0;
}

static void on_task_begin(void *ctx, struct task *t, uint64_t time_ns)
{
	struct units *a = ctx;

	t->priv[a->slot] = calloc(1, sizeof(struct member));
	if (!t->priv[a->slot])
		a->err = -ENOMEM;
}

/* Those relieved in this interval had of it what lies before that moment. */
static void on_interval(void *ctx, struct task *t, enum host_state state, uint64_t begin,
			uint64_t end)
{
	struct units *a = ctx;
	struct member *m = member_of(a, t);
	size_t i, left = 0;

	for (i = 0; m && i < m->npending; i++) {
		const struct pending *p = &m->pending[i];

		a->rows[p->row].facts.host_ns[state] += (p->t < end ? p->t : end) - begin;
		if (p->t > end)
			m->pending[left++] = *p;
	}
	if (m)
		m->npending = left;
}

/* @t carries @o from @time_ns on; NULL: nobody does. */
static void set_carrier(struct units *a, struct open_unit *o, struct task *t, uint64_t time_ns)
{
	struct open_unit **list;

	if (o->carrier) {
		*o->link = o->next;
		if (o->next)
			o->next->link = o->link;
	}
	o->carrier = t;
	o->since_ns = time_ns;
	if (!t)
		return;
	list = &member_of(a, t)->carried;
	o->next = *list;
	o->link = list;
	if (o->next)
		o->next->link = &o->next;
	*list = o;
}

static void on_task_end(void *ctx, struct task *t, uint64_t time_ns)
{
	struct units *a = ctx;
	struct member *m = member_of(a, t);

	if (!m)
		return;
	while (m->carried) {
		take(a, &a->rows[m->carried->row], t, 1);
		set_carrier(a, m->carried, NULL, time_ns);
	}
	free(m->pending);
	free(m);
	t->priv[a->slot] = NULL;
}

static const struct session_ops session_ops = {
	.task_begin = on_task_begin,
	.task_end = on_task_end,
	.interval = on_interval,
};

/* @o is taken from its carrier at @t, by @by or because it ends there. */
static int relieve(struct units *a, struct open_unit *o, const struct task *by, uint64_t t)
{
	struct unit_row *row = &a->rows[o->row];

	if (!o->carrier) {
		row->facts.host_ns[HOST_UNKNOWN] += t - o->since_ns;
		return 0;
	}
	take(a, row, o->carrier, 1);
	/* its own mark has closed the interval of the emitter, but of nobody else */
	if (o->carrier != by && o->carrier->tl.since < t)
		return add_pending(member_of(a, o->carrier), o->row, t);
	return 0;
}

static const char *intern(struct units *a, const char *text)
{
	struct name *first = map__get(&a->names, text__hash(text)), *n;

	for (n = first; n; n = n->next)
		if (strcmp(n->text, text) == 0)
			return n->text;
	n = malloc(sizeof(*n) + strlen(text) + 1);
	if (!n || map__put(&a->names, text__hash(text), n)) {
		free(n);
		return NULL;
	}
	n->next = first;
	strcpy(n->text, text);
	return n->text;
}

static const char *name_of(struct units *a, const struct task *t)
{
	const struct session_row *row = process__row(t->process);

	if (row)
		return intern(a, row->name);
	return intern(a, t->process && t->process->comm[0] ? t->process->comm : t->comm);
}

static struct unit_row *add_row(struct units *a)
{
	size_t size = a->size ? 2 * a->size : 256;
	struct unit_row *rows;

	if (a->n == a->size) {
		rows = realloc(a->rows, size * sizeof(*rows));
		if (!rows)
			return NULL;
		a->rows = rows;
		a->size = size;
	}
	memset(&a->rows[a->n], 0, sizeof(*a->rows));
	return &a->rows[a->n++];
}

static int begin_unit(struct units *a, struct task *t, const struct rec *rec, uint64_t unit,
		      uint64_t kind)
{
	struct open_unit *o = map__get(&a->open, unit);
	struct unit_row *row = add_row(a);

	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o || map__put(&a->open, unit, o)) {
			free(o);
			return -ENOMEM;
		}
	} /* else the one of that id has not ended and never will */
	if (!row)
		return -ENOMEM;
	row->unit = unit;
	row->kind_id = kind;
	row->name = name_of(a, t);
	row->begin_ns = rec->time_ns;
	o->row = a->n - 1;
	set_carrier(a, o, t, rec->time_ns);
	take(a, row, t, -1ULL);
	return row->name ? 0 : -ENOMEM;
}

/* It began in an earlier file: what its carriers did until here is not known. */
static int go_on_unit(struct units *a, struct task *t, const struct rec *rec)
{
	const struct rec_unit_open *r = RECORD(unit_open, rec);
	int err = begin_unit(a, t, rec, r->unit, r->kind);
	struct unit_row *row = &a->rows[a->n - 1];

	if (!err && r->start_ns < rec->time_ns) {
		row->begin_ns = r->start_ns;
		row->facts.host_ns[HOST_UNKNOWN] += rec->time_ns - r->start_ns;
	}
	return err;
}

static int hand_over(struct units *a, struct task *t, const struct rec *rec)
{
	struct open_unit *o = map__get(&a->open, RECORD(unit_handover, rec)->unit);
	int err;

	if (!o)
		return 0; /* it began before the recording */
	err = relieve(a, o, t, rec->time_ns);
	set_carrier(a, o, t, rec->time_ns);
	a->rows[o->row].handovers++;
	take(a, &a->rows[o->row], t, -1ULL);
	return err;
}

static int end_unit(struct units *a, struct task *t, const struct rec *rec)
{
	const struct rec_unit_end *r = RECORD(unit_end, rec);
	struct open_unit *o = map__del(&a->open, r->unit);
	struct unit_row *row;
	int err;

	if (!o)
		return 0;
	err = relieve(a, o, t, rec->time_ns);
	row = &a->rows[o->row];
	row->ended = true;
	row->items = r->items;
	row->end_ns = rec->time_ns;
	row->wall_ns = row->end_ns - row->begin_ns;
	set_carrier(a, o, NULL, rec->time_ns);
	free(o);
	return err;
}

static int units_event(void *state, const struct rec *rec)
{
	struct units *a = state;
	struct task *t = session__task(a->session, rec->tid);
	struct member *m = t ? member_of(a, t) : NULL;
	int err = 0;

	if (!m)
		return a->err;
	switch (rec->type) {
	case REC_UNIT_BEGIN:
		err = begin_unit(a, t, rec, RECORD(unit_begin, rec)->unit,
				 RECORD(unit_begin, rec)->kind);
		break;
	case REC_UNIT_OPEN:
		err = go_on_unit(a, t, rec);
		break;
	case REC_UNIT_HANDOVER:
		err = hand_over(a, t, rec);
		break;
	case REC_UNIT_END:
		err = end_unit(a, t, rec);
		break;
	case REC_IOCTL:
		m->ioctls++;
		m->ioctl_ns += ioctl__duration_ns(rec);
		break;
	}
	a->err = a->err ?: err;
	return a->err;
}

static const uint16_t wants[] = {REC_UNIT_BEGIN, REC_UNIT_OPEN, REC_UNIT_HANDOVER,
				 REC_UNIT_END,	 REC_IOCTL,	0};

static void *units_new(struct session *s, const void *opts)
{
	struct units *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->session = s;
	a->slot = session__observe(s, &session_ops, a);
	if (a->slot < 0) {
		errno = -a->slot;
		free(a);
		return NULL;
	}
	return a;
}

/* Only complete units stay; their kinds get their names. */
static int units_finish(void *state)
{
	struct units *a = state;
	struct unit_row *row;
	size_t i, n = 0;
	const char *kind;

	for (i = 0; i < a->n; i++) {
		row = &a->rows[i];
		if (!row->ended)
			continue;
		kind = session__name(a->session, row->kind_id);
		row->kind = kind ? kind : "";
		row->lost = session__lost_between(a->session, SESSION_HOST_HOOKS, row->begin_ns,
						  row->end_ns);
		a->rows[n++] = *row;
	}
	a->n = n;
	return a->err;
}

const struct unit_row *units__rows(const struct units *a, size_t *n)
{
	*n = a->n;
	return a->rows;
}

uint64_t units__open(const struct units *a)
{
	return a->open.n;
}

#define AT(member) .offset = offsetof(struct unit_row, member)

static const struct column columns[] = {
	{"unit", "unit", COL_U64, AT(unit)},
	{"kind", "kind", COL_STR, -4, AT(kind)},
	{"name", "name", COL_STR, -4, AT(name)},
	{"begin_ns", "begin", COL_U64, AT(begin_ns)},
	{"wall_ns", "wall", COL_NS, AT(wall_ns)},
	{"items", "items", COL_U64, AT(items)},
	{"handovers", "handovers", COL_U64, AT(handovers)},
	{"lost", "lost", COL_BOOL, AT(lost)},
	{"running_ns", "on-cpu", COL_NS, AT(facts.host_ns[HOST_RUNNING])},
	{"runnable_ns", "runq", COL_NS, AT(facts.host_ns[HOST_RUNNABLE])},
	{"blocked_ns", "blocked", COL_NS, AT(facts.host_ns[HOST_BLOCKED])},
	{"stopped_ns", "stopped", COL_NS, AT(facts.host_ns[HOST_STOPPED])},
	{"unknown_ns", "unknown", COL_NS, AT(facts.host_ns[HOST_UNKNOWN])},
	{"voluntary", "vcsw", COL_U64, AT(facts.voluntary)},
	{"involuntary", "ivcsw", COL_U64, AT(facts.involuntary)},
	{"ioctls", "ioctls", COL_U64, AT(facts.ioctls)},
	{"ioctl_ns", "ioctl", COL_NS, AT(facts.ioctl_ns)},
};

static int units_table(void *state, struct analysis_table *out)
{
	struct units *a = state;

	*out = (struct analysis_table){columns, sizeof(columns) / sizeof(columns[0]), a->rows, a->n,
				       sizeof(*a->rows)};
	return 0;
}

static void units_free(void *state)
{
	struct units *a = state;
	struct map_slot *s;
	struct name *n, *next;

	if (!a)
		return;
	for (s = map__next(&a->open, NULL); s; s = map__next(&a->open, s))
		free(s->value);
	map__free(&a->open);
	for (s = map__next(&a->names, NULL); s; s = map__next(&a->names, s))
		for (n = s->value; n; n = next) {
			next = n->next;
			free(n);
		}
	map__free(&a->names);
	free(a->rows);
	free(a);
}

const struct analysis analysis_units = {
	.name = "units",
	.summary = "units of work with an id, such as requests",
	.wants = wants,
	.new = units_new,
	.event = units_event,
	.finish = units_finish,
	.table = units_table,
	.free = units_free,
};
