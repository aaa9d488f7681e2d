// SPDX-License-Identifier: BSD-2-Clause
/*
 * agg_calls THREADS CALLS: each of so many threads, and a child process for every fourth, makes
 * CALLS calls of getppid and NAPS of nanosleep for 2 ms, and ends; eight run at a time. Then a
 * thread that is not the first starts /bin/true. Prints a line "TID CALLS NAPS EXECS" for each.
 *
 * agg_calls NUMBERS: so many calls of different numbers, from FIRST, that no kernel has; then one
 * of the number -1.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAPS	 5
#define FIRST	 100000
#define TOGETHER 8

static unsigned long calls;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void work(void)
{
	const struct timespec nap = {.tv_nsec = 2000000};
	unsigned long i;

	for (i = 0; i < calls; i++)
		syscall(SYS_getppid);
	for (i = 0; i < NAPS; i++)
		syscall(SYS_nanosleep, &nap, NULL);
}

static void *thread(void *arg)
{
	work();
	pthread_mutex_lock(&lock);
	printf("%ld %lu %d 0\n", syscall(SYS_gettid), calls, NAPS);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int child(void)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		work();
		printf("%d %lu %d 0\n", getpid(), calls, NAPS);
		fflush(stdout);
		_exit(0);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static void *start(void *arg)
{
	char name[] = "true", *const argv[] = {name, NULL};

	execv("/bin/true", argv);
	return arg;
}

/* Its calls are told of under the id of the first thread, as which it goes on. */
static int start_from_another(void)
{
	pthread_t th;

	printf("%d 0 0 1\n", getpid());
	fflush(stdout);
	if (pthread_create(&th, NULL, start, NULL) == 0)
		pthread_join(th, NULL);
	return 1;
}

static int odd_numbers(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		if (syscall(FIRST + (long)i) != -1 || errno != ENOSYS)
			return 1;
	return syscall(-1L) != -1;
}

int main(int argc, char **argv)
{
	unsigned long n, i, begun;
	pthread_t th[TOGETHER];
	int bad = 0;

	if (argc == 2)
		return odd_numbers(strtoul(argv[1], NULL, 10));
	if (argc != 3)
		return 2;
	n = strtoul(argv[1], NULL, 10);
	calls = strtoul(argv[2], NULL, 10);
	for (begun = 0; begun < n; begun += TOGETHER) {
		for (i = 0; i < TOGETHER && begun + i < n; i++)
			if (pthread_create(&th[i], NULL, thread, NULL))
				return 1;
		while (i--)
			pthread_join(th[i], NULL);
		bad += child() + child();
	}
	return bad ? 1 : start_from_another();
}
