// SPDX-License-Identifier: BSD-2-Clause
/* Counters of the hook pmu over a whole trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/summary.h"
#include "userspace/trace/records.h"

static char *text_of(const struct rec *rec, unsigned int i)
{
	size_t len;
	const char *text = record__text(rec, i, &len);

	return strndup(text ? text : "", len);
}

static struct summary_pmu *find(struct summary *s, uint32_t number)
{
	size_t i;

	for (i = 0; i < s->n_pmu; i++)
		if (s->pmu[i].number == number)
			return &s->pmu[i];
	return NULL;
}

int summary_pmu__define(struct summary *s, const struct rec_pmu_counter *rec)
{
	struct summary_pmu *p = find(s, rec->counter);

	if (p || s->n_pmu == SUMMARY_PMU_MAX) /* where a part of a trace is a file, again */
		return 0;
	p = &s->pmu[s->n_pmu++];
	*p = (struct summary_pmu){
		.name = text_of(&rec->hdr, 0),
		.unit = text_of(&rec->hdr, 1),
		.by = text_of(&rec->hdr, 2),
		.why = text_of(&rec->hdr, 3),
		.number = rec->counter,
		.err = rec->err,
		.scale = rec->scale,
	};
	return p->name && p->unit && p->by && p->why ? 0 : -ENOMEM;
}

/* Where counters took turns, the count is what it would have been without. */
void summary_pmu__add(struct summary *s, const struct rec_pmu_read *rec)
{
	struct summary_pmu *p = find(s, rec->counter);
	double value = (double)rec->value;

	if (!p)
		return;
	if (rec->running_ns && rec->running_ns < rec->enabled_ns)
		value *= (double)rec->enabled_ns / (double)rec->running_ns;
	p->count += value;
	p->enabled_ns += rec->enabled_ns;
	p->running_ns += rec->running_ns;
	p->running_pct = p->enabled_ns ? 100 * (double)p->running_ns / (double)p->enabled_ns : 0;
}

void summary_pmu__free(struct summary *s)
{
	size_t i;

	for (i = 0; i < s->n_pmu; i++) {
		free(s->pmu[i].name);
		free(s->pmu[i].unit);
		free(s->pmu[i].by);
		free(s->pmu[i].why);
	}
}
