// SPDX-License-Identifier: BSD-2-Clause
/*
 * file_loop FILE SECONDS CPU: one pread() of a byte of FILE after another, then "COUNT
 * CPU_NS_PER_CALL". The time on the cpu does not count what other processes take.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/loop.h"

int main(int argc, char **argv)
{
	uint64_t cpu, end, n = 0;
	char byte;
	int fd, i;

	fd = argc == 4 ? open(argv[1], O_RDONLY) : -1;
	if (fd < 0)
		return 2;
	if (stay_on(atoi(argv[3])))
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
