/* SPDX-License-Identifier: BSD-2-Clause */
/* Column rows: one table gives aligned text, CSV, and JSON of the same numbers. */
#ifndef XPUGAP_LIB_COLUMN_H
#define XPUGAP_LIB_COLUMN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json;

enum column_type {
	COL_STR,   /* const char * */
	COL_BOOL,  /* bool: yes/no in text; true/false in CSV and JSON */
	COL_TRUE,  /* as COL_BOOL, but True/False in text, as Python and so Milabench has it */
	COL_U64,   /* uint64_t */
	COL_S64,   /* int64_t */
	COL_F64,   /* double, @precision digits; NaN prints nan, JSON null, CSV an empty cell */
	COL_RATE,  /* as COL_F64, but below 1 with four significant digits */
	COL_PCT,   /* double, a fraction: 0.031 prints as 3.1%; JSON keeps the fraction */
	COL_NS,	   /* uint64_t ns: text picks a unit (12.3 ms); CSV and JSON keep ns */
	COL_BYTES, /* uint64_t: text picks a unit (1.5 MiB); CSV and JSON keep bytes */
	COL_SPARK, /* struct column_series: a sparkline of @width cells in text (0: 24), an array in
		    * JSON, absent in CSV */
};

struct column_series {
	const double *values;
	size_t n;
};

struct column {
	const char *name;  /* JSON key and CSV head: snake_case with its unit */
	const char *title; /* text head */
	enum column_type type;
	int width; /* least width in text; negative: left-aligned */
	int precision;
	size_t offset; /* of the member in the row's struct */
};

enum table_format {
	TABLE_TEXT,
	TABLE_CSV,
	TABLE_JSON, /* an array of objects */
};

/*
 * Print @n rows, @stride bytes apart, to @out. Text columns are as wide as their widest cell and
 * are separated by @sep (NULL: two spaces). CSV is that of RFC 4180 with lines ended by LF, and
 * like JSON gives all digits of a number. Returns 0, -ENOMEM, or -EIO if the stream has failed.
 */
int table__print(FILE *out, enum table_format format, const struct column *cols, size_t ncols,
		 const void *rows, size_t n, size_t stride, const char *sep);

/* Write @row's cells as members of the object that @j is in. */
void columns__json(struct json *j, const struct column *cols, size_t ncols, const void *row);

/* Write @ns or @bytes with a fitting unit into @buf of @size bytes; returns @buf. */
char *format__ns(char *buf, size_t size, uint64_t ns);
char *format__bytes(char *buf, size_t size, uint64_t bytes);
/*
 * @n values as UTF-8 block elements, at most @width cells, each the mean of its bin (a blank where
 * there is no finite value). Drawn from the least to the largest value, but a variation of less
 * than a tenth of the largest is not stretched to the full height: noise should look flat.
 * @buf needs 3 bytes per cell and 1.
 */
char *format__spark(char *buf, size_t size, const double *values, size_t n, size_t width);

#endif
