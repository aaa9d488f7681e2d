// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that do what the kernel counts, in numbers that it tells itself:
 *
 *	counted THREADS
 *
 * Each thread touches fresh pages, sleeps, burns time and moves from cpu to cpu, and prints what
 * getrusage() and the clock of its cpu time say at its end: tid, minor and major faults, voluntary
 * and involuntary switches, cpu time in nanoseconds. Marks steps, of which step n touches n times
 * STEP_PAGES pages.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "userspace/mark/xpugap_mark.h"

#define PAGES	    300
#define SLEEPS	    20
#define STEPS	    5
#define STEP_PAGES  100
#define THREADS_MAX 16

static size_t page;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void touch(size_t pages)
{
	char *p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	size_t i;

	if (p == MAP_FAILED)
		exit(1);
	madvise(p, pages * page, MADV_NOHUGEPAGE);
	for (i = 0; i < pages; i++)
		*(volatile char *)(p + i * page) = 1;
	munmap(p, pages * page);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ns)
{
	uint64_t until = cpu_ns() + ns;

	while (cpu_ns() < until)
		;
}

static void move(int i)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned int)i % (unsigned int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set); /* a cpu that we may not use: stay */
}

static void *work(void *arg)
{
	const struct timespec t = {.tv_nsec = 1000000};
	struct rusage r;
	int i;

	touch(PAGES);
	for (i = 0; i < SLEEPS; i++) {
		nanosleep(&t, NULL);
		move(i);
		burn(2000000);
	}
	pthread_mutex_lock(&lock);
	getrusage(RUSAGE_THREAD, &r);
	printf("%ld %ld %ld %ld %ld %llu\n", (long)syscall(SYS_gettid), r.ru_minflt, r.ru_majflt,
	       r.ru_nvcsw, r.ru_nivcsw, (unsigned long long)cpu_ns());
	fflush(stdout);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(int argc, char **argv)
{
	int i, n = argc == 2 ? atoi(argv[1]) : 0;
	pthread_t threads[THREADS_MAX];

	if (n < 1 || n > THREADS_MAX)
		return 2;
	page = (size_t)sysconf(_SC_PAGESIZE);
	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	for (i = 1; i <= STEPS; i++) {
		xpugap_step((uint64_t)i, 0);
		touch((size_t)i * STEP_PAGES);
		usleep(1000);
	}
	xpugap_step_end(0);
	return 0;
}
