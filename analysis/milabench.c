// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/milabench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/milabench_priv.h"

#define TRIM_FROM 5

struct milabench *milabench__new(void)
{
	return calloc(1, sizeof(struct milabench));
}

static void free_bench(struct bench_data *b)
{
	size_t i;

	for (i = 0; i < b->ndevices; i++) {
		free(b->devices[i].name);
		series__free(&b->devices[i].rate);
		series__free(&b->devices[i].memory);
		series__free(&b->devices[i].load);
		series__free(&b->devices[i].power);
	}
	free(b->devices);
	series__free(&b->train_rate);
	series__free(&b->walltime);
	series__free(&b->step_s);
	json_decref(b->meta);
	free(b->row.devices);
	free(b->row.group);
	free(b->row.units);
	free(b->name);
	free(b);
}

void milabench__free(struct milabench *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->nbenches; i++)
		free_bench(m->benches[i]);
	for (i = 0; i < m->nignored; i++)
		free(m->ignored[i].path);
	free(m->ignored);
	free(m->benches);
	free(m->rows);
	free(m);
}

struct bench_data *milabench__bench(struct milabench *m, const char *name)
{
	struct bench_data **list, *b;
	size_t i;

	for (i = 0; i < m->nbenches; i++)
		if (strcmp(m->benches[i]->name, name) == 0)
			return m->benches[i];
	list = realloc(m->benches, (m->nbenches + 1) * sizeof(*list));
	if (!list)
		return NULL;
	m->benches = list;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->row.first_loss = b->row.last_loss = NAN;
	b->name = strdup(name);
	b->row.group = strdup(name);
	if (!b->name || !b->row.group) {
		free_bench(b);
		return NULL;
	}
	list[m->nbenches++] = b;
	return b;
}

struct device_data *bench__device(struct bench_data *b, const char *name)
{
	struct device_data *list;
	size_t i;

	for (i = 0; i < b->ndevices; i++)
		if (strcmp(b->devices[i].name, name) == 0)
			return &b->devices[i];
	list = realloc(b->devices, (b->ndevices + 1) * sizeof(*list));
	if (!list)
		return NULL;
	b->devices = list;
	memset(&list[b->ndevices], 0, sizeof(*list));
	list[b->ndevices].name = strdup(name);
	return list[b->ndevices].name ? &list[b->ndevices++] : NULL;
}

int milabench__expect(struct milabench *m, const char *name, const char *group, double weight)
{
	struct bench_data *b = milabench__bench(m, name);
	char *copy = strdup(group ? group : name);

	if (!b || !copy) {
		free(copy);
		return -ENOMEM;
	}
	free(b->row.group);
	b->row.group = copy;
	b->expected = true;
	b->expected_weight = weight;
	return 0;
}

/* A sorted copy of @s; the order of the log stays. NULL without memory. */
static double *sorted(const struct series *s)
{
	double *v = calloc(s->n + 1, sizeof(*v));

	if (v && s->n) {
		memcpy(v, s->v, s->n * sizeof(*v));
		stats__sort(v, s->n);
	}
	return v;
}

/* Of @s without its ends where there are enough values: Milabench's _metrics(). */
static int metrics(struct milabench_metrics *out, const struct series *s)
{
	double *all = sorted(s);
	const double *v = all;
	size_t n = s->n;

	if (!all)
		return -ENOMEM;
	if (n && isnan(v[n - 1]))
		n = 0; /* NumPy: one NaN makes every statistic NaN */
	if (n >= TRIM_FROM) {
		v++;
		n -= 2;
	}
	out->min = stats__quantile(v, n, 0);
	out->q1 = stats__quantile(v, n, 0.25);
	out->median = stats__quantile(v, n, 0.5);
	out->q3 = stats__quantile(v, n, 0.75);
	out->max = stats__quantile(v, n, 1);
	out->mean = stats__mean(v, n);
	out->std = stats__std(v, n);
	out->sem = n ? out->std / sqrt((double)n) : NAN;
	free(all);
	return 0;
}

static int device_rows(struct bench_data *b)
{
	struct milabench_device *d;
	int err = 0;
	size_t i;

	b->row.devices = calloc(b->ndevices + 1, sizeof(*d));
	if (!b->row.devices)
		return -ENOMEM;
	b->row.ndevices = b->ndevices;
	for (i = 0; i < b->ndevices && !err; i++) {
		d = &b->row.devices[i];
		d->name = b->devices[i].name;
		d->has_rate = b->devices[i].rate.n > 0;
		d->has_load = b->devices[i].memory.n > 0;
		d->has_power = b->devices[i].power.n > 0;
		err = metrics(&d->rate, &b->devices[i].rate);
		err = err ?: metrics(&d->memory, &b->devices[i].memory);
		err = err ?: metrics(&d->load, &b->devices[i].load);
		err = err ?: metrics(&d->power, &b->devices[i].power);
	}
	return err;
}

static int step_times(struct bench_data *b)
{
	struct milabench_bench *r = &b->row;
	double *v = sorted(&b->step_s);
	size_t n = b->step_s.n;

	if (!v)
		return -ENOMEM;
	r->has_step_time = n > 0;
	r->step_p50_s = stats__quantile(v, n, 0.5);
	r->step_p90_s = stats__quantile(v, n, 0.9);
	r->step_p99_s = stats__quantile(v, n, 0.99);
	r->step_max_s = stats__quantile(v, n, 1);
	free(v);
	return 0;
}

/* The cells that rest on devices. */
static void device_cells(struct milabench_bench *r, double *rate_sum)
{
	const struct milabench_device *d;
	double watts = 0;
	size_t powers = 0, i;

	*rate_sum = 0;
	r->peak_memory = NAN;
	for (i = 0; i < r->ndevices; i++) {
		d = &r->devices[i];
		if (d->has_rate)
			*rate_sum += d->rate.mean;
		if (d->has_load)
			r->peak_memory = fmax(r->peak_memory, d->memory.max);
		if (d->has_power) {
			watts += d->power.median;
			powers++;
		}
	}
	r->median_watt = powers ? watts / (double)powers : NAN;
}

static int finish_bench(struct bench_data *b)
{
	struct milabench_bench *r = &b->row;
	double rate_sum, success;

	r->name = b->name;
	r->steps = b->train_rate.n;
	if (b->expected) {
		r->weight = b->expected_weight;
		r->enabled = true;
		r->failures += !r->n; /* it was asked for and left no trace */
	}
	if (metrics(&r->train_rate, &b->train_rate) || metrics(&r->walltime, &b->walltime) ||
	    step_times(b) || device_rows(b))
		return -ENOMEM;
	r->rates = b->train_rate.v;
	r->step_s = b->step_s.v;
	r->nstep_s = b->step_s.n;
	r->perf = r->train_rate.mean;
	r->std_pct = r->train_rate.std / r->perf;
	r->sem_pct = r->train_rate.sem / r->perf;
	r->perf_watt = r->has_energy ? r->perf / (r->energy / r->elapsed) : 0;
	device_cells(r, &rate_sum);
	success = 1 - (double)r->failures / (double)(r->n ? r->n : 1);
	r->score = (rate_sum > 0 ? rate_sum : r->perf) * success;
	return 0;
}

static int by_group(const void *a, const void *b)
{
	const struct milabench_bench *x = a, *y = b;

	return strcmp(x->group, y->group) ?: strcmp(x->name, y->name);
}

int milabench__finish(struct milabench *m)
{
	size_t i;

	m->rows = calloc(m->nbenches + 1, sizeof(*m->rows));
	if (!m->rows)
		return -ENOMEM;
	for (i = 0; i < m->nbenches; i++) {
		if (finish_bench(m->benches[i]))
			return -ENOMEM;
		m->rows[i] = m->benches[i]->row;
	}
	qsort(m->rows, m->nbenches, sizeof(*m->rows), by_group);
	return 0;
}

const struct milabench_bench *milabench__benches(const struct milabench *m, size_t *n)
{
	*n = m->nbenches;
	return m->rows;
}

void milabench__totals(const struct milabench *m, struct milabench_totals *out)
{
	double w, weights = 0, sum = 0, sum_ln = 0, v;
	const struct milabench_bench *r;

	memset(out, 0, sizeof(*out));
	out->files = m->files;
	out->ignored = m->nignored;
	out->bad_lines = m->bad_lines;
	out->interrupted = m->interrupted;
	for (r = m->rows; r < m->rows + m->nbenches; r++) {
		out->n += r->n ? r->n : r->failures;
		out->failures += r->failures;
		w = r->enabled ? r->weight : 0;
		weights += w;
		v = log(r->score + 1);
		sum += isnan(v) || !w ? 0 : w * v;
		v = log(r->score);
		sum_ln += isnan(v) || !w ? 0 : w * v;
	}
	out->failure_rate = (double)out->failures / (double)(out->n ? out->n : 1);
	out->score = m->interrupted ? NAN : exp(sum / weights);
	out->score_ln = m->interrupted ? NAN : exp(sum_ln / weights);
}

const char *milabench__ignored(const struct milabench *m, size_t i, const char **lacks)
{
	if (i >= m->nignored)
		return NULL;
	*lacks = m->ignored[i].lacks;
	return m->ignored[i].path;
}
