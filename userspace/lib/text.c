// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/text.h"

#include <stdlib.h>
#include <string.h>

static bool in(uint8_t b, uint8_t lo, uint8_t hi)
{
	return b >= lo && b <= hi;
}

/* Length that lead byte @b announces and the allowed range of the byte after it; 0: no lead. */
static size_t lead(uint8_t b, uint8_t *lo, uint8_t *hi)
{
	*lo = 0x80;
	*hi = 0xbf;
	if (in(b, 0xc2, 0xdf))
		return 2;
	if (in(b, 0xe0, 0xef)) {
		if (b == 0xe0)
			*lo = 0xa0; /* not overlong */
		if (b == 0xed)
			*hi = 0x9f; /* no surrogates */
		return 3;
	}
	if (in(b, 0xf0, 0xf4)) {
		if (b == 0xf0)
			*lo = 0x90;
		if (b == 0xf4)
			*hi = 0x8f; /* not beyond U+10FFFF */
		return 4;
	}
	return 0;
}

uint32_t utf8__decode(const char *s, size_t n, size_t *len)
{
	const uint8_t *p = (const uint8_t *)s;
	uint8_t lo, hi;
	size_t want, i;
	uint32_t c;

	*len = 1;
	if (p[0] < 0x80)
		return p[0];
	want = lead(p[0], &lo, &hi);
	if (!want)
		return UTF8_REPLACEMENT;
	c = p[0] & (0x7fu >> want);
	for (i = 1; i < want; i++) {
		if (i == n || !in(p[i], lo, hi)) {
			*len = i;
			return UTF8_REPLACEMENT;
		}
		c = c << 6 | (p[i] & 0x3fu);
		lo = 0x80;
		hi = 0xbf;
	}
	*len = want;
	return c;
}

size_t utf8__encode(char *buf, uint32_t c)
{
	if (c < 0x80) {
		buf[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		buf[0] = (char)(0xc0 | c >> 6);
		buf[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		buf[0] = (char)(0xe0 | c >> 12);
		buf[1] = (char)(0x80 | (c >> 6 & 0x3f));
		buf[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	buf[0] = (char)(0xf0 | c >> 18);
	buf[1] = (char)(0x80 | (c >> 12 & 0x3f));
	buf[2] = (char)(0x80 | (c >> 6 & 0x3f));
	buf[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/* The blocks whose width matters in names of files and tasks; not the whole of UAX #11. */
static size_t cells(uint32_t c)
{
	static const struct {
		uint32_t first, last;
		size_t cells;
	} ranges[] = {
		{0x300, 0x36f, 0},   {0x200b, 0x200f, 0},   {0xfe00, 0xfe0f, 0},
		{0x1100, 0x115f, 2}, {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},
		{0xf900, 0xfaff, 2}, {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},
		{0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return ranges[i].cells;
	return 1;
}

size_t text__width(const char *s)
{
	size_t n = strlen(s), len, width = 0;
	uint32_t c;

	for (; n; s += len, n -= len) {
		c = utf8__decode(s, n, &len);
		width += cells(c);
	}
	return width;
}

void text__print(FILE *out, const char *s)
{
	size_t n = strlen(s), len;
	char buf[4];
	uint32_t c;

	for (; n; s += len, n -= len) {
		c = utf8__decode(s, n, &len);
		if (is_control(c))
			c = '?';
		fwrite(buf, 1, utf8__encode(buf, c), out);
	}
}

#define SHELL_SPECIAL " \t\n'\"\\$`*?[]{}()<>|&;#~!"

bool text__is_shell_word(const char *s)
{
	return *s && !s[strcspn(s, SHELL_SPECIAL)];
}

void text__shell_word(FILE *out, const char *s, size_t len)
{
	size_t i;

	if (len && strcspn(s, SHELL_SPECIAL) >= len) {
		fwrite(s, 1, len, out);
		return;
	}
	fputc('\'', out);
	for (i = 0; i < len; i++)
		s[i] == '\'' ? fputs("'\\''", out) : fputc(s[i], out);
	fputc('\'', out);
}

char *text__f64(char *buf, size_t size, double v)
{
	int digits;

	for (digits = 15; digits <= 17; digits++) {
		snprintf(buf, size, "%.*g", digits, v);
		if (strtod(buf, NULL) == v)
			break;
	}
	return buf;
}

uint64_t text__hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	return h;
}
