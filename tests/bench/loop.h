/* SPDX-License-Identifier: BSD-2-Clause */
/* For programs that make one call after another: clocks and processors. */
#ifndef XPUGAP_BENCH_LOOP_H
#define XPUGAP_BENCH_LOOP_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* This thread, and those that it makes, run on @cpu only: 0, or -1 and errno. */
static inline int stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

#endif
