// SPDX-License-Identifier: BSD-2-Clause
/* Milabench's statistics against what Milabench itself prints and stores for its own logs. */
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/milabench.h"

#define DATA	 "tests/data/milabench/"
#define EXPECTED DATA "expected/"

static char *read_file(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t size;
	FILE *out;
	int c;

	cr_assert_not_null(in, "%s", path);
	out = open_memstream(&text, &size);
	while ((c = getc(in)) != EOF)
		putc(c, out);
	fclose(in);
	fclose(out);
	return text;
}

static struct milabench *read_all(const char *const *paths)
{
	struct milabench *m = milabench__new();

	cr_assert_not_null(m);
	for (; *paths; paths++)
		cr_assert_eq(milabench__read(m, *paths), 0, "%s", *paths);
	return m;
}

static struct milabench *read_dirs(const char *a, const char *b)
{
	struct milabench *m = milabench__new();

	cr_assert_eq(milabench__read_dir(m, a), 0);
	if (b)
		cr_assert_eq(milabench__read_dir(m, b), 0);
	return m;
}

/* In the order in which the expected values were made: energy is that of a bench's first file. */
static const char *const l40s[] = {
	DATA "L40S/bert-tf32-fp16.D1.data",
	DATA "L40S/llava-single.D0.data",
	DATA "L40S/bert-tf32-fp16.D0.data",
	DATA "L40S/diffusion-single.D0.data",
	DATA "L40S/fp32.D1.data",
	DATA "L40S/fp32.D3.data",
	DATA "L40S/fp32.D0.data",
	DATA "L40S/llm-full-mp-nodes.data",
	DATA "L40S/brax.0.data",
	DATA "L40S/resnet50.D0.data",
	DATA "L40S/llm-lora-ddp-gpus.0.data",
	DATA "L40S/fp32.D2.data",
	DATA "L40S/lightning.D0.data",
	NULL,
};

static void report_of(struct milabench *m, char **text)
{
	size_t size;
	FILE *out = open_memstream(text, &size);

	cr_assert_eq(milabench__finish(m), 0);
	milabench__print(m, out);
	fclose(out);
}

/*
 * The newer code heads the first column "index", which is as long as "bench". Our last line is
 * beyond Milabench.
 */
static void expect_report(struct milabench *m, const char *path)
{
	char *want = read_file(path), *got = NULL, *body = want, *head, *last;

	report_of(m, &got);
	last = strstr(got, "Score (ln):");
	if (strncmp(body, "Source:", 7) == 0)
		body = strchr(body, '\n') + 1;
	head = strstr(body, "\nindex ");
	if (head)
		memcpy(head + 1, "bench", 5);
	cr_assert_not_null(last);
	cr_expect_eq(strcspn(last, "\n") + 1, strlen(last));
	*last = '\0';
	cr_expect_str_eq(got, body);
	free(want);
	free(got);
	milabench__free(m);
}

Test(milabench, report_l40s)
{
	expect_report(read_all(l40s), EXPECTED "report_L40S_subset_HEAD.txt");
}

Test(milabench, report_a100)
{
	expect_report(read_dirs(DATA "A100", NULL), EXPECTED "report_A100_2023_subset_v1.1.0.txt");
}

Test(milabench, report_weight_replaced)
{
	struct milabench *m = read_dirs(DATA "rijubigo", NULL);

	cr_assert_eq(milabench__expect(m, "benchio", "benchio", 2), 0);
	expect_report(m, EXPECTED "test_report.txt");
}

Test(milabench, report_two_runs)
{
	struct milabench *m = read_dirs(DATA "rijubigo", DATA "sedumoje");

	cr_assert_eq(milabench__expect(m, "benchio", "benchio", 2), 0);
	expect_report(m, EXPECTED "test_report_folder_does_average.txt");
}

/* Python writes NaN, which is no JSON; ours is null. */
static json_t *parse(char *text)
{
	json_error_t e;
	json_t *root;
	char *p;

	for (p = text; (p = strstr(p, ": NaN")); p += 5)
		memcpy(p, ":null", 5);
	root = json_loads(text, 0, &e);
	cr_assert_not_null(root, "%s at %d", e.text, e.line);
	return root;
}

static void expect_same(const json_t *want, const json_t *got, const char *path)
{
	char below[512];
	const char *key;
	const json_t *v;
	double a, b;
	size_t i;

	cr_assert_not_null(got, "%s is missing", path);
	if (json_is_object(want)) {
		json_object_foreach((json_t *)want, key, v)
		{
			snprintf(below, sizeof(below), "%s/%s", path, key);
			if (strcmp(key, "meta") == 0 && !json_object_size(v))
				continue;
			expect_same(v, json_object_get(got, key), below);
		}
	} else if (json_is_array(want)) {
		cr_expect_eq(json_array_size(want), json_array_size(got), "%s", path);
		json_array_foreach(want, i, v) expect_same(v, json_array_get(got, i), path);
	} else if (json_is_number(want)) {
		a = json_number_value(want);
		b = json_number_value(got);
		cr_expect(json_is_number(got) && fabs(a - b) <= 1e-12 * fabs(a),
			  "%s: %.17g, expected %.17g", path, b, a);
	} else {
		cr_expect(json_equal(want, got), "%s", path);
	}
}

static void expect_summary(struct milabench *m, const char *path)
{
	char *text = NULL, *want = read_file(path);
	json_t *a, *b;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(milabench__finish(m), 0);
	cr_assert_eq(milabench__write_summary(m, out), 0);
	fclose(out);
	a = parse(want);
	b = parse(text);
	cr_expect_eq(json_object_size(a), json_object_size(b));
	expect_same(a, b, "");
	json_decref(a);
	json_decref(b);
	free(text);
	free(want);
	milabench__free(m);
}

Test(milabench, summary_l40s)
{
	expect_summary(read_all(l40s), EXPECTED "summary_L40S_subset_HEAD.json");
}

Test(milabench, summary_a100)
{
	expect_summary(read_dirs(DATA "A100", NULL),
		       EXPECTED "summary_A100_2023_subset_v1.1.0.json");
}

Test(milabench, summary_benchio)
{
	expect_summary(read_dirs(DATA "rijubigo", NULL),
		       EXPECTED "summary_benchio_rijubigo_v1.1.0.json");
	expect_summary(read_dirs(DATA "rijubigo", DATA "sedumoje"),
		       EXPECTED "summary_benchio_v1.1.0.json");
}

Test(milabench, compare_medians)
{
	static const char *const dirs[] = {DATA "rijubigo", DATA "sedumoje"};
	static const char *const want[] = {"8780.41", "8286.03"}; /* its test_compare.txt */
	struct milabench *m;
	char got[32];
	size_t i, n;

	for (i = 0; i < 2; i++) {
		m = read_dirs(dirs[i], NULL);
		cr_assert_eq(milabench__finish(m), 0);
		snprintf(got, sizeof(got), "%.2f", milabench__benches(m, &n)->train_rate.median);
		cr_expect_str_eq(got, want[i]);
		milabench__free(m);
	}
}

/* A file whose rates have the printed mean, so that its score is the one in the printed table. */
static void add_printed_row(struct milabench *m, const char *line)
{
	char name[64], text[1024];
	double fail, n, ngpu, perf, sem, std, peak, score, weight;
	int len;

	cr_assert_eq(sscanf(line, "%63s | %lf | %lf | %lf | %lf | %lf%% | %lf%% | %lf | %lf | %lf",
			    name, &fail, &n, &ngpu, &perf, &sem, &std, &peak, &score, &weight),
		     10, "%s", line);
	len = snprintf(text, sizeof(text),
		       "{\"event\": \"config\", \"data\": {\"name\": \"%s\", \"weight\": %g, "
		       "\"enabled\": true}}\n{\"event\": \"start\", \"data\": {\"time\": 1}}\n"
		       "{\"event\": \"data\", \"data\": {\"task\": \"train\", \"rate\": %.17g}}\n"
		       "{\"event\": \"end\", \"data\": {\"time\": 2, \"return_code\": 0}}\n",
		       name, weight, score);
	cr_assert_eq(milabench__read_buffer(m, name, text, (size_t)len), 0);
}

/* Milabench's README: 42 rows, 4175.57 by the formula of its time; 4189.06 by today's. */
Test(milabench, published_score_by_both_formulas)
{
	char *text = read_file(EXPECTED "readme_A100_x8.txt"), *line, *next;
	struct milabench *m = milabench__new();
	struct milabench_totals t;
	size_t rows = 0;

	line = strchr(strstr(text, "bench "), '\n') + 1;
	for (; strstr(line, " | ") && *line != '\n'; line = next) {
		next = strchr(line, '\n') + 1;
		add_printed_row(m, line);
		rows++;
	}
	cr_assert_eq(milabench__finish(m), 0);
	milabench__totals(m, &t);
	cr_expect_eq(rows, 42);
	cr_expect_eq(t.n, rows);
	cr_expect(fabs(t.score_ln - 4175.57) < 0.005, "%f", t.score_ln);
	cr_expect(fabs(t.score - 4189.06) < 0.005, "%f", t.score);
	milabench__free(m);
	free(text);
}

/* ---- logs that are not well ---- */

#define CONFIG "{\"event\": \"config\", \"data\": {\"name\": \"x\", \"enabled\": true}}\n"
#define START  "{\"event\": \"start\", \"data\": {\"time\": 10}}\n"
#define RATE(r)                                                                                    \
	"{\"event\": \"data\", \"data\": {\"task\": \"train\", \"rate\": " r ", \"units\": "       \
	"\"items/s\", \"elapsed\": 0.5}}\n"
#define LOSS(l)	  "{\"event\": \"data\", \"data\": {\"task\": \"train\", \"loss\": " l "}}\n"
#define END(code) "{\"event\": \"end\", \"data\": {\"time\": 12.5, \"return_code\": " code "}}\n"

static struct milabench *read_text(const char *text)
{
	struct milabench *m = milabench__new();

	cr_assert_eq(milabench__read_buffer(m, "x.data", text, strlen(text)), 0);
	cr_assert_eq(milabench__finish(m), 0);
	return m;
}

static void expect_outcome(const char *text, uint64_t n, uint64_t failures, uint64_t bad)
{
	struct milabench *m = read_text(text);
	struct milabench_totals t;

	milabench__totals(m, &t);
	cr_expect_eq(t.n, n, "n %zu", (size_t)t.n);
	cr_expect_eq(t.failures, failures);
	cr_expect_eq(t.bad_lines, bad, "bad %zu", (size_t)t.bad_lines);
	milabench__free(m);
}

Test(milabench, success_rules)
{
	expect_outcome(CONFIG START RATE("1") END("0"), 1, 0, 0);
	expect_outcome(CONFIG START RATE("1") END("1"), 1, 1, 0);
	expect_outcome(CONFIG START RATE("1") END("\"ERROR\""), 1, 1, 0);
	expect_outcome(CONFIG START END("0"), 1, 1, 0);
	expect_outcome(CONFIG START RATE("1") LOSS("NaN") END("0"), 1, 1, 0);
	expect_outcome(CONFIG START RATE("1") LOSS("Infinity") END("0"), 1, 0, 0);
	expect_outcome(CONFIG START RATE("1") "{\"event\": \"stop\"}\n" END("-15"), 1, 0, 0);
	expect_outcome("{\"event\": \"config\", \"data\": {\"name\": \"x\", \"tag\": [\"x\", "
		       "\"nolog\"]}}\n" START END("1"),
		       1, 0, 0);
}

Test(milabench, garbage_is_skipped_and_counted)
{
	expect_outcome(CONFIG START RATE("1") "{\"event\": \"data\", \"da\n" END("0"), 1, 0, 1);
	expect_outcome(CONFIG START RATE("1") END("0") "{\"event\": \"dat", 1, 0, 1);
	expect_outcome("\n\r\n" CONFIG START RATE("1") END("0") "[]\nnull\n7\n\"x\"\n", 1, 0, 4);
	expect_outcome(CONFIG START RATE("\"fast\"") END("0"), 1, 1, 1);
	expect_outcome(CONFIG "{\"event\": \"data\", \"data\": 5}\n" START RATE("2") END("0"), 1, 0,
		       1);
	expect_outcome(CONFIG START RATE("null") RATE("1e999") END("0"), 1, 1, 1);
	expect_outcome("", 0, 0, 0);
}

Test(milabench, files_without_config_start_or_end_are_named)
{
	static const struct {
		const char *text, *lacks;
	} files[] = {
		{START END("0"), "config"},
		{"{\"event\": \"config\", \"data\": {}}\n" START END("0"), "name"},
		{CONFIG END("0"), "start"},
		{CONFIG START RATE("1"), "end"},
	};
	const char *lacks;
	struct milabench *m;
	size_t i, n;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		m = read_text(files[i].text);
		milabench__benches(m, &n);
		cr_expect_eq(n, 0);
		cr_expect_str_eq(milabench__ignored(m, 0, &lacks), "x.data");
		cr_expect_str_eq(lacks, files[i].lacks);
		cr_expect_null(milabench__ignored(m, 1, &lacks));
		milabench__free(m);
	}
}

Test(milabench, nan_rates_make_nan_statistics)
{
	struct milabench *m = read_text(CONFIG START RATE("1") RATE("NaN") RATE("2") END("0"));
	struct milabench_totals t;
	size_t n;

	cr_expect(isnan(milabench__benches(m, &n)->perf));
	milabench__totals(m, &t);
	cr_expect(isnan(t.score)); /* no weight at all */
	milabench__free(m);
}

Test(milabench, strings_that_look_like_literals_stay)
{
	struct milabench *m = read_text("{\"event\": \"config\", \"data\": {\"name\": \"NaN "
					"\\\\\\\"NaN\", \"x\": NaN}}\n" START RATE("1") END("0"));
	size_t n;

	cr_expect_str_eq(milabench__benches(m, &n)->name, "NaN \\\"NaN");
	milabench__free(m);
}

Test(milabench, a_missing_bench_is_a_failure)
{
	struct milabench *m = milabench__new();
	struct milabench_totals t;

	cr_assert_eq(milabench__expect(m, "lost", NULL, 1), 0);
	cr_assert_eq(milabench__finish(m), 0);
	milabench__totals(m, &t);
	cr_expect_eq(t.failures, 1);
	cr_expect_eq(t.failure_rate, 1);
	cr_expect_eq(t.score, 1);
	milabench__free(m);
}

Test(milabench, step_time_and_loss)
{
	struct milabench *m =
		read_text(CONFIG START RATE("1") LOSS("7") RATE("2") LOSS("6") END("0"));
	const struct milabench_bench *b;
	size_t n;

	b = milabench__benches(m, &n);
	cr_expect_eq(b->steps, 2);
	cr_expect_eq(b->step_p50_s, 0.5);
	cr_expect_eq(b->first_loss, 7);
	cr_expect_eq(b->last_loss, 6);
	cr_expect_eq(b->walltime.mean, 2.5);
	cr_expect_str_eq(b->units, "items/s");
	milabench__free(m);
}

Test(milabench, a_line_longer_than_any_event)
{
	struct milabench *m = milabench__new();
	const size_t size = 20u << 20;
	char *text = malloc(size);
	struct milabench_totals t;

	memset(text, 'x', size);
	memcpy(text, CONFIG START, strlen(CONFIG START));
	text[size - 1 - strlen(RATE("1") END("0"))] = '\n';
	memcpy(text + size - strlen(RATE("1") END("0")), RATE("1") END("0"),
	       strlen(RATE("1") END("0")));
	cr_assert_eq(milabench__read_buffer(m, "x", text, size), 0);
	cr_assert_eq(milabench__finish(m), 0);
	milabench__totals(m, &t);
	cr_expect_eq(t.n, 1);
	cr_expect_eq(t.bad_lines, 1);
	milabench__free(m);
	free(text);
}

Test(milabench, unreadable)
{
	struct milabench *m = milabench__new();

	cr_expect_eq(milabench__read(m, "/nonexistent/x.data"), -ENOENT);
	cr_expect_eq(milabench__read_dir(m, "/nonexistent"), -ENOENT);
	cr_expect_lt(milabench__read(m, "/proc/self/mem"), 0);
	milabench__free(m);
}
