// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/out.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/lib/text.h"

#define NUMBER_MAX 24

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
			    "34353637383940414243444546474849505152535455565758596061626364656667"
			    "68697071727374757677787980818283848586878889909192939495969798"
			    "99";

int out__init(struct out *o, int fd)
{
	*o = (struct out){.fd = fd};
	o->buf = malloc(OUT_BYTES);
	if (!o->buf)
		return -ENOMEM;
	o->at = o->buf;
	o->end = o->buf + OUT_BYTES - OUT_ROOM;
	return 0;
}

int out__flush(struct out *o)
{
	struct pollfd pfd = {.fd = o->fd, .events = POLLOUT};
	const char *p = o->buf;
	ssize_t n;

	while (p < o->at && !o->err) {
		n = write(o->fd, p, (size_t)(o->at - p));
		if (n >= 0)
			p += n;
		else if (errno == EAGAIN)
			poll(&pfd, 1, -1);
		else if (errno != EINTR)
			o->err = -errno;
	}
	o->at = o->buf;
	return o->err;
}

void out__destroy(struct out *o)
{
	free(o->buf);
	o->buf = o->at = NULL;
}

/* The decimal digits of @v, ending before @end; returns their start. */
static char *digits(char *end, uint64_t v)
{
	for (; v >= 100; v /= 100) {
		end -= 2;
		memcpy(end, pairs + v % 100 * 2, 2);
	}
	if (v >= 10) {
		end -= 2;
		memcpy(end, pairs + v * 2, 2);
	} else {
		*--end = (char)('0' + v);
	}
	return end;
}

void out__u64(struct out *o, uint64_t v)
{
	char buf[NUMBER_MAX], *end = buf + sizeof(buf), *p = digits(end, v);

	out__raw(o, p, (size_t)(end - p));
}

void out__u64_pad(struct out *o, uint64_t v, unsigned int width, char pad)
{
	char buf[NUMBER_MAX], *end = buf + sizeof(buf), *p = digits(end, v);

	for (; width > (unsigned int)(end - p); width--)
		out__char(o, pad);
	out__raw(o, p, (size_t)(end - p));
}

void out__s64(struct out *o, int64_t v)
{
	if (v < 0)
		out__char(o, '-');
	out__u64(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void out__hex(struct out *o, uint64_t v)
{
	char buf[NUMBER_MAX], *end = buf + sizeof(buf), *p = end;

	do
		*--p = "0123456789abcdef"[v & 15];
	while (v >>= 4);
	*--p = 'x';
	*--p = '0';
	out__raw(o, p, (size_t)(end - p));
}

void out__oct(struct out *o, uint64_t v)
{
	char buf[NUMBER_MAX], *end = buf + sizeof(buf), *p = end;

	do
		*--p = (char)('0' + (v & 7));
	while (v >>= 3);
	out__raw(o, p, (size_t)(end - p));
}

void out__seconds(struct out *o, int64_t ns)
{
	uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	if (ns < 0)
		out__char(o, '-');
	out__u64(o, v / 1000000000);
	out__char(o, '.');
	out__u64_pad(o, v % 1000000000, 9, '0');
}

void out__f64(struct out *o, double v)
{
	char buf[32];

	if (isfinite(v))
		text__f64(buf, sizeof(buf), v);
	else
		strcpy(buf, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
	out__raw(o, buf, strlen(buf));
}

/* Write what one byte that cannot stand for itself becomes; returns how many bytes it takes. */
static size_t escape(struct out *o, const char *s, size_t n)
{
	static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
				       ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
	unsigned char c = (unsigned char)*s;
	uint32_t code;
	size_t len;

	if (c < sizeof(letters) && letters[c]) {
		out__char(o, '\\');
		out__char(o, letters[c]);
		return 1;
	}
	code = utf8__decode(s, n, &len);
	if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
		out__lit(o, "\\u00");
		out__char(o, "0123456789abcdef"[code >> 4]);
		out__char(o, "0123456789abcdef"[code & 15]);
		return len;
	}
	o->at += utf8__encode(o->at, code);
	return len;
}

void out__escaped(struct out *o, const char *s, size_t n)
{
	bool is_long = n > OUT_SHORT;
	size_t i = 0;

	while (i < n) {
		if (is_long)
			out__room(o);
		if ((unsigned char)s[i] < 0x20 || (unsigned char)s[i] >= 0x7f || s[i] == '"' ||
		    s[i] == '\\')
			i += escape(o, s + i, n - i);
		else
			out__char(o, s[i++]);
	}
	if (is_long)
		out__room(o);
}
