// SPDX-License-Identifier: BSD-2-Clause
/* The report for programs: report.json(5), and CSV. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/report.h"
#include "userspace/lib/column.h"
#include "userspace/lib/json.h"
#include "userspace/trace/records.h"

static void write_warning(void *ctx, const char *text)
{
	json__str(ctx, NULL, text);
}

static void write_hooks(struct json *j, const struct session *s)
{
	const struct session_hook *h;
	uint32_t i;

	json__object(j, "hooks");
	for (i = 0; i < REC_HOOK_MAX; i++) {
		h = &s->hooks[i];
		if (!h->told || !record__hook_name(i))
			continue;
		json__flat_object(j, record__hook_name(i));
		json__str(j, "state", record__value_name(REC_FMT_HOOK_STATE, h->state));
		json__str(j, "way", h->way);
		json__str(j, "reason", h->reason);
		json__f64(j, "cost_ns", h->cost_ns > 0 ? h->cost_ns : NAN);
		json__u64(j, "hits", h->hits);
		json__u64(j, "records", h->records);
		json__u64(j, "lost", s->lost_by_hook[i]);
		json__end_object(j);
	}
	json__end_object(j);
}

static void write_damage(struct json *j, const struct trace_damage *d)
{
	json__flat_object(j, "damage");
	json__bool(j, "truncated", d->truncated);
	json__bool(j, "bad_head", d->bad_head);
	json__u64(j, "bad_chunks", d->bad_chunks);
	json__u64(j, "bad_records", d->bad_records);
	json__u64(j, "skipped_bytes", d->skipped_bytes);
	json__u64(j, "unknown_records", d->unknown_records);
	json__end_object(j);
}

static void write_losses(struct json *j, const struct session *s)
{
	const char *name;
	size_t i;

	json__array(j, "losses");
	for (i = 0; i < s->nlosses; i++) {
		name = record__hook_name(s->losses[i].hook);
		json__flat_object(j, NULL);
		json__str(j, "hook", name ? name : "?");
		json__u64(j, "count", s->losses[i].count);
		json__u64(j, "since_ns", s->losses[i].since_ns - s->begin_ns);
		json__u64(j, "until_ns", s->losses[i].until_ns - s->begin_ns);
		json__end_object(j);
	}
	json__end_array(j);
}

static void write_trace(struct json *j, const struct report *r)
{
	const struct session *s = r->session;
	size_t i;

	if (!s) {
		json__null(j, "trace");
		return;
	}
	json__object(j, "trace");
	json__str(j, "path", r->trace);
	json__bool(j, "complete", r->info.complete && !s->cut_lost);
	json__u64(j, "bytes", r->info.bytes);
	json__u64(j, "records", r->info.held);
	json__u64(j, "begin_ns", s->begin_ns);
	json__u64(j, "duration_ns", s->end_ns - s->begin_ns);
	json__u64(j, "realtime_ns", r->info.realtime_ns);
	json__u64(j, "lost", s->lost_total);
	write_losses(j, s);
	write_damage(j, &r->damage);
	write_hooks(j, s);
	json__array(j, "devices");
	for (i = 0; i < s->ndevices; i++) {
		json__flat_object(j, NULL);
		json__u64(j, "pid", s->devices[i]->pid);
		json__u64(j, "device", s->devices[i]->device);
		json__str(j, "name", s->devices[i]->name);
		json__end_object(j);
	}
	json__end_array(j);
	json__object(j, "facts");
	for (i = 0; i < s->nfacts; i++)
		json__str(j, s->facts[i].key, s->facts[i].value);
	json__end_object(j);
	json__end_object(j);
}

static void write_milabench(struct json *j, const struct report *r)
{
	const struct milabench_bench *b;
	struct milabench_totals t;
	size_t n, i;

	if (!r->milabench) {
		json__null(j, "milabench");
		return;
	}
	milabench__totals(r->milabench, &t);
	b = milabench__benches(r->milabench, &n);
	json__object(j, "milabench");
	json__f64(j, "failure_rate", t.failure_rate);
	json__f64(j, "score", t.score);
	json__f64(j, "score_ln", t.score_ln);
	json__u64(j, "bad_lines", t.bad_lines);
	json__array(j, "breakdown");
	for (i = 0; i < n; i++) {
		json__flat_object(j, NULL);
		json__str(j, "bench", b[i].name);
		json__u64(j, "fail", b[i].failures);
		json__u64(j, "n", b[i].n);
		json__u64(j, "ngpu", b[i].ngpu);
		json__f64(j, "perf", b[i].perf);
		json__f64(j, "sem_pct", b[i].sem_pct);
		json__f64(j, "std_pct", b[i].std_pct);
		json__f64(j, "peak_memory", b[i].peak_memory);
		json__f64(j, "score", b[i].score);
		json__f64(j, "weight", b[i].weight);
		json__bool(j, "enabled", b[i].enabled);
		json__end_object(j);
	}
	json__end_array(j);
	json__end_object(j);
}

static void write_fact(struct json *j, const char *key, const struct fact *f)
{
	size_t i;

	json__flat_object(j, key);
	json__f64(j, "mean", f->mean);
	json__f64(j, "share", f->share);
	json__f64(j, "total", f->total);
	json__f64(j, "min", f->min);
	json__f64(j, "p50", f->p50);
	json__f64(j, "p90", f->p90);
	json__f64(j, "p99", f->p99);
	json__f64(j, "max", f->max);
	json__array(j, "values");
	for (i = 0; i < f->values.n; i++)
		json__f64(j, NULL, f->values.v[i]);
	json__end_array(j);
	json__end_object(j);
}

static const struct fact none = {
	.mean = NAN, .share = NAN, .min = NAN, .p50 = NAN, .p90 = NAN, .p99 = NAN, .max = NAN};

/* A statistic of no values has none. */
static void write_series(struct json *j, const char *key, const struct fact *f, double share)
{
	struct fact copy = f->values.n ? *f : none;

	copy.share = share;
	write_fact(j, key, &copy);
}

static void write_facts(struct json *j, const struct report_workload *w)
{
	static const char *const sections[FACT_SECTIONS] = {"step", "loaders", "others", "all",
							    "counters"};
	int section;
	size_t i;

	json__object(j, "facts");
	for (section = 0; section < FACT_SECTIONS; section++) {
		json__object(j, sections[section]);
		for (i = 0; i < w->nfacts; i++)
			if ((int)w->facts[i].section == section)
				write_fact(j, w->facts[i].key, &w->facts[i]);
		json__end_object(j);
	}
	json__end_object(j);
}

static void write_stream(struct json *j, const struct report *r, const struct step_stream *st)
{
	const struct column *columns;
	size_t i, ncolumns = steps__columns(r->steps, &columns);
	struct step_row row;

	json__u64(j, "pid", st->pid);
	json__u64(j, "tid", st->tid);
	json__str(j, "comm", st->comm);
	json__u64(j, "loaders", st->loaders);
	json__u64(j, "others", st->others);
	json__bool(j, "unfinished", st->unfinished);
	json__u64(j, "missing_marks", st->missing);
	json__u64(j, "open_ioctls", st->open_ioctls);
	json__array(j, "steps");
	for (i = 0; i < st->n; i++) {
		step__row(&row, r->steps, st, &st->steps[i]);
		json__flat_object(j, NULL);
		columns__json(j, columns, ncolumns, &row);
		json__end_object(j);
	}
	json__end_array(j);
}

static void write_workload(struct json *j, const struct report *r, const struct report_workload *w)
{
	json__object(j, NULL);
	json__str(j, "name", w->name);
	json__str(j, "device", *w->device ? w->device : NULL);
	json__u64(j, "repeat", w->repeat);
	json__str(j, "units", w->units);
	json__bool(j, "traced", w->stream != NULL);
	if (w->row && w->row->ended)
		json__s64(j, "status", w->row->status);
	else
		json__null(j, "status");
	json__u64(j, "lost_steps", w->lost_steps);
	json__flat_object(j, "throughput");
	json__u64(j, "items", w->items);
	json__u64(j, "time_ns", w->span_ns);
	json__f64(j, "items_per_s", w->items_per_s);
	json__f64(j, "rate_p50", w->rate.values.n ? w->rate.p50 : NAN);
	json__f64(j, "rate_mean", w->rate.values.n ? w->rate.mean : NAN);
	json__end_object(j);
	write_series(j, "rate", &w->rate, NAN);
	write_series(j, "step_time_ns", &w->step_time, NAN);
	write_facts(j, w);
	if (w->stream)
		write_stream(j, r, w->stream);
	json__end_object(j);
}

static int write_units(struct json *j, const struct report *r)
{
	struct analysis_table t;
	int err;
	size_t i;

	json__object(j, "units");
	json__u64(j, "open", r->units ? units__open(r->units) : 0);
	json__array(j, "rows");
	if (r->units) {
		err = analysis_units.table(r->units, &t);
		if (err)
			return err;
		for (i = 0; i < t.n; i++) {
			json__flat_object(j, NULL);
			columns__json(j, t.columns, t.ncolumns,
				      (const char *)t.rows + i * t.stride);
			json__end_object(j);
		}
	}
	json__end_array(j);
	json__end_object(j);
	return 0;
}

int report__print_json(const struct report *r, FILE *out)
{
	struct json j;
	size_t i;
	int err;

	json__init(&j, out, 1);
	json__object(&j, NULL);
	json__str(&j, "version", XPUGAP_VERSION);
	json__str(&j, "directory", r->dir);
	json__array(&j, "warnings");
	report__warnings(r, write_warning, &j);
	json__end_array(&j);
	write_trace(&j, r);
	write_milabench(&j, r);
	report__write_whole(r, &j);
	json__array(&j, "workloads");
	for (i = 0; i < r->nworkloads; i++)
		write_workload(&j, r, &r->workloads[i]);
	json__end_array(&j);
	report__write_ranges(r, &j);
	err = write_units(&j, r);
	if (err)
		return err;
	json__end_object(&j);
	return json__finish(&j);
}

int report__print_csv(const struct report *r, FILE *out)
{
	struct analysis_table t;
	const struct report_workload *w;
	struct step_row *rows;
	size_t n = 0, i, k;
	int err;

	if (r->o->units && r->units) {
		err = analysis_units.table(r->units, &t);
		return err ? err
			   : table__print(out, TABLE_CSV, t.columns, t.ncolumns, t.rows, t.n,
					  t.stride, NULL);
	}
	for (i = 0; i < r->nworkloads; i++)
		n += r->workloads[i].stream ? r->workloads[i].stream->n : 0;
	t.ncolumns = steps__columns(r->steps, &t.columns);
	rows = calloc(n + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (i = 0, n = 0; i < r->nworkloads; i++) {
		w = &r->workloads[i];
		for (k = 0; w->stream && k < w->stream->n; k++)
			step__row(&rows[n++], r->steps, w->stream, &w->stream->steps[k]);
	}
	err = table__print(out, TABLE_CSV, t.columns, t.ncolumns, rows, n, sizeof(*rows), NULL);
	free(rows);
	return err;
}
