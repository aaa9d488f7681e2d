/* SPDX-License-Identifier: BSD-2-Clause */
/* Column rows: one table gives aligned text, CSV, and JSON of the same numbers. */
#ifndef XPUGAP_LIB_COLUMN_H
#define XPUGAP_LIB_COLUMN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum column_type {
	COL_STR,   /* const char * */
	COL_BOOL,  /* bool: True/False in text as Milabench prints it; true/false in JSON */
	COL_U64,   /* uint64_t */
	COL_S64,   /* int64_t */
	COL_F64,   /* double, @precision digits; NaN prints nan, JSON null */
	COL_PCT,   /* double, a fraction: 0.031 prints as 3.1%; JSON keeps the fraction */
	COL_NS,	   /* uint64_t ns: text picks a unit (12.3 ms); CSV and JSON keep ns */
	COL_BYTES, /* uint64_t: text picks a unit (1.5 MiB); CSV and JSON keep bytes */
	COL_SPARK, /* struct column_series: a sparkline in text, an array in JSON, absent in CSV */
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
 * are separated by @sep (NULL: two spaces). Returns 0 or -errno of the stream.
 */
int table__print(FILE *out, enum table_format format, const struct column *cols, size_t ncols,
		 const void *rows, size_t n, size_t stride, const char *sep);

/* Write @ns or @bytes with a fitting unit into @buf of @size bytes; returns @buf. */
char *format__ns(char *buf, size_t size, uint64_t ns);
char *format__bytes(char *buf, size_t size, uint64_t bytes);
/* @n values as UTF-8 block elements, at most @width cells (each the mean of its bin). */
char *format__spark(char *buf, size_t size, const double *values, size_t n, size_t width);

#endif
