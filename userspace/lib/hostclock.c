// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/hostclock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
int64_t hostclock__offset(void)
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

static int64_t offset;

static void find_offset(void)
{
	offset = hostclock__offset();
}

uint64_t hostclock__now(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct timespec t;

	pthread_once(&once, find_offset);
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec - (uint64_t)offset;
}

double hostclock__date(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
