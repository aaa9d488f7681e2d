// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/json.h"

#include <stdlib.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "userspace/lib/text.h"

void json__init(struct json *j, FILE *out, int indent)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
	j->indent = indent;
}

static uint64_t bit(int depth)
{
	return 1ULL << depth;
}

static void newline(struct json *j, int depth)
{
	if (j->indent && !(j->flat & bit(j->depth)))
		fprintf(j->out, "\n%*s", j->indent * depth, "");
	else if (j->filled & bit(j->depth) && depth == j->depth)
		fputc(' ', j->out);
}

static void write_string(FILE *out, const char *s, size_t n)
{
	static const char escapes[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"'};
	size_t len;
	char buf[4];
	uint32_t c;

	fputc('"', out);
	for (; n; s += len, n -= len) {
		c = utf8__decode(s, n, &len);
		if (c == '\\')
			fputs("\\\\", out);
		else if (c < sizeof(escapes) && escapes[c])
			fprintf(out, "\\%c", escapes[c]);
		else if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			fwrite(buf, 1, utf8__encode(buf, c), out);
	}
	fputc('"', out);
}

/* What stands before a value: a comma, a line, the key. */
static void begin_value(struct json *j, const char *key)
{
	if (j->filled & bit(j->depth))
		fputc(',', j->out);
	if (j->depth)
		newline(j, j->depth);
	j->filled |= bit(j->depth);
	if (key) {
		write_string(j->out, key, strlen(key));
		fputs(": ", j->out);
	}
}

static void open_level(struct json *j, const char *key, char c, bool flat)
{
	begin_value(j, key);
	fputc(c, j->out);
	assert(j->depth + 1 < JSON_MAX_DEPTH);
	flat = flat || j->flat & bit(j->depth);
	j->depth++;
	j->filled &= ~bit(j->depth);
	j->flat &= ~bit(j->depth);
	if (flat)
		j->flat |= bit(j->depth);
}

static void close_level(struct json *j, char c)
{
	assert(j->depth > 0);
	if (j->filled & bit(j->depth))
		newline(j, j->depth - 1);
	j->depth--;
	fputc(c, j->out);
}

void json__object(struct json *j, const char *key)
{
	open_level(j, key, '{', false);
}

void json__array(struct json *j, const char *key)
{
	open_level(j, key, '[', false);
}

void json__flat_object(struct json *j, const char *key)
{
	open_level(j, key, '{', true);
}

void json__flat_array(struct json *j, const char *key)
{
	open_level(j, key, '[', true);
}

void json__end_object(struct json *j)
{
	close_level(j, '}');
}

void json__end_array(struct json *j)
{
	close_level(j, ']');
}

void json__strn(struct json *j, const char *key, const char *s, size_t n)
{
	begin_value(j, key);
	write_string(j->out, s, n);
}

void json__str(struct json *j, const char *key, const char *s)
{
	if (s)
		json__strn(j, key, s, strlen(s));
	else
		json__null(j, key);
}

void json__u64(struct json *j, const char *key, uint64_t v)
{
	begin_value(j, key);
	fprintf(j->out, "%" PRIu64, v);
}

void json__s64(struct json *j, const char *key, int64_t v)
{
	begin_value(j, key);
	fprintf(j->out, "%" PRId64, v);
}

void json__f64(struct json *j, const char *key, double v)
{
	char buf[32];

	if (!isfinite(v)) {
		json__null(j, key);
		return;
	}
	begin_value(j, key);
	fputs(text__f64(buf, sizeof(buf), v), j->out);
	if (!strpbrk(buf, ".e"))
		fputs(".0", j->out);
}

void json__bool(struct json *j, const char *key, bool v)
{
	begin_value(j, key);
	fputs(v ? "true" : "false", j->out);
}

void json__null(struct json *j, const char *key)
{
	begin_value(j, key);
	fputs("null", j->out);
}

int json__finish(struct json *j)
{
	assert(j->depth == 0);
	fputc('\n', j->out);
	j->filled = 0;
	return ferror(j->out) ? -EIO : 0;
}

/* The length of the literal of Python's that begins @s; 0: none does. */
static size_t literal(const char *s, size_t n)
{
	static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
	size_t i, len;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		len = strlen(words[i]);
		if (n >= len && memcmp(s, words[i], len) == 0)
			return len;
	}
	return 0;
}

char *json__from_python(const char *text, size_t n, bool quote, size_t *out_n)
{
	char *out = malloc(2 * n + 1), *to = out; /* three letters become at most five */
	bool string = false;
	size_t i, len, word;

	if (!out)
		return NULL;
	for (i = 0; i < n; i += len) {
		len = string && text[i] == '\\' && i + 1 < n ? 2 : 1;
		string ^= text[i] == '"';
		word = string ? 0 : literal(text + i, n - i);
		if (word && !quote)
			to = stpcpy(to, "null");
		else if (word)
			to += sprintf(to, "\"%.*s\"", (int)word, text + i);
		else
			to = mempcpy(to, text + i, len);
		len = word ? word : len;
	}
	*out_n = (size_t)(to - out);
	return out;
}
