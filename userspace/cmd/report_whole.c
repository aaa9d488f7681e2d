// SPDX-License-Identifier: BSD-2-Clause
/* Where the time of a whole recording went, process by process and thread by thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/report.h"
#include "userspace/lib/column.h"
#include "userspace/lib/json.h"
#include "userspace/lib/text.h"

/* Lines of the table for people; --json has all rows. */
#define PROCESSES 12
#define THREADS	  8

struct whole_line {
	struct thread_row row;
	char label[64];
	const char *label_p;
	uint64_t blocked_ns; /* stopped is slept, too */
	uint64_t switches;
};

struct lines {
	struct whole_line *v;
	size_t n;
};

#define AT(member) .offset = offsetof(struct whole_line, member)

static const struct column whole_columns[] = {
	{"label", "  process, thread", COL_STR, -26, AT(label_p)},
	{"wall_ns", "wall", COL_NS, 8, AT(row.wall_ns)},
	{"running", "on cpu", COL_NS, 8, AT(row.facts.host_ns[HOST_RUNNING])},
	{"runnable", "runq", COL_NS, 8, AT(row.facts.host_ns[HOST_RUNNABLE])},
	{"blocked", "blocked", COL_NS, 8, AT(blocked_ns)},
	{"switches", "switches", COL_U64, 8, AT(switches)},
	{"unknown", "unknown", COL_NS, 8, AT(row.facts.host_ns[HOST_UNKNOWN])},
	{"ioctls", "ioctls", COL_U64, 7, AT(row.facts.ioctls)},
	{"ioctl_ns", "in ioctls", COL_NS, 9, AT(row.facts.ioctl_ns)},
};

#define COLUMNS (sizeof(whole_columns) / sizeof(whole_columns[0]))

static void add_line(struct lines *l, const struct thread_row *row, const char *label)
{
	struct whole_line *line = &l->v[l->n++];
	const uint64_t *h = row->facts.host_ns;

	line->row = *row;
	snprintf(line->label, sizeof(line->label), "%s", label);
	line->blocked_ns = h[HOST_BLOCKED] + h[HOST_STOPPED];
	line->switches = row->facts.voluntary + row->facts.involuntary;
}

static void process_label(char *buf, size_t size, const struct thread_row *p)
{
	if (p->pid)
		snprintf(buf, size, "  %s (pid %llu)", *p->comm ? p->comm : "?",
			 (unsigned long long)p->pid);
	else
		snprintf(buf, size, "  (process not known)");
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* The threads of @p begin at @th; returns how many of them there are. */
static size_t add_process(struct lines *l, const struct thread_row *p, const struct thread_row *th,
			  size_t n)
{
	struct thread_row shown = {0}, rest;
	char label[64];
	size_t i, mine = 0;

	process_label(label, sizeof(label), p);
	add_line(l, p, label);
	while (mine < n && th[mine].process == p->process)
		mine++;
	if (p->threads == 1)
		return mine;
	for (i = 0; i < mine && i < THREADS; i++) {
		snprintf(label, sizeof(label), "    %s (%llu)", *th[i].comm ? th[i].comm : "?",
			 (unsigned long long)th[i].tid);
		add_line(l, &th[i], label);
		thread_row__add(&shown, &th[i]);
	}
	thread_row__rest(&rest, p, &shown);
	if (rest.threads) {
		snprintf(label, sizeof(label), "    %llu more thread%s",
			 (unsigned long long)rest.threads, plural(rest.threads));
		add_line(l, &rest, label);
	}
	return mine;
}

static void collect(struct lines *l, const struct threads *a)
{
	const struct thread_row *total = threads__total(a), *th, *p;
	struct thread_row shown = {0}, rest;
	size_t np, nth, i, at = 0, more;
	char label[64];

	p = threads__processes(a, &np);
	th = threads__threads(a, &nth);
	for (i = 0; i < np && i < PROCESSES; i++) {
		at += add_process(l, &p[i], th + at, nth - at);
		thread_row__add(&shown, &p[i]);
	}
	more = threads__process_count(a) - i;
	if (more) {
		thread_row__rest(&rest, total, &shown);
		snprintf(label, sizeof(label), "  %zu more process%s", more, more == 1 ? "" : "es");
		add_line(l, &rest, label);
	}
	add_line(l, total, "  total");
}

static int print_lines(const struct report *r, FILE *out, const struct lines *l)
{
	const struct thread_row *total = threads__total(r->threads);
	struct column cols[COLUMNS];
	size_t n = r->has_states ? 6 : 2;

	memcpy(cols, whole_columns, n * sizeof(*cols));
	if (r->has_states && total->facts.host_ns[HOST_UNKNOWN])
		cols[n++] = whole_columns[6];
	if (total->facts.ioctls || total->facts.ioctl_ns) {
		cols[n++] = whole_columns[7];
		cols[n++] = whole_columns[8];
	}
	return table__print(out, TABLE_TEXT, cols, n, l->v, l->n, sizeof(*l->v), " ");
}

/* In words, of all threads together. */
static void print_sums(const struct report *r, FILE *out)
{
	const struct thread_row *t = threads__total(r->threads);
	const struct facts *f = &t->facts;
	double whole = (double)facts__total_ns(f) / 100;
	uint64_t wall = r->session->end_ns - r->session->begin_ns;
	const char *cpus = session__fact(r->session, "host.cpus");
	char span[32];

	if (r->has_states && whole > 0 && wall)
		fprintf(out,
			"  the threads were on a cpu %.1f %% of their time, waited for one %.1f %% "
			"and slept %.1f %%;\n  they kept %.2f of %s cpus busy\n",
			(double)f->host_ns[HOST_RUNNING] / whole,
			(double)f->host_ns[HOST_RUNNABLE] / whole,
			(double)(f->host_ns[HOST_BLOCKED] + f->host_ns[HOST_STOPPED]) / whole,
			(double)f->host_ns[HOST_RUNNING] / (double)wall, cpus ? cpus : "?");
	if (f->faults)
		fprintf(out, "  %llu page fault%s took %s\n", (unsigned long long)f->faults,
			plural(f->faults), format__ns(span, sizeof(span), f->fault_ns));
	if (t->open_ioctls)
		fprintf(out, "  %llu ioctl%s had not returned: timed, not counted\n",
			(unsigned long long)t->open_ioctls, plural(t->open_ioctls));
}

int report__print_whole(const struct report *r, FILE *out)
{
	const struct thread_row *total = threads__total(r->threads);
	size_t processes = threads__process_count(r->threads), i;
	struct lines l = {.n = 0};
	int err;

	if (!total->threads)
		return 0;
	l.v = calloc(PROCESSES * (THREADS + 2) + 2, sizeof(*l.v));
	if (!l.v)
		return -ENOMEM;
	collect(&l, r->threads);
	for (i = 0; i < l.n; i++)
		l.v[i].label_p = l.v[i].label;
	fprintf(out, "\nwhere the time went: %zu process%s, %llu thread%s\n\n", processes,
		processes == 1 ? "" : "es", (unsigned long long)total->threads,
		plural(total->threads));
	err = print_lines(r, out, &l);
	if (!err) {
		fputc('\n', out);
		print_sums(r, out);
	}
	free(l.v);
	return err;
}

/* ---- for programs ---- */

static void write_row(struct json *j, const char *key, const struct thread_row *row)
{
	json__flat_object(j, key);
	columns__json(j, thread_columns, nthread_columns, row);
	json__end_object(j);
}

/* What is part of no row of its own: of nobody in particular, at no time in particular. */
static void write_rest(struct json *j, const struct thread_row *all, const struct thread_row *part)
{
	struct thread_row rest;

	thread_row__rest(&rest, all, part);
	rest.name = NULL;
	rest.pid = rest.tid = 0;
	rest.begin_ns = rest.end_ns = 0;
	write_row(j, "rest", &rest);
}

static size_t write_process(struct json *j, const struct thread_row *p, const struct thread_row *th,
			    size_t n)
{
	struct thread_row shown = {0};
	size_t i;

	json__object(j, NULL);
	write_row(j, "sum", p);
	json__array(j, "threads");
	for (i = 0; i < n && th[i].process == p->process; i++) {
		write_row(j, NULL, &th[i]);
		thread_row__add(&shown, &th[i]);
	}
	json__end_array(j);
	write_rest(j, p, &shown);
	json__end_object(j);
	return i;
}

void report__write_whole(const struct report *r, struct json *j)
{
	const struct thread_row *p, *th;
	struct thread_row shown = {0};
	size_t np, nth, i, at = 0;

	if (!r->threads) {
		json__null(j, "whole");
		return;
	}
	p = threads__processes(r->threads, &np);
	th = threads__threads(r->threads, &nth);
	json__object(j, "whole");
	write_row(j, "total", threads__total(r->threads));
	json__array(j, "processes");
	for (i = 0; i < np; i++) {
		at += write_process(j, &p[i], th + at, nth - at);
		thread_row__add(&shown, &p[i]);
	}
	json__end_array(j);
	write_rest(j, threads__total(r->threads), &shown);
	json__end_object(j);
}
