// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "userspace/trace/records.h"

#define COUNTERS_MAX (REC_HOOK_MAX * 8192) /* hooks and cpus that a kernel may have */

static int replace(char **to, const char *s, size_t n)
{
	char *copy = strndup(s, n);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static struct summary_fact *find_fact(const struct summary *s, const char *key, size_t n)
{
	size_t i;

	for (i = 0; i < s->n_facts; i++)
		if (strlen(s->facts[i].key) == n && memcmp(s->facts[i].key, key, n) == 0)
			return &s->facts[i];
	return NULL;
}

/* Of a fact that is stated again, the last statement holds. */
static int add_fact(struct summary *s, const struct rec *rec)
{
	const char *key, *value;
	struct summary_fact *f;
	size_t key_len, len;

	key = record__text(rec, 0, &key_len);
	value = record__text(rec, 1, &len);
	key_len = strnlen(key, key_len);
	f = find_fact(s, key, key_len);
	if (f)
		return replace(&f->value, value, len);
	if (s->n_facts == SUMMARY_FACTS_MAX)
		return 0;
	f = realloc(s->facts, (s->n_facts + 1) * sizeof(*f));
	if (!f)
		return -ENOMEM;
	s->facts = f;
	f += s->n_facts;
	*f = (struct summary_fact){0};
	if (replace(&f->key, key, key_len) || replace(&f->value, value, len)) {
		free(f->key);
		return -ENOMEM;
	}
	s->n_facts++;
	return 0;
}

static int add_hook(struct summary *s, const struct rec_hook *rec)
{
	struct summary_hook *h;
	const char *way, *reason, *state;
	size_t way_len, reason_len;

	if (rec->hook >= REC_HOOK_MAX || !record__hook_name(rec->hook))
		return 0;
	h = &s->hooks[rec->hook];
	h->name = record__hook_name(rec->hook);
	state = record__value_name(REC_FMT_HOOK_STATE, rec->state);
	h->state = state ? state : "?";
	h->rung = rec->rung;
	h->err = rec->err;
	if (rec->cost_ns > 0)
		h->cost_ns = rec->cost_ns;
	way = record__text(&rec->hdr, 0, &way_len);
	reason = record__text(&rec->hdr, 1, &reason_len);
	return replace(&h->way, way, way_len) ?: replace(&h->reason, reason, reason_len);
}

/* Totals that run per cpu: keep what was counted last of each. */
static int add_counter(struct summary *s, const struct rec_hook_count *rec)
{
	uint64_t key = (uint64_t)rec->hook << 32 | rec->cpu;
	struct rec_hook_count *c = map__get(&s->counters, key);

	if (rec->hook >= REC_HOOK_MAX || (!c && s->counters.n >= COUNTERS_MAX))
		return 0;
	if (!c) {
		c = malloc(sizeof(*c));
		if (!c || map__put(&s->counters, key, c)) {
			free(c);
			return -ENOMEM;
		}
	}
	*c = *rec;
	return 0;
}

static void add_clock(struct summary *s, const struct rec_clock *rec)
{
	struct summary_clock *c = s->clocks, *end = c + s->n_clocks;
	double host, ticks;

	while (c < end && c->clock != rec->clock)
		c++;
	if (c == s->clocks + SUMMARY_CLOCKS_MAX)
		return;
	if (c == end) {
		s->n_clocks++;
		*c = (struct summary_clock){
			.clock = rec->clock,
			.name = rec->clock ? "device" : "realtime",
			.first_host_ns = rec->host_ns,
			.first_ticks = rec->ticks,
		};
	}
	c->readings++;
	if (rec->uncertainty_ns > c->uncertainty_ns)
		c->uncertainty_ns = rec->uncertainty_ns;
	host = (double)(int64_t)(rec->host_ns - c->first_host_ns);
	ticks = (double)(int64_t)(rec->ticks - c->first_ticks);
	c->drift_ppm = host > 0 ? (ticks / host - 1) * 1e6 : NAN;
}

static void add_ring(struct summary *s, uint16_t ring)
{
	uint64_t *word = &s->ring_seen[ring / 64], bit = 1ULL << ring % 64;

	if (*word & bit)
		return;
	*word |= bit;
	s->rings++;
	if (ring < TRACE_RING_USER)
		s->cpus++;
	else if (ring < TRACE_RING_META)
		s->user_rings++;
}

static int add_record(struct summary *s, const struct trace_event *ev)
{
	const struct rec *rec = ev->rec;

	s->counts[rec->type].count++;
	s->counts[rec->type].bytes += rec->size;
	add_ring(s, ev->ring);
	s->last_ns = rec->time_ns;
	switch (rec->type) {
	case REC_META:
		return add_fact(s, rec);
	case REC_HOOK:
		return add_hook(s, (const struct rec_hook *)rec);
	case REC_HOOK_COUNT:
		return add_counter(s, (const struct rec_hook_count *)rec);
	case REC_CLOCK:
		add_clock(s, (const struct rec_clock *)rec);
		return 0;
	case REC_CPU_STAT:
		return cpu_times__add(&s->cpu_times, (const struct rec_cpu_stat *)rec);
	case REC_LOST:
		losses__add(&s->losses, (const struct rec_lost *)rec);
		return 0;
	case REC_TASK:
		s->tasks += ((const struct rec_task *)rec)->flags & REC_TASK_TARGET;
		return 0;
	case REC_TASK_FORK:
		s->tasks++;
		return 0;
	case REC_PMU_COUNTER:
		return summary_pmu__define(s, (const struct rec_pmu_counter *)rec);
	case REC_PMU_READ:
		summary_pmu__add(s, (const struct rec_pmu_read *)rec);
		return 0;
	default:
		return 0;
	}
}

static void sum_counters(struct summary *s)
{
	const struct rec_hook_count *c;
	struct map_slot *slot;

	for (slot = map__next(&s->counters, NULL); slot; slot = map__next(&s->counters, slot)) {
		c = slot->value;
		s->hooks[c->hook].hits += c->hits;
		s->hooks[c->hook].records += c->records;
		s->hooks[c->hook].lost += c->lost;
	}
}

static int read_records(struct summary *s, struct trace_reader *r)
{
	struct trace_event ev;
	bool first = true;
	int ret, err = 0;

	while (!err && (ret = trace_reader__next(r, &ev)) == 1) {
		if (first)
			s->first_ns = ev.rec->time_ns;
		first = false;
		err = add_record(s, &ev);
	}
	if (err)
		log_error("out of memory");
	return err ? err : ret;
}

static struct summary *new_summary(const char *path)
{
	struct summary *s = calloc(1, sizeof(*s));
	const struct record_desc *d;
	size_t i;

	if (!s)
		return NULL;
	s->path = strdup(path);
	for (i = 0; (d = record__at(i)); i++) {
		s->counts[d->type].type = d->name;
		s->counts[d->type].hook = record__hook_name(d->hook);
	}
	for (i = 0; i < REC_HOOK_MAX; i++)
		s->hooks[i].cost_ns = NAN;
	if (s->path)
		return s;
	summary__free(s);
	return NULL;
}

struct summary *summary__read(const char *path)
{
	struct trace_reader *r = trace_reader__open(path);
	struct summary *s = NULL;
	int err;

	if (!r)
		return NULL;
	s = new_summary(path);
	if (!s) {
		log_error("out of memory");
		trace_reader__free(r);
		errno = ENOMEM;
		return NULL;
	}
	err = read_records(s, r);
	sum_counters(s);
	trace_reader__info(r, &s->info);
	trace_reader__damage(r, &s->damage);
	trace_reader__free(r);
	if (!err)
		return s;
	summary__free(s);
	errno = -err;
	return NULL;
}

void summary__free(struct summary *s)
{
	struct map_slot *slot;
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->n_facts; i++) {
		free(s->facts[i].key);
		free(s->facts[i].value);
	}
	for (i = 0; i < REC_HOOK_MAX; i++) {
		free(s->hooks[i].way);
		free(s->hooks[i].reason);
	}
	for (slot = map__next(&s->counters, NULL); slot; slot = map__next(&s->counters, slot))
		free(slot->value);
	map__free(&s->counters);
	summary_pmu__free(s);
	cpu_times__free(&s->cpu_times);
	free(s->facts);
	free(s->path);
	free(s);
}
