// SPDX-License-Identifier: BSD-2-Clause
/* The counters of the pmu hook: opened on each cpu, and given to its programs. */
#include "bpf/include/shared.h" /* skeletons use its types */

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/source/hooks_priv.h"

static const char *const defaults[] = {"cycles", "instructions", "cache-misses", "branch-misses",
				       NULL};

/* On all cpus that are on, or on none. 0 or -errno. */
static int open_counter(const struct hooks *h, struct hook_counter *c)
{
	unsigned int cpu;
	int err = 0;

	c->fds = malloc(h->ncpus * sizeof(*c->fds));
	if (!c->fds)
		return -ENOMEM;
	for (cpu = 0; cpu < h->ncpus; cpu++)
		c->fds[cpu] = -1;
	for (cpu = 0; !err && cpu < h->ncpus; cpu++) {
		if (!cpu_mask__has(&h->facts.online, cpu))
			continue;
		c->fds[cpu] = pmu_event__open(&c->event, (int)cpu);
		err = c->fds[cpu] < 0 && c->fds[cpu] != -ENODEV ? c->fds[cpu] : 0;
	}
	return err;
}

static void close_counter(const struct hooks *h, struct hook_counter *c)
{
	unsigned int cpu;

	for (cpu = 0; c->fds && cpu < h->ncpus; cpu++)
		if (c->fds[cpu] >= 0)
			close(c->fds[cpu]);
	free(c->fds);
	c->fds = NULL;
}

/* "cycles, instructions: WHY": those that are refused for the same reason are told together. */
static void explain(struct hooks *h)
{
	size_t size = sizeof(h->counters_why), n = 0;
	unsigned int i, k;

	*h->counters_why = '\0';
	for (i = 0; i < h->ncounters; i++) {
		const char *why = h->counters[i].why;
		bool told = !h->counters[i].err;

		for (k = 0; !told && k < i; k++)
			told = h->counters[k].err && strcmp(h->counters[k].why, why) == 0;
		for (k = i; !told && k < h->ncounters && n < size; k++)
			if (h->counters[k].err && strcmp(h->counters[k].why, why) == 0)
				n += snprintf(h->counters_why + n, size - n, "%s%s",
					      k > i ? ", "
					      : n   ? "; "
						    : "",
					      h->counters[k].event.name);
		if (!told && n < size)
			n += snprintf(h->counters_why + n, size - n, ": %s", why);
	}
}

int pmu_hooks__open(struct hooks *h, struct family *f)
{
	const char *const *name = h->opts.args.events ? h->opts.args.events : defaults;
	unsigned int works = 0;
	int err = -ENOENT;

	pmu_hooks__close(h);
	for (; *name && h->ncounters < PMU_COUNTERS; name++) {
		struct hook_counter *c = &h->counters[h->ncounters++];

		c->err = pmu_event__find(&c->event, *name, c->why, sizeof(c->why));
		if (!c->err) {
			c->err = open_counter(h, c);
			if (c->err)
				pmu_event__explain(c->err, c->why, sizeof(c->why));
		}
		if (c->err) {
			err = c->err;
			close_counter(h, c);
		}
		works += !c->err;
	}
	explain(h);
	if (!works)
		f->lack = h->counters_why;
	return works ? 0 : err;
}

unsigned int pmu_hooks__count(const struct hooks *h, uint8_t numbers[PMU_COUNTERS])
{
	unsigned int i, n = 0;

	for (i = 0; i < h->ncounters; i++)
		if (!h->counters[i].err)
			numbers[n++] = (uint8_t)i;
	return n;
}

/* Those that are refused have no place among the others: the programs read what is there. */
int pmu_hooks__give(struct hooks *h, struct family *f)
{
	int err = 0, map = bpf_object__find_map_fd_by_name(f->obj, "pmu_events");
	size_t n = strlen(f->report.reason);
	unsigned int i, cpu, place = 0;

	for (i = 0; i < h->ncounters; i++) {
		struct hook_counter *c = &h->counters[i];

		if (c->err)
			continue;
		for (cpu = 0; !err && cpu < h->ncpus; cpu++) {
			__u32 key = cpu * PMU_COUNTERS + place;

			if (c->fds[cpu] >= 0)
				err = bpf_map_update_elem(map, &key, &c->fds[cpu], BPF_ANY);
		}
		place++;
	}
	f->report.partial = *h->counters_why;
	if (!err && *h->counters_why)
		snprintf(f->report.reason + n, sizeof(f->report.reason) - n, "%s%s", n ? "; " : "",
			 h->counters_why);
	return err;
}

void pmu_hooks__close(struct hooks *h)
{
	unsigned int i;

	for (i = 0; i < h->ncounters; i++)
		close_counter(h, &h->counters[i]);
	h->ncounters = 0;
}

const struct hook_counter *hooks__counter(const struct hooks *h, unsigned int i)
{
	return i < h->ncounters ? &h->counters[i] : NULL;
}
