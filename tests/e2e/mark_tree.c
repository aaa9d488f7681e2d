// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that marks in many ways, a known number of times.
 *
 *	mark_tree CHILDREN THREADS STEPS   each thread of each child makes that many steps, the
 *	                                   children after closing every descriptor
 *	mark_tree forever                  steps until it is killed; says on standard output when it
 *	                                   is recorded and when no more
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/mark/xpugap_mark.h"

static unsigned long threads, steps;

static void *step(void *arg)
{
	xpugap_role("worker");
	for (unsigned long i = 0; i < steps; i++) {
		xpugap_step(i, 3);
		if (i % 1000 == 999)
			usleep(2000); /* a ring holds as many steps as this only some ten times */
	}
	return NULL;
}

static int child(void)
{
	pthread_t th[64];

	for (int fd = 0; fd < 4096; fd++)
		close(fd);
	for (unsigned long i = 0; i < threads; i++)
		if (pthread_create(&th[i], NULL, step, NULL))
			return 1;
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(th[i], NULL);
	return 0;
}

static int tree(unsigned long children)
{
	int status, bad = 0;

	xpugap_role("parent");
	for (unsigned long i = 0; i < children; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(child());
		bad += pid < 0;
	}
	while (wait(&status) > 0)
		bad += status != 0;
	return bad != 0;
}

static void forever(void)
{
	bool was = false;

	for (uint64_t i = 0;; i++) {
		xpugap_step(i, 1);
		if (xpugap_recording() != was) {
			was = !was;
			puts(was ? "recorded" : "not recorded");
			fflush(stdout);
		}
		if (i % 1000 == 0)
			usleep(100);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "forever"))
		forever();
	if (argc != 4)
		return 2;
	threads = strtoul(argv[2], NULL, 10);
	steps = strtoul(argv[3], NULL, 10);
	return threads <= 64 ? tree(strtoul(argv[1], NULL, 10)) : 2;
}
