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

static ssize_t read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

/*
 * timens_offsets is about the namespace that children will be in. Where that is not our own, we
 * are the process that made it and still live in the outer one, taken to be the initial.
 */
int64_t mark__timens_offset(void)
{
	char own[64] = "", children[64] = "", text[256];
	long long sec, nsec;
	const char *line;

	if (readlink("/proc/self/ns/time", own, sizeof(own) - 1) < 0 ||
	    readlink("/proc/self/ns/time_for_children", children, sizeof(children) - 1) < 0 ||
	    strcmp(own, children) != 0)
		return 0;
	if (read_file("/proc/self/timens_offsets", text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "monotonic");
	if (!line || sscanf(line, "monotonic %lld %lld", &sec, &nsec) != 2)
		return 0;
	return sec * 1000000000LL + nsec;
}

/* The kernel gives every image 16 random bytes; half of their hash says nothing about them. */
uint32_t mark__image(void)
{
	const void *bytes = (const void *)getauxval(AT_RANDOM); /* NOLINT */

	return bytes ? (uint32_t)mark_hash(bytes, 16) : 0;
}
