// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/steps_pmu.h"

#include <stdio.h>
#include <string.h>

#include "userspace/trace/records.h"

void steps_pmu__define(struct steps_pmu *p, const struct rec *rec)
{
	const struct rec_pmu_counter *r = RECORD(pmu_counter, rec);
	struct steps_counter *c;
	const char *text;
	size_t len;

	if (r->err || r->counter >= STEPS_PMU)
		return;
	c = &p->counter[r->counter];
	text = record__text(rec, 0, &len);
	snprintf(c->name, sizeof(c->name), "%.*s", (int)len, text ? text : "");
	text = record__text(rec, 1, &len);
	c->is_ns = text && len == 2 && memcmp(text, "ns", 2) == 0;
	if (r->counter >= p->n)
		p->n = r->counter + 1;
}

void steps_pmu__spread(struct step *steps, size_t n, enum step_group group, const struct rec *rec)
{
	const struct rec_pmu_read *r = RECORD(pmu_read, rec);
	uint64_t end = rec->time_ns, since = r->since_ns < end ? r->since_ns : end, from, to;
	double value = (double)r->value;
	struct step *step;

	if (r->counter >= STEPS_PMU || !r->running_ns)
		return;
	/* it took turns with others: this is how much it would have been */
	if (r->running_ns < r->enabled_ns)
		value *= (double)r->enabled_ns / (double)r->running_ns;
	for (; n > 0 && steps[n - 1].end_ns > since; n--) {
		step = &steps[n - 1];
		from = step->begin_ns > since ? step->begin_ns : since;
		to = step->end_ns < end ? step->end_ns : end;
		if (to > from)
			step->pmu[group][r->counter] +=
				value * (double)(to - from) / (double)(end - since);
	}
}

const struct steps_counter *steps_pmu__counter(const struct steps_pmu *p, size_t i)
{
	return i < p->n && *p->counter[i].name ? &p->counter[i] : NULL;
}

size_t steps_pmu__columns(struct steps_pmu *p, struct column *to)
{
	static const char *const groups[] = {"step", "loader", "other"};
	size_t i, g, n = 0;

	for (g = 0; g < STEP_GROUPS; g++) {
		for (i = 0; i < p->n; i++) {
			char *name = p->column[g][i];

			if (!*p->counter[i].name)
				continue;
			snprintf(name, sizeof(p->column[g][i]), "%s_%s", groups[g],
				 p->counter[i].name);
			to[n++] = (struct column){
				.name = name,
				.title = name,
				.type = COL_F64,
				.offset = offsetof(struct step_row, pmu) +
					  (g * STEPS_PMU + i) * sizeof(double),
			};
		}
	}
	return n;
}
