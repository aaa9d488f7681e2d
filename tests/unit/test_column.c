// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "userspace/lib/column.h"

struct row {
	const char *name;
	bool ok;
	uint64_t n;
	int64_t delta;
	double rate, share;
	uint64_t time_ns, bytes;
	struct column_series series;
};

#define AT(m) .offset = offsetof(struct row, m)
static const struct column cols[] = {
	{"name", "name", COL_STR, -4, AT(name)},
	{"ok", "ok", COL_BOOL, AT(ok)},
	{"n", "n", COL_U64, 3, AT(n)},
	{"delta", "delta", COL_S64, AT(delta)},
	{"rate", "rate", COL_F64, 7, 2, AT(rate)},
	{"share", "share", COL_PCT, 6, 1, AT(share)},
	{"time_ns", "time", COL_NS, AT(time_ns)},
	{"size_bytes", "size", COL_BYTES, AT(bytes)},
	{"series", "series", COL_SPARK, 4, AT(series)},
};
#define NCOLS (sizeof(cols) / sizeof(cols[0]))

static const double ramp[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const struct row rows[] = {
	{"a", true, 1, -5, 1234.567, 0.031, 12345678, 1572864, {ramp, 8}},
	{"comma, \"quote\"\nline", false, UINT64_MAX, INT64_MIN, NAN, NAN, 0, 0, {ramp, 2}},
};

static char *print(enum table_format format, const struct row *r, size_t n, const char *sep)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(table__print(out, format, cols, NCOLS, r, n, sizeof(*r), sep), 0);
	fclose(out);
	return text;
}

Test(column, text_is_aligned)
{
	struct row two[] = {rows[0], {"wid\xe6\xb0\xb4r", true, 22, 0, 1, 1, 999, 1023, {NULL, 0}}};
	char *text = print(TABLE_TEXT, two, 2, " | ");

	cr_expect_str_eq(
		text,
		"name   |  ok |   n | delta |    rate |  share |    time |     size | series\n"
		"a      | yes |   1 |    -5 | 1234.57 |   3.1% | 12.3 ms | 1.50 MiB | ▁▃▆█\n"
		"wid水r | yes |  22 |     0 |    1.00 | 100.0% |  999 ns |   1023 B |\n");
	free(text);
}

Test(column, rates_below_one_keep_their_digits)
{
	static const struct column column = {"rate", "rate", COL_RATE, 7, 2, 0};
	const double rates[] = {0.0174, -0.5, 0, 1.005, 193.756, NAN};
	size_t size = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	table__print(f, TABLE_TEXT, &column, 1, rates, 6, sizeof(*rates), NULL);
	fclose(f);
	cr_expect_str_eq(text, "   rate\n0.01740\n-0.5000\n   0.00\n   1.00\n 193.76\n    nan\n");
	free(text);
}

Test(column, text_shows_no_control_characters)
{
	struct row r = {.name = "\x1b[31mred\x1b[0m\n", .series = {ramp, 1}};
	char *text = print(TABLE_TEXT, &r, 1, NULL);

	cr_expect_null(strchr(text, '\x1b'));
	cr_expect_not_null(strstr(text, "?[31mred?[0m?"));
	free(text);
}

Test(column, csv_is_quoted_and_exact)
{
	char *text = print(TABLE_CSV, rows, 2, NULL);

	cr_expect_str_eq(text, "name,ok,n,delta,rate,share,time_ns,size_bytes\n"
			       "a,true,1,-5,1234.567,0.031,12345678,1572864\n"
			       "\"comma, \"\"quote\"\"\nline\",false,18446744073709551615,"
			       "-9223372036854775808,,,0,0\n");
	free(text);
}

Test(column, json_keeps_numbers)
{
	char *text = print(TABLE_JSON, rows, 1, NULL);
	json_t *root = json_loads(text, 0, NULL), *o;

	cr_assert_not_null(root, "%s", text);
	cr_assert_eq(json_array_size(root), 1);
	o = json_array_get(root, 0);
	cr_expect(json_real_value(json_object_get(o, "rate")) == 1234.567);
	cr_expect_eq(json_integer_value(json_object_get(o, "time_ns")), 12345678);
	cr_expect_eq(json_array_size(json_object_get(o, "series")), 8);
	json_decref(root);
	free(text);
}

Test(column, empty_tables)
{
	char *text = print(TABLE_JSON, NULL, 0, NULL);

	cr_expect_str_eq(text, "[]\n");
	free(text);
	text = print(TABLE_CSV, NULL, 0, NULL);
	cr_expect_str_eq(text, "name,ok,n,delta,rate,share,time_ns,size_bytes\n");
	free(text);
}

Test(column, nan_has_no_sign)
{
	struct row r = {.name = "x", .rate = -NAN, .share = -NAN};
	char *text = print(TABLE_TEXT, &r, 1, NULL);

	cr_expect_null(strstr(text, "-nan"));
	cr_expect_not_null(strstr(text, "  nan%"));
	free(text);
}

static void expect_ns(uint64_t ns, const char *want)
{
	char buf[32];

	cr_expect_str_eq(format__ns(buf, sizeof(buf), ns), want);
}

Test(format, durations)
{
	expect_ns(0, "0 ns");
	expect_ns(999, "999 ns");
	expect_ns(1000, "1.00 us");
	expect_ns(9994, "9.99 us");
	expect_ns(9995, "10.0 us");
	expect_ns(99949, "99.9 us");
	expect_ns(99950, "100 us");
	expect_ns(999499, "999 us");
	expect_ns(999500, "1.00 ms");
	expect_ns(12345678, "12.3 ms");
	expect_ns(61000000000, "61.0 s");
	expect_ns(86400000000000, "86400 s");
}

static void expect_bytes(uint64_t bytes, const char *want)
{
	char buf[32];

	cr_expect_str_eq(format__bytes(buf, sizeof(buf), bytes), want);
}

Test(format, sizes)
{
	expect_bytes(0, "0 B");
	expect_bytes(1023, "1023 B");
	expect_bytes(1024, "1.00 KiB");
	expect_bytes(1023 * 1024, "1023 KiB");
	expect_bytes(1024 * 1024 - 1, "1.00 MiB");
	expect_bytes(1ULL << 40, "1.00 TiB");
	expect_bytes(UINT64_MAX, "16.0 EiB");
}

static void expect_spark(const double *v, size_t n, size_t width, const char *want)
{
	char buf[64];

	cr_expect_str_eq(format__spark(buf, sizeof(buf), v, n, width), want);
}

Test(format, sparklines)
{
	const double flat[] = {5, 5, 5}, noise[] = {101, 101, 99}, hole[] = {1, NAN, INFINITY, 9};
	const double zero[] = {0, 0};

	expect_spark(ramp, 8, 8, "▁▂▃▄▅▆▇█");
	expect_spark(ramp, 8, 100, "▁▂▃▄▅▆▇█");
	expect_spark(ramp, 8, 2, "▁█");
	expect_spark(flat, 3, 8, "▅▅▅");
	expect_spark(noise, 3, 8, "▅▅▄");
	expect_spark(hole, 4, 8, "▁  █");
	expect_spark(zero, 2, 8, "▁▁");
	expect_spark(NULL, 0, 8, "");
}

Test(format, sparklines_stay_in_their_buffer)
{
	char buf[8];

	cr_expect_str_eq(format__spark(buf, 7, ramp, 8, 8), "▁▂");
}
