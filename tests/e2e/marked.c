// SPDX-License-Identifier: BSD-2-Clause
/*
 * marked: a program that marks steps and counts itself what happens in each: time on a cpu, sleep,
 * switches, ioctls. A child process is its loader.
 *
 * usage: marked STEPS [ABORT]; with ABORT it ends by SIGKILL in the midst of the step after those.
 *
 * Prints a line for each step:
 *	step N WALL_MIN WALL_MAX CPU_MIN SLEEP_NS IOCTLS VOL_MIN VOL_MAX INVOL_MIN INVOL_MAX
 * SLEEP_NS is what it asked for; the rest lies between two bounds, as a mark takes some time, and
 * whoever takes the cpu away may do it in the midst of one.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "userspace/mark/xpugap_mark.h"

#define MAX_STEPS 1000
#define MS	  1000000ULL

struct point {
	struct rusage before, after;
	uint64_t cpu_before, cpu_after, at_before, at_after;
};

static struct point points[MAX_STEPS + 1];

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static void spin(uint64_t ns)
{
	uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - from < ns)
		;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {0, (long)ns};

	while (nanosleep(&t, &t) != 0)
		;
}

static void mark(struct point *p, uint64_t n, int last)
{
	getrusage(RUSAGE_THREAD, &p->before);
	p->cpu_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	p->at_before = clock_ns(CLOCK_MONOTONIC);
	if (last)
		xpugap_step_end(8);
	else
		xpugap_step(n, n ? 8 : 0);
	p->at_after = clock_ns(CLOCK_MONOTONIC);
	p->cpu_after = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	getrusage(RUSAGE_THREAD, &p->after);
}

static void load(int fd)
{
	char byte = 0;

	xpugap_role("loader");
	do
		spin(MS / 2);
	while (write(fd, &byte, 1) == 1);
	_exit(0);
}

static uint64_t sleep_of(int i)
{
	return (2 + (uint64_t)i % 3) * MS;
}

static int ioctls_of(int i)
{
	return 3 + i % 5;
}

static void step(int i, int from_loader)
{
	int null = open("/dev/null", O_RDONLY), k;
	char byte;

	spin(3 * MS);
	for (k = 0; k < ioctls_of(i); k++)
		ioctl(null, 0x7803, k);
	sleep_ns(sleep_of(i));
	if (read(from_loader, &byte, 1) != 1)
		exit(1);
	close(null);
	xpugap_counter("loss", 10.0 / (1 + i));
}

static void print(int i)
{
	const struct point *a = &points[i], *b = &points[i + 1];

	printf("step %d %llu %llu %llu %llu %d %ld %ld %ld %ld\n", i,
	       (unsigned long long)(b->at_before - a->at_after),
	       (unsigned long long)(b->at_after - a->at_before),
	       (unsigned long long)(b->cpu_before - a->cpu_after), (unsigned long long)sleep_of(i),
	       ioctls_of(i), b->before.ru_nvcsw - a->after.ru_nvcsw,
	       b->after.ru_nvcsw - a->before.ru_nvcsw, b->before.ru_nivcsw - a->after.ru_nivcsw,
	       b->after.ru_nivcsw - a->before.ru_nivcsw);
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 20, fds[2], i;
	pid_t loader;

	if (steps < 0 || steps > MAX_STEPS || pipe(fds) != 0)
		return 1;
	signal(SIGPIPE, SIG_IGN);
	loader = fork();
	if (loader == 0) {
		close(fds[0]);
		load(fds[1]);
	}
	close(fds[1]);
	for (i = 0; i < steps; i++) {
		mark(&points[i], (uint64_t)i, 0);
		step(i, fds[0]);
	}
	if (argc > 2) {
		mark(&points[steps], (uint64_t)steps, 0);
		kill(loader, SIGKILL);
		raise(SIGKILL);
	}
	if (steps)
		mark(&points[steps], (uint64_t)steps, 1);
	for (i = 0; i < steps; i++)
		print(i);
	close(fds[0]);
	waitpid(loader, NULL, 0);
	return 0;
}
