// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/suite/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int keep(struct lines *l, const char *data, size_t n)
{
	size_t room = l->room ? l->room : 256;
	char *buf;

	while (room < l->n + n)
		room *= 2;
	if (room != l->room) {
		buf = realloc(l->buf, room);
		if (!buf)
			return -ENOMEM;
		l->buf = buf;
		l->room = room;
	}
	memcpy(l->buf + l->n, data, n);
	l->n += n;
	return 0;
}

void lines__end(struct lines *l, lines_fn fn, void *arg)
{
	if (l->n)
		fn(arg, l->buf, l->n);
	l->n = 0;
}

int lines__feed(struct lines *l, const char *data, size_t n, lines_fn fn, void *arg)
{
	const char *end;
	size_t len;
	int err = 0;

	for (; n; data += len, n -= len) {
		end = memchr(data, '\n', n);
		len = end ? (size_t)(end + 1 - data) : n;
		if (len > LINES_MAX - l->n) {
			len = LINES_MAX - l->n;
			end = NULL;
		}
		if (end && l->n == 0) {
			fn(arg, data, len);
			continue;
		}
		if (keep(l, data, len)) {
			err = -ENOMEM;
			lines__end(l, fn, arg);
			fn(arg, data, len);
		} else if (end || l->n == LINES_MAX) {
			lines__end(l, fn, arg);
		}
	}
	return err;
}

void lines__free(struct lines *l)
{
	free(l->buf);
	memset(l, 0, sizeof(*l));
}
