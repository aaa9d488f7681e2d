// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/proc.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "userspace/lib/hostclock.h"

#define FIRST_PID_NS "pid:[4026531836]" /* PROC_PID_INIT_INO */

/* The name stands in brackets and may have any character in it, also brackets. */
int proc_stat__parse(const char *line, struct proc_stat *st)
{
	const char *open = strchr(line, '('), *close = strrchr(line, ')');
	unsigned long long start;
	unsigned int flags;
	int pid, ppid;
	size_t len;

	*st = (struct proc_stat){0};
	if (!open || !close || close < open || sscanf(line, "%d", &pid) != 1)
		return -EINVAL;
	/* state ppid pgrp session tty tpgid flags, eleven others, starttime */
	if (sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &st->state, &ppid, &flags, &start) != 4)
		return -EINVAL;
	st->pid = pid;
	st->ppid = ppid;
	st->flags = flags;
	st->start_ticks = start;
	len = (size_t)(close - open - 1);
	if (len > sizeof(st->comm) - 1)
		len = sizeof(st->comm) - 1;
	memcpy(st->comm, open + 1, len);
	return 0;
}

int proc__stat(pid_t pid, pid_t tid, struct proc_stat *st)
{
	char path[64], line[1024];
	size_t n;
	FILE *f;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	else
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';
	return n ? proc_stat__parse(line, st) : -ESRCH;
}

/* CLOCK_BOOTTIME, which /proc counts in, goes on while the machine sleeps. */
static uint64_t asleep_ns(void)
{
	struct timespec boot;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (uint64_t)boot.tv_sec * 1000000000U + (uint64_t)boot.tv_nsec - hostclock__now();
}

uint64_t proc_stat__start_ns(const struct proc_stat *st)
{
	return st->start_ticks * (1000000000U / (uint64_t)sysconf(_SC_CLK_TCK)) - asleep_ns();
}

/* What @format reads from a line of a thread's status. 0 or -ESRCH. */
static int scan_status(pid_t tid, const char *format, unsigned int *value)
{
	char path[64], line[256];
	int err = -ESRCH;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	if (!f)
		return err;
	while (err && fgets(line, sizeof(line), f))
		err = sscanf(line, format, value) == 1 ? 0 : err;
	fclose(f);
	return err;
}

int proc__uid(pid_t tid, uint32_t *uid)
{
	return scan_status(tid, "Uid: %u", uid);
}

pid_t proc__leader(pid_t tid)
{
	unsigned int leader;

	return scan_status(tid, "Tgid: %u", &leader) ? 0 : (pid_t)leader;
}

static int each_number(const char *path, int (*fn)(void *arg, pid_t id), void *arg)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int err = 0, id;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (d = readdir(dir))) {
		id = atoi(d->d_name);
		if (id > 0)
			err = fn(arg, id);
	}
	closedir(dir);
	return err;
}

int proc__each(int (*fn)(void *arg, pid_t pid), void *arg)
{
	return each_number("/proc", fn, arg);
}

int proc__each_thread(pid_t pid, int (*fn)(void *arg, pid_t tid), void *arg)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return each_number(path, fn, arg);
}

static int find_living(void *arg, pid_t tid)
{
	const pid_t *pid = arg;
	struct proc_stat st = {0};

	return proc__stat(*pid, tid, &st) == 0 && !proc_stat__ended(&st);
}

bool proc__lives(pid_t pid)
{
	return proc__each_thread(pid, find_living, &pid) == 1;
}

bool proc__in_first_namespace(void)
{
	char name[64] = "";

	return readlink("/proc/self/ns/pid", name, sizeof(name) - 1) <= 0 ||
	       strcmp(name, FIRST_PID_NS) == 0;
}
