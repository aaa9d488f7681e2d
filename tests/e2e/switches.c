// SPDX-License-Identifier: BSD-2-Clause
/*
 * switches: a thread that sleeps, yields, waits for another and is displaced, and counts how often
 * it left the cpu by the kernel's own account; children whose totals come from wait4().
 *
 * Prints lines
 *	thread TID FIRST LAST VOLUNTARY INVOLUNTARY
 *		between the ioctls (0x7802) with the arguments FIRST and LAST of that thread
 *	child PID VOLUNTARY INVOLUNTARY MINOR MAJOR CPU_US CODE
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CMD	 0x7802
#define ROUNDS	 200
#define CHILDREN 8

static int fd, to_peer[2], from_peer[2];

/* A mark at a moment at which the counts are known: no switch between two readings around it. */
static unsigned long mark(struct rusage *at)
{
	static unsigned long n;
	struct rusage before;

	do {
		getrusage(RUSAGE_THREAD, &before);
		ioctl(fd, CMD, ++n);
		getrusage(RUSAGE_THREAD, at);
	} while (before.ru_nvcsw != at->ru_nvcsw || before.ru_nivcsw != at->ru_nivcsw);
	return n;
}

/* Answers after a while, so that who asked has gone to wait. */
static void *echo(void *arg)
{
	struct timespec nap = {.tv_nsec = 50000};
	char c;

	while (read(to_peer[0], &c, 1) == 1) {
		nanosleep(&nap, NULL);
		if (write(from_peer[1], &c, 1) != 1)
			break;
	}
	return NULL;
}

static void spin_us(long us)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while ((b.tv_sec - a.tv_sec) * 1000000L + (b.tv_nsec - a.tv_nsec) / 1000 < us);
}

static void work(int rounds)
{
	struct timespec nap = {.tv_nsec = 200000};
	int i;

	for (i = 0; i < rounds; i++) {
		nanosleep(&nap, NULL);
		sched_yield();
		spin_us(500);
	}
}

static void *count_own(void *arg)
{
	struct rusage a, b;
	unsigned long first, last;
	char c = 0;
	int i;

	first = mark(&a);
	work(ROUNDS);
	for (i = 0; i < ROUNDS; i++)
		if (write(to_peer[1], &c, 1) != 1 || read(from_peer[0], &c, 1) != 1)
			exit(1);
	last = mark(&b);
	printf("thread %d %lu %lu %ld %ld\n", gettid(), first, last, b.ru_nvcsw - a.ru_nvcsw,
	       b.ru_nivcsw - a.ru_nivcsw);
	return NULL;
}

static void run_child(int n)
{
	size_t bytes = (n + 1) << 20;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(99);
	memset(p, 1, bytes);
	work(10 * n);
	_exit(n);
}

int main(void)
{
	pthread_t peer, own;
	struct rusage ru;
	int i, status;
	pid_t pid;

	fd = open("/dev/null", O_RDWR);
	if (fd < 0 || pipe(to_peer) || pipe(from_peer))
		return 1;
	if (pthread_create(&peer, NULL, echo, NULL) || pthread_create(&own, NULL, count_own, NULL))
		return 1;
	pthread_join(own, NULL);
	close(to_peer[1]);
	pthread_join(peer, NULL);
	fflush(stdout);
	for (i = 0; i < CHILDREN; i++) {
		pid = fork();
		if (pid == 0)
			run_child(i);
		if (pid < 0 || wait4(pid, &status, 0, &ru) != pid)
			return 1;
		printf("child %d %ld %ld %ld %ld %lld %d\n", pid, ru.ru_nvcsw, ru.ru_nivcsw,
		       ru.ru_minflt, ru.ru_majflt,
		       (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000LL + ru.ru_utime.tv_usec +
			       ru.ru_stime.tv_usec,
		       WEXITSTATUS(status));
	}
	return 0;
}
