/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A JSON writer that streams: what is written is valid JSON whatever bytes the strings hold
 * (ill-formed UTF-8 becomes U+FFFD) and whatever the numbers are (NaN and infinities become
 * null). Numbers are written so that reading them back gives the same double or integer.
 *
 * Inside an object every value needs a key, inside an array and at the top none is given (NULL).
 */
#ifndef XPUGAP_LIB_JSON_H
#define XPUGAP_LIB_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH 64

struct json {
	FILE *out;
	int indent; /* spaces per level; 0: all on one line */
	int depth;
	uint64_t filled; /* bit d: a value stands already at depth d */
	uint64_t flat;	 /* bit d: depth d is written on one line */
};

void json__init(struct json *j, FILE *out, int indent);

void json__object(struct json *j, const char *key);
void json__array(struct json *j, const char *key);
/* An array or object that stays on one line. */
void json__flat_object(struct json *j, const char *key);
void json__flat_array(struct json *j, const char *key);
void json__end_object(struct json *j);
void json__end_array(struct json *j);

void json__str(struct json *j, const char *key, const char *s); /* NULL writes null */
void json__strn(struct json *j, const char *key, const char *s, size_t n);
void json__u64(struct json *j, const char *key, uint64_t v);
void json__s64(struct json *j, const char *key, int64_t v);
void json__f64(struct json *j, const char *key, double v);
void json__bool(struct json *j, const char *key, bool v);
void json__null(struct json *j, const char *key);

/*
 * A copy of @n bytes of JSON as Python writes it, which the caller frees: outside of strings NaN,
 * Infinity and -Infinity, which are no JSON, have become null, or with @quote strings. NULL without
 * memory.
 */
char *json__from_python(const char *text, size_t n, bool quote, size_t *out_n);

/* End the line; another value may follow (JSON lines). -EIO if the stream has failed. */
int json__finish(struct json *j);

#endif
