/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text made fast: a big buffer in front of a file descriptor, and formatters that write straight
 * into it. For commands that print millions of lines; others use stdio.
 */
#ifndef XPUGAP_LIB_OUT_H
#define XPUGAP_LIB_OUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OUT_BYTES (1u << 20)
#define OUT_ROOM  4096 /* what out__room() guarantees */
#define OUT_SHORT 64   /* up to so many bytes, a string takes of that room */

struct out {
	int fd;
	int err; /* of the first write that failed; nothing is written after it */
	char *at;
	char *end; /* from here on out__room() writes */
	char *buf;
};

/* 0 or -ENOMEM. */
int out__init(struct out *o, int fd);
/* Write what is there; 0 or the first error (-errno). */
int out__flush(struct out *o);
void out__destroy(struct out *o);

/* Make room for OUT_ROOM bytes: the formatters below do not check, except the strings. */
static inline void out__room(struct out *o)
{
	if (o->at >= o->end)
		out__flush(o);
}

static inline void out__char(struct out *o, char c)
{
	*o->at++ = c;
}

/* @n bytes that the caller chose: at most some hundred. */
static inline void out__raw(struct out *o, const char *s, size_t n)
{
	memcpy(o->at, s, n);
	o->at += n;
}

#define out__lit(o, literal) out__raw(o, literal, sizeof(literal) - 1)

void out__u64(struct out *o, uint64_t v);
void out__s64(struct out *o, int64_t v);
/* 0x and as many digits as needed */
void out__hex(struct out *o, uint64_t v);
/* Digits of @v in base 8. */
void out__oct(struct out *o, uint64_t v);
/* @v filled up to @width with @pad; longer numbers are not cut. */
void out__u64_pad(struct out *o, uint64_t v, unsigned int width, char pad);
/* Nanoseconds as seconds with nine decimals. */
void out__seconds(struct out *o, int64_t ns);
/* The shortest decimal that reads back the same; nan, inf. */
void out__f64(struct out *o, double v);

/*
 * A string from an untrusted source, of any length, without quotes around it: quotes, backslashes
 * and control characters are escaped as in JSON, ill-formed UTF-8 becomes U+FFFD. One longer than
 * OUT_SHORT makes room as it goes, and leaves OUT_ROOM.
 */
void out__escaped(struct out *o, const char *s, size_t n);

#endif
