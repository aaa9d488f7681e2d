// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/json.h"

static char *text;
static size_t size;
static FILE *out;
static struct json j;

static void begin(int indent)
{
	out = open_memstream(&text, &size);
	json__init(&j, out, indent);
}

static void finish(void)
{
	cr_assert_eq(json__finish(&j), 0);
	fclose(out);
}

/* The string that a JSON reader gets back from @n bytes of @s. */
static char *round_trip(const char *s, size_t n)
{
	json_t *root;
	char *back;

	begin(0);
	json__array(&j, NULL);
	json__strn(&j, NULL, s, n);
	json__end_array(&j);
	finish();
	root = json_loads(text, JSON_ALLOW_NUL, NULL);
	cr_assert_not_null(root, "not JSON: %s", text);
	back = strdup(json_string_value(json_array_get(root, 0)));
	json_decref(root);
	free(text);
	return back;
}

static void expect(const char *s, size_t n, const char *want)
{
	char *back = round_trip(s, n);

	cr_expect_str_eq(back, want);
	free(back);
}

Test(json, every_control_and_ascii_character_comes_back)
{
	char s[128], *back;
	int i;

	for (i = 1; i < 128; i++)
		s[i - 1] = (char)i;
	s[127] = '\0';
	back = round_trip(s, 127);
	cr_expect_str_eq(back, s);
	free(back);
}

Test(json, ill_formed_utf8_is_replaced_part_by_part)
{
	/* the examples of The Unicode Standard 15, tables 3-8, 3-9, 3-10, 3-11 */
	expect("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", 9, "��������A");
	expect("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", 9, "��������A");
	expect("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", 9, "�����A��B");
	expect("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", 9, "����A");
	expect("zß水🍌", strlen("zß水🍌"), "zß水🍌");
	expect("\xf0\x9f\x8d", 3, "�");
}

Test(json, numbers_read_back_as_the_same)
{
	static const double values[] = {0.0,	  -0.0,	   0.1,	    1.0 / 3.0,
					1e300,	  DBL_MIN, DBL_MAX, 5e-324,
					123456.0, 1e22,	   2e15,    9007199254740993.0};
	json_t *root, *v;
	size_t i;

	begin(0);
	json__array(&j, NULL);
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		json__f64(&j, NULL, values[i]);
	json__u64(&j, NULL, INT64_MAX);
	json__s64(&j, NULL, INT64_MIN);
	json__f64(&j, NULL, NAN);
	json__f64(&j, NULL, -INFINITY);
	json__end_array(&j);
	finish();
	root = json_loads(text, 0, NULL);
	cr_assert_not_null(root, "not JSON: %s", text);
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		v = json_array_get(root, i);
		cr_expect(json_is_real(v));
		cr_expect(json_real_value(v) == values[i], "%s", text);
	}
	cr_expect_eq(json_integer_value(json_array_get(root, i)), INT64_MAX);
	cr_expect_eq(json_integer_value(json_array_get(root, i + 1)), INT64_MIN);
	cr_expect(json_is_null(json_array_get(root, i + 2)));
	cr_expect(json_is_null(json_array_get(root, i + 3)));
	json_decref(root);
	free(text);
}

Test(json, layout)
{
	begin(1);
	json__object(&j, NULL);
	json__object(&j, "empty");
	json__end_object(&j);
	json__flat_array(&j, "flat");
	json__u64(&j, NULL, 1);
	json__object(&j, NULL);
	json__bool(&j, "yes", true);
	json__str(&j, "none", NULL);
	json__end_object(&j);
	json__end_array(&j);
	json__array(&j, "deep");
	json__s64(&j, NULL, -1);
	json__end_array(&j);
	json__end_object(&j);
	finish();
	cr_expect_str_eq(text,
			 "{\n \"empty\": {},\n \"flat\": [1, {\"yes\": true, \"none\": null}],\n"
			 " \"deep\": [\n  -1\n ]\n}\n");
	free(text);
}

Test(json, lines)
{
	int i;

	begin(0);
	for (i = 0; i < 2; i++) {
		json__object(&j, NULL);
		json__u64(&j, "a", 1);
		json__str(&j, "b", "x");
		json__end_object(&j);
		cr_assert_eq(json__finish(&j), 0);
	}
	fclose(out);
	cr_expect_str_eq(text, "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 1, \"b\": \"x\"}\n");
	free(text);
}

Test(json, a_full_disk_is_reported)
{
	out = fopen("/dev/full", "w");
	cr_assert_not_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	json__init(&j, out, 0);
	json__u64(&j, NULL, 1);
	cr_expect_eq(json__finish(&j), -EIO);
	fclose(out);
}

static void expect_from_python(const char *in, bool quote, const char *want)
{
	size_t n;
	char *got = json__from_python(in, strlen(in), quote, &n);

	cr_assert_not_null(got);
	cr_expect_eq(n, strlen(want));
	cr_expect_eq(memcmp(got, want, n), 0, "%.*s", (int)n, got);
	free(got);
}

Test(json, what_python_writes_becomes_json)
{
	expect_from_python("[NaN, -Infinity,Infinity]", false, "[null, null,null]");
	expect_from_python("[NaN, -Infinity,Infinity]", true,
			   "[\"NaN\", \"-Infinity\",\"Infinity\"]");
	expect_from_python("{\"NaN\": \"a\\\"NaN\", \"b\\\\\":NaN}", false,
			   "{\"NaN\": \"a\\\"NaN\", \"b\\\\\":null}");
	expect_from_python("NaNNaNNaN", true, "\"NaN\"\"NaN\"\"NaN\"");
	expect_from_python("\"NaN\\", false, "\"NaN\\");
	expect_from_python("Na", true, "Na");
	expect_from_python("", true, "");
}
