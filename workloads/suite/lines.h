/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines out of a stream that comes in pieces of any size. */
#ifndef XPUGAP_SUITE_LINES_H
#define XPUGAP_SUITE_LINES_H

#include <stddef.h>

/* A longer line is handed on in parts of this size. */
#define LINES_MAX (4U << 20)

struct lines {
	char *buf; /* the line that has no end yet */
	size_t n, room;
};

typedef void (*lines_fn)(void *arg, const char *line, size_t n);

/*
 * Take @n more bytes and call @fn for each line that is complete, with its line feed. Lines may
 * hold any bytes. 0 or -ENOMEM: then what was held back is handed on, so that nothing is lost.
 */
int lines__feed(struct lines *l, const char *data, size_t n, lines_fn fn, void *arg);

/* The stream has ended: hand on the last line if it has no line feed. */
void lines__end(struct lines *l, lines_fn fn, void *arg);
void lines__free(struct lines *l);

#endif
