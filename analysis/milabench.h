/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Milabench's statistics, table and summary over its `.data` files: JSON lines of
 * {"event", "data", "pipe"}, one file per process group, as `milabench run` and `xpugap run`
 * write them.
 *
 * The formulas are those of Milabench (milabench/summary.py and report.py, 2026-07): rates and
 * loads lose their least and greatest value where there are five or more, deviations are those of
 * the population, the score is a weighted geometric mean.
 */
#ifndef XPUGAP_ANALYSIS_MILABENCH_H
#define XPUGAP_ANALYSIS_MILABENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct milabench_metrics {
	double min, q1, median, q3, max, mean, std, sem; /* all NaN without values */
};

/* What the metrics of one device are: rates of the processes bound to it, and its gauges. */
struct milabench_device {
	char *name; /* "0" */
	bool has_rate;
	struct milabench_metrics rate;
	bool has_load; /* at least one sample of a busy device */
	struct milabench_metrics memory, load, power;
	bool has_power;
};

/* One row of the table: all files whose config has this name. */
struct milabench_bench {
	char *name, *group;
	double weight;
	bool enabled;
	uint64_t n, failures, ngpu;
	struct milabench_metrics train_rate, walltime;
	struct milabench_device *devices; /* in the order of their first sample */
	size_t ndevices;
	bool has_energy;
	double energy, elapsed; /* kJ and s, of the first file that has them */

	/* the table's cells */
	double perf, std_pct, sem_pct, peak_memory, score, perf_watt, median_watt;

	/* beyond Milabench */
	char *units; /* of the rate: "items/s" */
	uint64_t steps;
	const double *rates;  /* of the steps, in the order of the logs */
	const double *step_s; /* their durations, nstep_s of them, where the log has them */
	size_t nstep_s;
	bool has_step_time;
	double step_p50_s, step_p90_s, step_p99_s, step_max_s;
	double first_loss, last_loss; /* NaN if no loss was logged */
};

struct milabench;

struct milabench *milabench__new(void); /* NULL with errno */
void milabench__free(struct milabench *m);

/*
 * Read one file, or all files *.data of a directory in the order of their names. Lines that are
 * no JSON, half written, or not of the format are skipped and counted. A file without config,
 * start and end is ignored, as Milabench ignores it, and named by milabench__ignored().
 * 0 or -errno (printed) if it cannot be read at all.
 */
int milabench__read(struct milabench *m, const char *path);
int milabench__read_dir(struct milabench *m, const char *dir);
/* The same from memory; @path names it. */
int milabench__read_buffer(struct milabench *m, const char *path, const void *data, size_t size);

/* Count bench @name in the scores even if it left no file; @weight replaces its config's. */
int milabench__expect(struct milabench *m, const char *name, const char *group, double weight);

struct milabench_totals {
	uint64_t files, ignored, bad_lines, n, failures;
	bool interrupted;    /* somebody ended the run: there is no score of it */
	double failure_rate; /* of n, 0 if n is 0 */
	double score;	     /* exp(sum w ln(score + 1) / sum w): Milabench since 1.0 */
	double score_ln;     /* exp(sum w ln(score) / sum w): its published tables before */
};

/* Compute everything from what was read; rows sorted by group, then name. 0 or -ENOMEM. */
int milabench__finish(struct milabench *m);
const struct milabench_bench *milabench__benches(const struct milabench *m, size_t *n);
void milabench__totals(const struct milabench *m, struct milabench_totals *out);
/* Path of ignored file @i and what it lacks ("end"); NULL past the last. */
const char *milabench__ignored(const struct milabench *m, size_t i, const char **lacks);

/*
 * Print the report as Milabench does: system, breakdown, scores, and in a last line the score by
 * the older formula. The energy columns stand where a device's power was sampled.
 */
void milabench__print(const struct milabench *m, FILE *out);
/* Step times and losses, which Milabench has no columns for. */
int milabench__print_steps(const struct milabench *m, FILE *out);

/*
 * Write summary.json, {bench: summary} with Milabench's keys, so that its own tools read it; what
 * we add stands under "xpugap" in each bench. summary.json(5). 0 or -errno.
 */
int milabench__write_summary(const struct milabench *m, FILE *out);

#endif
