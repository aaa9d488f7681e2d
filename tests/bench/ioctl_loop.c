// SPDX-License-Identifier: BSD-2-Clause
/*
 * ioctl_loop SECONDS [CPU [PAUSE_US]]: one ioctl after another on /dev/zero (which has none: the
 * call does nothing but look up the descriptor and be refused), with a pause after each thousand,
 * then "COUNT CPU_NS_PER_CALL NS_PER_CALL". The argument counts the calls. The time on the cpu does
 * not count what other processes take. CPU -1 is any.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/bench/loop.h"

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDWR), i;
	uint64_t begin, cpu, end, n = 0;

	if (argc < 2 || fd < 0)
		return 2;
	if (argc > 2 && atoi(argv[2]) >= 0 && stay_on(atoi(argv[2])))
		return 1;
	begin = now_ns(CLOCK_MONOTONIC);
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
	end = begin + (uint64_t)(atof(argv[1]) * 1e9);
	do {
		for (i = 0; i < 1000; i++)
			ioctl(fd, 0x5401, n + i);
		n += 1000;
		if (argc > 3)
			usleep(atoi(argv[3]));
	} while (now_ns(CLOCK_MONOTONIC) < end);
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	printf("%llu %.2f %.2f\n", (unsigned long long)n, (double)cpu / n,
	       (double)(now_ns(CLOCK_MONOTONIC) - begin) / n);
	return 0;
}
