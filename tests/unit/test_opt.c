// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/lib/opt.h"

struct values {
	bool flag, loud;
	const char *str;
	uint64_t u64, size, time;
	double f64;
	int choice;
	struct opt_list list;
};

static const char *const colours[] = {"red", "green", "blue", NULL};

static const struct opt rows[] = {
	{"flag", 'f', OPT_FLAG, NULL, "a flag", OPT_OFFSET(values, flag)},
	{"loud", 'l', OPT_FLAG, NULL, "a flag that is set", OPT_OFFSET(values, loud), .def = "yes"},
	{"str", 's', OPT_STR, "TEXT", "a text", OPT_OFFSET(values, str), .def = "nothing"},
	{"u64", 'u', OPT_U64, "N", "a number", OPT_OFFSET(values, u64), .def = "7"},
	{"f64", 0, OPT_F64, "X", "a real number", OPT_OFFSET(values, f64), .def = "0.5"},
	{"size", 0, OPT_SIZE, "BYTES", "a size", OPT_OFFSET(values, size), .def = "4K"},
	{"time", 't', OPT_TIME, "TIME", "a time", OPT_OFFSET(values, time), .def = "2s"},
	{"colour", 'c', OPT_CHOICE, "COLOUR", "a colour", .choices = colours,
	 OPT_OFFSET(values, choice), .def = "green"},
	{"list", 'i', OPT_LIST, "ITEM", "things", OPT_OFFSET(values, list)},
	{NULL},
};

#define MAX_ARGS 16

/* What the parser printed. */
static char said[4096];

/* Parse the words up to NULL with standard error caught in said[]. */
static int parse(int (*parser)(const struct opt *, void *, const char *, int, char **),
		 struct values *v, char **argv)
{
	int argc = 0, result, saved = dup(STDERR_FILENO);
	FILE *tmp = tmpfile();
	size_t n;

	cr_assert(tmp && saved >= 0);
	while (argv[argc])
		argc++;
	memset(v, 0, sizeof(*v));
	fflush(stderr);
	dup2(fileno(tmp), STDERR_FILENO);
	result = parser(rows, v, "test", argc, argv);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(tmp);
	n = fread(said, 1, sizeof(said) - 1, tmp);
	said[n] = '\0';
	fclose(tmp);
	return result;
}

#define WORDS(...)                                                                                 \
	(char **)(const char *[MAX_ARGS])                                                          \
	{                                                                                          \
		"test", ##__VA_ARGS__, NULL                                                        \
	}

/* One word list must fail with a message that holds @text. */
static void refuse(char **argv, const char *text)
{
	struct values v;

	cr_expect_eq(parse(opts__parse, &v, argv), -EINVAL, "'%s' was taken", argv[1]);
	cr_expect(strstr(said, text), "for '%s' it said: %s", argv[1], said);
	cr_expect(strncmp(said, "xpugap: test: ", 14) == 0, "it said: %s", said);
	opts__free(rows, &v);
}

Test(opt, defaults)
{
	struct values v;

	cr_assert_eq(parse(opts__parse, &v, WORDS()), 1);
	cr_expect(!v.flag && v.loud);
	cr_expect_str_eq(v.str, "nothing");
	cr_expect_eq(v.u64, 7);
	cr_expect_float_eq(v.f64, 0.5, 0);
	cr_expect_eq(v.size, 4096);
	cr_expect_eq(v.time, 2000000000);
	cr_expect_eq(v.choice, 1);
	cr_expect_eq(v.list.n, 0);
	cr_expect_str_empty(said);
}

Test(opt, long_options_both_ways)
{
	struct values v;
	char **argv = WORDS("--flag", "--no-loud", "--str=a=b", "--u64", "0x10", "--f64=-2.5",
			    "--size", "1.5M", "--time=250ms", "--colour", "blue", "rest");

	cr_assert_eq(parse(opts__parse, &v, argv), 12);
	cr_expect(v.flag && !v.loud);
	cr_expect_str_eq(v.str, "a=b");
	cr_expect_eq(v.u64, 16);
	cr_expect_float_eq(v.f64, -2.5, 0);
	cr_expect_eq(v.size, 3 << 19);
	cr_expect_eq(v.time, 250000000);
	cr_expect_eq(v.choice, 2);
}

Test(opt, short_options_joined)
{
	struct values v;

	cr_assert_eq(parse(opts__parse, &v, WORDS("-fsword", "-u", "9", "-t5us", "x")), 5);
	cr_expect(v.flag);
	cr_expect_str_eq(v.str, "word");
	cr_expect_eq(v.u64, 9);
	cr_expect_eq(v.time, 5000);
}

Test(opt, empty_value_is_a_value)
{
	struct values v;

	cr_assert_eq(parse(opts__parse, &v, WORDS("--str=", "x")), 2);
	cr_expect_str_empty(v.str);
	cr_assert_eq(parse(opts__parse, &v, WORDS("--str", "", "x")), 3);
	cr_expect_str_empty(v.str);
	refuse(WORDS("--u64="), "--u64: '' is not understood, expected a whole number");
}

Test(opt, the_last_one_counts)
{
	struct values v;

	cr_assert_eq(parse(opts__parse, &v, WORDS("--u64=1", "--u64=2", "--flag", "--no-flag")), 5);
	cr_expect_eq(v.u64, 2);
	cr_expect(!v.flag);
}

Test(opt, lists_append_and_split)
{
	struct values v;

	cr_assert_eq(parse(opts__parse, &v, WORDS("-ia,b", "--list", "c", "--list=,,d,")), 5);
	cr_assert_eq(v.list.n, 4);
	cr_expect_str_eq(v.list.items[0], "a");
	cr_expect_str_eq(v.list.items[1], "b");
	cr_expect_str_eq(v.list.items[2], "c");
	cr_expect_str_eq(v.list.items[3], "d");
	opts__free(rows, &v);
	cr_expect_eq(v.list.n, 0);
	cr_expect_null(v.list.items);
	opts__free(rows, &v);
}

Test(opt, operands_end_the_options)
{
	struct values v;

	cr_expect_eq(parse(opts__parse, &v, WORDS("-f", "prog", "-l", "--str")), 2);
	cr_expect_eq(parse(opts__parse, &v, WORDS("-f", "--", "--flag")), 3);
	cr_expect_eq(parse(opts__parse, &v, WORDS("-", "-f")), 1);
	cr_expect(!v.flag);
}

Test(opt, mixed_operands_keep_their_order)
{
	struct values v;
	char **argv = WORDS("one", "-u", "3", "-", "--flag", "two", "--", "-f", "--", "end");
	int first = parse(opts__parse_mixed, &v, argv);

	cr_assert_eq(first, 11 - 6);
	cr_expect_str_eq(argv[first], "one");
	cr_expect_str_eq(argv[first + 1], "-");
	cr_expect_str_eq(argv[first + 2], "two");
	cr_expect_str_eq(argv[first + 3], "-f");
	cr_expect_str_eq(argv[first + 4], "--");
	cr_expect_str_eq(argv[first + 5], "end");
	cr_expect_eq(v.u64, 3);
	cr_expect(v.flag);
	cr_expect_eq(parse(opts__parse_mixed, &v, WORDS("a", "--bogus", "b")), -EINVAL);
	cr_expect_eq(parse(opts__parse_mixed, &v, WORDS()), 1);
}

Test(opt, help_is_known_everywhere)
{
	struct values v;

	cr_expect_eq(parse(opts__parse, &v, WORDS("-f", "--help")), OPTS_HELP);
	cr_expect_eq(parse(opts__parse, &v, WORDS("-h")), OPTS_HELP);
	cr_expect_eq(parse(opts__parse, &v, WORDS("prog", "--help")), 1);
	cr_expect_eq(parse(opts__parse_mixed, &v, WORDS("dir", "--help")), OPTS_HELP);
	cr_expect_eq(parse(opts__parse_mixed, &v, WORDS("dir", "--", "--help")), 2);
	cr_expect_str_empty(said);
}

Test(opt, mistakes_are_named)
{
	refuse(WORDS("--list=,,"), "--list");
	refuse(WORDS("--flga"), "unknown option '--flga', did you mean '--flag'?");
	refuse(WORDS("--color=red"), "unknown option '--color', did you mean '--colour'?");
	refuse(WORDS("--zzz"), "unknown option '--zzz' (see 'xpugap help test')");
	refuse(WORDS("--fla"), "unknown option '--fla'");
	refuse(WORDS("--no-str"), "unknown option '--no-str'");
	refuse(WORDS("-fz"), "unknown option '-z'");
	refuse(WORDS("--flag=yes"), "--flag takes no value");
	refuse(WORDS("--str"), "--str needs a value: TEXT");
	refuse(WORDS("-fu"), "-u needs a value: N");
	refuse(WORDS("--u64", "x"), "--u64: 'x' is not understood, expected a whole number");
	refuse(WORDS("--u64=-1"), "'-1' is not understood");
	refuse(WORDS("--u64=18446744073709551616"), "is out of range");
	refuse(WORDS("--f64=1e999"), "is out of range, expected a number");
	refuse(WORDS("--f64=nan"), "is out of range");
	refuse(WORDS("--size=1X"), "expected a size such as 4096, 64K or 1G");
	refuse(WORDS("--time=5 days"), "expected a time such as 10s, 250ms or 2m");
	refuse(WORDS("--colour=bleu"),
	       "--colour: unknown 'bleu', did you mean 'blue'? (one of: red, green, blue)");
	refuse(WORDS("-cmauve"), "--colour: unknown 'mauve' (one of: red, green, blue)");
}

Test(opt, set_by_name)
{
	struct values v = {0};

	opts__defaults(rows, &v);
	cr_expect_eq(opts__set(rows, &v, "test", "u64", "12"), 0);
	cr_expect_eq(opts__set(rows, &v, "test", "flag", "yes"), 0);
	cr_expect_eq(opts__set(rows, &v, "test", "no-loud", "yes"), 0);
	cr_expect_eq(v.u64, 12);
	cr_expect(v.flag && !v.loud);
	cr_expect_eq(opts__set(rows, &v, "test", "u65", "12"), -EINVAL);
	cr_expect_eq(opts__set(rows, &v, "test", "u64", "dozen"), -EINVAL);
	cr_expect_eq(v.u64, 12);
}

Test(opt, sizes)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{"0", 0},	   {"4096", 4096}, {"1k", 1024},       {"1KiB", 1024},
		{"0.5M", 1 << 19}, {".5k", 512},   {"2g", 1ULL << 31}, {"1TiB", 1ULL << 40},
		{"8b", 8},	   {"1e3", 1000},  {"0x10", 16},
	};
	static const char *const bad[] = {"", "k", "-1", " 1", "1 k", "1kb", "inf", "nan", "+1"};
	uint64_t v;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_expect_eq(opt__parse_size(good[i].text, &v), 0, "'%s'", good[i].text);
		cr_expect_eq(v, good[i].bytes, "'%s' gave %zu", good[i].text, (size_t)v);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_eq(opt__parse_size(bad[i], &v), -EINVAL, "'%s'", bad[i]);
	cr_expect_eq(opt__parse_size("9000000T", &v), -ERANGE);
	cr_expect_eq(opt__parse_size("1e400", &v), -ERANGE);
}

Test(opt, times)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"10", 10000000000},  {"10s", 10000000000},  {"1.5s", 1500000000},
		{"3ms", 3000000},     {"7us", 7000},	     {"1ns", 1},
		{"2m", 120000000000}, {"1h", 3600000000000},
	};
	uint64_t v;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_expect_eq(opt__parse_time(good[i].text, &v), 0, "'%s'", good[i].text);
		cr_expect_eq(v, good[i].ns, "'%s'", good[i].text);
	}
	cr_expect_eq(opt__parse_time("1d", &v), -EINVAL);
	cr_expect_eq(opt__parse_time("-1s", &v), -EINVAL);
	cr_expect_eq(opt__parse_time("9000000h", &v), -ERANGE);
}

Test(opt, numbers)
{
	uint64_t u;
	double d;

	cr_expect_eq(opt__parse_u64("18446744073709551615", &u), 0);
	cr_expect_eq(u, UINT64_MAX);
	cr_expect_eq(opt__parse_u64("18446744073709551616", &u), -ERANGE);
	cr_expect_eq(opt__parse_u64("010", &u), 0);
	cr_expect_eq(u, 10);
	cr_expect_eq(opt__parse_u64("1 ", &u), -EINVAL);
	cr_expect_eq(opt__parse_u64("+1", &u), -EINVAL);
	cr_expect_eq(opt__parse_f64("1e-3", &d), 0);
	cr_expect_float_eq(d, 0.001, 0);
	cr_expect_eq(opt__parse_f64("inf", &d), -ERANGE);
	cr_expect_eq(opt__parse_f64(" 1", &d), -EINVAL);
	cr_expect_eq(opt__parse_f64("1,5", &d), -EINVAL);
}

Test(opt, nearest)
{
	static const char *const names[] = {"record", "report", "run", "dump", "doctor"};
	static const struct {
		const char *word, *meant;
	} cases[] = {
		{"record", "record"}, {"recrod", "record"}, {"reprot", "report"}, {"rum", "run"},
		{"dmp", "dump"},      {"doktor", "doctor"}, {"dumpp", "dump"},	  {"xyz", NULL},
		{"r", NULL},	      {"", NULL},	    {"completely", NULL},
	};
	const char *got;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		got = opt__nearest(cases[i].word, names, 5);
		if (cases[i].meant)
			cr_expect(got && strcmp(got, cases[i].meant) == 0, "'%s' gave '%s'",
				  cases[i].word, got ? got : "nothing");
		else
			cr_expect_null(got, "'%s' gave '%s'", cases[i].word, got);
	}
}

Test(opt, nearest_of_very_long_words)
{
	static char word[200], same[200];
	const char *const names[] = {same, "short"};

	memset(word, 'a', sizeof(word) - 1);
	memset(same, 'a', sizeof(same) - 1);
	cr_expect_null(opt__nearest(word, names, 2));
}

Test(opt, help_wraps_and_never_overflows)
{
	static char many[600];
	const char *const choices[] = {many, "two", NULL};
	const struct opt big[] = {
		{"short", 0, OPT_FLAG, NULL, "brief"},
		{"a-name-that-leaves-no-room-beside-it", 'a', OPT_STR, "METAVARIABLE",
		 "words that must be wrapped because the line would be longer than eighty columns "
		 "otherwise"},
		{"choice", 0, OPT_CHOICE, "C", "one of", .choices = choices, .def = "two"},
		{NULL},
	};
	char *text = NULL, *line, *save = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	memset(many, 'x', sizeof(many) - 1);
	opts__help(big, out);
	cr_assert_eq(fclose(out), 0);
	cr_expect(strstr(text, "      --short               brief\n"), "%s", text);
	cr_expect(strstr(text, "  -a, --a-name-that-leaves-no-room-beside-it METAVARIABLE\n"));
	cr_expect(strstr(text, " (default two)\n"), "%s", text);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		cr_expect(strlen(line) <= 80 || strchr(line, 'x'), "too long: %s", line);
	free(text);
}

/* ---- options of other tables ---- */

static size_t others(const struct opt **out, size_t max)
{
	static const struct opt some[] = {
		{"workers", 0, OPT_U64, "N", "a number"},
		{"warm", 0, OPT_FLAG, NULL, "a flag"},
	};

	cr_assert(max >= 2);
	out[0] = &some[0];
	out[1] = &some[1];
	return 2;
}

static const struct opt with_others[] = {
	{"str", 's', OPT_STR, "TEXT", "a text", OPT_OFFSET(values, str)},
	{"OPTION", 0, OPT_OTHER, "VALUE", "of others", OPT_OFFSET(values, list), .others = others},
	{NULL},
};

Test(opt, options_of_other_tables_are_kept)
{
	char *argv[] = {(char *)"x",	    (char *)"--workers", (char *)"4",
			(char *)"--a.warm", (char *)"--no-warm", (char *)"--b.workers=5",
			(char *)"-s",	    (char *)"t",	 NULL};
	static const char *const want[] = {"workers=4", "a.warm=yes", "no-warm=yes", "b.workers=5"};
	struct values v = {0};
	size_t i;

	cr_assert_eq(opts__parse(with_others, &v, "test", 8, argv), 8);
	cr_assert_eq(v.list.n, 4);
	for (i = 0; i < 4; i++)
		cr_expect_str_eq(v.list.items[i], want[i]);
	opts__free(with_others, &v);
}

Test(opt, unknown_to_all_tables)
{
	char *typo[] = {(char *)"x", (char *)"--worker", (char *)"4", NULL};
	char *literal[] = {(char *)"x", (char *)"--OPTION", (char *)"4", NULL};
	char *missing[] = {(char *)"x", (char *)"--workers", NULL};
	char *valued[] = {(char *)"x", (char *)"--warm=1", NULL};
	struct values v = {0};

	cr_redirect_stderr();
	cr_expect_eq(opts__parse(with_others, &v, "test", 3, typo), -EINVAL);
	cr_expect_eq(opts__parse(with_others, &v, "test", 3, literal), -EINVAL);
	cr_expect_eq(opts__parse(with_others, &v, "test", 2, missing), -EINVAL);
	cr_expect_eq(opts__parse(with_others, &v, "test", 2, valued), -EINVAL);
	fflush(stderr);
	cr_expect_stderr_eq_str(
		"xpugap: test: unknown option '--worker', did you mean '--workers'?\n"
		"xpugap: test: unknown option '--OPTION' (see 'xpugap help test')\n"
		"xpugap: test: --workers needs a value: N\n"
		"xpugap: test: --warm takes no value\n");
	opts__free(with_others, &v);
}
