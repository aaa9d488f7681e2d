// SPDX-License-Identifier: BSD-2-Clause
/*
 * ioctl_tree CHILDREN THREADS CALLS
 *
 * Makes a known set of ioctls in a tree of processes and threads and prints how many. Each call
 * has its own number as argument, from 0 on, so that a missing one and one recorded twice show.
 *
 * Half of the children are made by a bare system call whose next one is their first ioctl; each
 * of them also runs the program again. The others fork and call from THREADS threads.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CMD 0x7801

struct share {
	int fd;
	uint64_t first, calls;
};

/* also before libc is right again after a bare clone: no errno, no locks */
static void call(int fd, uint64_t first, uint64_t calls)
{
	uint64_t i;

	for (i = 0; i < calls; i++)
		syscall(SYS_ioctl, fd, CMD, first + i);
}

static void *thread(void *arg)
{
	struct share *s = arg;

	call(s->fd, s->first, s->calls);
	return NULL;
}

static int run_threads(int fd, uint64_t first, uint64_t threads, uint64_t calls)
{
	struct share *shares = calloc(threads, sizeof(*shares));
	pthread_t *ids = calloc(threads, sizeof(*ids));
	uint64_t i;

	if (!shares || !ids)
		return 1;
	for (i = 0; i < threads; i++) {
		shares[i] = (struct share){fd, first + i * calls, calls};
		if (pthread_create(&ids[i], NULL, thread, &shares[i]))
			return 1;
	}
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	free(shares);
	free(ids);
	return 0;
}

/* The second half of the calls is made by the program run anew. */
static void run_bare(int fd, uint64_t first, uint64_t calls)
{
	char fd_text[16], first_text[24], calls_text[24];
	char name[] = "ioctl_tree", how[] = "calls";
	char *argv[] = {name, how, fd_text, first_text, calls_text, NULL};

	call(fd, first, calls / 2);
	snprintf(fd_text, sizeof(fd_text), "%d", fd);
	snprintf(first_text, sizeof(first_text), "%llu", (unsigned long long)(first + calls / 2));
	snprintf(calls_text, sizeof(calls_text), "%llu", (unsigned long long)(calls - calls / 2));
	execv("/proc/self/exe", argv);
	_exit(1);
}

int main(int argc, char **argv)
{
	uint64_t children, threads, calls, i, first = 0;
	int fd, status, bad = 0;
	pid_t pid;

	if (argc == 5 && strcmp(argv[1], "calls") == 0) {
		call(atoi(argv[2]), strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
		return 0;
	}
	if (argc != 4)
		return 2;
	children = strtoull(argv[1], NULL, 10);
	threads = strtoull(argv[2], NULL, 10);
	calls = strtoull(argv[3], NULL, 10);
	fd = open("/dev/null", O_RDWR);
	if (fd < 0)
		return 1;
	for (i = 0; i < children; i++) {
		bool bare = i % 2;

		pid = bare ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
		if (pid < 0)
			return 1;
		if (pid == 0 && bare)
			run_bare(fd, first, calls);
		if (pid == 0)
			_exit(run_threads(fd, first, threads, calls));
		first += bare ? calls : threads * calls;
	}
	while (wait(&status) > 0)
		bad |= status != 0;
	printf("%llu\n", (unsigned long long)first);
	return bad;
}
