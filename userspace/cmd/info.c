// SPDX-License-Identifier: BSD-2-Clause
/* xpugap info: what a trace holds, how it was recorded, and what is missing. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/info_paths.h"
#include "userspace/cmd/summary.h"
#include "userspace/lib/column.h"
#include "userspace/lib/json.h"
#include "userspace/lib/log.h"
#include "userspace/lib/text.h"
#include "userspace/trace/records.h"

#define NSEC	    1000000000
#define LABEL_WIDTH 20

struct info_opts {
	bool json;
	bool types;
	bool paths;
};

static const struct opt rows[] = {
	{"json", 0, OPT_FLAG, NULL, "print a JSON object for each trace",
	 OPT_OFFSET(info_opts, json)},
	{"types", 0, OPT_FLAG, NULL, "print what types of records there are, and their fields",
	 OPT_OFFSET(info_opts, types)},
	{"paths", 0, OPT_FLAG, NULL,
	 "print where the mark library is, and how to compile a program with it",
	 .more = "Nothing is read then. With --json, an object; what is not there is left out.",
	 OPT_OFFSET(info_opts, paths)},
	{0},
};

static const struct cmd_example examples[] = {
	{"How was it recorded, and is it whole?", "xpugap info run.xpt"},
	{"Check in a script that nothing was lost",
	 "xpugap info --json run.xpt | jq .lost.records"},
	{"Where is the library for marks?", "xpugap info --paths"},
	{0},
};

#define HOOK_COLUMN(member, n, t, c, w)                                                            \
	{                                                                                          \
		.name = n, .title = t, .type = c, .width = w,                                      \
		.offset = offsetof(struct summary_hook, member)                                    \
	}

static const struct column hook_columns[] = {
	HOOK_COLUMN(name, "hook", "hook", COL_STR, -10),
	HOOK_COLUMN(state, "state", "state", COL_STR, -9),
	HOOK_COLUMN(way, "way", "way", COL_STR, -8),
	HOOK_COLUMN(rung, "rung", "rung", COL_U64, 4),
	HOOK_COLUMN(err, "err", "err", COL_S64, 3),
	HOOK_COLUMN(cost_ns, "cost_ns", "ns/hit", COL_F64, 7),
	HOOK_COLUMN(hits, "hits", "hits", COL_U64, 10),
	HOOK_COLUMN(records, "records", "records", COL_U64, 10),
	HOOK_COLUMN(lost, "lost", "lost", COL_U64, 6),
	HOOK_COLUMN(reason, "reason", "reason", COL_STR, -1),
};

#define CLOCK_COLUMN(member, n, t, c, w, p)                                                        \
	{                                                                                          \
		.name = n, .title = t, .type = c, .width = w, .precision = p,                      \
		.offset = offsetof(struct summary_clock, member)                                   \
	}

static const struct column clock_columns[] = {
	CLOCK_COLUMN(clock, "clock", "clock", COL_U64, 5, 0),
	CLOCK_COLUMN(name, "name", "name", COL_STR, -10, 0),
	CLOCK_COLUMN(readings, "readings", "readings", COL_U64, 8, 0),
	CLOCK_COLUMN(uncertainty_ns, "uncertainty_ns", "uncertainty", COL_NS, 11, 0),
	CLOCK_COLUMN(drift_ppm, "drift_ppm", "drift ppm", COL_F64, 9, 3),
};

static const struct column count_columns[] = {
	{"type", "records of type", COL_STR, -16, 0, offsetof(struct summary_count, type)},
	{"hook", "hook", COL_STR, -8, 0, offsetof(struct summary_count, hook)},
	{"count", "count", COL_U64, 12, 0, offsetof(struct summary_count, count)},
	{"bytes", "bytes", COL_BYTES, 10, 0, offsetof(struct summary_count, bytes)},
};

/* A loss as it is shown. */
struct loss_row {
	const char *hook, *why;
	char number[12]; /* of a hook that has no name here */
	int64_t cpu;	 /* -1: none in particular */
	uint64_t count;
	double since_s, until_s; /* since the recording began */
};

#define LOSS_COLUMN(member, n, t, c, w, p)                                                         \
	{                                                                                          \
		.name = n, .title = t, .type = c, .width = w, .precision = p,                      \
		.offset = offsetof(struct loss_row, member)                                        \
	}

static const struct column loss_columns[] = {
	LOSS_COLUMN(hook, "hook", "lost by hook", COL_STR, -12, 0),
	LOSS_COLUMN(cpu, "cpu", "cpu", COL_S64, 4, 0),
	LOSS_COLUMN(why, "why", "why", COL_STR, -8, 0),
	LOSS_COLUMN(count, "count", "count", COL_U64, 12, 0),
	LOSS_COLUMN(since_s, "since_s", "since s", COL_F64, 10, 3),
	LOSS_COLUMN(until_s, "until_s", "until s", COL_F64, 10, 3),
};

#define PMU_COLUMN(member, t, c, w, p)                                                             \
	{                                                                                          \
		.name = #member, .title = t, .type = c, .width = w, .precision = p,                \
		.offset = offsetof(struct summary_pmu, member)                                     \
	}

static const struct column pmu_columns[] = {
	PMU_COLUMN(name, "counter", COL_STR, -24, 0),
	PMU_COLUMN(count, "count", COL_F64, 16, 0),
	PMU_COLUMN(scale, "scale", COL_F64, 6, 4),
	PMU_COLUMN(unit, "unit", COL_STR, -6, 0),
	PMU_COLUMN(running_pct, "there %", COL_F64, 7, 1),
	PMU_COLUMN(err, "err", COL_S64, 4, 0),
	PMU_COLUMN(by, "named by", COL_STR, -8, 0),
	PMU_COLUMN(why, "why not", COL_STR, -1, 0),
};

#define CPU_COLUMN(member, c, w, p)                                                                \
	{                                                                                          \
		.name = #member, .title = #member, .type = c, .width = w, .precision = p,          \
		.offset = offsetof(struct cpu_time, member)                                        \
	}

static const struct column cpu_columns[] = {
	CPU_COLUMN(cpu, COL_U64, 5, 0),	       CPU_COLUMN(readings, COL_U64, 8, 0),
	CPU_COLUMN(total_ns, COL_U64, 12, 0),  CPU_COLUMN(user_pct, COL_F64, 8, 2),
	CPU_COLUMN(system_pct, COL_F64, 8, 2), CPU_COLUMN(irq_pct, COL_F64, 8, 2),
	CPU_COLUMN(idle_pct, COL_F64, 8, 2),   CPU_COLUMN(iowait_pct, COL_F64, 8, 2),
	CPU_COLUMN(steal_ns, COL_U64, 12, 0),  CPU_COLUMN(steal_pct, COL_F64, 8, 2),
};

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* ---- rows ---- */

static size_t loss_rows(const struct summary *s, struct loss_row *out)
{
	const char *hook, *why;
	const struct loss *l;
	size_t i;

	for (i = 0; i < s->losses.n; i++) {
		l = &s->losses.rows[i];
		hook = record__value_name(REC_FMT_HOOK, l->hook);
		why = record__value_name(REC_FMT_WHY, l->why);
		out[i] = (struct loss_row){
			.hook = loss__is_cut(l->hook, l->why, l->since_ns) ? "all"
				: hook					   ? hook
									   : out[i].number,
			.why = why ? why : "?",
			.cpu = l->cpu == REC_NO_CPU ? -1 : (int64_t)l->cpu,
			.count = l->count,
			.since_s = (double)(int64_t)(l->since_ns - s->info.begin_ns) / NSEC,
			.until_s = (double)(int64_t)(l->until_ns - s->info.begin_ns) / NSEC,
		};
		snprintf(out[i].number, sizeof(out[i].number), "%u", l->hook);
	}
	return i;
}

/* Did the file take no more before the recording was over? */
static bool is_cut(const struct summary *s)
{
	const struct loss *l;

	for (l = s->losses.rows; l < s->losses.rows + s->losses.n; l++)
		if (loss__is_cut(l->hook, l->why, l->since_ns))
			return true;
	return false;
}

static size_t hook_rows(const struct summary *s, struct summary_hook *out)
{
	size_t i, n = 0;

	for (i = 0; i < REC_HOOK_MAX; i++) {
		if (!s->hooks[i].name)
			continue;
		out[n] = s->hooks[i];
		if (!out[n].way)
			out[n].way = (char *)"";
		if (!out[n].reason)
			out[n].reason = (char *)"";
		n++;
	}
	return n;
}

/* For people a hit that was not measured has no cost, rather than one that is no number. */
struct hook_line {
	struct summary_hook hook;
	char cost[16];
	const char *cost_p;
};

static void hook_lines(const struct summary_hook *hooks, size_t n, struct hook_line *out)
{
	size_t i;

	for (i = 0; i < n; i++) {
		out[i].hook = hooks[i];
		snprintf(out[i].cost, sizeof(out[i].cost), "-");
		if (!isnan(hooks[i].cost_ns))
			snprintf(out[i].cost, sizeof(out[i].cost), "%.0f", hooks[i].cost_ns);
		out[i].cost_p = out[i].cost;
	}
}

static size_t count_rows(const struct summary *s, struct summary_count *out)
{
	size_t i, n = 0;

	for (i = 0; i < REC_TYPE_MAX; i++)
		if (s->counts[i].count)
			out[n++] = s->counts[i];
	return n;
}

static double bytes_per_record(const struct summary *s)
{
	return s->info.records ? (double)s->info.bytes / (double)s->info.records : 0;
}

static uint64_t duration_ns(const struct summary *s)
{
	return s->last_ns - s->first_ns;
}

/* Apart from the end, of which a line of its own tells. */
static bool has_bad_parts(const struct summary *s)
{
	return s->damage.bad_head || s->damage.bad_chunks || s->damage.skipped_bytes;
}

static void format_date(char *buf, size_t size, uint64_t real_ns)
{
	time_t t = (time_t)(real_ns / NSEC);
	struct tm tm;

	gmtime_r(&t, &tm);
	if (!strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		*buf = '\0';
}

/* ---- text ---- */

static void label(const char *name)
{
	printf("%-*s", LABEL_WIDTH, name);
}

static void print_damage(const struct summary *s)
{
	const struct trace_damage *d = &s->damage;

	label("damage");
	if (!has_bad_parts(s) && !d->unknown_records) {
		puts("none");
		return;
	}
	printf("%llu chunks with at least %llu records, %llu stray bytes%s",
	       (unsigned long long)d->bad_chunks, (unsigned long long)d->bad_records,
	       (unsigned long long)d->skipped_bytes, d->bad_head ? ", the head" : "");
	if (d->unknown_records)
		printf("; %llu records of unknown types", (unsigned long long)d->unknown_records);
	putchar('\n');
}

static void print_state(const struct summary *s)
{
	char text[512];

	label("complete");
	puts(s->damage.truncated ? "no: it has " TRACES_NO_END
	     : is_cut(s)	 ? "no: it ended early"
				 : "yes");
	label("lost");
	if (s->losses.total)
		losses__describe(&s->losses, s->info.begin_ns, text, sizeof(text));
	puts(s->losses.total ? text : "none");
	print_damage(s);
}

static void print_size(const struct summary *s)
{
	char text[64];

	label("began");
	if (s->damage.bad_head) {
		puts("unknown");
	} else {
		format_date(text, sizeof(text), s->info.realtime_ns);
		printf("%s (%.9f s after boot)\n", text, (double)s->info.begin_ns / NSEC);
	}
	label("duration");
	printf("%s\n", format__ns(text, sizeof(text), duration_ns(s)));
	label("size");
	printf("%s, %llu records, %.1f bytes each\n",
	       format__bytes(text, sizeof(text), s->info.bytes),
	       (unsigned long long)s->info.records, bytes_per_record(s));
	label("recorded");
	printf("%llu tasks, %llu cpus, %llu rings of programs\n", (unsigned long long)s->tasks,
	       (unsigned long long)s->cpus, (unsigned long long)s->user_rings);
}

/* What a hypervisor took of the cpus; a trace that does not say has no such line. */
static void print_stolen(const struct summary *s)
{
	const struct cpu_times *t = &s->cpu_times;
	struct cpu_time sum;

	cpu_times__sum(t, &sum);
	if (!sum.total_ns)
		return;
	label("stolen");
	if (!sum.steal_ns)
		puts("nothing, by a hypervisor");
	else
		printf("%.2f %% of the cpus' time, by the hypervisor; of cpu %llu most: %.2f %%\n",
		       sum.steal_pct, (unsigned long long)sum.cpu, t->rows[sum.cpu].steal_pct);
}

static void print_facts(const struct summary *s)
{
	size_t i;

	for (i = 0; i < s->n_facts; i++) {
		text__print(stdout, s->facts[i].key);
		printf("%*s",
		       strlen(s->facts[i].key) < LABEL_WIDTH
			       ? LABEL_WIDTH - (int)strlen(s->facts[i].key)
			       : 1,
		       "");
		text__print(stdout, s->facts[i].value);
		putchar('\n');
	}
}

static void print_table(const struct column *columns, size_t ncolumns, const void *table, size_t n,
			size_t stride)
{
	if (!n)
		return;
	putchar('\n');
	table__print(stdout, TABLE_TEXT, columns, ncolumns, table, n, stride, NULL);
}

static void print_hooks(const struct summary *s)
{
	struct column columns[N(hook_columns)];
	struct summary_hook hooks[REC_HOOK_MAX];
	struct hook_line lines[REC_HOOK_MAX];
	size_t n = hook_rows(s, hooks), i;

	hook_lines(hooks, n, lines);
	memcpy(columns, hook_columns, sizeof(columns));
	for (i = 0; i < N(columns); i++)
		if (columns[i].offset == offsetof(struct summary_hook, cost_ns)) {
			columns[i].type = COL_STR;
			columns[i].offset = offsetof(struct hook_line, cost_p);
		}
	print_table(columns, N(columns), lines, n, sizeof(lines[0]));
}

static void print_text(const struct summary *s)
{
	struct summary_count counts[REC_TYPE_MAX];
	struct loss_row losses[LOSSES_MAX];

	label("trace");
	text__print(stdout, s->path);
	printf(" (version %u.%u)\n", s->info.version_major, s->info.version_minor);
	print_state(s);
	print_size(s);
	print_stolen(s);
	print_facts(s);
	print_table(loss_columns, N(loss_columns), losses, loss_rows(s, losses), sizeof(losses[0]));
	print_hooks(s);
	print_table(pmu_columns, N(pmu_columns), s->pmu, s->n_pmu, sizeof(s->pmu[0]));
	print_table(clock_columns, N(clock_columns), s->clocks, s->n_clocks, sizeof(s->clocks[0]));
	print_table(count_columns, N(count_columns), counts, count_rows(s, counts),
		    sizeof(counts[0]));
}

/* ---- JSON ---- */

static void json_table(struct json *j, const char *key, const struct column *columns,
		       size_t ncolumns, const void *table, size_t n, size_t stride)
{
	size_t i;

	json__array(j, key);
	for (i = 0; i < n; i++) {
		json__flat_object(j, NULL);
		columns__json(j, columns, ncolumns, (const char *)table + i * stride);
		json__end_object(j);
	}
	json__end_array(j);
}

static void json_state(struct json *j, const struct summary *s)
{
	struct loss_row losses[LOSSES_MAX];

	json__bool(j, "complete", !s->damage.truncated && !is_cut(s));
	json__object(j, "lost");
	json__u64(j, "records", s->losses.total);
	json_table(j, "by", loss_columns, N(loss_columns), losses, loss_rows(s, losses),
		   sizeof(losses[0]));
	json__end_object(j);
	json__object(j, "damage");
	json__bool(j, "head", s->damage.bad_head);
	json__u64(j, "chunks", s->damage.bad_chunks);
	json__u64(j, "records", s->damage.bad_records);
	json__u64(j, "stray_bytes", s->damage.skipped_bytes);
	json__u64(j, "unknown_records", s->damage.unknown_records);
	json__end_object(j);
}

static void json_facts(struct json *j, const struct summary *s)
{
	size_t i;

	json__object(j, "facts");
	for (i = 0; i < s->n_facts; i++)
		json__str(j, s->facts[i].key, s->facts[i].value);
	json__end_object(j);
}

/* Of each cpu of which there are two readings. */
static void json_cpus(struct json *j, const struct summary *s)
{
	const struct cpu_times *t = &s->cpu_times;
	size_t i;

	json__array(j, "cpu_times");
	for (i = 0; i < t->n; i++) {
		if (!t->rows[i].total_ns)
			continue;
		json__flat_object(j, NULL);
		columns__json(j, cpu_columns, N(cpu_columns), &t->rows[i]);
		json__end_object(j);
	}
	json__end_array(j);
}

static void print_json(const struct summary *s)
{
	struct summary_count counts[REC_TYPE_MAX];
	struct summary_hook hooks[REC_HOOK_MAX];
	struct json j;
	char version[16];

	snprintf(version, sizeof(version), "%u.%u", s->info.version_major, s->info.version_minor);
	json__init(&j, stdout, 2);
	json__object(&j, NULL);
	json__str(&j, "trace", s->path);
	json__str(&j, "version", version);
	json_state(&j, s);
	json__u64(&j, "begin_ns", s->info.begin_ns);
	json__u64(&j, "begin_realtime_ns", s->info.realtime_ns);
	json__u64(&j, "first_ns", s->first_ns);
	json__u64(&j, "last_ns", s->last_ns);
	json__u64(&j, "duration_ns", duration_ns(s));
	json__u64(&j, "bytes", s->info.bytes);
	json__u64(&j, "records", s->info.records);
	json__f64(&j, "bytes_per_record", bytes_per_record(s));
	json__u64(&j, "tasks", s->tasks);
	json__u64(&j, "cpus", s->cpus);
	json__u64(&j, "user_rings", s->user_rings);
	json_facts(&j, s);
	json_cpus(&j, s);
	json_table(&j, "hooks", hook_columns, N(hook_columns), hooks, hook_rows(s, hooks),
		   sizeof(hooks[0]));
	json_table(&j, "counters", pmu_columns, N(pmu_columns), s->pmu, s->n_pmu,
		   sizeof(s->pmu[0]));
	json_table(&j, "clocks", clock_columns, N(clock_columns), s->clocks, s->n_clocks,
		   sizeof(s->clocks[0]));
	json_table(&j, "counts", count_columns, N(count_columns), counts, count_rows(s, counts),
		   sizeof(counts[0]));
	json__end_object(&j);
	json__finish(&j);
}

/* ---- types ---- */

/* A string is called by the name of its length, less "_len". */
static int visible_length(const struct record_field *f)
{
	return (int)strlen(f->name) - (record_format__is_length(f->format) ? 4 : 0);
}

static void print_types(void)
{
	const struct record_desc *d;
	const char *hook;
	unsigned int f;
	size_t i;

	for (i = 0; (d = record__at(i)); i++) {
		hook = record__hook_name(d->hook);
		printf("%-16s%-9s%s\n", d->name, hook ? hook : "?", d->what);
		printf("%-25s", "");
		for (f = 0; f < d->n_fields; f++)
			if (d->fields[f].format != REC_FMT_PAD)
				printf("%s%.*s", f ? ", " : "", visible_length(&d->fields[f]),
				       d->fields[f].name);
		putchar('\n');
	}
}

static int info_trace(const char *path, bool json)
{
	struct summary *s = summary__read(path);
	int status;

	if (!s)
		return EXIT_FAILED;
	if (json)
		print_json(s);
	else
		print_text(s);
	status = trace_damage__any(&s->damage) ? EXIT_FAILED : EXIT_OK;
	summary__free(s);
	return status;
}

static int run(const void *opts, int argc, char **argv)
{
	const struct info_opts *o = opts;
	int status = EXIT_OK, st;
	struct traces traces;
	size_t i;

	if (o->types) {
		print_types();
		return EXIT_OK;
	}
	if (o->paths) {
		info_paths__print(o->json);
		return EXIT_OK;
	}
	if (traces__find(&traces, argc, argv))
		return EXIT_FAILED;
	for (i = 0; i < traces.n; i++) {
		if (i && !o->json)
			putchar('\n');
		st = info_trace(traces.paths[i], o->json);
		if (st > status)
			status = st;
	}
	traces__free(&traces);
	return status;
}

const struct cmd cmd_info = {
	.name = "info",
	.summary = "what a trace holds, how it was recorded, what is missing",
	.operands = "[TRACE|DIRECTORY|-]...",
	.description =
		"Reads traces from beginning to end and says first what is missing of them: "
		"whether "
		"they are complete, what was lost while recording, what is damaged. Then when, "
		"where and of what they were recorded, and how much of the cpus' time a "
		"hypervisor gave to others meanwhile; by which hooks, in which way each was "
		"attached and what a hit of it cost; how the clocks ran; and how many records of "
		"each type there are, which is as many as xpugap dump prints.\n\n"
		"A hook can be attached in several ways, its rungs: 0 is the best, which sees all "
		"and costs least; a higher number is what worked where the better ones did not, "
		"and the reason says what it lacks. A cost of - was not measured, for want of "
		"hits. recorder.ring_bytes is the size of each cpu's ring in the kernel.\n\n"
		"A directory stands for the traces in it, - for standard input; without operands, "
		"xpugap.xpt is read.",
	.opts = rows,
	.opts_size = sizeof(struct info_opts),
	.examples = examples,
	.exit_status = "The status is 1 also for a trace that is damaged or has no end.",
	.see_also = "trace(5), xpugap-dump(1), xpugap-record(1)",
	.run = run,
};
