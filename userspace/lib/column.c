// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/column.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/json.h"
#include "userspace/lib/text.h"

#define CELL_SIZE     256
#define SPARK_DEFAULT 24
#define SPARK_MAX     ((CELL_SIZE - 1) / 3)

/* Values that vary by less than this part of the largest are not stretched to full height. */
#define SPARK_LEAST_SPAN 0.1

/* @v of the largest unit that keeps it at 1 or above, with three significant digits. */
static char *scale(char *buf, size_t size, double v, double base, const char *const *units)
{
	int digits;

	for (;; v /= base, units++) {
		digits = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
		if (!units[1] || v + 0.5 * pow(10, -digits) < base)
			break;
	}
	snprintf(buf, size, "%.*f %s", digits, v, *units);
	return buf;
}

char *format__ns(char *buf, size_t size, uint64_t ns)
{
	static const char *const units[] = {"us", "ms", "s", NULL};

	if (ns < 1000)
		snprintf(buf, size, "%" PRIu64 " ns", ns);
	else
		scale(buf, size, (double)ns / 1e3, 1e3, units);
	return buf;
}

char *format__bytes(char *buf, size_t size, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL};

	if (bytes < 1024)
		snprintf(buf, size, "%" PRIu64 " B", bytes);
	else
		scale(buf, size, (double)bytes / 1024, 1024, units);
	return buf;
}

/* Mean of the finite values of bin @i of @bins over @n values; NaN if there is none. */
static double bin_mean(const double *values, size_t n, size_t i, size_t bins)
{
	size_t from = i * n / bins, to = (i + 1) * n / bins, count = 0;
	double sum = 0;

	for (; from < to; from++)
		if (isfinite(values[from])) {
			sum += values[from];
			count++;
		}
	return count ? sum / (double)count : NAN;
}

char *format__spark(char *buf, size_t size, const double *values, size_t n, size_t width)
{
	size_t bins = n < width ? n : width, i, used = 0;
	double v, lo = INFINITY, hi = -INFINITY, span;
	int level;

	for (i = 0; i < bins; i++) {
		v = bin_mean(values, n, i, bins);
		lo = fmin(lo, v);
		hi = fmax(hi, v);
	}
	span = fmax(hi - lo, SPARK_LEAST_SPAN * fmax(fabs(hi), fabs(lo)));
	lo = (hi + lo - span) / 2;
	for (i = 0; i < bins && used + 4 <= size; i++) {
		v = bin_mean(values, n, i, bins);
		if (isnan(v)) {
			buf[used++] = ' ';
			continue;
		}
		level = span > 0 ? (int)(8 * (v - lo) / span) : 0;
		level = level < 0 ? 0 : level > 7 ? 7 : level;
		used += utf8__encode(buf + used, 0x2581u + (uint32_t)level);
	}
	if (size)
		buf[used] = '\0';
	return buf;
}

static const void *member(const struct column *c, const void *row)
{
	return (const char *)row + c->offset;
}

static const char *str_cell(const struct column *c, const void *row)
{
	const char *s;

	memcpy(&s, member(c, row), sizeof(s));
	return s ? s : "";
}

#define GET(type, c, row)                                                                          \
	({                                                                                         \
		type v_;                                                                           \
		memcpy(&v_, member(c, row), sizeof(v_));                                           \
		v_;                                                                                \
	})

static void f64_cell(char *buf, int precision, double v)
{
	/* glibc prints "-nan" for a NaN with its sign bit set */
	if (isnan(v))
		strcpy(buf, "nan");
	else
		snprintf(buf, CELL_SIZE, "%.*f", precision, v);
}

/* The text of any cell but a string's. */
static void text_cell(char *buf, const struct column *c, const void *row)
{
	struct column_series series;
	size_t width;

	switch (c->type) {
	case COL_BOOL:
		strcpy(buf, GET(bool, c, row) ? "yes" : "no");
		break;
	case COL_TRUE:
		strcpy(buf, GET(bool, c, row) ? "True" : "False");
		break;
	case COL_U64:
		snprintf(buf, CELL_SIZE, "%" PRIu64, GET(uint64_t, c, row));
		break;
	case COL_S64:
		snprintf(buf, CELL_SIZE, "%" PRId64, GET(int64_t, c, row));
		break;
	case COL_F64:
		f64_cell(buf, c->precision, GET(double, c, row));
		break;
	case COL_RATE:
		if (GET(double, c, row) != 0 && fabs(GET(double, c, row)) < 1)
			snprintf(buf, CELL_SIZE, "%#.4g", GET(double, c, row));
		else
			f64_cell(buf, c->precision, GET(double, c, row));
		break;
	case COL_PCT:
		snprintf(buf, CELL_SIZE, "%.*f%%", c->precision, 100 * GET(double, c, row));
		if (isnan(GET(double, c, row)))
			strcpy(buf, "nan%");
		break;
	case COL_NS:
		format__ns(buf, CELL_SIZE, GET(uint64_t, c, row));
		break;
	case COL_BYTES:
		format__bytes(buf, CELL_SIZE, GET(uint64_t, c, row));
		break;
	case COL_SPARK:
		series = GET(struct column_series, c, row);
		width = c->width ? (size_t)abs(c->width) : SPARK_DEFAULT;
		format__spark(buf, CELL_SIZE, series.values, series.n,
			      width < SPARK_MAX ? width : SPARK_MAX);
		break;
	default:
		buf[0] = '\0';
	}
}

static const char *cell(char *buf, const struct column *c, const void *row)
{
	if (c->type == COL_STR)
		return str_cell(c, row);
	text_cell(buf, c, row);
	return buf;
}

/* One line; *blanks are owed before the next text, so that none stand at the end of a line. */
static void print_padded(FILE *out, const char *text, size_t width, bool left, size_t *blanks)
{
	size_t n = text__width(text), pad = n < width ? width - n : 0;

	if (!n) {
		*blanks += pad;
		return;
	}
	fprintf(out, "%*s", (int)(*blanks + (left ? 0 : pad)), "");
	text__print(out, text);
	*blanks = left ? pad : 0;
}

static void print_separator(FILE *out, const char *sep, size_t *blanks)
{
	size_t n = strlen(sep), body = n;

	while (body && sep[body - 1] == ' ')
		body--;
	if (body) {
		fprintf(out, "%*s%.*s", (int)*blanks, "", (int)body, sep);
		*blanks = 0;
	}
	*blanks += n - body;
}

static void print_line(FILE *out, const struct column *cols, size_t ncols, const size_t *widths,
		       const void *row, const char *sep)
{
	size_t c, blanks = 0;
	char buf[CELL_SIZE];
	bool left;

	for (c = 0; c < ncols; c++) {
		left = cols[c].width < 0 || cols[c].type == COL_SPARK;
		if (c)
			print_separator(out, sep, &blanks);
		print_padded(out, row ? cell(buf, &cols[c], row) : cols[c].title, widths[c], left,
			     &blanks);
	}
	fputc('\n', out);
}

static int print_text(FILE *out, const struct column *cols, size_t ncols, const void *rows,
		      size_t n, size_t stride, const char *sep)
{
	size_t *widths = calloc(ncols + 1, sizeof(*widths)), c, r, w;
	const char *row;
	char buf[CELL_SIZE];

	if (!widths)
		return -ENOMEM;
	for (c = 0; c < ncols; c++) {
		widths[c] = cols[c].type == COL_SPARK ? 0 : (size_t)abs(cols[c].width);
		w = text__width(cols[c].title);
		widths[c] = w > widths[c] ? w : widths[c];
		for (r = 0, row = rows; r < n; r++, row += stride) {
			w = text__width(cell(buf, &cols[c], row));
			widths[c] = w > widths[c] ? w : widths[c];
		}
	}
	print_line(out, cols, ncols, widths, NULL, sep);
	for (r = 0, row = rows; r < n; r++, row += stride)
		print_line(out, cols, ncols, widths, row, sep);
	free(widths);
	return 0;
}

/* RFC 4180: quoted where a separator, a quote, a line end or a leading space makes it needed. */
static void csv_string(FILE *out, const char *s)
{
	if (!s[strcspn(s, ",\"\r\n")] && *s != ' ') {
		fputs(s, out);
		return;
	}
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', out);
		fputc(*s, out);
	}
	fputc('"', out);
}

static void csv_double(FILE *out, double v)
{
	char buf[32];

	if (!isnan(v))
		fputs(text__f64(buf, sizeof(buf), v), out);
}

static void csv_cell(FILE *out, const struct column *c, const void *row)
{
	switch (c->type) {
	case COL_STR:
		csv_string(out, str_cell(c, row));
		break;
	case COL_BOOL:
	case COL_TRUE:
		fputs(GET(bool, c, row) ? "true" : "false", out);
		break;
	case COL_U64:
	case COL_NS:
	case COL_BYTES:
		fprintf(out, "%" PRIu64, GET(uint64_t, c, row));
		break;
	case COL_S64:
		fprintf(out, "%" PRId64, GET(int64_t, c, row));
		break;
	case COL_F64:
	case COL_RATE:
	case COL_PCT:
		csv_double(out, GET(double, c, row));
		break;
	case COL_SPARK:
		break;
	}
}

static void print_csv(FILE *out, const struct column *cols, size_t ncols, const void *rows,
		      size_t n, size_t stride)
{
	const char *row = rows, *sep;
	size_t r, c;

	for (r = 0; r <= n; r++) {
		for (c = 0, sep = ""; c < ncols; c++) {
			if (cols[c].type == COL_SPARK)
				continue;
			fputs(sep, out);
			if (r)
				csv_cell(out, &cols[c], row);
			else
				csv_string(out, cols[c].name);
			sep = ",";
		}
		fputc('\n', out);
		row += r ? stride : 0;
	}
}

static void json_series(struct json *j, const char *key, const struct column_series *s)
{
	size_t i;

	json__flat_array(j, key);
	for (i = 0; i < s->n; i++)
		json__f64(j, NULL, s->values[i]);
	json__end_array(j);
}

static void json_cell(struct json *j, const struct column *c, const void *row)
{
	struct column_series series;

	switch (c->type) {
	case COL_STR:
		json__str(j, c->name, GET(const char *, c, row));
		break;
	case COL_BOOL:
	case COL_TRUE:
		json__bool(j, c->name, GET(bool, c, row));
		break;
	case COL_U64:
	case COL_NS:
	case COL_BYTES:
		json__u64(j, c->name, GET(uint64_t, c, row));
		break;
	case COL_S64:
		json__s64(j, c->name, GET(int64_t, c, row));
		break;
	case COL_F64:
	case COL_RATE:
	case COL_PCT:
		json__f64(j, c->name, GET(double, c, row));
		break;
	case COL_SPARK:
		series = GET(struct column_series, c, row);
		json_series(j, c->name, &series);
		break;
	}
}

void columns__json(struct json *j, const struct column *cols, size_t ncols, const void *row)
{
	size_t c;

	for (c = 0; c < ncols; c++)
		json_cell(j, &cols[c], row);
}

static int print_json(FILE *out, const struct column *cols, size_t ncols, const void *rows,
		      size_t n, size_t stride)
{
	const char *row = rows;
	struct json j;
	size_t r;

	json__init(&j, out, 1);
	json__array(&j, NULL);
	for (r = 0; r < n; r++, row += stride) {
		json__flat_object(&j, NULL);
		columns__json(&j, cols, ncols, row);
		json__end_object(&j);
	}
	json__end_array(&j);
	return json__finish(&j);
}

int table__print(FILE *out, enum table_format format, const struct column *cols, size_t ncols,
		 const void *rows, size_t n, size_t stride, const char *sep)
{
	int err = 0;

	switch (format) {
	case TABLE_TEXT:
		err = print_text(out, cols, ncols, rows, n, stride, sep ? sep : "  ");
		break;
	case TABLE_CSV:
		print_csv(out, cols, ncols, rows, n, stride);
		break;
	case TABLE_JSON:
		err = print_json(out, cols, ncols, rows, n, stride);
		break;
	}
	if (!err && ferror(out))
		err = -EIO;
	return err;
}
