// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ioctl_now.h"

/* Rows of which the largest are kept when there are too many. */
struct kept {
	struct thread_row *rows;
	size_t n, seen;
};

#define ROOM (2 * THREADS_KEEP)

/* What we keep with each task. */
struct member {
	struct thread_row row;
	struct ioctl_now ioctl;
};

struct threads {
	struct session *session;
	int slot;
	uint64_t next_process; /* number of the next one that is seen */
	struct kept threads, processes;
	struct thread_row *homeless; /* threads whose process was never told */
	struct thread_row total;
	int err;
};

/* ---- rows ---- */

void thread_row__add(struct thread_row *to, const struct thread_row *row)
{
	if (!to->threads || row->begin_ns < to->begin_ns)
		to->begin_ns = row->begin_ns;
	if (row->end_ns > to->end_ns)
		to->end_ns = row->end_ns;
	to->threads += row->threads;
	to->wall_ns += row->wall_ns;
	to->open_ioctls += row->open_ioctls;
	facts__add(&to->facts, &row->facts);
}

void thread_row__rest(struct thread_row *to, const struct thread_row *all,
		      const struct thread_row *part)
{
	*to = *all;
	to->threads -= part->threads;
	to->wall_ns -= part->wall_ns;
	to->open_ioctls -= part->open_ioctls;
	facts__sub(&to->facts, &part->facts);
}

/* More time on a cpu first, then the longer lived, then the first. */
static int by_size(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;
	uint64_t rx = x->facts.host_ns[HOST_RUNNING], ry = y->facts.host_ns[HOST_RUNNING];

	if (rx != ry)
		return rx < ry ? 1 : -1;
	if (x->wall_ns != y->wall_ns)
		return x->wall_ns < y->wall_ns ? 1 : -1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns > y->begin_ns ? 1 : -1;
	return x->tid != y->tid ? x->tid > y->tid ? 1 : -1 : 0;
}

/* Sort the rows and forget all but the largest. */
static void cut(struct kept *k)
{
	if (k->n)
		qsort(k->rows, k->n, sizeof(*k->rows), by_size);
	if (k->n > THREADS_KEEP)
		k->n = THREADS_KEEP;
}

static int keep(struct kept *k, const struct thread_row *row)
{
	if (!k->rows) {
		k->rows = calloc(ROOM, sizeof(*k->rows));
		if (!k->rows)
			return -ENOMEM;
	}
	if (k->n == ROOM)
		cut(k);
	k->rows[k->n++] = *row;
	k->seen++;
	return 0;
}

/* ---- what the session tells ---- */

static uint64_t since_begin(const struct threads *a, uint64_t time_ns)
{
	return time_ns > a->session->begin_ns ? time_ns - a->session->begin_ns : 0;
}

static void on_task_begin(void *ctx, struct task *t, uint64_t time_ns)
{
	struct threads *a = ctx;
	struct member *m = calloc(1, sizeof(*m));

	t->priv[a->slot] = m;
	if (!m)
		a->err = -ENOMEM;
	else
		m->row.begin_ns = since_begin(a, time_ns);
}

/* The sum over the threads of @p, or of those without a process. NULL without memory. */
static struct thread_row *process_of(struct threads *a, struct process *p)
{
	struct thread_row **row = p ? (struct thread_row **)&p->priv[a->slot] : &a->homeless;
	struct thread_row *made = *row;

	if (made)
		return made;
	made = calloc(1, sizeof(*made));
	if (!made) {
		a->err = -ENOMEM;
		return NULL;
	}
	made->process = ++a->next_process;
	made->pid = p ? p->pid : 0;
	*row = made;
	return made;
}

static void on_task_end(void *ctx, struct task *t, uint64_t time_ns)
{
	struct threads *a = ctx;
	struct member *m = t->priv[a->slot];
	struct thread_row *row = m ? &m->row : NULL, *process;

	t->priv[a->slot] = NULL;
	process = m ? process_of(a, t->process) : NULL;
	if (!process) {
		free(m);
		return;
	}
	row->process = process->process;
	row->pid = t->pid;
	row->tid = t->tid;
	row->threads = 1;
	row->end_ns = since_begin(a, time_ns);
	row->wall_ns = row->end_ns > row->begin_ns ? row->end_ns - row->begin_ns : 0;
	memcpy(row->comm, t->comm, sizeof(row->comm));
	memcpy(row->facts.host_ns, t->tl.sum, sizeof(row->facts.host_ns));
	row->facts.voluntary = t->tl.voluntary;
	row->facts.involuntary = t->tl.involuntary;
	if (ioctl_now__inside(&m->ioctl, a->session) && time_ns > m->ioctl.since) {
		row->facts.ioctl_ns += time_ns - m->ioctl.since;
		row->open_ioctls = 1;
	}
	thread_row__add(process, row);
	thread_row__add(&a->total, row);
	a->err = a->err ?: keep(&a->threads, row);
	free(m);
}

static void on_process_end(void *ctx, struct process *p)
{
	struct threads *a = ctx;
	struct thread_row *row = p->priv[a->slot];

	p->priv[a->slot] = NULL;
	if (!row)
		return;
	memcpy(row->comm, p->comm, sizeof(row->comm));
	a->err = a->err ?: keep(&a->processes, row);
	free(row);
}

static const struct session_ops session_ops = {
	.task_begin = on_task_begin,
	.task_end = on_task_end,
	.process_end = on_process_end,
};

/* ---- records ---- */

static int threads_event(void *state, const struct rec *rec)
{
	struct threads *a = state;
	struct task *t = session__task(a->session, rec->tid);
	struct member *m = t ? t->priv[a->slot] : NULL;

	if (!m)
		return a->err;
	ioctl_now__event(&m->ioctl, a->session, rec);
	if (rec->type == REC_IOCTL) {
		m->row.facts.ioctls++;
		m->row.facts.ioctl_ns += ioctl__duration_ns(rec);
	} else if (rec->type == REC_FAULT) {
		m->row.facts.faults += fault__count(rec);
		m->row.facts.fault_ns += fault__duration_ns(rec);
	}
	return a->err;
}

static const uint16_t wants[] = {IOCTL_NOW_TYPES, REC_FAULT, 0};

static void *threads_new(struct session *s, const void *opts)
{
	struct threads *a = calloc(1, sizeof(*a));

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

/* Order threads as their processes are; place: number of a process → its place, from 1. */
static void place(struct threads *a, uint64_t *place_of)
{
	struct kept *th = &a->threads;
	struct thread_row *sorted = calloc(th->n + 1, sizeof(*sorted));
	size_t i, p, n = 0;

	if (!sorted) {
		a->err = -ENOMEM;
		return;
	}
	/* threads are in order of size: a stable count by process keeps that */
	for (i = 0; i < a->processes.n; i++)
		place_of[a->processes.rows[i].process] = i + 1;
	for (p = 1; p <= a->processes.n; p++)
		for (i = 0; i < th->n; i++)
			if (place_of[th->rows[i].process] == p)
				sorted[n++] = th->rows[i];
	memcpy(th->rows, sorted, n * sizeof(*sorted));
	th->n = n;
	free(sorted);
}

static void point(struct kept *k)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		k->rows[i].name = k->rows[i].comm;
}

static int threads_finish(void *state)
{
	struct threads *a = state;
	uint64_t *place_of;

	if (a->homeless)
		a->err = a->err ?: keep(&a->processes, a->homeless);
	cut(&a->threads);
	cut(&a->processes);
	place_of = calloc(a->next_process + 1, sizeof(*place_of));
	if (!place_of)
		return -ENOMEM;
	if (a->threads.n)
		place(a, place_of);
	free(place_of);
	point(&a->threads);
	point(&a->processes);
	return a->err;
}

const struct thread_row *threads__processes(const struct threads *a, size_t *n)
{
	*n = a->processes.n;
	return a->processes.rows;
}

const struct thread_row *threads__threads(const struct threads *a, size_t *n)
{
	*n = a->threads.n;
	return a->threads.rows;
}

const struct thread_row *threads__total(const struct threads *a)
{
	return &a->total;
}

size_t threads__process_count(const struct threads *a)
{
	return a->processes.seen;
}

#define AT(member) .offset = offsetof(struct thread_row, member)

static const struct column columns[] = {
	{"comm", "comm", COL_STR, -15, AT(name)},
	{"pid", "pid", COL_U64, 7, AT(pid)},
	{"tid", "tid", COL_U64, 7, AT(tid)},
	{"threads", "threads", COL_U64, AT(threads)},
	{"begin_ns", "begin", COL_NS, AT(begin_ns)},
	{"end_ns", "end", COL_NS, AT(end_ns)},
	{"wall_ns", "wall", COL_NS, AT(wall_ns)},
	{"running_ns", "on-cpu", COL_NS, AT(facts.host_ns[HOST_RUNNING])},
	{"runnable_ns", "runq", COL_NS, AT(facts.host_ns[HOST_RUNNABLE])},
	{"blocked_ns", "blocked", COL_NS, AT(facts.host_ns[HOST_BLOCKED])},
	{"stopped_ns", "stopped", COL_NS, AT(facts.host_ns[HOST_STOPPED])},
	{"unknown_ns", "unknown", COL_NS, AT(facts.host_ns[HOST_UNKNOWN])},
	{"voluntary", "vcsw", COL_U64, AT(facts.voluntary)},
	{"involuntary", "ivcsw", COL_U64, AT(facts.involuntary)},
	{"ioctls", "ioctls", COL_U64, AT(facts.ioctls)},
	{"ioctl_ns", "ioctl", COL_NS, AT(facts.ioctl_ns)},
	{"open_ioctls", "open", COL_U64, AT(open_ioctls)},
	{"faults", "faults", COL_U64, AT(facts.faults)},
	{"fault_ns", "fault", COL_NS, AT(facts.fault_ns)},
};

const struct column *const thread_columns = columns;
const size_t nthread_columns = sizeof(columns) / sizeof(columns[0]);

static int threads_table(void *state, struct analysis_table *out)
{
	struct threads *a = state;

	*out = (struct analysis_table){columns, nthread_columns, a->threads.rows, a->threads.n,
				       sizeof(*a->threads.rows)};
	return 0;
}

static void threads_free(void *state)
{
	struct threads *a = state;

	if (!a)
		return;
	free(a->threads.rows);
	free(a->processes.rows);
	free(a->homeless);
	free(a);
}

const struct analysis analysis_threads = {
	.name = "threads",
	.summary = "where the time of each thread went over the whole recording",
	.wants = wants,
	.new = threads_new,
	.event = threads_event,
	.finish = threads_finish,
	.table = threads_table,
	.free = threads_free,
};
