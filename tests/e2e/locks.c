// SPDX-License-Identifier: BSD-2-Clause
/*
 * Page faults that wait for the lock of the address space, which another thread holds while it
 * forks a large process. Prints the tid of who forks, the tid of who faults, and for each fault
 * that took long, in which the thread slept and did not only lack a cpu: when it began and ended
 * (CLOCK_MONOTONIC).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LARGE	  (1UL << 30) /* what a fork has to copy the tables of */
#define FRESH	  (256UL << 20)
#define FORKS	  100
#define FORKS_MAX 400 /* where few faults were slow */
#define ENOUGH	  10
#define LONG_NS	  500000
#define KEPT	  1000

static atomic_bool ended;
static struct {
	uint64_t from, to;
} slow[KEPT];
static atomic_uint nslow;
static pid_t faulter;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* How long this thread was runnable without a cpu, in its life. */
static uint64_t run_delay(void)
{
	static int fd = -1;
	unsigned long long ran, waited;
	char text[128];
	ssize_t n;

	if (fd < 0)
		fd = open("/proc/thread-self/schedstat", O_RDONLY);
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0) {
		perror("schedstat");
		exit(1);
	}
	text[n] = '\0';
	return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

/* How often this thread went to sleep. */
static long sleeps(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	return ru.ru_nvcsw;
}

static char *map(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

static void touch(char *p, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), at;

	for (at = 0; at < size; at += page)
		*(volatile char *)(p + at) = 1;
}

static void *fault(void *arg)
{
	const struct timespec pause = {.tv_nsec = 200000};
	size_t page = (size_t)sysconf(_SC_PAGESIZE), at;
	char *p = arg;
	uint64_t from, to, delay;
	long before;

	faulter = gettid();
	for (at = 0; at < FRESH && !ended; at += page) {
		delay = run_delay();
		before = sleeps();
		from = now();
		*(volatile char *)(p + at) = 1;
		to = now();
		delay = run_delay() - delay;
		if (to - from > LONG_NS && delay < (to - from) / 10 && sleeps() > before &&
		    nslow < KEPT) {
			slow[nslow].from = from;
			slow[nslow].to = to;
			nslow++;
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(void)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	char *large = map(LARGE), *fresh = map(FRESH);
	pthread_t thread;
	unsigned int i;
	pid_t pid;

	touch(large, LARGE);
	if (pthread_create(&thread, NULL, fault, fresh))
		return 1;
	for (i = 0; i < FORKS || (i < FORKS_MAX && nslow < ENOUGH); i++) {
		nanosleep(&pause, NULL);
		pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	ended = true;
	pthread_join(thread, NULL);
	printf("%d %d\n", getpid(), faulter);
	for (i = 0; i < nslow; i++)
		printf("%llu %llu\n", (unsigned long long)slow[i].from,
		       (unsigned long long)slow[i].to);
	return 0;
}
