// SPDX-License-Identifier: BSD-2-Clause
/* Milabench's report and summary.json. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/milabench_priv.h"
#include "userspace/lib/column.h"
#include "userspace/lib/json.h"
#include "userspace/lib/text.h"

#define PASS_RATE 0.01

#define AT(member) .offset = offsetof(struct milabench_bench, member)

/* Heads, widths and digits of Milabench's own formatters, which show 0.0174 as 0.02. */
static const struct column breakdown[] = {
	{"bench", "bench", COL_STR, -5, AT(name)},
	{"fail", "fail", COL_U64, 4, AT(failures)},
	{"n", "n", COL_U64, 3, AT(n)},
	{"ngpu", "ngpu", COL_U64, 4, AT(ngpu)},
	{"perf", "perf", COL_RATE, 10, 2, AT(perf)},
	{"sem_pct", "sem%", COL_PCT, 6, 1, AT(sem_pct)},
	{"std_pct", "std%", COL_PCT, 6, 1, AT(std_pct)},
	{"peak_memory", "peak_memory", COL_F64, 11, 0, AT(peak_memory)},
	{"score", "score", COL_RATE, 10, 2, AT(score)},
	{"weight", "weight", COL_F64, 6, 2, AT(weight)},
	/* where power was sampled */
	{"energy", "energy (Kj)", COL_F64, 11, 3, AT(energy)},
	{"perf_watt", "perf_watt", COL_F64, 9, 3, AT(perf_watt)},
	{"median_watt", "median_watt", COL_F64, 11, 3, AT(median_watt)},
	{"enabled", "enabled", COL_TRUE, -1, AT(enabled)},
};

#define NCOLUMNS	  (sizeof(breakdown) / sizeof(breakdown[0]))
#define NCOLUMNS_NO_POWER 10

static bool has_power(const struct milabench *m)
{
	size_t i, d;

	for (i = 0; i < m->nbenches; i++)
		for (d = 0; d < m->rows[i].ndevices; d++)
			if (m->rows[i].devices[d].has_power)
				return true;
	return false;
}

static void section(FILE *out, const char *title)
{
	fprintf(out, "\n%s\n", title);
	for (; *title; title++)
		fputc('-', out);
	fputc('\n', out);
}

static const json_t *first_meta(const struct milabench *m)
{
	size_t i;

	for (i = 0; i < m->nbenches; i++)
		if (m->benches[i]->meta)
			return m->benches[i]->meta;
	return NULL;
}

static void system_line(FILE *out, const char *key, const json_t *v, const char *otherwise)
{
	fprintf(out, "%-9s ", key);
	if (json_is_number(v))
		fprintf(out, "%.15g", json_number_value(v));
	else
		text__print(out, json_is_string(v) ? json_string_value(v) : otherwise);
	fputc('\n', out);
}

static void print_system(FILE *out, const json_t *meta)
{
	json_t *gpus = json_object_get(json_object_get(meta, "accelerators"), "gpus");
	json_t *cpu = json_object_get(meta, "cpu"), *g, *gpu = NULL;
	double memory;
	const char *name;

	section(out, "System");
	if (cpu) {
		system_line(out, "cpu:", json_object_get(cpu, "brand"), "NA");
		system_line(out, "n_cpu:", json_object_get(cpu, "count"), "NA");
	}
	if (!json_object_size(gpus)) /* Milabench would speak of "NA" with 0.0 of memory */
		return;
	json_object_foreach(gpus, name, g) gpu = g;
	system_line(out, "product:", json_object_get(gpu, "product"), "NA");
	fprintf(out, "%-9s %zu\n", "n_gpu:", json_object_size(gpus));
	memory = json_number_value(json_object_get(json_object_get(gpu, "memory"), "total"));
	fprintf(out, "%-9s %.1f\n", "memory:", memory);
}

void milabench__print(const struct milabench *m, FILE *out)
{
	static const char title[] = "Benchmark results";
	static const char line[] = "=================";
	struct milabench_totals t;
	char rate[32];

	milabench__totals(m, &t);
	fprintf(out, "%s\n%s\n%s\n", line, title, line);
	if (first_meta(m))
		print_system(out, first_meta(m));
	section(out, "Breakdown");
	table__print(out, TABLE_TEXT, breakdown, has_power(m) ? NCOLUMNS : NCOLUMNS_NO_POWER,
		     m->rows, m->nbenches, sizeof(*m->rows), " | ");
	section(out, "Scores");
	snprintf(rate, sizeof(rate), "%.2f%%", 100 * t.failure_rate);
	fprintf(out, "%-14s %10s (%s)\n", "Failure rate:", rate,
		t.failure_rate <= PASS_RATE ? "PASS" : "FAIL");
	if (t.interrupted) {
		fputs("No score: the run was interrupted\n", out);
		return;
	}
	fprintf(out, "%-14s %10.2f\n", "Score:", isnan(t.score) ? NAN : t.score);
	fprintf(out, "%-14s %10.2f\n", "Score (ln):", isnan(t.score_ln) ? NAN : t.score_ln);
}

static const struct column step_columns[] = {
	{"bench", "bench", COL_STR, -5, AT(name)},
	{"units", "units", COL_STR, -5, AT(units)},
	{"steps", "steps", COL_U64, 5, AT(steps)},
	{"step_p50_s", "p50 s", COL_F64, 9, 4, AT(step_p50_s)},
	{"step_p90_s", "p90 s", COL_F64, 9, 4, AT(step_p90_s)},
	{"step_p99_s", "p99 s", COL_F64, 9, 4, AT(step_p99_s)},
	{"step_max_s", "max s", COL_F64, 9, 4, AT(step_max_s)},
	{"first_loss", "first loss", COL_F64, 10, 4, AT(first_loss)},
	{"last_loss", "last loss", COL_F64, 10, 4, AT(last_loss)},
};

int milabench__print_steps(const struct milabench *m, FILE *out)
{
	section(out, "Step time and loss");
	return table__print(out, TABLE_TEXT, step_columns,
			    sizeof(step_columns) / sizeof(step_columns[0]), m->rows, m->nbenches,
			    sizeof(*m->rows), " | ");
}

/* ---- summary.json ---- */

static void write_metrics(struct json *j, const char *key, const struct milabench_metrics *s)
{
	json__object(j, key);
	json__f64(j, "min", s->min);
	json__f64(j, "q1", s->q1);
	json__f64(j, "median", s->median);
	json__f64(j, "q3", s->q3);
	json__f64(j, "max", s->max);
	json__f64(j, "mean", s->mean);
	json__f64(j, "std", s->std);
	json__f64(j, "sem", s->sem);
	json__end_object(j);
}

/* A parsed value again; integers were read as doubles and lose their point here. */
static void write_value(struct json *j, const char *key, const json_t *v)
{
	const char *k;
	const json_t *member;
	double x;
	size_t i;

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		json__object(j, key);
		json_object_foreach((json_t *)v, k, member) write_value(j, k, member);
		json__end_object(j);
		break;
	case JSON_ARRAY:
		json__flat_array(j, key);
		json_array_foreach(v, i, member) write_value(j, NULL, member);
		json__end_array(j);
		break;
	case JSON_STRING:
		json__strn(j, key, json_string_value(v), json_string_length(v));
		break;
	case JSON_INTEGER:
	case JSON_REAL:
		x = json_number_value(v);
		if (x == rint(x) && fabs(x) < 0x1p53)
			json__s64(j, key, (int64_t)x);
		else
			json__f64(j, key, x);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		json__bool(j, key, json_is_true(v));
		break;
	case JSON_NULL:
		json__null(j, key);
	}
}

static void write_devices(struct json *j, const struct milabench_bench *r)
{
	const struct milabench_device *d;

	json__object(j, "per_gpu");
	for (d = r->devices; d < r->devices + r->ndevices; d++)
		if (d->has_rate)
			write_metrics(j, d->name, &d->rate);
	json__end_object(j);
	json__object(j, "gpu_load");
	for (d = r->devices; d < r->devices + r->ndevices; d++) {
		if (!d->has_load)
			continue;
		json__object(j, d->name);
		write_metrics(j, "memory", &d->memory);
		write_metrics(j, "load", &d->load);
		if (d->has_power)
			write_metrics(j, "power", &d->power);
		json__end_object(j);
	}
	json__end_object(j);
}

static void write_own(struct json *j, const struct milabench_bench *r)
{
	json__object(j, "xpugap");
	json__str(j, "units", r->units);
	json__u64(j, "steps", r->steps);
	json__f64(j, "score", r->score);
	json__f64(j, "peak_memory", r->peak_memory);
	json__f64(j, "first_loss", r->first_loss);
	json__f64(j, "last_loss", r->last_loss);
	if (r->has_step_time) {
		json__object(j, "step_time_s");
		json__f64(j, "p50", r->step_p50_s);
		json__f64(j, "p90", r->step_p90_s);
		json__f64(j, "p99", r->step_p99_s);
		json__f64(j, "max", r->step_max_s);
		json__end_object(j);
	} else {
		json__null(j, "step_time_s");
	}
	json__end_object(j);
}

static const json_t *meta_of(const struct milabench *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->nbenches; i++)
		if (strcmp(m->benches[i]->name, name) == 0)
			return m->benches[i]->meta;
	return NULL;
}

static void write_bench(struct json *j, const struct milabench *m, const struct milabench_bench *r)
{
	json__object(j, r->name);
	if (meta_of(m, r->name))
		write_value(j, "meta", meta_of(m, r->name));
	else
		json__null(j, "meta");
	json__str(j, "name", r->name);
	json__str(j, "group", r->group);
	json__u64(j, "n", r->n);
	json__u64(j, "ngpu", r->ngpu);
	json__u64(j, "successes", r->n > r->failures ? r->n - r->failures : 0);
	json__u64(j, "failures", r->failures);
	write_metrics(j, "train_rate", &r->train_rate);
	write_metrics(j, "walltime", &r->walltime);
	write_devices(j, r);
	json__f64(j, "weight", r->weight);
	json__object(j, "extra");
	json__end_object(j);
	json__bool(j, "enabled", r->enabled);
	if (r->has_energy) {
		json__f64(j, "energy", r->energy);
		json__f64(j, "elpased", r->elapsed); /* so spelt there */
		json__f64(j, "perf_watt", r->perf_watt);
	}
	write_own(j, r);
	json__end_object(j);
}

int milabench__write_summary(const struct milabench *m, FILE *out)
{
	struct json j;
	size_t i;

	json__init(&j, out, 1);
	json__object(&j, NULL);
	for (i = 0; i < m->nbenches; i++)
		write_bench(&j, m, &m->rows[i]);
	json__end_object(&j);
	return json__finish(&j);
}
