// SPDX-License-Identifier: BSD-2-Clause
/* xpugap report: how a run went, and what the kernel did in each of its steps. */
#include "userspace/cmd/report.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/cmd/cmd.h"
#include "userspace/lib/log.h"

#define RUNS	   "runs"
#define TRACE_NAME "trace.xpt"

static const struct opt rows[] = {
	{"row", 'r', OPT_LIST, "NAME,...", "only these workloads",
	 .more = "Their ranges, too; units of work are those of the whole trace.",
	 .complete = OPT_COMPLETE_WORKLOAD, OPT_OFFSET(report_opts, rows)},
	{"steps", 's', OPT_FLAG, NULL, "also a table with a line for each step",
	 OPT_OFFSET(report_opts, steps)},
	{"units", 'u', OPT_FLAG, NULL, "also a table with a line for each unit of work",
	 .more = "Units are what a program marks by xpugap_unit_begin(): requests, for example.",
	 OPT_OFFSET(report_opts, units)},
	{"csv", 0, OPT_FLAG, NULL, "print the steps (with --units the units) as CSV, all numbers",
	 .more = "The columns are described in Documentation/analyses/steps.md and units.md.",
	 OPT_OFFSET(report_opts, csv)},
	{"json", 0, OPT_FLAG, NULL, "print everything as one JSON object, see report.json(5)",
	 OPT_OFFSET(report_opts, json)},
	{0},
};

/* ---- what to read ---- */

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* The directory below RUNS that was changed last, or NULL. */
static char *newest_run(void)
{
	DIR *dir = opendir(RUNS);
	struct dirent *d;
	struct stat st;
	struct timespec best = {0, 0};
	char *path, *found = NULL;

	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || asprintf(&path, RUNS "/%s", d->d_name) < 0)
			continue;
		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
		    (!found || st.st_mtim.tv_sec > best.tv_sec ||
		     (st.st_mtim.tv_sec == best.tv_sec && st.st_mtim.tv_nsec > best.tv_nsec))) {
			best = st.st_mtim;
			free(found);
			found = path;
		} else {
			free(path);
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

/*
 * Does its first line tell of an event, as Milabench's files do? One of our own may be empty: its
 * workload did not begin.
 */
static bool is_log(const char *dir, const char *name, bool ours)
{
	char path[PATH_MAX], line[4096] = "";
	FILE *f = NULL;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path))
		f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f)) {
		*line = '\0';
		ours = ours && feof(f);
	} else {
		ours = false;
	}
	if (f)
		fclose(f);
	return ours || (line[strspn(line, " \t")] == '{' && strstr(line, "\"event\""));
}

/* What xpugap run writes before anything else, and after it. */
static bool is_run(const char *dir)
{
	static const char *const names[] = {"config.json", "summary.json"};
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < 2; i++)
		if (snprintf(path, sizeof(path), "%s/%s", dir, names[i]) < (int)sizeof(path) &&
		    exists(path))
			return true;
	return false;
}

static int has_logs(const char *dir)
{
	bool ours = is_run(dir);
	DIR *d = opendir(dir);
	struct dirent *e;
	const char *dot;
	int found = 0;

	if (!d) {
		log_error("cannot read directory '%s': %s", dir, log__err(errno));
		return -errno;
	}
	while (!found && (e = readdir(d))) {
		dot = strrchr(e->d_name, '.');
		found = dot && dot != e->d_name && strcmp(dot, ".data") == 0 &&
			is_log(dir, e->d_name, ours);
	}
	closedir(d);
	return found;
}

/* The trace of a run: trace.xpt, else the only one there is. */
static int find_trace(struct report *r, bool required)
{
	struct traces t;
	char *path;
	int err;

	if (asprintf(&path, "%s/" TRACE_NAME, r->dir) < 0)
		return -ENOMEM;
	if (exists(path)) {
		r->trace = path;
		return 0;
	}
	free(path);
	if (!required)
		return 0;
	if (!traces__in(r->dir)) {
		log_error(
			"'%s' is not the directory of a run (there is no config.json with *.data, "
			"no trace *.xpt, and no *.data of Milabench in it)",
			r->dir);
		return -ENOENT;
	}
	err = traces__find(&t, 1, &r->dir);
	if (err)
		return err;
	if (t.n == 1) {
		r->trace = t.paths[0];
		t.paths[0] = NULL;
	} else {
		log_error("directory '%s' holds %zu traces, name one of them", r->dir, t.n);
		err = -EINVAL;
	}
	traces__free(&t);
	return err;
}

static int find_input(struct report *r, int argc, char **argv)
{
	char *path;
	int logs;

	if (argc > 1) {
		log_error("report: one run or trace at a time ('%s' is too much)", argv[1]);
		return -EINVAL;
	}
	path = argc ? strdup(argv[0]) : newest_run();
	if (!path && !argc && exists(TRACE_DEFAULT))
		path = strdup(TRACE_DEFAULT);
	if (!path) {
		log_error("report on what? (name a run's directory or a trace; there is neither a "
			  "run in '" RUNS "' nor '" TRACE_DEFAULT "' here)");
		return -ENOENT;
	}
	if (!traces__is_directory(path)) {
		r->trace = path;
		return 0;
	}
	r->dir = path;
	logs = has_logs(r->dir);
	if (logs < 0)
		return logs;
	r->has_benches = logs;
	return find_trace(r, !logs);
}

/* ---- reading ---- */

static int read_logs(struct report *r)
{
	if (!r->has_benches)
		return 0;
	r->milabench = milabench__new();
	if (!r->milabench)
		return -ENOMEM;
	return milabench__read_dir(r->milabench, r->dir) ?: milabench__finish(r->milabench);
}

static int read_trace(struct report *r)
{
	struct trace_reader *reader;
	int err;

	if (!r->trace)
		return 0;
	r->set = analysis_set__new();
	if (!r->set)
		return -ENOMEM;
	err = analysis_set__add(r->set, &analysis_steps, NULL)
		      ?: analysis_set__add(r->set, &analysis_units, NULL)
		      ?: analysis_set__add(r->set, &analysis_threads, NULL)
		      ?: analysis_set__add(r->set, &analysis_ranges, NULL);
	if (err)
		return err;
	reader = trace_reader__open(r->trace);
	if (!reader)
		return -errno;
	err = analysis_set__read(r->set, reader) ?: analysis_set__finish(r->set);
	trace_reader__info(reader, &r->info);
	trace_reader__damage(reader, &r->damage);
	trace_reader__free(reader);
	r->session = analysis_set__session(r->set);
	r->steps = analysis_set__state(r->set, &analysis_steps);
	r->units = analysis_set__state(r->set, &analysis_units);
	r->threads = analysis_set__state(r->set, &analysis_threads);
	r->ranges = analysis_set__state(r->set, &analysis_ranges);
	return err;
}

/* A name that was asked for and is not there is a mistake, not an empty report. */
static int check_rows(const struct report *r)
{
	const struct milabench_bench *b = NULL;
	const char **names, *near;
	size_t n = 0, nbenches = 0, nstreams = r->steps ? steps__streams(r->steps) : 0, i, k;
	int err = 0;

	if (r->milabench)
		b = milabench__benches(r->milabench, &nbenches);
	names = calloc(nbenches + nstreams + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (i = 0; i < nbenches; i++)
		names[n++] = b[i].name;
	for (i = 0; i < nstreams; i++)
		names[n++] = steps__stream(r->steps, i)->name;
	for (i = 0; i < r->o->rows.n && !err; i++) {
		for (k = 0; k < n && strcmp(names[k], r->o->rows.items[i]) != 0; k++)
			;
		if (k < n)
			continue;
		err = -ENOENT;
		near = opt__nearest(r->o->rows.items[i], names, n);
		if (near)
			log_error("there is no workload '%s' here, did you mean '%s'?",
				  r->o->rows.items[i], near);
		else
			log_error("there is no workload '%s' here", r->o->rows.items[i]);
	}
	free(names);
	return err;
}

static int print(const struct report *r)
{
	if (r->o->csv)
		return report__print_csv(r, stdout);
	if (r->o->json)
		return report__print_json(r, stdout);
	return report__print_text(r, stdout, log__colour(STDOUT_FILENO));
}

static void release(struct report *r)
{
	report__free_workloads(r);
	analysis_set__free(r->set);
	milabench__free(r->milabench);
	free(r->dir);
	free(r->trace);
}

static int run(const void *values, int argc, char **argv)
{
	const struct report_opts *o = values;
	struct report r = {.o = o};
	int err;

	if (o->csv && o->json) {
		log_error("report: --csv and --json exclude each other");
		return EXIT_USAGE;
	}
	err = find_input(&r, argc, argv);
	if (err) {
		release(&r);
		return err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	err = read_logs(&r) ?: read_trace(&r);
	if (!err)
		err = check_rows(&r);
	if (!err)
		err = report__compute(&r) ?: print(&r);
	if (err == -ENOMEM)
		log_error("out of memory");
	if (!err && trace_damage__any(&r.damage))
		err = -EBADMSG; /* the report says so itself */
	release(&r);
	return err ? EXIT_FAILED : EXIT_OK;
}

static const struct cmd_example examples[] = {
	{"the last run", "xpugap report"},
	{"every step of one workload",
	 "xpugap report runs/suite.2026-11-30_15-04-05 -r resnet50 --steps"},
	{"a program of your own that marks its steps",
	 "xpugap record -o train.xpt -- ./train && xpugap report train.xpt"},
	{"all numbers, for a script",
	 "xpugap report --json D | jq '.workloads[].step_time_ns.p99'"},
	{0},
};

const struct cmd cmd_report = {
	.name = "report",
	.summary = "how a run went, and what the kernel did in each step",
	.operands = "[RUNDIR|TRACE]",
	.description =
		"Reads the directory of a run, or a trace of a program that marks its steps, and "
		"prints how fast it was and what the kernel did meanwhile. Without an operand, the "
		"newest run in '" RUNS "', or '" TRACE_DEFAULT "'.\n\n"
		"First comes what was run, where, and what is missing from the recording: that "
		"decides what the rest is worth. Then Milabench's table. Then for each workload: "
		"throughput (items by time; beside it the rates of single steps: Milabench's perf "
		"is a mean of such rates, so it differs), over time; quantiles of the step time; "
		"and for the thread that marks "
		"the steps, for the loaders, and for all other threads of the program, how much "
		"time of each step they were on a cpu, waited for one in the run queue, and slept; "
		"how often they left a cpu to sleep or by force; and their ioctls. Each number is "
		"per step: its mean, its share of the threads' time, quantiles, and its course "
		"over "
		"the run.\n\n"
		"Of a trace without steps the whole recording is one span: for each process and "
		"its threads, those that ran most first, the time on a cpu, in the run queue and "
		"asleep, switches, and ioctls. The program has to call xpugap_step(), or "
		"xpugap_mark.step() in Python, for more: see xpugap_mark(3).\n\n"
		"The times of the step thread add up to the step's wall time to the nanosecond. "
		"Time of which the recording tells nothing is 'unknown'; it is never guessed.",
	.opts = rows,
	.opts_size = sizeof(struct report_opts),
	.examples = examples,
	.exit_status = "1 also if the trace is damaged or has no end; what can be said is printed.",
	.see_also =
		"xpugap-run(1), xpugap-record(1), xpugap_mark(3), report.json(5), summary.json(5), "
		"trace(5)",
	.run = run,
};
