// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"
#include "userspace/lib/out.h"

static struct out o;

static void set_up(void)
{
	cr_assert_eq(out__init(&o, memfd_create("out", 0)), 0);
}

static void tear_down(void)
{
	close(o.fd);
	out__destroy(&o);
}

TestSuite(out, .init = set_up, .fini = tear_down);

/* What was written since the last call. */
static const char *written(void)
{
	static char text[4096];
	off_t n;

	cr_assert_eq(out__flush(&o), 0);
	n = lseek(o.fd, 0, SEEK_END);
	cr_assert_lt(n, sizeof(text));
	cr_assert_eq(pread(o.fd, text, (size_t)n, 0), n);
	text[n] = '\0';
	cr_assert_eq(ftruncate(o.fd, 0), 0);
	lseek(o.fd, 0, SEEK_SET);
	return text;
}

/* printf's word against ours. */
Test(out, numbers)
{
	static const uint64_t edges[] = {0,   1,     9,		 10,	99,
					 100, 12345, 1ULL << 32, ~0ULL, 1ULL << 63};
	uint64_t seed = 2, v;
	char expected[256];
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		v = i < 10 ? edges[i] : rnd(&seed) >> rnd(&seed) % 64;
		out__u64(&o, v);
		out__char(&o, ' ');
		out__s64(&o, (int64_t)v);
		out__char(&o, ' ');
		out__hex(&o, v);
		out__char(&o, ' ');
		out__oct(&o, v);
		out__char(&o, ' ');
		out__u64_pad(&o, v, 12, '0');
		snprintf(expected, sizeof(expected),
			 "%" PRIu64 " %" PRId64 " 0x%" PRIx64 " %" PRIo64 " %012" PRIu64, v,
			 (int64_t)v, v, v, v);
		cr_assert_str_eq(written(), expected);
	}
}

Test(out, seconds_and_reals)
{
	out__seconds(&o, 0);
	out__lit(&o, " ");
	out__seconds(&o, 1234567890123);
	out__lit(&o, " ");
	out__seconds(&o, -5);
	out__lit(&o, " ");
	out__seconds(&o, INT64_MIN);
	cr_assert_str_eq(written(),
			 "0.000000000 1234.567890123 -0.000000005 -9223372036.854775808");
	out__f64(&o, 0.1);
	out__lit(&o, " ");
	out__f64(&o, -1e300);
	out__lit(&o, " ");
	out__f64(&o, NAN);
	out__lit(&o, " ");
	out__f64(&o, -INFINITY);
	cr_assert_str_eq(written(), "0.1 -1e+300 nan -inf");
}

static void expect_escaped(const char *s, size_t n, const char *expected)
{
	out__escaped(&o, s, n);
	cr_assert_str_eq(written(), expected);
}

Test(out, strings_are_made_harmless)
{
	expect_escaped("plain", 5, "plain");
	expect_escaped("", 0, "");
	expect_escaped("\"\\/\b\f\n\r\t", 8, "\\\"\\\\/\\b\\f\\n\\r\\t");
	expect_escaped("\0\x1b[31m\x7f", 7, "\\u0000\\u001b[31m\\u007f");
	expect_escaped("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80", 15,
		       "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80");
	expect_escaped("\xc2\x9b", 2, "\\u009b");	 /* a control code in two bytes */
	expect_escaped("a\xff z", 4, "a\xef\xbf\xbd z"); /* no UTF-8 */
	expect_escaped("\xe2\x82", 2, "\xef\xbf\xbd");	 /* cut off */
}

/* Much more than the buffer holds, in small pieces and in one. */
Test(out, the_buffer_is_written_when_full)
{
	size_t n = 3 * OUT_BYTES, i;
	char *s = malloc(n), *back = malloc(7 * n);
	off_t size;

	for (i = 0; i < n; i++)
		s[i] = (char)(i % 96 ? 'a' + i % 26 : 0);
	for (i = 0; i < n; i += 100) {
		out__room(&o);
		out__raw(&o, s + i % 1000 + 1, 90);
	}
	out__escaped(&o, s, n);
	cr_assert_eq(out__flush(&o), 0);
	size = lseek(o.fd, 0, SEEK_END);
	cr_assert_eq(size, (n + 99) / 100 * 90 + n + (n + 95) / 96 * 5);
	cr_assert_eq(pread(o.fd, back, (size_t)size, 0), size);
	cr_assert_eq(memcmp(back + (n + 99) / 100 * 90, "\\u0000bcdef", 11), 0);
	free(s);
	free(back);
}

Test(out, errors_stay)
{
	int fd = o.fd;

	o.fd = -1;
	out__lit(&o, "lost");
	cr_assert_lt(out__flush(&o), 0);
	o.fd = fd;
	out__lit(&o, "lost too");
	cr_assert_lt(out__flush(&o), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_END), 0);
	o.err = 0;
}
