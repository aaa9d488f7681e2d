// SPDX-License-Identifier: BSD-2-Clause
/* What must not be concluded from a report, and why. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/report.h"
#include "userspace/trace/records.h"

#define UNKNOWN_LIMIT 0.05
#define FEW_STEPS     10
#define STOLEN_PCT    1 /* less is as good as nothing */

struct speaker {
	void (*say)(void *ctx, const char *text);
	void *ctx;
	size_t said;
};

static void say(struct speaker *sp, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct speaker *sp, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sp->say(sp->ctx, text);
	sp->said++;
}

bool report__hook_works(const struct report *r, enum rec_hook_id hook, const char **why)
{
	const struct session_hook *h = &r->session->hooks[hook];

	if (why)
		*why = h->reason && *h->reason ? h->reason : "not asked for";
	return !h->told || h->state == REC_HOOK_ATTACHED || h->state == REC_HOOK_DEGRADED;
}

static void about_damage(const struct report *r, struct speaker *sp)
{
	const struct trace_damage *d = &r->damage;

	if (d->truncated)
		say(sp, "the trace has " TRACES_NO_END);
	if (d->bad_head)
		say(sp, "the head of the trace is damaged: its date is not known");
	if (d->bad_chunks || d->skipped_bytes)
		say(sp,
		    "the trace is damaged: %llu chunks with at least %llu records are missing, so "
		    "counts and times are too small somewhere",
		    (unsigned long long)d->bad_chunks, (unsigned long long)d->bad_records);
	if (d->unknown_records)
		say(sp,
		    "%llu records are of types that this program does not know (use a newer one)",
		    (unsigned long long)d->unknown_records);
}

static const char *consequence(uint32_t hook)
{
	switch (hook) {
	case REC_HOOK_TASK:
		return "threads may be missing or lack their names";
	case REC_HOOK_SCHED:
		return "times on cpu, in the run queue and blocked are wrong where that was";
	case REC_HOOK_SYSCALL:
		return "counts and times of ioctls are too small";
	case REC_HOOK_FAULT:
		return "counts and times of page faults are too small";
	case REC_HOOK_MARK:
		return "steps may be joined, and loaders taken for other threads";
	default:
		return "something is missing";
	}
}

static void about_losses(const struct report *r, struct speaker *sp)
{
	const struct report_workload *w;
	const char *name;
	uint64_t known = 0, lost;
	const struct session *s = r->session;
	char text[512];
	uint32_t hook;
	size_t i;

	if (s->cut_lost) {
		losses__describe_cut(s->cut_lost, s->cut_since_ns - s->begin_ns, text,
				     sizeof(text));
		say(sp, "%s", text);
	}
	for (hook = 0; hook < REC_HOOK_MAX; hook++) {
		lost = r->session->lost_by_hook[hook];
		name = record__hook_name(hook);
		known += lost;
		lost -= hook == REC_HOOK_META ? s->cut_lost : 0;
		if (lost)
			say(sp, "%llu records of hook '%s' were lost: %s", (unsigned long long)lost,
			    name ? name : "?", consequence(hook));
	}
	if (r->session->lost_total > known)
		say(sp, "%llu records of unknown hooks were lost",
		    (unsigned long long)(r->session->lost_total - known));
	for (i = 0; i < r->nworkloads; i++) {
		w = &r->workloads[i];
		if (w->lost_steps)
			say(sp,
			    "that was in %llu of %zu steps of '%s', which 'xpugap report --steps' "
			    "marks",
			    (unsigned long long)w->lost_steps, w->stream->n, w->name);
	}
}

static uint64_t number_of(const struct report *r, const char *key)
{
	const char *text = session__fact(r->session, key);

	return text ? strtoull(text, NULL, 10) : 0;
}

/* What the recorder changed or turned away, which no loss tells of. */
static void about_altered(const struct report *r, struct speaker *sp)
{
	uint64_t clamped = number_of(r, "mark.clamped") + number_of(r, "trace.clamped");
	uint64_t refused = number_of(r, "mark.refused");
	uint64_t strange = number_of(r, "mark.strange");
	const char *why = session__fact(r->session, "mark.refused_why");

	if (clamped)
		say(sp,
		    "%llu records have another time than they came with (theirs could not be, or "
		    "they came too late): "
		    "steps and states are wrong by as much there",
		    (unsigned long long)clamped);
	if (strange)
		say(sp, "%llu threads that marked could not be told from their process",
		    (unsigned long long)strange);
	if (refused)
		say(sp,
		    "%llu times a process that wanted to mark was not let in%s%s%s: some of its "
		    "steps "
		    "may be missing",
		    (unsigned long long)refused, why ? " (" : "", why ? why : "", why ? ")" : "");
}

static void about_hooks(const struct report *r, struct speaker *sp)
{
	static const struct {
		enum rec_hook_id hook;
		const char *what;
	} hooks[] = {
		{REC_HOOK_SCHED, "where threads spent their time is not known"},
		{REC_HOOK_TASK, "names and parents of threads are not known"},
		{REC_HOOK_SYSCALL, "ioctls are not counted"},
		{REC_HOOK_FAULT, "page faults are not counted"},
		{REC_HOOK_MARK, "there can be no steps"},
	};
	const struct session_hook *h;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		h = &r->session->hooks[hooks[i].hook];
		if (!report__hook_works(r, hooks[i].hook, &why))
			say(sp, "hook '%s' was not recorded (%s): %s",
			    record__hook_name(hooks[i].hook), why, hooks[i].what);
		else if (h->told && h->state == REC_HOOK_DEGRADED && h->reason && *h->reason)
			say(sp, "hook '%s' was attached in a lesser way: %s",
			    record__hook_name(hooks[i].hook), h->reason);
	}
}

/* A program that is held up by the hypervisor does not see it. */
static void about_stolen(const struct report *r, struct speaker *sp)
{
	const struct cpu_times *t = &r->session->cpu_times;
	struct cpu_time sum;

	cpu_times__sum(t, &sum);
	if (sum.steal_pct >= STOLEN_PCT)
		say(sp,
		    "the hypervisor took %.1f %% of the cpus' time (%.1f %% of cpu %llu): times on "
		    "the cpu are longer by as much",
		    sum.steal_pct, t->rows[sum.cpu].steal_pct, (unsigned long long)sum.cpu);
}

static bool is_told_of(enum rec_hook_id hook)
{
	return hook == REC_HOOK_SCHED || hook == REC_HOOK_TASK || hook == REC_HOOK_SYSCALL ||
	       hook == REC_HOOK_FAULT || hook == REC_HOOK_MARK || hook == REC_HOOK_META;
}

/* A hook that the kernel refused, and that has no sentence of its own? */
static bool is_refused(const struct report *r, uint32_t hook, const char **why)
{
	const struct session_hook *h = &r->session->hooks[hook];

	*why = h->reason && *h->reason ? h->reason : "no reason is given";
	return h->told && h->state == REC_HOOK_REFUSED && !is_told_of(hook) &&
	       record__hook_name(hook);
}

/* The others that were refused, those for one reason together. */
static void about_refused(const struct report *r, struct speaker *sp)
{
	const char *why, *other;
	char names[256];
	uint32_t i, k;
	bool first;

	for (i = 0; i < REC_HOOK_MAX; i++) {
		if (!is_refused(r, i, &why))
			continue;
		for (k = 0, first = true; k < i; k++)
			first = first && !(is_refused(r, k, &other) && strcmp(why, other) == 0);
		if (!first)
			continue;
		*names = '\0';
		for (k = i; k < REC_HOOK_MAX; k++)
			if (is_refused(r, k, &other) && strcmp(why, other) == 0)
				snprintf(names + strlen(names), sizeof(names) - strlen(names),
					 "%s'%s'", *names ? ", " : "", record__hook_name(k));
		say(sp, "not recorded either (%s): %s", why, names);
	}
}

/* The share of the step threads' time of which nothing is known. */
static double unknown_share(const struct report_workload *w)
{
	const struct fact *f;

	for (f = w->facts; f < w->facts + w->nfacts; f++)
		if (f->section == FACT_STEP && strcmp(f->key, "unknown_ns") == 0)
			return f->share;
	return 0;
}

static void about_stream(const struct report *r, const struct report_workload *w,
			 struct speaker *sp)
{
	const struct step_stream *st = w->stream;

	if (st->missing || w->gap_steps)
		say(sp,
		    "the marks of %llu steps of '%s' are missing: the steps that begin there in "
		    "%llu places are longer or wrong",
		    (unsigned long long)st->missing, w->name, (unsigned long long)w->gap_steps);
	if (r->has_states && unknown_share(w) > UNKNOWN_LIMIT)
		say(sp, "what the step thread of '%s' did is not known for %.0f %% of its time",
		    w->name, 100 * unknown_share(w));
	if (st->open_ioctls)
		say(sp, "%llu ioctls of '%s' had not returned: they are timed, not counted",
		    (unsigned long long)st->open_ioctls, w->name);
	if (st->dropped_counters)
		say(sp, "'%s' has more than %d counters: %llu values of the others are left out",
		    w->name, STEPS_COUNTERS, (unsigned long long)st->dropped_counters);
	if (st->n == 0)
		say(sp, "no step of '%s' is complete", w->name);
}

static void about_few_steps(const struct report *r, struct speaker *sp)
{
	const struct report_workload *w, *one = NULL;
	size_t few = 0;

	for (w = r->workloads; w < r->workloads + r->nworkloads; w++)
		if (w->stream && w->stream->n && w->stream->n < FEW_STEPS) {
			one = w;
			few++;
		}
	if (few == 1)
		say(sp, "'%s' has %zu steps: p90 and p99 are hardly more than the longest",
		    one->name, one->stream->n);
	else if (few)
		say(sp,
		    "%zu workloads have fewer than %d steps: p90 and p99 are hardly more than the "
		    "longest",
		    few, FEW_STEPS);
}

static void about_logs(const struct report *r, struct speaker *sp)
{
	struct milabench_totals t;
	const char *path, *lacks;
	size_t i;

	milabench__totals(r->milabench, &t);
	for (i = 0; (path = milabench__ignored(r->milabench, i, &lacks)); i++)
		say(sp, "'%s' has no %s: it is not counted, as Milabench does not count it", path,
		    lacks);
	if (t.bad_lines)
		say(sp, "%llu lines of the logs are no events and were left out",
		    (unsigned long long)t.bad_lines);
}

static void about_trace(const struct report *r, struct speaker *sp)
{
	size_t i;

	about_damage(r, sp);
	about_losses(r, sp);
	about_altered(r, sp);
	about_hooks(r, sp);
	about_refused(r, sp);
	about_stolen(r, sp);
	if (steps__streams(r->steps) == 0 && r->session->nrows)
		say(sp, "no workload came to its first step: what follows is of the whole "
			"recording");
	else if (steps__streams(r->steps) == 0 && report__hook_works(r, REC_HOOK_MARK, NULL))
		say(sp, "no steps are marked, so what follows is of the whole recording: for more "
			"the program has to call xpugap_step(), in Python xpugap_mark.step() (see "
			"xpugap_mark(3))");
	for (i = 0; i < r->nworkloads; i++)
		if (r->workloads[i].stream)
			about_stream(r, &r->workloads[i], sp);
	about_few_steps(r, sp);
}

size_t report__warnings(const struct report *r, void (*callback)(void *ctx, const char *text),
			void *ctx)
{
	struct speaker sp = {callback, ctx, 0};

	if (r->session)
		about_trace(r, &sp);
	else
		say(&sp, "there is no trace: what the kernel did is not known");
	if (r->milabench)
		about_logs(r, &sp);
	return sp.said;
}
