// SPDX-License-Identifier: BSD-2-Clause
/* The facts of a recording: what it is of, which hooks it had, what it lost, names and rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/session_priv.h"
#include "userspace/lib/text.h"
#include "userspace/trace/records.h"

void session__fail(struct session *s)
{
	s->err = -ENOMEM;
}

const void *record__full(const struct rec *rec, size_t size, void *copy)
{
	if (rec->size >= size)
		return rec;
	memcpy(copy, rec, rec->size);
	return copy;
}

/* A copy of the @i-th string of @rec. */
static char *text_of(struct session *s, const struct rec *rec, unsigned int i)
{
	size_t len;
	const char *text = record__text(rec, i, &len);
	char *copy = strndup(text ? text : "", len);

	if (!copy)
		session__fail(s);
	return copy;
}

static struct session_fact *find_fact(const struct session *s, const char *key)
{
	size_t i = (size_t)map__get(&s->fact_of, text__hash(key));

	return i && strcmp(s->facts[i - 1].key, key) == 0 ? &s->facts[i - 1] : NULL;
}

void session__on_meta(struct session *s, const struct rec *rec)
{
	char *key = text_of(s, rec, 0);
	char *value = text_of(s, rec, 1);
	struct session_fact *facts, *f;

	if (!key || !value)
		goto drop;
	f = find_fact(s, key);
	if (f) {
		free(f->value);
		f->value = value;
		free(key);
		return;
	}
	if (s->nfacts == SESSION_MAX_FACTS)
		goto drop;
	facts = realloc(s->facts, (s->nfacts + 1) * sizeof(*facts));
	s->facts = facts ? facts : s->facts;
	if (!facts || map__put(&s->fact_of, text__hash(key), (void *)(s->nfacts + 1))) {
		session__fail(s);
		goto drop;
	}
	facts[s->nfacts].key = key;
	facts[s->nfacts++].value = value;
	return;
drop:
	free(key);
	free(value);
}

/* Make room by merging each pair of neighbours of one hook; totals stay exact. */
static void merge_losses(struct session *s)
{
	struct session_loss *to = s->losses, *from;

	for (from = s->losses + 1; from < s->losses + s->nlosses; from++) {
		if (from->hook == to->hook && (from - s->losses) % 2) {
			to->count += from->count;
			if (from->since_ns < to->since_ns)
				to->since_ns = from->since_ns;
			if (from->until_ns > to->until_ns)
				to->until_ns = from->until_ns;
		} else {
			*++to = *from;
		}
	}
	s->nlosses = (size_t)(to - s->losses) + 1;
}

void session__on_lost(struct session *s, const struct rec *rec)
{
	const struct rec_lost *r = RECORD(lost, rec);
	struct session_loss *l;

	if (r->hook < REC_HOOK_MAX)
		s->lost_by_hook[r->hook] += r->count;
	s->lost_total += r->count;
	if (r->hook == REC_HOOK_META && r->why == REC_LOST_WRITE && r->since_ns) {
		s->cut_lost += r->count;
		s->cut_since_ns = r->since_ns;
	}
	if (session__concerns(r->hook, 1u << REC_HOOK_SCHED))
		timeline__lost(&s->timeline, r->since_ns, rec->time_ns);
	if (!s->losses)
		s->losses = calloc(SESSION_MAX_LOSSES, sizeof(*s->losses));
	if (!s->losses) {
		session__fail(s);
		return;
	}
	if (s->nlosses == SESSION_MAX_LOSSES)
		merge_losses(s);
	if (s->nlosses == SESSION_MAX_LOSSES) { /* hooks that alternate: the last one grows */
		l = &s->losses[s->nlosses - 1];
		l->hook = REC_HOOK_MAX;
	} else {
		l = &s->losses[s->nlosses++];
		*l = (struct session_loss){.hook = r->hook, .since_ns = r->since_ns};
	}
	l->count += r->count;
	l->since_ns = r->since_ns < l->since_ns ? r->since_ns : l->since_ns;
	l->until_ns = rec->time_ns > l->until_ns ? rec->time_ns : l->until_ns;
}

bool session__concerns(uint32_t hook, uint32_t hooks)
{
	return hook == REC_HOOK_META || hook >= REC_HOOK_MAX || hooks & 1u << hook;
}

bool session__lost_between(const struct session *s, uint32_t hooks, uint64_t from_ns,
			   uint64_t to_ns)
{
	const struct session_loss *l;
	size_t i;

	for (i = 0; i < s->nlosses; i++) {
		l = &s->losses[i];
		if (session__concerns(l->hook, hooks) && l->until_ns > from_ns &&
		    l->since_ns < to_ns)
			return true;
	}
	return false;
}

void session__on_hook(struct session *s, const struct rec *rec)
{
	const struct rec_hook *r = RECORD(hook, rec);
	struct session_hook *h;

	if (r->hook >= REC_HOOK_MAX)
		return;
	h = &s->hooks[r->hook];
	free(h->way);
	free(h->reason);
	h->told = true;
	h->state = r->state;
	h->rung = r->rung;
	h->err = r->err;
	h->cost_ns = r->cost_ns;
	h->way = text_of(s, rec, 0);
	h->reason = text_of(s, rec, 1);
	if (r->hook == REC_HOOK_SCHED &&
	    (r->state == REC_HOOK_ATTACHED || r->state == REC_HOOK_DEGRADED))
		session__sched_flows(s, rec->time_ns);
}

/* Running totals: each record replaces what the cpu said before. */
void session__on_hook_count(struct session *s, const struct rec *rec)
{
	const struct rec_hook_count *r = RECORD(hook_count, rec);
	uint64_t key = (uint64_t)r->hook << 32 | r->cpu;
	struct rec_hook_count *last;
	struct session_hook *h;

	if (r->hook >= REC_HOOK_MAX)
		return;
	last = map__get(&s->counts, key);
	if (!last) {
		last = calloc(1, sizeof(*last));
		if (!last || map__put(&s->counts, key, last)) {
			free(last);
			session__fail(s);
			return;
		}
	}
	h = &s->hooks[r->hook];
	h->hits += r->hits - last->hits;
	h->records += r->records - last->records;
	h->lost += r->lost - last->lost;
	*last = *r;
}

void session__on_row(struct session *s, const struct rec *rec)
{
	const struct rec_row *r = RECORD(row, rec);
	struct session_row *row, **rows;
	struct process *p;

	if (r->state == REC_ROW_END) {
		row = map__del(&s->open_rows, r->pid);
		if (!row)
			return;
		row->ended = true;
		row->end_ns = rec->time_ns;
		row->status = r->status;
		return;
	}
	if (s->nrows == SESSION_MAX_ROWS)
		return;
	row = calloc(1, sizeof(*row));
	rows = realloc(s->rows, (s->nrows + 1) * sizeof(struct session_row *));
	s->rows = rows ? rows : s->rows;
	if (!row || !rows) {
		free(row);
		session__fail(s);
		return;
	}
	rows[s->nrows++] = row;
	row->name = text_of(s, rec, 0);
	row->device = text_of(s, rec, 1);
	row->pid = r->pid;
	row->repeat = r->repeat;
	row->begin_ns = rec->time_ns;
	if (map__put(&s->open_rows, r->pid, row))
		session__fail(s);
	p = map__get(&s->processes, r->pid);
	if (p)
		p->row = row;
}

void session__on_name(struct session *s, const struct rec *rec)
{
	const struct rec_name *r = RECORD(name, rec);
	char *text;

	if (map__get(&s->names, r->id))
		return;
	text = text_of(s, rec, 0);
	if (text && map__put(&s->names, r->id, text)) {
		free(text);
		session__fail(s);
	}
}

const char *session__name(const struct session *s, uint64_t id)
{
	return map__get(&s->names, id);
}

static struct session_device *add_device(struct session *s, uint64_t key)
{
	struct session_device *d, **list;

	list = realloc(s->devices, (s->ndevices + 1) * sizeof(struct session_device *));
	s->devices = list ? list : s->devices;
	d = list ? calloc(1, sizeof(*d)) : NULL;
	if (!d || map__put(&s->device_of, key, d)) {
		free(d);
		session__fail(s);
		return NULL;
	}
	list[s->ndevices++] = d;
	return d;
}

void session__on_device(struct session *s, const struct rec *rec)
{
	const struct rec_device *r = RECORD(device, rec);
	const struct task *t = session__task(s, rec->tid);
	uint32_t pid = t ? t->pid : 0;
	uint64_t key = (uint64_t)pid << 32 | r->device;
	struct session_device *d = map__get(&s->device_of, key);

	if (!d && s->ndevices < SESSION_MAX_DEVICES)
		d = add_device(s, key);
	if (!d)
		return;
	d->pid = pid;
	d->device = r->device;
	free(d->name);
	d->name = text_of(s, rec, 0);
}

const char *session__fact(const struct session *s, const char *key)
{
	const struct session_fact *f = find_fact(s, key);

	return f ? f->value : NULL;
}

static void free_values(struct map *m)
{
	struct map_slot *slot;

	for (slot = map__next(m, NULL); slot; slot = map__next(m, slot))
		free(slot->value);
	map__free(m);
}

void session__free_facts(struct session *s)
{
	size_t i;

	free_values(&s->names);
	free_values(&s->counts);
	for (i = 0; i < s->nrows; i++) {
		free(s->rows[i]->name);
		free(s->rows[i]->device);
		free(s->rows[i]);
	}
	for (i = 0; i < s->ndevices; i++) {
		free(s->devices[i]->name);
		free(s->devices[i]);
	}
	free(s->devices);
	map__free(&s->device_of);
	map__free(&s->fact_of);
	map__free(&s->open_rows);
	for (i = 0; i < s->nfacts; i++) {
		free(s->facts[i].key);
		free(s->facts[i].value);
	}
	for (i = 0; i < REC_HOOK_MAX; i++) {
		free(s->hooks[i].way);
		free(s->hooks[i].reason);
	}
	free(s->rows);
	free(s->facts);
	free(s->losses);
}
