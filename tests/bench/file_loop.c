// SPDX-License-Identifier: BSD-2-Clause
/*
 * file_loop FILE SECONDS CPU: one pread() of a byte of FILE after another, then "COUNT
 * CPU_NS_PER_CALL". The time on the cpu does not count what other processes take.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t cpu, end, n = 0;
	cpu_set_t set;
	char byte;
	int fd, i;

	fd = argc == 4 ? open(argv[1], O_RDONLY) : -1;
	if (fd < 0)
		return 2;
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[3]), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		return 1;
	end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[2]) * 1e9);
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
	do {
		for (i = 0; i < 1000; i++)
			if (pread(fd, &byte, 1, 0) != 1)
				return 1;
		n += 1000;
	} while (now_ns(CLOCK_MONOTONIC) < end);
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	printf("%llu %.2f\n", (unsigned long long)n, (double)cpu / n);
	return 0;
}
