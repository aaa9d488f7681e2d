// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS	    5000000L
#define GRACE_TICKS 50	 /* before the first is killed */
#define LAST_TICK   2000 /* no longer than this */

void tree__adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Parent of @pid and its name; -1 if it is gone or only waits to be reaped. */
static pid_t parent_of(pid_t pid, char name[32])
{
	char path[32], text[512], *open, *close, state;
	int parent = -1;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || sscanf(close + 1, " %c %d", &state, &parent) != 2 || state == 'Z')
		return -1;
	*close = '\0';
	snprintf(name, 32, "%s", open + 1);
	return parent;
}

/* Add a process to the list unless it stands there; returns whether it is new. */
static bool append(char *names, size_t size, const char *name, pid_t pid)
{
	size_t n = strlen(names);
	char number[16];

	snprintf(number, sizeof(number), "(%d)", pid);
	if (strstr(names, number))
		return false;
	snprintf(names + n, size - n, "%s%s %s", n ? ", " : "", name, number);
	return true;
}

/* How many children live; with @killed each is killed, named and, the first time, counted. */
static int visit_children(int *killed, char *names, size_t size)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	char name[32];
	int n = 0;
	pid_t pid;

	while (proc && (d = readdir(proc))) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		pid = (pid_t)strtol(d->d_name, NULL, 10);
		if (parent_of(pid, name) != getpid())
			continue;
		n++;
		if (killed && kill(pid, SIGKILL) == 0)
			*killed += append(names, size, name, pid);
	}
	if (proc)
		closedir(proc);
	return n;
}

static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int tree__sweep(char *names, size_t size)
{
	struct timespec tick = {.tv_nsec = TICK_NS};
	int i, n, killed = 0;

	*names = '\0';
	for (i = 0; i < LAST_TICK; i++) {
		reap();
		n = visit_children(i < GRACE_TICKS ? NULL : &killed, names, size);
		if (n == 0)
			return killed;
		nanosleep(&tick, NULL);
	}
	return -1;
}
