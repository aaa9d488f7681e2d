// SPDX-License-Identifier: BSD-2-Clause
/* What a process finds out about itself and its recorder when it attaches. */
#include "userspace/mark/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "userspace/mark/hash.h"

static int parse_option(struct mark_where *w, const char *s, const char *end)
{
	const char *value = memchr(s, '=', (size_t)(end - s));
	unsigned long long v;
	char *stop;

	if (!value || value[1] < '0' || value[1] > '9')
		return -EINVAL;
	v = strtoull(value + 1, &stop, 10);
	if (stop != end)
		return -EINVAL;
	if (!strncmp(s, "ring=", 5)) {
		if (v < MARK_RING_BYTES_MIN || v > MARK_RING_BYTES_MAX || (v & (v - 1)))
			return -EINVAL;
		w->ring_bytes = v;
	} else if (!strncmp(s, "slots=", 6)) {
		if (v < 1 || v > MARK_SLOTS_MAX)
			return -EINVAL;
		w->slots = (uint32_t)v;
	} /* else of a newer recorder, which does without */
	return 0;
}

int mark_where__parse(struct mark_where *w, const char *where)
{
	size_t n;
	int err;

	memset(w, 0, sizeof(*w));
	if (!where || where[0] != '@')
		return -EINVAL;
	n = strcspn(++where, ";");
	if (n < 1 || n > MARK_ADDRESS_MAX)
		return -EINVAL;
	memcpy(w->address, where, n);
	w->slots = MARK_SLOTS;
	w->ring_bytes = MARK_RING_BYTES;
	for (where += n; *where == ';'; where += n) {
		n = strcspn(++where, ";");
		err = parse_option(w, where, where + n);
		if (err)
			return err;
	}
	return 0;
}

/* The kernel gives every image 16 random bytes; half of their hash says nothing about them. */
uint32_t mark__image(void)
{
	const void *bytes = (const void *)getauxval(AT_RANDOM); /* NOLINT */

	return bytes ? (uint32_t)mark_hash(bytes, 16) : 0;
}
