// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct analysis *const analyses[] = {
#define X(name, what) &analysis_##name,
	ANALYSIS_TABLE(X)
#undef X
		NULL,
};

struct member {
	const struct analysis *a;
	void *state;
};

struct analysis_set {
	struct session *session;
	struct member members[ANALYSIS_SET_MAX];
	size_t n;
	uint16_t wanted_by[REC_TYPE_MAX]; /* type → bits of members */
};

_Static_assert(ANALYSIS_SET_MAX <= 16, "wanted_by has 16 bits");

const struct analysis *analysis__find(const char *name)
{
	const struct analysis *const *a;

	for (a = analyses; *a; a++)
		if (strcmp((*a)->name, name) == 0)
			return *a;
	return NULL;
}

struct analysis_set *analysis_set__new(void)
{
	struct analysis_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->session = session__new();
	if (!set->session) {
		free(set);
		return NULL;
	}
	return set;
}

int analysis_set__add(struct analysis_set *set, const struct analysis *a, const void *opts)
{
	struct member *m = &set->members[set->n];
	const uint16_t *type;

	if (set->n == ANALYSIS_SET_MAX)
		return -ENOSPC;
	errno = ENOMEM;
	m->state = a->new (set->session, opts);
	if (!m->state)
		return -errno;
	m->a = a;
	for (type = a->wants; *type; type++)
		set->wanted_by[*type] |= (uint16_t)(1u << set->n);
	set->n++;
	return 0;
}

struct session *analysis_set__session(struct analysis_set *set)
{
	return set->session;
}

void *analysis_set__state(struct analysis_set *set, const struct analysis *a)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		if (set->members[i].a == a)
			return set->members[i].state;
	return NULL;
}

int analysis_set__event(struct analysis_set *set, const struct trace_event *ev)
{
	int err = session__event(set->session, ev);
	unsigned int bits;
	size_t i;

	if (err || ev->rec->type >= REC_TYPE_MAX)
		return err;
	bits = set->wanted_by[ev->rec->type];
	for (i = 0; bits && !err; i++, bits >>= 1)
		if (bits & 1)
			err = set->members[i].a->event(set->members[i].state, ev->rec);
	return err;
}

int analysis_set__finish(struct analysis_set *set)
{
	int err = 0;
	size_t i;

	session__finish(set->session);
	for (i = 0; i < set->n && !err; i++)
		err = set->members[i].a->finish(set->members[i].state);
	return err;
}

int analysis_set__read(struct analysis_set *set, struct trace_reader *r)
{
	struct trace_filter filter = {.types = SESSION_TYPES};
	struct trace_event ev;
	const uint16_t *type;
	size_t i;
	int got;

	for (i = 0; i < set->n; i++)
		for (type = set->members[i].a->wants; *type; type++)
			filter.types |= TRACE_TYPE(*type);
	got = trace_reader__filter(r, &filter);
	if (got)
		return got;
	while ((got = trace_reader__next(r, &ev)) > 0) {
		got = analysis_set__event(set, &ev);
		if (got)
			break;
	}
	return got;
}

void analysis_set__free(struct analysis_set *set)
{
	size_t i;

	if (!set)
		return;
	session__free(set->session);
	for (i = 0; i < set->n; i++)
		set->members[i].a->free(set->members[i].state);
	free(set);
}
