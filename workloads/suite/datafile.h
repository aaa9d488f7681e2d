/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writer of Milabench's `.data` files: lines {"event": E, "data": D, "pipe": P}, one file for each
 * process that runs. What was written is readable whenever the writer ends.
 */
#ifndef XPUGAP_SUITE_DATAFILE_H
#define XPUGAP_SUITE_DATAFILE_H

#include <jansson.h>
#include <stddef.h>

#include "workloads/suite/voir.h"

struct datafile;

/* Create @path, which must not exist. NULL with errno, after printing why. */
struct datafile *datafile__new(const char *path);

/* An event; @data is taken over, NULL writes null. @pipe: "data", "stdout", …; NULL writes null. */
void datafile__event(struct datafile *d, const char *event, json_t *data, const char *pipe);

/*
 * A line of output: event "line", or "binary" where it is no UTF-8, its bytes as the code points
 * 0-255.
 */
void datafile__line(struct datafile *d, const char *pipe, const char *line, size_t n);

/* A line of the data pipe as voir__parse() has understood it. */
void datafile__record(struct datafile *d, const struct voir_record *r, const char *line, size_t n);

/*
 * Write out what has come since the last time. 0 or -errno: the first failure is printed, what
 * comes after it is dropped, and every later call returns it.
 */
int datafile__flush(struct datafile *d);

/* Rates that stand in the file. */
uint64_t datafile__observations(const struct datafile *d);

/* Flush and close: 0 or -errno as above; a no-op on NULL. */
int datafile__close(struct datafile *d);

#endif
