// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/mark_peer.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/source/proc.h"

/* The value of @key in a status file: the first number, or the last one of the line. */
static int read_status(const char *path, const char *key, bool last, pid_t *value, int *count)
{
	size_t n = strlen(key);
	char line[512], *p, *end;
	FILE *f = fopen(path, "re");
	int found = -1;
	long v;

	if (!f)
		return -1;
	while (found < 0 && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, n) != 0 || line[n] != ':')
			continue;
		*count = 0;
		for (p = line + n + 1;; p = end) {
			v = strtol(p, &end, 10);
			if (end == p)
				break;
			if (last || !*count)
				*value = (pid_t)v;
			(*count)++;
		}
		found = *count ? 0 : -1;
	}
	fclose(f);
	return found;
}

static int status_of(pid_t pid, const char *key, bool last, pid_t *value, int *count)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_status(path, key, last, value, count);
}

int mark_targets__add(struct mark_targets *t, pid_t pid)
{
	size_t n = 0;
	pid_t *pids;

	for (size_t i = 0; i < t->n; i++)
		if (t->pids[i] != pid && (kill(t->pids[i], 0) == 0 || errno != ESRCH))
			t->pids[n++] = t->pids[i];
	t->n = n;
	pids = realloc(t->pids, (n + 1) * sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	t->pids = pids;
	t->pids[t->n++] = pid;
	return 0;
}

void mark_targets__free(struct mark_targets *t)
{
	free(t->pids);
	*t = (struct mark_targets){0};
}

static bool is_target(const struct mark_targets *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->pids[i] == pid)
			return true;
	return false;
}

bool mark_targets__have(const struct mark_targets *t, pid_t pid)
{
	int count;

	for (int depth = 0; t->n && depth < 256 && pid > 1; depth++) {
		if (is_target(t, pid))
			return true;
		if (status_of(pid, "PPid", false, &pid, &count))
			return false;
	}
	return false;
}

bool mark_peer__nested(pid_t pid, pid_t claimed)
{
	int count = 0;
	pid_t inner;

	if (status_of(pid, "NSpid", true, &inner, &count))
		return pid != claimed;
	return count > 1;
}

static pid_t find_nested(pid_t pid, pid_t ns_tid)
{
	char path[64 + 256];
	struct dirent *e;
	pid_t tid = 0, inner;
	DIR *d;
	int count;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return 0;
	while (!tid && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, e->d_name);
		if (!read_status(path, "NSpid", true, &inner, &count) && inner == ns_tid)
			tid = (pid_t)strtol(e->d_name, NULL, 10);
	}
	closedir(d);
	return tid;
}

pid_t mark_peer__tid(pid_t pid, bool nested, pid_t ns_tid)
{
	pid_t leader;

	if (ns_tid <= 0)
		return 0;
	if (nested)
		return find_nested(pid, ns_tid);
	leader = ns_tid == pid ? pid : proc__leader(ns_tid);
	return !leader || leader == pid ? ns_tid : 0;
}

void mark_peer__describe(pid_t pid, pid_t tid, struct rec_task *task)
{
	struct proc_stat st;

	if (proc__stat(pid, tid, &st))
		return;
	memcpy(task->comm, st.comm, sizeof(task->comm));
	task->ppid = (uint32_t)st.ppid;
	task->start_ns = proc_stat__start_ns(&st);
}
