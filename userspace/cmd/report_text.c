// SPDX-License-Identifier: BSD-2-Clause
/* The report for people, 100 columns wide. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "userspace/cmd/report.h"
#include "userspace/lib/column.h"
#include "userspace/lib/text.h"
#include "userspace/lib/wrap.h"
#include "userspace/trace/records.h"

#define NSEC	    1000000000ULL
#define SPARK_CELLS 44
#define CELL	    32
#define LOSS	    "loss" /* the counter of that name */
#define ITEMS	    "items/s"

struct printer {
	const struct report *r;
	FILE *out;
	bool colour;
};

#define BOLD   "\033[1m"
#define RED    "\033[31m"
#define CYAN   "\033[36m"
#define NORMAL "\033[0m"

static void style(const struct printer *p, const char *code)
{
	if (p->colour)
		fputs(code, p->out);
}

static void heading(const struct printer *p, const char *text)
{
	style(p, BOLD);
	text__print(p->out, text);
	style(p, NORMAL);
}

/* ---- what was run, and where ---- */

static void label(const struct printer *p, const char *name)
{
	fprintf(p->out, "  %-10s", name);
}

static const char *fact_or(const struct report *r, const char *key, const char *otherwise)
{
	const char *v = r->session ? session__fact(r->session, key) : NULL;

	return v && *v ? v : otherwise;
}

/* Running text after a label, whatever bytes it holds. */
static void print_wrapped(const struct printer *p, int indent, const char *text)
{
	char *clean = NULL;
	size_t size;
	FILE *mem = open_memstream(&clean, &size);

	if (!mem)
		return;
	text__print(mem, text);
	if (fclose(mem) == 0)
		wrap__words(p->out, indent, clean);
	free(clean);
}

/* Did the user end the run before this row had ended by itself? */
static bool was_interrupted(const struct report *r, const struct session_row *row)
{
	const char *since = fact_or(r, "run.interrupted_ns", NULL);
	int sig = WIFSIGNALED(row->status) ? WTERMSIG(row->status) : 0;

	return since && (sig == SIGTERM || sig == SIGKILL || sig == SIGINT || sig == SIGHUP) &&
	       row->end_ns >= strtoull(since, NULL, 10);
}

static void describe_row(const struct report *r, FILE *out, const struct session_row *row)
{
	fputs(row->name, out);
	if (*row->device)
		fprintf(out, " on %s", row->device);
	if (row->repeat)
		fprintf(out, ", again (%u)", row->repeat);
	if (!row->ended)
		fputs(" (its end is not in the trace)", out);
	else if (was_interrupted(r, row))
		fputs(" (interrupted by you)", out);
	else if (WIFSIGNALED(row->status))
		fprintf(out, " (killed by signal %d)", WTERMSIG(row->status));
	else if (WEXITSTATUS(row->status))
		fprintf(out, " (failed with %d)", WEXITSTATUS(row->status));
}

static void print_ran(const struct printer *p)
{
	const struct report *r = p->r;
	const char *command = fact_or(r, "target.command", NULL);
	char *rows = NULL;
	size_t size, i;
	FILE *mem;

	if (!r->session || (!r->session->nrows && !command))
		return;
	label(p, "ran");
	mem = open_memstream(&rows, &size);
	for (i = 0; mem && i < r->session->nrows; i++) {
		fputs(i ? "; " : "", mem);
		describe_row(r, mem, r->session->rows[i]);
	}
	if (mem && fclose(mem) == 0)
		print_wrapped(p, 12, *rows || !command ? rows : command);
	free(rows);
}

static void print_machine(const struct printer *p)
{
	const struct report *r = p->r;
	char bytes[CELL] = "";

	if (!fact_or(r, "host.kernel", NULL))
		return; /* made up, or not told */
	format__bytes(bytes, sizeof(bytes),
		      strtoull(fact_or(r, "host.memory_bytes", "0"), NULL, 10));
	label(p, "machine");
	text__print(p->out, fact_or(r, "host.name", "?"));
	fputs(": ", p->out);
	text__print(p->out, fact_or(r, "host.cpu", "cpu not known"));
	fputs(", ", p->out);
	text__print(p->out, fact_or(r, "host.cpus", "?"));
	fprintf(p->out, " cpus, %s, Linux ", bytes);
	text__print(p->out, fact_or(r, "host.kernel", "?"));
	fputc(' ', p->out);
	text__print(p->out, fact_or(r, "host.arch", ""));
	fputc('\n', p->out);
}

static void describe_hooks(const struct printer *p, FILE *out)
{
	const char *sep = "; hooks ";
	uint32_t h;

	for (h = 0; h < REC_HOOK_MAX; h++) {
		if (!p->r->session->hooks[h].told || !report__hook_works(p->r, h, NULL))
			continue;
		fprintf(out, "%s%s", sep, record__hook_name(h) ? record__hook_name(h) : "?");
		sep = ", ";
	}
}

static void print_trace(const struct printer *p)
{
	const struct report *r = p->r;
	char bytes[CELL], *text = NULL;
	size_t size;
	FILE *mem;

	if (!r->session)
		return;
	label(p, "trace");
	mem = open_memstream(&text, &size);
	if (!mem)
		return;
	fprintf(mem, "%llu records, %s, %s, %llu lost", (unsigned long long)r->info.held,
		format__bytes(bytes, sizeof(bytes), r->info.bytes),
		!r->info.complete      ? "without an end"
		: r->session->cut_lost ? "ended early"
				       : "complete",
		(unsigned long long)r->session->lost_total);
	describe_hooks(p, mem);
	if (fclose(mem) == 0)
		print_wrapped(p, 12, text);
	free(text);
}

static void print_title(const struct printer *p)
{
	const struct report *r = p->r;
	time_t at = (time_t)(r->info.realtime_ns / NSEC);
	char date[CELL] = "", span[CELL];
	struct tm tm;

	heading(p, r->dir ? r->dir : r->trace);
	if (r->session && at && localtime_r(&at, &tm)) {
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
		fprintf(p->out, "  %s", date);
	}
	if (r->session && r->session->records)
		fprintf(p->out, ", %s",
			format__ns(span, sizeof(span), r->session->end_ns - r->session->begin_ns));
	fputc('\n', p->out);
}

/* ---- what it cannot say ---- */

static void print_warning(void *ctx, const char *text)
{
	const struct printer *p = ctx;

	style(p, RED);
	fputs("  ! ", p->out);
	print_wrapped(p, 4, text);
	style(p, NORMAL);
}

/* ---- one workload ---- */

static void format_value(char *buf, size_t size, enum fact_kind kind, double v)
{
	bool whole = kind == FACT_COUNT ? v >= 100 : fabs(v) >= 1000 && fabs(v) < 1e7;

	if (isnan(v))
		snprintf(buf, size, "-");
	else if (kind == FACT_NS)
		format__ns(buf, size, v < 0 ? 0 : (uint64_t)llround(v));
	else if (whole)
		snprintf(buf, size, "%.0f", v);
	else
		snprintf(buf, size, "%.*g", kind == FACT_COUNT ? 3 : 4, v);
}

struct fact_line {
	char label[24];
	char mean[CELL], share[CELL], p50[CELL], p90[CELL], p99[CELL];
	const char *label_p, *mean_p, *share_p, *p50_p, *p90_p, *p99_p;
	struct column_series series;
};

#define AT(member) .offset = offsetof(struct fact_line, member)

static const struct column fact_columns[] = {
	{"per_step", "  per step", COL_STR, -20, AT(label_p)},
	{"mean", "mean", COL_STR, 9, AT(mean_p)},
	{"share", "share", COL_STR, 7, AT(share_p)},
	{"p50", "p50", COL_STR, 9, AT(p50_p)},
	{"p90", "p90", COL_STR, 9, AT(p90_p)},
	{"p99", "p99", COL_STR, 9, AT(p99_p)},
	{"course", "over the run", COL_SPARK, 22, AT(series)},
};

static void point(struct fact_line *l)
{
	l->label_p = l->label;
	l->mean_p = l->mean;
	l->share_p = l->share;
	l->p50_p = l->p50;
	l->p90_p = l->p90;
	l->p99_p = l->p99;
}

static void fact_line(struct fact_line *l, const struct fact *f)
{
	snprintf(l->label, sizeof(l->label), "    %s", f->label);
	format_value(l->mean, sizeof(l->mean), f->kind, f->mean);
	format_value(l->p50, sizeof(l->p50), f->kind, f->p50);
	format_value(l->p90, sizeof(l->p90), f->kind, f->p90);
	format_value(l->p99, sizeof(l->p99), f->kind, f->p99);
	if (!isnan(f->share))
		snprintf(l->share, sizeof(l->share), "%.1f %%", 100 * f->share);
	l->series = (struct column_series){f->values.v, f->values.n};
}

static void section_line(struct fact_line *l, const struct report_workload *w,
			 enum fact_section section)
{
	switch (section) {
	case FACT_STEP:
		snprintf(l->label, sizeof(l->label), "  step thread");
		break;
	case FACT_LOADERS:
		snprintf(l->label, sizeof(l->label), "  loaders (%zu)", w->stream->loaders);
		break;
	case FACT_OTHERS:
		snprintf(l->label, sizeof(l->label), "  other threads (%zu)", w->stream->others);
		break;
	case FACT_ALL:
		snprintf(l->label, sizeof(l->label), "  all threads");
		break;
	default:
		snprintf(l->label, sizeof(l->label), "  counters");
	}
}

static int print_facts(const struct printer *p, const struct report_workload *w)
{
	struct fact_line *lines = calloc(w->nfacts + FACT_SECTIONS, sizeof(*lines));
	enum fact_section last = FACT_SECTIONS;
	size_t n = 0, i;
	int err;

	if (!lines)
		return -ENOMEM;
	for (i = 0; i < w->nfacts; i++) {
		if (w->facts[i].section == FACT_COUNTERS && strcmp(w->facts[i].key, LOSS) == 0)
			continue; /* it has its own line */
		if (w->facts[i].section != last)
			section_line(&lines[n++], w, w->facts[i].section);
		last = w->facts[i].section;
		fact_line(&lines[n++], &w->facts[i]);
	}
	for (i = 0; i < n; i++)
		point(&lines[i]);
	if (n)
		fputc('\n', p->out);
	err = !n ? 0
		 : table__print(p->out, TABLE_TEXT, fact_columns,
				sizeof(fact_columns) / sizeof(fact_columns[0]), lines, n,
				sizeof(*lines), NULL);
	free(lines);
	return err;
}

static void print_spark(const struct printer *p, const char *name, const struct fact *f)
{
	char spark[3 * SPARK_CELLS + 1];

	fprintf(p->out, "  %-12s", name);
	style(p, CYAN);
	format__spark(spark, sizeof(spark), f->values.v, f->values.n, SPARK_CELLS);
	fputs(spark, p->out);
	style(p, NORMAL);
	fprintf(p->out, "%*s", (int)(SPARK_CELLS - text__width(spark) + 2), "");
}

static void print_throughput(const struct printer *p, const struct report_workload *w)
{
	bool items = !isnan(w->items_per_s) && strcmp(w->units, ITEMS) == 0;
	char all[CELL], lo[CELL], hi[CELL], mid[CELL], span[CELL];

	if (!w->rate.values.n || isnan(w->rate.p50))
		return;
	print_spark(p, "throughput", &w->rate);
	format_value(lo, sizeof(lo), FACT_VALUE, w->rate.min);
	format_value(mid, sizeof(mid), FACT_VALUE, w->rate.p50);
	format_value(hi, sizeof(hi), FACT_VALUE, w->rate.max);
	/* what was done in the whole time; a program's own measure only has a mean */
	format_value(all, sizeof(all), FACT_VALUE, items ? w->items_per_s : w->rate.mean);
	fprintf(p->out, "%s ", all);
	text__print(p->out, w->units);
	if (items)
		fprintf(p->out, " (%llu items in %s)\n", (unsigned long long)w->items,
			format__ns(span, sizeof(span), w->span_ns));
	else
		fputs(" (mean of the steps)\n", p->out);
	fprintf(p->out, "%*srates of the steps: p50 %s, from %s to %s\n", 14, "", mid, lo, hi);
}

static size_t index_of_max(const struct series *s)
{
	size_t i, best = 0;

	for (i = 1; i < s->n; i++)
		if (s->v[i] > s->v[best])
			best = i;
	return best;
}

static void print_step_time(const struct printer *p, const struct report_workload *w)
{
	const struct fact *f = &w->step_time;
	char p50[CELL], p90[CELL], p99[CELL], max[CELL];

	if (!f->values.n)
		return;
	print_spark(p, "step time", f);
	format_value(p50, sizeof(p50), FACT_NS, f->p50);
	format_value(p90, sizeof(p90), FACT_NS, f->p90);
	format_value(p99, sizeof(p99), FACT_NS, f->p99);
	format_value(max, sizeof(max), FACT_NS, f->max);
	fprintf(p->out, "p50 %s, p90 %s, p99 %s\n", p50, p90, p99);
	fprintf(p->out, "%*slongest: %s, step %zu of %zu\n", 14, "", max,
		index_of_max(&f->values) + 1, f->values.n);
}

static const struct fact *find_fact(const struct report_workload *w, enum fact_section section,
				    const char *key)
{
	const struct fact *f;

	for (f = w->facts; f < w->facts + w->nfacts; f++)
		if (f->section == section && strcmp(f->key, key) == 0)
			return f;
	return NULL;
}

/* Where the step thread was, in one sentence: the kernel's word, not yet a cause. */
static void print_sentence(const struct printer *p, const struct report_workload *w)
{
	const struct fact *running = find_fact(w, FACT_STEP, "running_ns");
	const struct fact *runnable = find_fact(w, FACT_STEP, "runnable_ns");
	const struct fact *blocked = find_fact(w, FACT_STEP, "blocked_ns");
	const struct fact *cpus = find_fact(w, FACT_ALL, "cpus");

	if (!running || !runnable || !blocked || isnan(running->share))
		return;
	fprintf(p->out,
		"  the step thread was on a cpu %.1f %% of the time, waited for one %.1f %% and "
		"slept %.1f %%",
		100 * running->share, 100 * runnable->share, 100 * blocked->share);
	if (cpus && !isnan(cpus->mean))
		fprintf(p->out, ";\n  the workload kept %.2f of %s cpus busy", cpus->mean,
			fact_or(p->r, "host.cpus", "?"));
	fputc('\n', p->out);
}

static void print_workload_head(const struct printer *p, const struct report_workload *w)
{
	char title[256], span[CELL];

	snprintf(title, sizeof(title), "%s%s%s", w->name, *w->device ? " on " : "", w->device);
	fputc('\n', p->out);
	heading(p, title);
	if (w->repeat)
		fprintf(p->out, ", again (%llu)", (unsigned long long)w->repeat);
	if (w->bench && w->bench->failures)
		fprintf(p->out, ", failed (%llu of %llu)", (unsigned long long)w->bench->failures,
			(unsigned long long)w->bench->n);
	fprintf(p->out, ": %zu steps", w->rate.values.n);
	if (w->stream && w->stream->n) {
		format__ns(span, sizeof(span), w->span_ns);
		fprintf(p->out, " in %s, %llu items", span, (unsigned long long)w->items);
	}
	if (w->stream && w->stream->unfinished)
		fputs(", one more had begun", p->out);
	fputc('\n', p->out);
}

static void print_loss(const struct printer *p, const struct report_workload *w)
{
	const struct fact *loss = find_fact(w, FACT_COUNTERS, LOSS);
	const struct milabench_bench *b = w->bench;
	double first = b ? b->first_loss : NAN, last = b ? b->last_loss : NAN;

	if (loss && loss->values.n) {
		print_spark(p, LOSS, loss);
		first = loss->values.v[0];
		last = loss->values.v[loss->values.n - 1];
	} else if (!isnan(first)) {
		fprintf(p->out, "  %-12s", LOSS);
	}
	if (!isnan(first))
		fprintf(p->out, "%.4g at first, %.4g at last", first, last);
	if (!isnan(first) || loss)
		fputc('\n', p->out);
}

/* ---- step by step ---- */

#define SAT(member) .offset = offsetof(struct step_line, member)

struct step_line {
	struct step_row row;
	uint64_t ioctls;
	uint64_t blocked_ns, loader_blocked_ns; /* stopped is slept, too */
	const char *flags;
};

static const struct column step_lines[] = {
	{"step", "  step", COL_U64, 6, SAT(row.number)},
	{"wall_ns", "wall", COL_NS, 8, SAT(row.wall_ns)},
	{"rate", "items/s", COL_F64, 8, 2, SAT(row.rate)},
	{"running", "on cpu", COL_NS, 8, SAT(row.facts[STEP_CARRIER].host_ns[HOST_RUNNING])},
	{"runnable", "runq", COL_NS, 8, SAT(row.facts[STEP_CARRIER].host_ns[HOST_RUNNABLE])},
	{"blocked", "blocked", COL_NS, 8, SAT(blocked_ns)},
	{"voluntary", "sleeps", COL_U64, 6, SAT(row.facts[STEP_CARRIER].voluntary)},
	{"involuntary", "forced", COL_U64, 6, SAT(row.facts[STEP_CARRIER].involuntary)},
	{"flags", "", COL_STR, -1, SAT(flags)},
	/* with ioctls */
	{"ioctls", "ioctls", COL_U64, 6, SAT(ioctls)},
	/* with loaders */
	{"loader_running", "L:on cpu", COL_NS, 8,
	 SAT(row.facts[STEP_LOADERS].host_ns[HOST_RUNNING])},
	{"loader_runnable", "L:runq", COL_NS, 8,
	 SAT(row.facts[STEP_LOADERS].host_ns[HOST_RUNNABLE])},
	{"loader_blocked", "L:blocked", COL_NS, 9, SAT(loader_blocked_ns)},
};

#define STEP_PLAIN   3
#define STEP_BASE    8
#define STEP_FLAGS   8
#define STEP_IOCTL   9
#define STEP_LOADER  10
#define STEP_COLUMNS 13

static void step_line(struct step_line *l, const struct report *r, const struct step_stream *st,
		      const struct step *step)
{
	const struct facts *c = &step->facts[STEP_CARRIER], *d = &step->facts[STEP_LOADERS];
	int g;

	memset(l, 0, sizeof(*l));
	step__row(&l->row, r->steps, st, step);
	for (g = 0; g < STEP_GROUPS; g++)
		l->ioctls += step->facts[g].ioctls;
	l->blocked_ns = c->host_ns[HOST_BLOCKED] + c->host_ns[HOST_STOPPED];
	l->loader_blocked_ns = d->host_ns[HOST_BLOCKED] + d->host_ns[HOST_STOPPED];
	l->flags = step->lost && step->gap ? "lost gap"
		   : step->lost		   ? "lost"
		   : step->gap		   ? "gap"
					   : "";
}

static int print_steps(const struct printer *p, const struct report_workload *w)
{
	const struct step_stream *st = w->stream;
	const struct fact *ioctls = find_fact(w, FACT_ALL, "ioctls");
	struct column cols[STEP_COLUMNS];
	struct step_line *lines = calloc(st->n + 1, sizeof(*lines));
	size_t ncols = p->r->has_states ? STEP_BASE : STEP_PLAIN, i;
	int err;

	if (!lines)
		return -ENOMEM;
	for (i = 0; i < st->n; i++)
		step_line(&lines[i], p->r, st, &st->steps[i]);
	memcpy(cols, step_lines, sizeof(*cols) * ncols);
	if (ioctls && ioctls->total > 0)
		for (i = STEP_IOCTL; i < STEP_LOADER; i++)
			cols[ncols++] = step_lines[i];
	if (st->loaders && p->r->has_states)
		for (i = STEP_LOADER; i < STEP_COLUMNS; i++)
			cols[ncols++] = step_lines[i];
	cols[ncols++] = step_lines[STEP_FLAGS];
	fputc('\n', p->out);
	err = table__print(p->out, TABLE_TEXT, cols, ncols, lines, st->n, sizeof(*lines), " ");
	free(lines);
	return err;
}

static int print_workload(const struct printer *p, const struct report_workload *w)
{
	int err = 0;

	print_workload_head(p, w);
	print_throughput(p, w);
	print_step_time(p, w);
	print_loss(p, w);
	if (!w->stream || !w->stream->n)
		return 0;
	print_sentence(p, w);
	if (w->nfacts)
		err = print_facts(p, w);
	if (!err && p->r->o->steps)
		err = print_steps(p, w);
	return err;
}

/* ---- units ---- */

struct kind_line {
	const char *kind;
	uint64_t n, p50_ns, p90_ns, p99_ns, max_ns;
	double running, runnable, blocked, unknown;
	double *walls; /* ascending */
	struct facts facts;
};

#define KAT(member) .offset = offsetof(struct kind_line, member)

static const struct column kind_columns[] = {
	{"kind", "  units of", COL_STR, -16, KAT(kind)},
	{"n", "n", COL_U64, 7, KAT(n)},
	{"p50_ns", "p50", COL_NS, 8, KAT(p50_ns)},
	{"p90_ns", "p90", COL_NS, 8, KAT(p90_ns)},
	{"p99_ns", "p99", COL_NS, 8, KAT(p99_ns)},
	{"max_ns", "max", COL_NS, 8, KAT(max_ns)},
	{"running", "on cpu", COL_PCT, 7, 1, KAT(running)},
	{"runnable", "runq", COL_PCT, 7, 1, KAT(runnable)},
	{"blocked", "blocked", COL_PCT, 7, 1, KAT(blocked)},
	{"unknown", "unknown", COL_PCT, 7, 1, KAT(unknown)},
};

static void finish_kind(struct kind_line *k)
{
	double total = (double)facts__total_ns(&k->facts);
	const uint64_t *h = k->facts.host_ns;

	stats__sort(k->walls, k->n);
	k->p50_ns = (uint64_t)stats__quantile(k->walls, k->n, 0.5);
	k->p90_ns = (uint64_t)stats__quantile(k->walls, k->n, 0.9);
	k->p99_ns = (uint64_t)stats__quantile(k->walls, k->n, 0.99);
	k->max_ns = (uint64_t)stats__quantile(k->walls, k->n, 1);
	k->running = (double)h[HOST_RUNNING] / total;
	k->runnable = (double)h[HOST_RUNNABLE] / total;
	k->blocked = (double)(h[HOST_BLOCKED] + h[HOST_STOPPED]) / total;
	k->unknown = (double)h[HOST_UNKNOWN] / total;
}

static int by_kind(const void *a, const void *b)
{
	return strcmp(((const struct unit_row *)a)->kind, ((const struct unit_row *)b)->kind);
}

static int print_kinds(const struct printer *p)
{
	struct kind_line *kinds = NULL, *k = NULL;
	struct unit_row *rows;
	double *walls = NULL;
	size_t n, i, nkinds = 0;
	int err = -ENOMEM;

	units__rows(p->r->units, &n);
	rows = calloc(n, sizeof(*rows));
	kinds = calloc(n, sizeof(*kinds));
	walls = calloc(n, sizeof(*walls));
	if (!rows || !kinds || !walls)
		goto out;
	memcpy(rows, units__rows(p->r->units, &n), n * sizeof(*rows));
	qsort(rows, n, sizeof(*rows), by_kind);
	for (i = 0; i < n; i++) {
		if (!k || strcmp(k->kind, rows[i].kind) != 0) {
			k = &kinds[nkinds++];
			k->kind = rows[i].kind;
			k->walls = &walls[i];
		}
		k->walls[k->n++] = (double)rows[i].wall_ns;
		facts__add(&k->facts, &rows[i].facts);
	}
	for (i = 0; i < nkinds; i++)
		finish_kind(&kinds[i]);
	fputc('\n', p->out);
	err = table__print(p->out, TABLE_TEXT, kind_columns,
			   sizeof(kind_columns) / sizeof(kind_columns[0]), kinds, nkinds,
			   sizeof(*kinds), NULL);
	fprintf(p->out, "  %llu had begun and not ended\n",
		(unsigned long long)units__open(p->r->units));
out:
	free(walls);
	free(kinds);
	free(rows);
	return err;
}

static int print_units(const struct printer *p)
{
	struct analysis_table t;
	size_t n = 0;
	int err;

	if (p->r->units)
		units__rows(p->r->units, &n);
	if (!n)
		return 0;
	err = print_kinds(p);
	if (err || !p->r->o->units)
		return err;
	err = analysis_units.table(p->r->units, &t);
	fputc('\n', p->out);
	return err ? err
		   : table__print(p->out, TABLE_TEXT, t.columns, t.ncolumns, t.rows, t.n, t.stride,
				  NULL);
}

/* ---- the whole ---- */

int report__print_text(const struct report *r, FILE *out, bool colour)
{
	struct printer p = {r, out, colour};
	size_t n = 0, i;
	int err = 0;

	print_title(&p);
	print_ran(&p);
	print_machine(&p);
	print_trace(&p);
	report__warnings(r, print_warning, &p);
	if (r->milabench)
		milabench__benches(r->milabench, &n);
	if (n && !r->o->rows.n) {
		fputc('\n', out);
		milabench__print(r->milabench, out);
	}
	if (r->steps && steps__streams(r->steps) == 0)
		err = report__print_whole(r, out);
	for (i = 0; i < r->nworkloads && !err; i++)
		err = print_workload(&p, &r->workloads[i]);
	err = err ? err : report__print_ranges(r, out);
	err = err ? err : print_units(&p);
	return err ? err : ferror(out) ? -EIO : 0;
}
