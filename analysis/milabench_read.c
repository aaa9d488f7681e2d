// SPDX-License-Identifier: BSD-2-Clause
/* Milabench's `.data` files: one JSON object a line, from programs that may die in the middle. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/milabench_priv.h"
#include "userspace/lib/json.h"
#include "userspace/lib/log.h"

#define LINE_MAX_BYTES (16u << 20) /* a longer line is not an event */

/* What one file says, gathered first: its config may come after its numbers. */
struct file {
	json_t *config, *meta, *start, *end;
	bool stopped; /* a stop event: the bench ended itself, having enough observations */
	struct series rate, loss, step_s;
	json_t *gpu; /* array of {"gpudata", "time"} */
	char *units;
	uint64_t bad_lines;
	bool interrupted; /* an error says that somebody ended it */
	int err;
};

static void free_file(struct file *f)
{
	json_decref(f->config);
	json_decref(f->meta);
	json_decref(f->start);
	json_decref(f->end);
	json_decref(f->gpu);
	series__free(&f->rate);
	series__free(&f->loss);
	series__free(&f->step_s);
	free(f->units);
}

/*
 * A number as Python's json module writes it: null is None, and the literals NaN and Infinity,
 * which are no JSON, have been quoted by parse(). False if @v is no number at all.
 */
static bool number(const json_t *v, double *out)
{
	const char *s = json_string_value(v);

	*out = NAN;
	if (json_is_number(v))
		*out = json_number_value(v);
	else if (s && strcmp(s, "Infinity") == 0)
		*out = INFINITY;
	else if (s && strcmp(s, "-Infinity") == 0)
		*out = -INFINITY;
	else
		return json_is_null(v) || (s && strcmp(s, "NaN") == 0);
	return true;
}

static double number_or(const json_t *v, double otherwise)
{
	double x;

	return v && number(v, &x) ? x : otherwise;
}

static json_t *parse(const char *line, size_t n)
{
	const size_t flags = JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL;
	json_t *root = json_loadb(line, n, flags, NULL);
	char *quoted;

	if (root)
		return root;
	if (!memmem(line, n, "NaN", 3) && !memmem(line, n, "Infinity", 8))
		return NULL;
	quoted = json__from_python(line, n, true, &n);
	if (!quoted)
		return NULL;
	root = json_loadb(quoted, n, flags, NULL);
	free(quoted);
	return root;
}

static void keep(json_t **slot, json_t *value)
{
	json_incref(value);
	json_decref(*slot);
	*slot = value;
}

/* False if the payload is not of the format. */
static bool data_event(struct file *f, json_t *data)
{
	const char *task = json_string_value(json_object_get(data, "task"));
	json_t *gpu = json_object_get(data, "gpudata"), *sample, *v;
	const char *units;
	double x;

	if (!json_is_object(data))
		return false;
	v = json_object_get(data, "loss");
	if (v && number(v, &x))
		f->err = f->err ?: series__push(&f->loss, x);
	v = json_object_get(data, "rate");
	if (v && task && strcmp(task, "train") == 0 && !json_is_null(v)) {
		if (!number(v, &x))
			return false;
		f->err = f->err ?: series__push(&f->rate, x);
		v = json_object_get(data, "elapsed");
		if (v && number(v, &x) && isfinite(x) && x >= 0)
			f->err = f->err ?: series__push(&f->step_s, x);
		units = json_string_value(json_object_get(data, "units"));
		if (units && !f->units)
			f->units = strdup(units);
	}
	if (json_is_object(gpu)) {
		v = json_object_get(data, "time");
		sample = json_pack("{s:O, s:O?}", "gpudata", gpu, "time", v);
		if (!sample || json_array_append_new(f->gpu, sample))
			f->err = -ENOMEM;
	}
	return true;
}

static void note_error(struct file *f, json_t *data)
{
	const char *type = json_string_value(json_object_get(data, "type"));

	if (type && strcmp(type, "KeyboardInterrupt") == 0)
		f->interrupted = true;
}

static bool event(struct file *f, json_t *root)
{
	const char *what = json_string_value(json_object_get(root, "event"));
	json_t *data = json_object_get(root, "data");

	if (!what)
		return false;
	if (strcmp(what, "data") == 0)
		return data_event(f, data);
	if (strcmp(what, "stop") == 0)
		f->stopped = true;
	else if (strcmp(what, "error") == 0)
		note_error(f, data);
	else if (strcmp(what, "config") == 0 && json_is_object(data))
		keep(&f->config, data);
	else if (strcmp(what, "meta") == 0 && json_object_size(data))
		keep(&f->meta, data);
	else if (strcmp(what, "start") == 0 && json_is_object(data))
		keep(&f->start, data);
	else if (strcmp(what, "end") == 0 && json_is_object(data))
		keep(&f->end, data);
	return true;
}

static void read_line(struct file *f, const char *line, size_t n)
{
	json_t *root;

	while (n && (line[n - 1] == '\n' || line[n - 1] == '\r' || line[n - 1] == ' '))
		n--;
	if (!n)
		return;
	root = n <= LINE_MAX_BYTES ? parse(line, n) : NULL;
	if (!root || !event(f, root))
		f->bad_lines++;
	json_decref(root);
}

/* ---- from a file's facts to its bench's ---- */

static bool is_true(const json_t *v)
{
	return json_is_true(v) || (json_is_number(v) && json_number_value(v) != 0);
}

/* Milabench names devices by number or by string: both are the string here. */
static bool device_name(const json_t *v, char *buf, size_t size)
{
	if (json_is_string(v))
		snprintf(buf, size, "%s", json_string_value(v));
	else if (json_is_number(v))
		snprintf(buf, size, "%.15g", json_number_value(v));
	else
		return false;
	return true;
}

static bool tag_has_nolog(const json_t *tags)
{
	const char *s;
	size_t i;

	for (i = 0; i < json_array_size(tags); i++) {
		s = json_string_value(json_array_get(tags, i));
		if (s && strstr(s, "nolog"))
			return true;
	}
	return false;
}

static bool succeeded(const struct file *f)
{
	const json_t *code = json_object_get(f->end, "return_code");
	size_t i;

	if (f->stopped || tag_has_nolog(json_object_get(f->config, "tag")))
		return true;
	if (!json_is_number(code) || json_number_value(code) != 0 || !f->rate.n)
		return false;
	for (i = 0; i < f->loss.n; i++)
		if (isnan(f->loss.v[i]))
			return false;
	return true;
}

static uint64_t count_gpus(const json_t *config)
{
	const char *method =
		json_string_value(json_object_get(json_object_get(config, "plan"), "method"));
	double machines = number_or(json_object_get(config, "num_machines"), 1);
	uint64_t per_machine = 1;

	if (method && strcmp(method, "njobs") == 0)
		per_machine = json_array_size(json_object_get(config, "devices"));
	return machines >= 1 && machines < 1e6 ? (uint64_t)machines * per_machine : per_machine;
}

/* One device's gauges at one moment; idle and absent ones do not count. */
static int gauge(struct bench_data *b, const char *name, const json_t *g)
{
	double used = number_or(json_array_get(json_object_get(g, "memory"), 0), NAN);
	double load = number_or(json_object_get(g, "load"), NAN);
	double power = number_or(json_object_get(g, "power"), NAN);
	struct device_data *d;
	int err;

	if (isnan(used) || isnan(load) || used == 1 || load == 0)
		return 0;
	d = bench__device(b, name);
	if (!d)
		return -ENOMEM;
	err = series__push(&d->memory, used) ?: series__push(&d->load, load);
	if (!err && !isnan(power))
		err = series__push(&d->power, power);
	return err;
}

static int gauges(struct bench_data *b, const struct file *f, const char *own)
{
	const char *name;
	json_t *sample, *g;
	size_t i;
	int err;

	json_array_foreach(f->gpu, i, sample)
	{
		json_object_foreach(json_object_get(sample, "gpudata"), name, g)
		{
			err = own && strcmp(own, name) != 0 ? 0 : gauge(b, name, g);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Each sample's power holds since the sample before it; kJ. False without two dated samples. */
static bool energy(const struct file *f, const char *own, double *kj, double *elapsed)
{
	double t, watts, first = NAN, last = NAN, sum = 0;
	const char *name;
	json_t *sample, *g;
	size_t i;

	json_array_foreach(f->gpu, i, sample)
	{
		t = number_or(json_object_get(sample, "time"), NAN);
		if (isnan(t))
			continue;
		watts = 0;
		json_object_foreach(json_object_get(sample, "gpudata"), name,
				    g) if (!own || strcmp(own, name) == 0) watts +=
			number_or(json_object_get(g, "power"), 0);
		if (isnan(first))
			first = t;
		else
			sum += watts * (t - last);
		last = t;
	}
	*kj = sum / 1000;
	*elapsed = last - first;
	return !isnan(first) && last > first;
}

static int append(struct series *to, const struct series *from)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->n && !err; i++)
		err = series__push(to, from->v[i]);
	return err;
}

static int replace(char **slot, const json_t *string)
{
	char *copy;

	if (!json_is_string(string))
		return 0;
	copy = strdup(json_string_value(string));
	if (!copy)
		return -ENOMEM;
	free(*slot);
	*slot = copy;
	return 0;
}

/* As in Milabench, what files of one name say about the bench as a whole, the last says. */
static int config_facts(struct bench_data *b, const json_t *config)
{
	const json_t *enabled = json_object_get(config, "enabled");

	b->row.weight = number_or(json_object_get(config, "weight"), 0);
	b->row.enabled = is_true(enabled);
	return replace(&b->row.group, json_object_get(config, "group"));
}

static void losses(struct milabench_bench *r, const struct series *loss)
{
	if (!loss->n)
		return;
	if (isnan(r->first_loss))
		r->first_loss = loss->v[0];
	r->last_loss = loss->v[loss->n - 1];
}

static int rates(struct bench_data *b, const struct file *f, const char *own)
{
	int err = append(&b->train_rate, &f->rate) ?: append(&b->step_s, &f->step_s);
	struct device_data *d;

	if (err || !own || !f->rate.n)
		return err;
	d = bench__device(b, own);
	return d ? append(&d->rate, &f->rate) : -ENOMEM;
}

static int merge(struct milabench *m, struct file *f)
{
	struct bench_data *b =
		milabench__bench(m, json_string_value(json_object_get(f->config, "name")));
	double kj, elapsed;
	char own[64];
	bool bound = device_name(json_object_get(f->config, "device"), own, sizeof(own));
	uint64_t ngpu = count_gpus(f->config);
	int err;

	if (!b)
		return -ENOMEM;
	err = config_facts(b, f->config) ?: rates(b, f, bound ? own : NULL)
					   ?: gauges(b, f, bound ? own : NULL);
	err = err
		      ?: series__push(&b->walltime,
				      number_or(json_object_get(f->end, "time"), NAN) -
					      number_or(json_object_get(f->start, "time"), NAN));
	b->row.n++;
	b->row.failures += !succeeded(f);
	b->row.ngpu = ngpu > b->row.ngpu ? ngpu : b->row.ngpu;
	losses(&b->row, &f->loss);
	if (!b->row.units) {
		b->row.units = f->units;
		f->units = NULL;
	}
	if (f->meta)
		keep(&b->meta, f->meta);
	if (!b->row.has_energy && energy(f, bound ? own : NULL, &kj, &elapsed)) {
		b->row.has_energy = true;
		b->row.energy = kj;
		b->row.elapsed = elapsed;
	}
	return err;
}

static const char *lacks(const struct file *f)
{
	if (!f->config)
		return "config";
	if (!json_is_string(json_object_get(f->config, "name")))
		return "name";
	if (!f->start)
		return "start";
	return f->end ? NULL : "end";
}

static int ignore(struct milabench *m, const char *path, const char *why)
{
	struct ignored *list = realloc(m->ignored, (m->nignored + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	m->ignored = list;
	list[m->nignored].path = strdup(path);
	list[m->nignored].lacks = why;
	return list[m->nignored++].path ? 0 : -ENOMEM;
}

static int finish_file(struct milabench *m, const char *path, struct file *f)
{
	const char *why = lacks(f);

	m->files++;
	m->bad_lines += f->bad_lines;
	m->interrupted = m->interrupted || f->interrupted;
	if (f->err)
		return f->err;
	return why ? ignore(m, path, why) : merge(m, f);
}

int milabench__read_buffer(struct milabench *m, const char *path, const void *data, size_t size)
{
	struct file f = {.gpu = json_array()};
	const char *line = data, *end = line + size, *next;
	int err = -ENOMEM;

	if (!f.gpu)
		goto out;
	for (; line < end; line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next + 1 : end;
		read_line(&f, line, (size_t)(next - line));
	}
	err = finish_file(m, path, &f);
out:
	free_file(&f);
	return err;
}

/* The next line into @buf of LINE_MAX_BYTES + 1: its length, cut there, 0 at the end. */
static size_t next_line(FILE *in, char *buf)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(in)) != EOF) {
		if (n <= LINE_MAX_BYTES)
			buf[n++] = (char)c;
		if (c == '\n')
			break;
	}
	return n;
}

int milabench__read(struct milabench *m, const char *path)
{
	struct file f = {.gpu = json_array()};
	char *buf = malloc(LINE_MAX_BYTES + 1);
	FILE *in = NULL;
	int err = -ENOMEM;
	size_t n;

	if (!f.gpu || !buf)
		goto out;
	in = fopen(path, "re");
	if (!in) {
		err = -errno;
		goto out;
	}
	while ((n = next_line(in, buf)) > 0)
		read_line(&f, buf, n);
	err = ferror(in) ? -EIO : finish_file(m, path, &f);
out:
	if (err)
		log_error("cannot read '%s': %s", path, log__err(err));
	if (in)
		fclose(in);
	free(buf);
	free_file(&f);
	return err;
}

static int is_data_file(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && dot != d->d_name && strcmp(dot, ".data") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int milabench__read_dir(struct milabench *m, const char *dir)
{
	struct dirent **list;
	char *path;
	int n = scandir(dir, &list, is_data_file, by_name), i, err = 0;

	if (n < 0) {
		err = -errno;
		log_error("cannot read directory '%s': %s", dir, log__err(err));
		return err;
	}
	for (i = 0; i < n; i++) {
		if (!err && asprintf(&path, "%s/%s", dir, list[i]->d_name) < 0)
			err = -ENOMEM;
		if (!err) {
			err = milabench__read(m, path);
			free(path);
		}
		free(list[i]);
	}
	free(list);
	return err;
}
