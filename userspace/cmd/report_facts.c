// SPDX-License-Identifier: BSD-2-Clause
/* What report says of each workload, as one series of numbers per fact. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/report.h"

static struct fact *add_fact(struct report_workload *w, enum fact_section section,
			     enum fact_kind kind, const char *key, const char *label)
{
	struct fact *f = &w->facts[w->nfacts];

	if (w->nfacts == FACTS_MAX)
		return NULL;
	memset(f, 0, sizeof(*f));
	f->key = strdup(key);
	if (!f->key)
		return NULL;
	f->label = label;
	f->section = section;
	f->kind = kind;
	f->share = NAN;
	w->nfacts++;
	return f;
}

/* Statistics over the finite values. */
static int sum_up(struct fact *f)
{
	double *v = calloc(f->values.n + 1, sizeof(*v));
	size_t n = 0, i;

	if (!v)
		return -ENOMEM;
	for (i = 0, f->total = 0; i < f->values.n; i++)
		if (isfinite(f->values.v[i])) {
			v[n++] = f->values.v[i];
			f->total += f->values.v[i];
		}
	stats__sort(v, n);
	f->mean = stats__mean(v, n);
	f->min = stats__quantile(v, n, 0);
	f->p50 = stats__quantile(v, n, 0.5);
	f->p90 = stats__quantile(v, n, 0.9);
	f->p99 = stats__quantile(v, n, 0.99);
	f->max = stats__quantile(v, n, 1);
	free(v);
	return 0;
}

typedef double (*step_value)(const struct step *step, const void *arg);

static int fill(struct fact *f, const struct step_stream *st, step_value value, const void *arg)
{
	size_t i;
	int err = 0;

	for (i = 0; i < st->n && !err; i++)
		err = series__push(&f->values, value(&st->steps[i], arg));
	return err ? err : sum_up(f);
}

/* A member of struct facts in one group, or summed over all. */
struct member {
	int group; /* enum step_group, or -1 */
	size_t offset;
};

static uint64_t read_member(const struct step *step, const struct member *m)
{
	uint64_t sum = 0;
	int g;

	for (g = 0; g < STEP_GROUPS; g++)
		if (m->group < 0 || m->group == g)
			sum += *(const uint64_t *)((const char *)&step->facts[g] + m->offset);
	return sum;
}

static double member_value(const struct step *step, const void *arg)
{
	return (double)read_member(step, arg);
}

static double wall(const struct step *step, const void *arg)
{
	return (double)(step->end_ns - step->begin_ns);
}

static double rate(const struct step *step, const void *arg)
{
	return step__rate(step);
}

/* How many cpus the workload kept busy. */
static double cpus(const struct step *step, const void *arg)
{
	const struct member running = {-1, offsetof(struct facts, host_ns[HOST_RUNNING])};
	uint64_t ns = step->end_ns - step->begin_ns;

	return ns ? (double)read_member(step, &running) / (double)ns : NAN;
}

/* The hook that tells of it. */
enum need {
	NEED_STATES,
	NEED_IOCTLS,
	NEED_FAULTS,
};

static const struct {
	const char *key, *label;
	size_t offset;
	enum fact_kind kind;
	bool rare; /* not worth a line while it is zero */
	enum need need;
} members[] = {
	{"running_ns", "on cpu", offsetof(struct facts, host_ns[HOST_RUNNING]), FACT_NS},
	{"runnable_ns", "run queue", offsetof(struct facts, host_ns[HOST_RUNNABLE]), FACT_NS},
	{"blocked_ns", "blocked", offsetof(struct facts, host_ns[HOST_BLOCKED]), FACT_NS},
	{"stopped_ns", "stopped", offsetof(struct facts, host_ns[HOST_STOPPED]), FACT_NS, true},
	{"unknown_ns", "unknown", offsetof(struct facts, host_ns[HOST_UNKNOWN]), FACT_NS, true},
	{"voluntary", "vol. switches", offsetof(struct facts, voluntary), FACT_COUNT},
	{"involuntary", "invol. switches", offsetof(struct facts, involuntary), FACT_COUNT},
	{"ioctls", "ioctls", offsetof(struct facts, ioctls), FACT_COUNT, true, NEED_IOCTLS},
	{"ioctl_ns", "in ioctls", offsetof(struct facts, ioctl_ns), FACT_NS, true, NEED_IOCTLS},
	{"faults", "page faults", offsetof(struct facts, faults), FACT_COUNT, true, NEED_FAULTS},
	{"fault_ns", "in faults", offsetof(struct facts, fault_ns), FACT_NS, true, NEED_FAULTS},
};

#define NMEMBERS (sizeof(members) / sizeof(members[0]))

static bool is_known(const struct report *r, size_t member)
{
	switch (members[member].need) {
	case NEED_IOCTLS:
		return r->has_ioctls;
	case NEED_FAULTS:
		return r->has_faults;
	default:
		return r->has_states;
	}
}

static void drop_last(struct report_workload *w)
{
	struct fact *f = &w->facts[--w->nfacts];

	series__free(&f->values);
	free(f->key);
}

/* Shares of times in the threads' whole time; of the carrier, the steps' wall time. */
static void set_shares(struct report_workload *w, enum fact_section section, double total)
{
	struct fact *f;

	for (f = w->facts; f < w->facts + w->nfacts; f++)
		if (f->section == section && f->kind == FACT_NS && total > 0)
			f->share = f->total / total;
}

struct pmu_member {
	int group;
	size_t counter;
};

static double pmu_value(const struct step *step, const void *arg)
{
	const struct pmu_member *m = arg;

	return step->pmu[m->group][m->counter];
}

/* What counters of the hook pmu counted for a group. */
static int pmu_facts(const struct report *r, struct report_workload *w, int group,
		     enum fact_section section)
{
	const struct steps_counter *c;
	struct pmu_member m = {.group = group};
	struct fact *f;
	int err = 0;

	for (; m.counter < STEPS_PMU && !err; m.counter++) {
		c = steps_pmu__counter(steps__pmu(r->steps), m.counter);
		if (!c)
			continue;
		f = add_fact(w, section, c->is_ns ? FACT_NS : FACT_COUNT, c->name, c->name);
		err = f ? fill(f, w->stream, pmu_value, &m) : -ENOMEM;
	}
	return err;
}

static int group_facts(const struct report *r, struct report_workload *w, int group,
		       enum fact_section section)
{
	double total = 0;
	struct member m = {.group = group};
	struct fact *f;
	size_t i;
	int err = 0;

	for (i = 0; i < NMEMBERS; i++) {
		if (!is_known(r, i))
			continue;
		m.offset = members[i].offset;
		f = add_fact(w, section, members[i].kind, members[i].key, members[i].label);
		if (!f)
			return -ENOMEM;
		err = fill(f, w->stream, member_value, &m);
		if (err)
			return err;
		if (members[i].need == NEED_STATES && f->kind == FACT_NS)
			total += f->total;
		if (members[i].rare && f->total == 0)
			drop_last(w);
	}
	err = pmu_facts(r, w, group, section);
	set_shares(w, section, total);
	return err;
}

static int all_facts(const struct report *r, struct report_workload *w)
{
	struct member m = {.group = -1};
	struct fact *f;
	size_t i;
	int err = 0;

	if (r->has_states) {
		f = add_fact(w, FACT_ALL, FACT_VALUE, "cpus", "cpus kept busy");
		err = f ? fill(f, w->stream, cpus, NULL) : -ENOMEM;
	}
	for (i = 0; i < NMEMBERS && !err; i++) {
		if (members[i].need == NEED_STATES || !is_known(r, i))
			continue;
		m.offset = members[i].offset;
		f = add_fact(w, FACT_ALL, members[i].kind, members[i].key, members[i].label);
		err = f ? fill(f, w->stream, member_value, &m) : -ENOMEM;
		/* that there were no ioctls is worth a line, that they took no time is not */
		if (!err && f->kind == FACT_NS && f->total == 0)
			drop_last(w);
	}
	return err;
}

static int copy_series(struct fact *f, const double *v, size_t n, double factor)
{
	size_t i;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = series__push(&f->values, v[i] * factor);
	return err ? err : sum_up(f);
}

static int counter_facts(const struct report *r, struct report_workload *w)
{
	const struct step_counter *c;
	const char *name;
	char id[32];
	struct fact *f;
	int err = 0;

	for (c = w->stream->counters; c < w->stream->counters + w->stream->ncounters; c++) {
		name = session__name(r->session, c->name);
		snprintf(id, sizeof(id), "%#llx", (unsigned long long)c->name);
		if (name && strcmp(name, "rate") == 0)
			continue; /* it is the throughput */
		f = add_fact(w, FACT_COUNTERS, FACT_VALUE, name ? name : id, NULL);
		if (!f)
			return -ENOMEM;
		f->label = f->key;
		err = copy_series(f, c->values.v, c->values.n, 1);
		if (err)
			return err;
	}
	return 0;
}

/* The program's own word on its rate, else items per second. */
static int throughput(const struct report *r, struct report_workload *w)
{
	const struct series *own = step_stream__counter(r->steps, w->stream, "rate");

	w->rate.kind = FACT_VALUE;
	w->units = w->bench && w->bench->units ? w->bench->units : "items/s";
	if (own && w->bench)
		return copy_series(&w->rate, own->v, own->n, 1);
	return fill(&w->rate, w->stream, rate, NULL);
}

static int from_stream(const struct report *r, struct report_workload *w)
{
	const struct step_stream *st = w->stream;
	size_t i;
	int err;

	for (i = 0; i < st->n; i++) {
		w->items += st->steps[i].items;
		w->lost_steps += st->steps[i].lost;
		w->gap_steps += st->steps[i].gap;
	}
	w->span_ns = st->n ? st->steps[st->n - 1].end_ns - st->steps[0].begin_ns : 0;
	if (w->items && w->span_ns)
		w->items_per_s = (double)w->items * 1e9 / (double)w->span_ns;
	w->step_time.kind = FACT_NS;
	err = fill(&w->step_time, st, wall, NULL) ?: throughput(r, w);
	err = err ?: group_facts(r, w, STEP_CARRIER, FACT_STEP);
	if (!err && st->loaders)
		err = group_facts(r, w, STEP_LOADERS, FACT_LOADERS);
	if (!err && st->others)
		err = group_facts(r, w, STEP_OTHERS, FACT_OTHERS);
	return err ?: all_facts(r, w) ?: counter_facts(r, w);
}

static int from_bench(struct report_workload *w)
{
	const struct milabench_bench *b = w->bench;

	w->units = b->units ? b->units : "items/s";
	w->rate.kind = FACT_VALUE;
	w->step_time.kind = FACT_NS;
	return copy_series(&w->rate, b->rates, b->steps, 1)
		       ?: copy_series(&w->step_time, b->step_s, b->nstep_s, 1e9);
}

/* ---- which workloads ---- */

/* A run on several devices has a bench for each: "NAME-KIND", where a device is "KIND:WHICH". */
static bool is_bench_of(const char *bench, const char *name, const char *device)
{
	size_t n = strlen(name), kind = strcspn(device, ":");

	if (strcmp(bench, name) == 0)
		return true;
	return strncmp(bench, name, n) == 0 && bench[n] == '-' && strlen(bench + n + 1) == kind &&
	       memcmp(bench + n + 1, device, kind) == 0;
}

static const struct milabench_bench *find_bench(const struct report *r, const char *name,
						const char *device)
{
	const struct milabench_bench *b;
	size_t n, i;

	if (!r->milabench)
		return NULL;
	b = milabench__benches(r->milabench, &n);
	for (i = 0; i < n; i++)
		if (is_bench_of(b[i].name, name, device))
			return &b[i];
	return NULL;
}

bool report__is_asked(const struct report *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->o->rows.n; i++)
		if (strcmp(r->o->rows.items[i], name) == 0)
			return true;
	return r->o->rows.n == 0;
}

static bool has_stream(const struct report *r, const struct milabench_bench *b)
{
	size_t i;

	for (i = 0; i < r->nworkloads; i++)
		if (r->workloads[i].bench == b)
			return true;
	return false;
}

static int add_streams(struct report *r)
{
	const struct step_stream *st;
	struct report_workload *w;
	size_t i;
	int err = 0;

	for (i = 0; r->steps && i < steps__streams(r->steps) && !err; i++) {
		st = steps__stream(r->steps, i);
		if (!report__is_asked(r, st->name))
			continue;
		w = &r->workloads[r->nworkloads++];
		w->name = st->name;
		w->device = st->device ? st->device : "";
		w->repeat = st->repeat;
		w->stream = st;
		w->items_per_s = NAN;
		w->row = st->row;
		w->bench = st->row ? find_bench(r, st->name, w->device) : NULL;
		err = from_stream(r, w);
	}
	return err;
}

static int add_benches(struct report *r)
{
	const struct milabench_bench *b;
	struct report_workload *w;
	size_t n, i;
	int err = 0;

	b = r->milabench ? milabench__benches(r->milabench, &n) : NULL;
	for (i = 0; b && i < n && !err; i++) {
		if (!report__is_asked(r, b[i].name) || has_stream(r, &b[i]))
			continue;
		w = &r->workloads[r->nworkloads++];
		w->name = b[i].name;
		w->device = "";
		w->bench = &b[i];
		w->items_per_s = NAN;
		err = from_bench(w);
	}
	return err;
}

int report__compute(struct report *r)
{
	size_t n = 0;

	if (r->milabench)
		milabench__benches(r->milabench, &n);
	n += r->steps ? steps__streams(r->steps) : 0;
	r->workloads = calloc(n + 1, sizeof(*r->workloads));
	if (!r->workloads)
		return -ENOMEM;
	r->has_states = r->session && r->session->sched_flows;
	r->has_ioctls = r->session && report__hook_works(r, REC_HOOK_SYSCALL, NULL);
	/* traces that are older than that hook do not tell of it at all */
	r->has_faults = r->session && r->session->hooks[REC_HOOK_FAULT].told &&
			report__hook_works(r, REC_HOOK_FAULT, NULL);
	return add_streams(r) ?: add_benches(r);
}

void report__free_workloads(struct report *r)
{
	struct report_workload *w;
	size_t i;

	for (i = 0; i < r->nworkloads; i++) {
		w = &r->workloads[i];
		while (w->nfacts)
			drop_last(w);
		series__free(&w->rate.values);
		series__free(&w->step_time.values);
	}
	free(r->workloads);
}
