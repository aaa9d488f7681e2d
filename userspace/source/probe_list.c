// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/probe_list.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/include/shared.h"
#include "userspace/lib/log.h"
#include "userspace/pmu/event.h"
#include "userspace/source/probe.h"

/* While a list is read. */
struct reading {
	struct probe_list *l;
	char *const *items;
	size_t n, at; /* items, and the one at hand */
	size_t nnames, nevents;
	char *to;	/* where text goes next */
	bool after_pmu; /* what is no probe is an event */
};

static void add_name(struct reading *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->nnames; i++)
		if (strcmp(r->l->names[i], name) == 0)
			return;
	r->l->names[r->nnames++] = name;
}

static void add_defaults(struct reading *r)
{
	const struct probe *p;

	for (p = probe_table; p->name; p++)
		if (p->on)
			add_name(r, p->name);
}

static bool is_open(const char *event)
{
	bool open = false;

	for (; *event; event++)
		open ^= *event == '/';
	return open;
}

/* Commas between slashes belong to the event: unit/event=1,umask=2/ */
static void add_event(struct reading *r, const char *text)
{
	char *event = r->to;

	r->to = stpcpy(r->to, text);
	while (is_open(event) && r->at + 1 < r->n) {
		*r->to++ = ',';
		r->to = stpcpy(r->to, r->items[++r->at]);
	}
	r->to++;
	r->l->events[r->nevents++] = event;
}

static int set_sample(struct reading *r, const char *text)
{
	uint64_t hz;

	if (opt__parse_u64(text, &hz) || hz < 1 || hz > SAMPLE_HZ_MAX) {
		log_error("probe 'sample': '%s' is no frequency, expected 1 to %d samples a second",
			  text, SAMPLE_HZ_MAX);
		return -EINVAL;
	}
	r->l->args.sample_hz = (uint32_t)hz;
	return 0;
}

static int set_option(struct reading *r, const struct probe *p, const char *text)
{
	if (strcmp(p->name, "sample") == 0)
		return set_sample(r, text);
	if (strcmp(p->name, "pmu") == 0) {
		add_event(r, text);
		return 0;
	}
	if (strcmp(p->name, "syscall") == 0) {
		if (strcmp(text, "agg") == 0)
			return 0;
		log_error("probe 'syscall': unknown option '%s' (there is one: syscall:agg)", text);
		return -EINVAL;
	}
	log_error("probe '%s' takes no option, not '%s'", p->name, text);
	return -EINVAL;
}

/* A record for each of all system calls there is not. */
static int check_bare(const struct probe *p)
{
	if (strcmp(p->name, "syscall") != 0)
		return 0;
	log_error("probe 'syscall' needs an option: syscall:agg");
	return -EINVAL;
}

static int read_item(struct reading *r, const char *item)
{
	const char *colon = strchrnul(item, ':');
	char *name = strndup(item, (size_t)(colon - item));
	const struct probe *p = name ? probe__find(name) : NULL;
	const char *const alone[] = {item, NULL};
	int err = name ? 0 : -ENOMEM;

	free(name);
	if (p) {
		add_name(r, p->name);
		r->after_pmu = strcmp(p->name, "pmu") == 0;
		return *colon ? set_option(r, p, colon + 1) : check_bare(p);
	}
	if (!err && strcmp(item, "default") == 0)
		add_defaults(r);
	else if (!err && r->after_pmu)
		add_event(r, item);
	else if (!err)
		err = probe__check(alone);
	return err;
}

/* Is each event one that there is, whether or not it can be counted here? */
static int check_events(const struct reading *r)
{
	char why[PMU_WHY_MAX];
	struct pmu_event e;
	size_t i;

	for (i = 0; i < r->nevents; i++) {
		if (pmu_event__find(&e, r->l->events[i], why, sizeof(why))) {
			log_error("probe 'pmu': '%s': %s", r->l->events[i], why);
			return -EINVAL;
		}
	}
	if (r->nevents <= PMU_COUNTERS)
		return 0;
	log_error("probe 'pmu': %zu counters are more than the %d that there is room for",
		  r->nevents, PMU_COUNTERS);
	return -EINVAL;
}

int probe_list__parse(struct probe_list *l, const struct opt_list *items)
{
	struct reading r = {.l = l, .items = items->items, .n = items->n};
	size_t bytes = 0, nprobes = 0;
	int err = 0;

	*l = (struct probe_list){0};
	if (!items->n)
		return 0;
	while (probe_table[nprobes].name)
		nprobes++;
	for (r.at = 0; r.at < r.n; r.at++)
		bytes += strlen(r.items[r.at]) + 1;
	l->names = calloc(nprobes + 1, sizeof(*l->names));
	l->events = calloc(r.n + 1, sizeof(*l->events));
	l->text = r.to = calloc(1, bytes + 1);
	if (!l->names || !l->events || !l->text)
		err = -ENOMEM;
	for (r.at = 0; !err && r.at < r.n; r.at++)
		err = read_item(&r, r.items[r.at]);
	err = err ?: check_events(&r);
	if (err)
		probe_list__free(l);
	else if (r.nevents)
		l->args.events = l->events;
	return err;
}

void probe_list__free(struct probe_list *l)
{
	free(l->names);
	free(l->events);
	free(l->text);
	*l = (struct probe_list){0};
}
