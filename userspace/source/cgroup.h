/* SPDX-License-Identifier: BSD-2-Clause */
/* Control groups of both versions: finding one by its path, and who is in it. */
#ifndef XPUGAP_SOURCE_CGROUP_H
#define XPUGAP_SOURCE_CGROUP_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_ref {
	char path[PATH_MAX]; /* of its directory */
	uint64_t id;	     /* inode of that, which is the kernel's id of the group */
	uint32_t hierarchy;  /* number in /proc/cgroups; 0: version 2 */
};

/*
 * Find the control group at @path: a directory below a mounted hierarchy, or what follows after
 * the mount's (as /proc/PID/cgroup has it), where version 2 is looked at first. 0 or -errno:
 * -ENOENT there is none, -ENOTDIR the path is something else than a control group.
 */
int cgroup__find(struct cgroup_ref *g, const char *path);

/*
 * Call @fn with each thread that is in @g or below, as its files list them, until it returns other
 * than 0, which is returned; or -errno. Threads that come and go meanwhile may be missed.
 */
int cgroup__each(const struct cgroup_ref *g, int (*fn)(void *arg, pid_t tid), void *arg);

/* ---- of files ---- */

/* One mounted hierarchy, of a line of /proc/self/mountinfo. */
struct cgroup_mount {
	unsigned int version; /* 1 or 2 */
	unsigned int major, minor;
	char root[PATH_MAX]; /* what of the hierarchy is mounted; "/": all */
	char path[PATH_MAX]; /* where */
	char options[256];   /* of the file system: "rw,memory" */
};

/* 1: @m is set; 0: the line is about another kind of file system; -EINVAL: it is none. */
int cgroup_mount__parse(struct cgroup_mount *m, const char *line);

/*
 * The number of the hierarchy that has @options, from a line of /proc/PID/cgroup
 * ("7:memory:/path"), or -ENOENT when that is about another.
 */
int cgroup__match(const char *line, const char *options);

#endif
