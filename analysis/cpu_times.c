// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/cpu_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's count of idle time may go back a little. */
static uint64_t since(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

static double pct(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

static void set_shares(struct cpu_time *c)
{
	c->total_ns =
		c->user_ns + c->system_ns + c->irq_ns + c->idle_ns + c->iowait_ns + c->steal_ns;
	c->user_pct = pct(c->user_ns, c->total_ns);
	c->system_pct = pct(c->system_ns, c->total_ns);
	c->irq_pct = pct(c->irq_ns, c->total_ns);
	c->idle_pct = pct(c->idle_ns, c->total_ns);
	c->iowait_pct = pct(c->iowait_ns, c->total_ns);
	c->steal_pct = pct(c->steal_ns, c->total_ns);
}

static int make_room(struct cpu_times *t, uint32_t cpu)
{
	struct cpu_time *rows;

	if (cpu < t->n)
		return 0;
	rows = realloc(t->rows, (cpu + 1) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	memset(rows + t->n, 0, (cpu + 1 - t->n) * sizeof(*rows));
	t->rows = rows;
	t->n = cpu + 1;
	return 0;
}

#define SINCE(a, b, field) since((a)->field, (b)->field)

int cpu_times__add(struct cpu_times *t, const struct rec_cpu_stat *rec)
{
	const struct rec_cpu_stat *last;
	struct cpu_time *c;

	if (rec->cpu >= CPU_TIMES_MAX)
		return 0;
	if (make_room(t, rec->cpu))
		return -ENOMEM;
	c = &t->rows[rec->cpu];
	last = &c->last;
	c->cpu = rec->cpu;
	if (c->readings++) {
		c->user_ns += SINCE(last, rec, user_ns) + SINCE(last, rec, nice_ns);
		c->system_ns += SINCE(last, rec, system_ns);
		c->irq_ns += SINCE(last, rec, irq_ns) + SINCE(last, rec, softirq_ns);
		c->idle_ns += SINCE(last, rec, idle_ns);
		c->iowait_ns += SINCE(last, rec, iowait_ns);
		c->steal_ns += SINCE(last, rec, steal_ns);
		set_shares(c);
	}
	c->last = *rec;
	return 0;
}

void cpu_times__sum(const struct cpu_times *t, struct cpu_time *out)
{
	const struct cpu_time *c;
	double most = -1;
	size_t i;

	*out = (struct cpu_time){0};
	for (i = 0; i < t->n; i++) {
		c = &t->rows[i];
		if (!c->readings)
			continue;
		out->readings += c->readings;
		out->user_ns += c->user_ns;
		out->system_ns += c->system_ns;
		out->irq_ns += c->irq_ns;
		out->idle_ns += c->idle_ns;
		out->iowait_ns += c->iowait_ns;
		out->steal_ns += c->steal_ns;
		if (c->steal_pct > most) {
			most = c->steal_pct;
			out->cpu = c->cpu;
		}
	}
	set_shares(out);
}

void cpu_times__free(struct cpu_times *t)
{
	free(t->rows);
	*t = (struct cpu_times){0};
}
