// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/suite/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "workloads/suite/voir.h"

size_t workload__all_options(const struct opt **rows, size_t max)
{
	const struct opt *o;
	size_t i, j, n = 0;

	for (i = 0; workloads[i]; i++)
		for (o = workloads[i]->opts; o && o->name && n < max; o++) {
			for (j = 0; j < n && strcmp(rows[j]->name, o->name) != 0; j++)
				;
			if (j == n)
				rows[n++] = o;
		}
	return n;
}

/* "resnet50.no-shuffle=yes": whose is "resnet50" or NULL for all. The parts are copied. */
struct typed {
	char *copy;
	const char *whose, *name, *value;
};

static int split(struct typed *t, const char *text)
{
	char *equals, *dot;

	t->copy = strdup(text);
	if (!t->copy) {
		log_error("out of memory");
		return -ENOMEM;
	}
	equals = strchr(t->copy, '=');
	*equals = '\0';
	t->value = equals + 1;
	dot = strrchr(t->copy, '.');
	t->whose = dot ? t->copy : NULL;
	t->name = dot ? dot + 1 : t->copy;
	if (dot)
		*dot = '\0';
	return 0;
}

static const struct opt *find_row(const struct workload *w, const char *name)
{
	const struct opt *o;

	for (o = w->opts; o && o->name; o++)
		if (strcmp(o->name, name) == 0 ||
		    (o->type == OPT_FLAG && strncmp(name, "no-", 3) == 0 &&
		     strcmp(o->name, name + 3) == 0))
			return o;
	return NULL;
}

static bool is_meant(const struct workload *w, const struct typed *t)
{
	return (!t->whose || strcmp(t->whose, w->name) == 0) && find_row(w, t->name);
}

/*
 * A string option points into the text that it was set from, so that the copies live as long as
 * the values: they hang behind them.
 */
struct values {
	char **copies;
	size_t n;
	_Alignas(16) char opts[];
};

static struct values *of(void *opts)
{
	return (struct values *)((char *)opts - offsetof(struct values, opts));
}

static int set(const struct workload *w, struct values *v, const char *text)
{
	struct typed t;
	int err = split(&t, text);

	if (err)
		return err;
	if (is_meant(w, &t)) {
		err = opts__set(w->opts, v->opts, w->name, t.name, t.value);
		v->copies[v->n++] = t.copy;
		t.copy = NULL;
	}
	free(t.copy);
	return err;
}

void *workload__options(const struct workload *w, const struct opt_list *typed,
			enum workload_size size)
{
	struct values *v = calloc(1, sizeof(*v) + w->opts_size + 1);
	size_t i;
	int err = 0;

	if (v)
		v->copies = calloc(typed->n + 1, sizeof(*v->copies));
	if (!v || !v->copies) {
		free(v);
		log_error("out of memory");
		errno = ENOMEM;
		return NULL;
	}
	opts__defaults(w->opts, v->opts);
	for (i = 0; i < typed->n && !err; i++)
		err = set(w, v, typed->items[i]);
	if (!err && w->settle)
		w->settle(v->opts, size);
	if (!err)
		return v->opts;
	workload__free_options(w, v->opts);
	errno = -err;
	return NULL;
}

void workload__free_options(const struct workload *w, void *values)
{
	struct values *v;

	if (!values)
		return;
	v = of(values);
	opts__free(w->opts, values);
	while (v->n)
		free(v->copies[--v->n]);
	free(v->copies);
	free(v);
}

char *workload__argument(const struct workload *w, const char *text)
{
	char *argument = NULL;
	struct typed t;
	int n = 0;

	if (split(&t, text))
		return NULL;
	if (is_meant(w, &t) && find_row(w, t.name)->type == OPT_FLAG)
		n = asprintf(&argument, "--%s", t.name);
	else if (is_meant(w, &t))
		n = asprintf(&argument, "--%s=%s", t.name, t.value);
	free(t.copy);
	return n < 0 ? NULL : argument;
}

int workload__check_options(const struct workload *const *w, size_t n, const struct opt_list *typed)
{
	struct typed t;
	size_t i, j;
	int err = 0;

	for (i = 0; i < typed->n && !err; i++) {
		err = split(&t, typed->items[i]);
		if (err)
			return err;
		for (j = 0; j < n && !is_meant(w[j], &t); j++)
			;
		if (j == n && t.whose) {
			err = -EINVAL;
			log_error("--%s.%s is no option of a workload that is to run", t.whose,
				  t.name);
		} else if (j == n) {
			err = -EINVAL;
			log_error("--%s is no option of the workloads that are to run", t.name);
		}
		free(t.copy);
	}
	return err;
}

static json_t *list_json(const struct opt_list *list)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < list->n; i++)
		json_array_append_new(array, voir__text(list->items[i]));
	return array;
}

static json_t *value_json(const struct opt *o, const void *p)
{
	const char *text;

	switch (o->type) {
	case OPT_FLAG:
		return json_boolean(*(const bool *)p);
	case OPT_STR:
		text = *(const char *const *)p;
		return text ? voir__text(text) : json_null();
	case OPT_U64:
	case OPT_SIZE:
	case OPT_TIME:
		return json_integer((json_int_t) * (const uint64_t *)p);
	case OPT_F64:
		return json_real(*(const double *)p);
	case OPT_CHOICE:
		return json_string(o->choices[*(const int *)p]);
	case OPT_LIST:
	case OPT_OTHER:
		return list_json(p);
	}
	return json_null();
}

json_t *workload__options_json(const struct workload *w, const void *values)
{
	json_t *object = json_object();
	const struct opt *o;

	for (o = w->opts; o && o->name; o++)
		json_object_set_new(object, o->name,
				    value_json(o, (const char *)values + o->offset));
	return object;
}
