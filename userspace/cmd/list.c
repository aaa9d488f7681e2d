// SPDX-License-Identifier: BSD-2-Clause
/* xpugap list: what there is to run, to run on, and to record. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/cmd/cmd.h"
#include "userspace/lib/column.h"
#include "userspace/lib/json.h"
#include "userspace/lib/log.h"
#include "userspace/pmu/event.h"
#include "userspace/source/probe.h"
#include "userspace/source/source.h"
#include "userspace/trace/records.h"
#include "workloads/suite/workload.h"

struct list_opts {
	bool json;
};

static const struct opt rows[] = {
	{"json", 0, OPT_FLAG, NULL, "print JSON", OPT_OFFSET(list_opts, json)},
	{0},
};

/* ---- one thing of a kind ---- */

struct thing {
	const char *name, *summary;
	/* workloads */
	const char *group, *unit;
	double weight;
	uint64_t stop[3];
	const char *hook; /* of a probe */
	char reason[200]; /* why a device or a counter cannot be used here */
	const char *why;  /* that */
	bool usable;	  /* a device */
	bool on;	  /* a probe, by default */
};

#define COL(name, title, type, width, precision, member)                                           \
	{                                                                                          \
		name, title, type, width, precision, offsetof(struct thing, member)                \
	}
#define NAME	COL("name", "NAME", COL_STR, -10, 0, name)
#define SUMMARY COL("summary", "WHAT IT IS", COL_STR, -1, 0, summary)

static const struct column plain[] = {NAME, SUMMARY};
static const struct column workload_columns[] = {
	NAME,
	COL("group", "GROUP", COL_STR, -8, 0, group),
	COL("unit", "UNIT", COL_STR, -8, 0, unit),
	COL("weight", "WEIGHT", COL_F64, 6, 2, weight),
	COL("stop_tiny", "TINY", COL_U64, 4, 0, stop[WORKLOAD_TINY]),
	COL("stop_small", "SMALL", COL_U64, 5, 0, stop[WORKLOAD_SMALL]),
	COL("stop_full", "FULL", COL_U64, 4, 0, stop[WORKLOAD_FULL]),
	SUMMARY,
};
static const struct column device_columns[] = {
	NAME,
	COL("usable", "USABLE", COL_BOOL, -6, 0, usable),
	SUMMARY,
	COL("reason", "", COL_STR, -1, 0, why),
};
static const struct column probe_columns[] = {
	NAME,
	COL("hook", "HOOK", COL_STR, -8, 0, hook),
	COL("default", "DEFAULT", COL_BOOL, -7, 0, on),
	SUMMARY,
};

static const struct column counter_columns[] = {
	COL("name", "NAME", COL_STR, -24, 0, name),
	COL("usable", "USABLE", COL_BOOL, -6, 0, usable),
	COL("summary", "COUNTED", COL_STR, -16, 0, summary),
	COL("reason", "", COL_STR, -1, 0, why),
};

#define THINGS_MAX 128

static size_t get_workloads(struct thing *t)
{
	const struct workload *w;
	size_t n = 0;

	for (; n < THINGS_MAX && workloads[n]; n++) {
		w = workloads[n];
		t[n] = (struct thing){.name = w->name,
				      .summary = w->summary,
				      .group = w->group,
				      .unit = w->unit,
				      .weight = w->weight};
		memcpy(t[n].stop, w->stop, sizeof(t[n].stop));
	}
	return n;
}

static size_t get_devices(struct thing *t)
{
	size_t n = 0;

	for (; n < THINGS_MAX && devices[n]; n++) {
		t[n] = (struct thing){.name = devices[n]->name, .summary = devices[n]->summary};
		t[n].usable = devices[n]->probe(t[n].reason, sizeof(t[n].reason)) == 0;
		t[n].why = t[n].usable ? "" : t[n].reason;
	}
	return n;
}

static size_t get_sizes(struct thing *t)
{
	size_t n = 0;

	for (; workload_sizes[n]; n++)
		t[n] = (struct thing){.name = workload_sizes[n],
				      .summary = workload_size_summaries[n]};
	return n;
}

static size_t get_hooks(struct thing *t)
{
	static const struct thing hooks[] = {
#define X(num, NAME_, name_, what) {.name = #name_, .summary = what},
		REC_HOOKS(X)
#undef X
	};
	/* the first is the recorder itself */
	size_t n = sizeof(hooks) / sizeof(*hooks) - 1;

	memcpy(t, hooks + 1, n * sizeof(*t));
	return n;
}

static size_t get_probes(struct thing *t)
{
	size_t n = 0;

	for (; n < THINGS_MAX && probe_table[n].name; n++)
		t[n] = (struct thing){.name = probe_table[n].name,
				      .summary = probe_table[n].what,
				      .hook = record__hook_name(probe_table[n].hook),
				      .on = probe_table[n].on};
	return n;
}

/* Names that this machine may know, and whether it counts them; libpfm4 knows more. */
static size_t get_counters(struct thing *t)
{
	static char names[THINGS_MAX][PMU_NAME_MAX];
	struct pmu_event e;
	size_t n;
	int fd;

	for (n = 0; n < THINGS_MAX && pmu_event__name(n, names[n]); n++) {
		t[n] = (struct thing){.name = names[n], .summary = "by a unit"};
		fd = pmu_event__find(&e, names[n], t[n].reason, sizeof(t[n].reason));
		if (e.attr.type == PERF_TYPE_SOFTWARE)
			t[n].summary = "by the kernel";
		else if (e.attr.type == PERF_TYPE_HARDWARE || e.attr.type == PERF_TYPE_HW_CACHE)
			t[n].summary = "by the processor";
		if (fd == 0)
			fd = pmu_event__open(&e, -1);
		if (fd < 0 && !*t[n].reason)
			pmu_event__explain(fd, t[n].reason, sizeof(t[n].reason));
		t[n].usable = fd >= 0;
		t[n].why = t[n].reason;
		if (fd >= 0)
			close(fd);
	}
	return n;
}

static size_t get_sources(struct thing *t)
{
	static const struct thing sources[] = {
#define X(name_, what) {.name = #name_, .summary = what},
		SOURCE_TABLE(X)
#undef X
	};

	memcpy(t, sources, sizeof(sources));
	return sizeof(sources) / sizeof(*sources);
}

/* ---- the kinds ---- */

struct kind {
	const char *name;
	size_t (*get)(struct thing *t);
	const struct column *columns;
	size_t ncolumns;
};

#define KIND(name, cols)                                                                           \
	{                                                                                          \
#name, get_##name, cols, sizeof(cols) / sizeof(*(cols))                            \
	}
static const struct kind kinds[] = {
	KIND(workloads, workload_columns),
	KIND(devices, device_columns),
	KIND(sizes, plain),
	KIND(probes, probe_columns),
	KIND(counters, counter_columns),
	KIND(hooks, plain),
	KIND(sources, plain),
};
#define NKINDS (sizeof(kinds) / sizeof(*kinds))

static void print_kind(const struct kind *k, struct json *j, bool title)
{
	static struct thing things[THINGS_MAX];
	size_t n = k->get(things), i;

	if (!j) {
		if (title)
			printf("%s\n", k->name);
		table__print(stdout, TABLE_TEXT, k->columns, k->ncolumns, things, n,
			     sizeof(*things), NULL);
		return;
	}
	json__array(j, k->name);
	for (i = 0; i < n; i++) {
		json__flat_object(j, NULL);
		columns__json(j, k->columns, k->ncolumns, &things[i]);
		json__end_object(j);
	}
	json__end_array(j);
}

/* ---- one workload with its options ---- */

static const char *const type_names[] = {
	[OPT_FLAG] = "flag",  [OPT_STR] = "string",    [OPT_U64] = "integer",
	[OPT_F64] = "number", [OPT_SIZE] = "size",     [OPT_TIME] = "time",
	[OPT_LIST] = "list",  [OPT_CHOICE] = "choice", [OPT_OTHER] = "other",
};

static void options_json(struct json *j, const struct opt *o)
{
	size_t i;

	json__array(j, "options");
	for (; o && o->name; o++) {
		json__flat_object(j, NULL);
		json__str(j, "name", o->name);
		json__str(j, "type", type_names[o->type]);
		json__str(j, "default", o->def);
		json__str(j, "help", o->help);
		if (o->type == OPT_CHOICE) {
			json__array(j, "choices");
			for (i = 0; o->choices[i]; i++)
				json__str(j, NULL, o->choices[i]);
			json__end_array(j);
		}
		json__end_object(j);
	}
	json__end_array(j);
}

static void print_workload(const struct workload *w, struct json *j)
{
	if (!j) {
		printf("%s: %s\n\n  group %s, unit %s, weight %g\n  observations: tiny %llu, small "
		       "%llu, full %llu, and one more\n",
		       w->name, w->summary, w->group, w->unit, w->weight,
		       (unsigned long long)w->stop[WORKLOAD_TINY],
		       (unsigned long long)w->stop[WORKLOAD_SMALL],
		       (unsigned long long)w->stop[WORKLOAD_FULL]);
		if (w->opts && w->opts->name) {
			puts("\noptions:");
			opts__help(w->opts, stdout);
		}
		return;
	}
	json__object(j, w->name);
	json__str(j, "summary", w->summary);
	json__str(j, "group", w->group);
	json__str(j, "unit", w->unit);
	json__f64(j, "weight", w->weight);
	options_json(j, w->opts);
	json__end_object(j);
}

/* ---- the command ---- */

static const struct kind *find_kind(const char *word)
{
	size_t i, len;

	for (i = 0; i < NKINDS; i++) {
		len = strlen(kinds[i].name);
		/* "device" will do for "devices" */
		if (strcmp(word, kinds[i].name) == 0 ||
		    (strlen(word) == len - 1 && strncmp(word, kinds[i].name, len - 1) == 0))
			return &kinds[i];
	}
	return NULL;
}

static const struct workload *find_workload(const char *word)
{
	size_t i;

	for (i = 0; workloads[i]; i++)
		if (strcmp(workloads[i]->name, word) == 0)
			return workloads[i];
	return NULL;
}

static void complain(const char *word)
{
	const char *names[NKINDS + THINGS_MAX], *near;
	size_t n = 0, i;

	for (i = 0; i < NKINDS; i++)
		names[n++] = kinds[i].name;
	for (i = 0; i < THINGS_MAX && workloads[i]; i++)
		names[n++] = workloads[i]->name;
	near = opt__nearest(word, names, n);
	if (near)
		log_error("list: there is no '%s', did you mean '%s'?", word, near);
	else
		log_error("list: there is no '%s' (workloads, devices, sizes, probes, "
			  "counters, hooks, sources, or a workload's name)",
			  word);
}

static int check_words(int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!find_kind(argv[i]) && !find_workload(argv[i])) {
			complain(argv[i]);
			return -EINVAL;
		}
	return 0;
}

static void print_word(const char *word, struct json *j, bool title)
{
	const struct kind *k = find_kind(word);

	if (k)
		print_kind(k, j, title);
	else
		print_workload(find_workload(word), j);
}

static int run(const void *values, int argc, char **argv)
{
	const struct list_opts *o = values;
	struct json json = {0}, *j = o->json ? &json : NULL;
	size_t i, n = argc ? (size_t)argc : NKINDS;

	if (check_words(argc, argv))
		return EXIT_USAGE;
	if (j) {
		json__init(j, stdout, 2);
		json__object(j, NULL);
	}
	for (i = 0; i < n; i++) {
		if (i && !j)
			putchar('\n');
		print_word(argc ? argv[i] : kinds[i].name, j, n > 1);
	}
	if (j) {
		json__end_object(j);
		return json__finish(j) ? EXIT_FAILED : EXIT_OK;
	}
	return EXIT_OK;
}

static const struct cmd_example examples[] = {
	{"everything", "xpugap list"},
	{"a workload with its options", "xpugap list resnet50"},
	{0},
};

const struct cmd cmd_list = {
	.name = "list",
	.summary = "what there is to run and to record",
	.operands = "[WHAT...]",
	.description =
		"Lists workloads, devices, sizes, probes, counters, hooks and sources, or only "
		"what "
		"is named. "
		"The name of a workload shows that workload with its options, which 'xpugap run' "
		"takes.\n\n"
		"Counters are what 'record -e pmu:NAME' counts by names that every kernel knows, "
		"and "
		"by its units. A processor's own events, of which there are hundreds, go by the "
		"names "
		"of libpfm4.\n\n"
		"For a workload the columns TINY, SMALL and FULL are its observations at each "
		"size.",
	.opts = rows,
	.opts_size = sizeof(struct list_opts),
	.examples = examples,
	.see_also = "xpugap-doctor(1), xpugap-record(1), xpugap-run(1)",
	.run = run,
};
