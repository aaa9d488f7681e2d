// SPDX-License-Identifier: BSD-2-Clause
/*
 * stream_loop pipe|unix|poll SECONDS CPU: one byte after another is written into a pipe or a pair
 * of sockets and read again, or a pipe is polled that is ready; then "COUNT CPU_NS_PER_CALL". The
 * time on the cpu does not count what other processes take.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/loop.h"

/* Two calls. */
static int move(const int fd[2])
{
	char byte = 'x';

	return write(fd[1], &byte, 1) == 1 && read(fd[0], &byte, 1) == 1;
}

static int look(const int fd[2])
{
	struct pollfd p = {.fd = fd[1], .events = POLLOUT};

	int first = poll(&p, 1, 0);

	return first == 1 && poll(&p, 1, 0) == 1;
}

int main(int argc, char **argv)
{
	int (*what)(const int fd[2]) = argc == 4 && strcmp(argv[1], "poll") == 0 ? look : move;
	uint64_t cpu, end, n = 0;
	int fd[2], i;

	if (argc != 4)
		return 2;
	if (strcmp(argv[1], "unix") == 0 ? socketpair(AF_UNIX, SOCK_STREAM, 0, fd) : pipe(fd))
		return 1;
	if (stay_on(atoi(argv[3])))
		return 1;
	end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[2]) * 1e9);
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
	do {
		for (i = 0; i < 1000; i++)
			if (!what(fd))
				return 1;
		n += 2000;
	} while (now_ns(CLOCK_MONOTONIC) < end);
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	printf("%llu %.2f\n", (unsigned long long)n, (double)cpu / n);
	return 0;
}
