// SPDX-License-Identifier: BSD-2-Clause
/*
 * tree WIDTH DEPTH: a process with WIDTH children, each of which is this program run anew with
 * children of its own, DEPTH generations deep. Those of the last generation sleep and yield.
 *
 * For each child, its parent prints what the kernel says of it and its children together:
 *	child PID PARENT VOLUNTARY INVOLUNTARY MINOR MAJOR CODE
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5

static void work(void)
{
	struct timespec nap = {.tv_nsec = 200000};
	int i;

	for (i = 0; i < ROUNDS; i++) {
		nanosleep(&nap, NULL);
		sched_yield();
	}
}

static int start(char *self, char *width, int depth, int code)
{
	char depth_text[16], code_text[16];
	char *argv[] = {self, width, depth_text, code_text, NULL};

	snprintf(depth_text, sizeof(depth_text), "%d", depth);
	snprintf(code_text, sizeof(code_text), "%d", code);
	execv("/proc/self/exe", argv);
	return 1;
}

int main(int argc, char **argv)
{
	struct rusage ru;
	int i, width, depth, status, code = 0;
	pid_t pid;

	if (argc < 3)
		return 2;
	width = atoi(argv[1]);
	depth = atoi(argv[2]);
	if (argc > 3)
		code = atoi(argv[3]);
	if (depth == 0)
		work();
	for (i = 0; depth > 0 && i < width; i++) {
		pid = fork();
		if (pid == 0)
			_exit(start(argv[0], argv[1], depth - 1, 10 * depth + i));
		if (pid < 0)
			return 1;
	}
	while (depth > 0 && (pid = wait4(-1, &status, 0, &ru)) > 0)
		printf("child %d %d %ld %ld %ld %ld %d\n", pid, getpid(), ru.ru_nvcsw, ru.ru_nivcsw,
		       ru.ru_minflt, ru.ru_majflt, WEXITSTATUS(status));
	return code;
}
