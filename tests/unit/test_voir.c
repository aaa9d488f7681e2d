// SPDX-License-Identifier: BSD-2-Clause
/* What a benchmark says, how it is understood, and how it is kept. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "workloads/suite/datafile.h"
#include "workloads/suite/lines.h"
#include "workloads/suite/voir.h"

/* ---- lines ---- */

struct sink {
	char text[256]; /* lines, each followed by '|' */
	size_t n, lines, bytes, longest;
};

static void take(void *arg, const char *line, size_t n)
{
	struct sink *s = arg;

	s->lines++;
	s->bytes += n;
	s->longest = n > s->longest ? n : s->longest;
	if (s->n + n + 1 < sizeof(s->text)) {
		memcpy(s->text + s->n, line, n);
		s->n += n;
		s->text[s->n++] = '|';
	}
}

Test(lines, pieces_of_any_size)
{
	static const char text[] = "one\n\ntwo three\nhalf";
	struct lines l = {0};
	struct sink s;
	size_t step, i, n;

	for (step = 1; step <= sizeof(text); step++) {
		memset(&s, 0, sizeof(s));
		for (i = 0; i < sizeof(text) - 1; i += n) {
			n = sizeof(text) - 1 - i < step ? sizeof(text) - 1 - i : step;
			cr_assert_eq(lines__feed(&l, text + i, n, take, &s), 0);
		}
		cr_assert_str_eq(s.text, "one\n|\n|two three\n|", "step %zu", step);
		lines__end(&l, take, &s);
		cr_assert_str_eq(s.text, "one\n|\n|two three\n|half|");
	}
	lines__free(&l);
}

Test(lines, long_ones_come_in_parts)
{
	size_t n = LINES_MAX * 2 + 1000, i, len;
	char *text = malloc(n);
	struct lines l = {0};
	struct sink s = {0};

	memset(text, 'x', n);
	text[n - 1] = '\n';
	for (i = 0; i < n; i += len) {
		len = n - i < 65536 ? n - i : 65536;
		lines__feed(&l, text + i, len, take, &s);
	}
	cr_expect_eq(s.bytes, n);
	cr_expect_eq(s.lines, 3);
	cr_expect_eq(s.longest, LINES_MAX);
	free(text);
	lines__free(&l);
}

/* ---- what is said is understood ---- */

static void read_pipe(int fd, struct voir_record *r)
{
	char line[1024];
	ssize_t n = read(fd, line, sizeof(line));

	cr_assert(n > 0 && line[n - 1] == '\n');
	cr_assert_eq(memchr(line, '\n', (size_t)n), line + n - 1, "more than one line");
	voir__parse(line, (size_t)n, r);
}

Test(voir, speaks_what_it_understands)
{
	struct voir_rate rate = {.rate = 812.25,
				 .units = "items/s",
				 .time_s = 1744747747.773759,
				 .elapsed_s = 0.25};
	struct voir_record r;
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(voir__rate(fds[1], &rate), 0);
	read_pipe(fds[0], &r);
	cr_expect(r.kind == VOIR_DATA && r.has_rate && r.rate == 812.25 && !r.has_loss);
	cr_expect_str_eq(r.units, "items/s");
	cr_assert_eq(voir__loss(fds[1], 6.9077), 0);
	read_pipe(fds[0], &r);
	cr_expect(r.has_loss && r.loss == 6.9077 && !r.has_rate);
	cr_assert_eq(voir__loss(fds[1], NAN), 0);
	read_pipe(fds[0], &r);
	cr_expect(r.kind == VOIR_DATA && r.has_loss && isnan(r.loss));
	cr_assert_eq(voir__progress(fds[1], 3, 60), 0);
	read_pipe(fds[0], &r);
	cr_expect(r.has_progress && r.done == 3 && r.wanted == 60);
	cr_assert_eq(voir__phase(fds[1], "run_script"), 0);
	read_pipe(fds[0], &r);
	cr_expect_eq(r.kind, VOIR_EVENT);
	cr_expect_str_eq(r.event, "phase");
	cr_expect_str_eq(json_string_value(json_object_get(r.data, "name")), "run_script");
	voir__clear(&r);
	cr_assert_eq(voir__stop(fds[1]), 0);
	read_pipe(fds[0], &r);
	cr_expect_str_eq(r.event, "stop");
	cr_expect(json_is_null(r.data));
	voir__clear(&r);
	cr_assert_eq(voir__error(fds[1], "RuntimeError", "\"quoted\"\n"), 0);
	read_pipe(fds[0], &r);
	cr_expect_str_eq(json_string_value(json_object_get(r.data, "message")), "\"quoted\"\n");
	voir__clear(&r);
}

static enum voir_kind kind_of(const char *line)
{
	struct voir_record r;

	voir__parse(line, strlen(line), &r);
	voir__clear(&r);
	return r.kind;
}

Test(voir, lines_of_python)
{
	struct voir_record r;
	static const char nan[] =
		"{\"loss\": NaN, \"text\": \"NaN \\\" NaN\", \"x\": -Infinity}\r\n";

	voir__parse(nan, sizeof(nan) - 1, &r);
	cr_expect(r.kind == VOIR_DATA && r.has_loss && isnan(r.loss), "%s", r.message);
	cr_expect_eq(kind_of("{\"$event\": \"phase\", \"$data\": {\"name\": \"init\"}}"),
		     VOIR_EVENT);
	cr_expect_eq(kind_of("{\"$event\": \"stop\"}"), VOIR_EVENT);
	cr_expect_eq(kind_of("{}"), VOIR_DATA);
}

Test(voir, what_is_no_record)
{
	static const char *const bad[] = {"",
					  "\n",
					  "garbage",
					  "{\"rate\": 1",
					  "{\"rate\": 1}{\"rate\": 2}",
					  "[1]",
					  "5",
					  "\"text\"",
					  "null",
					  "{\"$event\": 5}",
					  "NaNN",
					  "{\"a\":}",
					  "{\"a\": 1e99999}",
					  "{\"$event\": \"\"}",
					  "{\"a\": \"\xff\"}"};
	struct voir_record r;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		voir__parse(bad[i], strlen(bad[i]), &r);
		cr_expect_eq(r.kind, VOIR_BAD, "'%s' was taken", bad[i]);
		cr_expect(*r.message && *r.type, "no reason for '%s'", bad[i]);
		voir__clear(&r);
	}
}

/* ---- and kept ---- */

static char path[64];

static void make_path(void)
{
	strcpy(path, "/tmp/xpugap-data.XXXXXX");
	cr_assert(mkdtemp(path));
	strcat(path, "/a.data");
}

static void remove_path(void)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

TestSuite(datafile, .init = make_path, .fini = remove_path);

static void record(struct datafile *d, const char *line)
{
	struct voir_record r;

	voir__parse(line, strlen(line), &r);
	datafile__record(d, &r, line, strlen(line));
	voir__clear(&r);
}

Test(datafile, lines_as_milabench_writes_them)
{
	static const char *const want[] = {
		"{\"event\": \"config\", \"data\": {\"name\": \"a\"}, \"pipe\": null}\n",
		"{\"event\": \"line\", \"data\": \"caf\xc3\xa9 \\\"x\\\"\\n\", \"pipe\": "
		"\"stdout\"}\n",
		"{\"event\": \"binary\", \"data\": \"\\u0061\\u00ff\\u000a\", \"pipe\": "
		"\"stderr\"}\n",
		"{\"event\": \"data\", \"data\": {\"task\": \"train\", \"loss\": NaN}, \"pipe\": "
		"\"data\"}\n",
		"{\"event\": \"phase\", \"data\": {\"name\": \"init\"}, \"pipe\": \"data\"}\n",
		"{\"event\": \"stop\", \"data\": null, \"pipe\": \"data\"}\n",
		"{\"event\": \"line\", \"data\": \"half\", \"pipe\": \"stdout\"}\n",
	};
	struct datafile *d = datafile__new(path);
	char line[512];
	size_t i;
	FILE *f;

	cr_assert(d);
	datafile__event(d, "config", json_pack("{s:s}", "name", "a"), NULL);
	datafile__line(d, "stdout", "caf\xc3\xa9 \"x\"\n", 10);
	cr_assert_eq(datafile__flush(d), 0);
	cr_assert_eq(datafile__flush(d), 0);
	datafile__line(d, "stderr", "a\xff\n", 3);
	record(d, "{\"task\": \"train\", \"loss\": NaN}\r\n");
	cr_assert_eq(datafile__flush(d), 0);
	record(d, "{\"$event\": \"phase\", \"$data\": {\"name\": \"init\"}}\n");
	record(d, "{\"$event\": \"stop\", \"$data\": null}\n");
	datafile__line(d, "stdout", "half", 4);
	cr_assert_eq(datafile__close(d), 0);
	f = fopen(path, "r");
	for (i = 0; i < sizeof(want) / sizeof(*want); i++) {
		cr_assert(fgets(line, sizeof(line), f));
		cr_expect_str_eq(line, want[i]);
	}
	cr_expect_null(fgets(line, sizeof(line), f));
	fclose(f);
}

Test(datafile, garbage_is_kept_as_format_error)
{
	struct datafile *d = datafile__new(path);
	char line[512];
	json_t *root;
	FILE *f;

	record(d, "{\"rate\": \x01\xff\n");
	cr_assert_eq(datafile__close(d), 0);
	f = fopen(path, "r");
	cr_assert(fgets(line, sizeof(line), f));
	fclose(f);
	root = json_loads(line, 0, NULL);
	cr_assert(root, "%s", line);
	cr_expect_str_eq(json_string_value(json_object_get(root, "event")), "format_error");
	cr_expect_str_eq(json_string_value(json_object_get(json_object_get(root, "data"), "line")),
			 "{\"rate\": \x01\xef\xbf\xbd\n");
	json_decref(root);
}

Test(datafile, no_room_is_said_once)
{
	char said[512] = "";
	struct datafile *d;
	FILE *f;

	cr_assert_eq(symlink("/dev/full", path), 0);
	cr_redirect_stderr();
	cr_expect_null(datafile__new(path), "an existing file was taken");
	cr_expect_eq(errno, EEXIST);
	fflush(stderr);
	f = cr_get_redirected_stderr();
	cr_assert(fgets(said, sizeof(said), f));
	cr_expect(strstr(said, "a.data': file exists"), "%s", said);
	d = NULL;
	cr_expect_eq(datafile__close(d), 0);
}

/* Files may have 1,000 bytes: more than eleven such lines, less than twelve. */
Test(datafile, what_does_not_fit_is_cut_at_a_line)
{
	static const char want[] = "{\"event\": \"data\", \"data\": {\"rate\": 1.5, \"units\": "
				   "\"items/s\"}, \"pipe\": "
				   "\"data\"}\n";
	const size_t len = strlen(want), fit = 1000 / len;
	struct datafile *d = datafile__new(path);
	struct rlimit before, few;
	char line[512];
	size_t i;
	FILE *f;

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	few = (struct rlimit){1000, before.rlim_max};
	cr_redirect_stderr();
	for (i = 0; i < 3; i++)
		record(d, "{\"rate\": 1.5, \"units\": \"items/s\"}\n");
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
	cr_expect_eq(datafile__flush(d), 0);
	cr_expect_eq(datafile__observations(d), 3);
	for (i = 0; i < 100; i++)
		record(d, "{\"rate\": 1.5, \"units\": \"items/s\"}\n");
	cr_expect_eq(datafile__flush(d), -EFBIG);
	record(d, "{\"rate\": 1.5, \"units\": \"items/s\"}\n");
	cr_expect_eq(datafile__flush(d), -EFBIG);
	cr_expect_eq(datafile__observations(d), fit, "%lu of %zu", datafile__observations(d), fit);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	cr_expect_eq(datafile__close(d), -EFBIG);
	f = fopen(path, "r");
	for (i = 0; i < fit; i++) {
		cr_assert(fgets(line, sizeof(line), f));
		cr_expect_str_eq(line, want);
	}
	cr_expect_null(fgets(line, sizeof(line), f), "half a line: %s", line);
	fclose(f);
}

Test(voir, text_of_any_bytes_is_a_string)
{
	static const char *const pairs[][2] = {
		{"plain", "plain"},
		{"", ""},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"D\xff\x1b", "D\xef\xbf\xbd\x1b"},
		{"\xc3", "\xef\xbf\xbd"},
	};
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		json_t *string = voir__text(pairs[i][0]);

		cr_assert(string);
		cr_expect_str_eq(json_string_value(string), pairs[i][1]);
		json_decref(string);
	}
}
