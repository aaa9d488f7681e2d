/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes as /proc tells of them. */
#ifndef XPUGAP_SOURCE_PROC_H
#define XPUGAP_SOURCE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/include/events.h"

struct proc_stat {
	pid_t pid; /* of the task that the line is about */
	pid_t ppid;
	char state;		 /* 'R', 'S', ..., 'Z' */
	uint32_t flags;		 /* the kernel's PF_* */
	uint64_t start_ticks;	 /* since boot */
	char comm[REC_COMM_LEN]; /* not more of it than a record holds; NUL-terminated */
};

#define PROC_EXITING 0x00000004 /* of flags */
#define PROC_KTHREAD 0x00200000

/* A line of /proc/PID/stat. 0 or -EINVAL. */
int proc_stat__parse(const char *line, struct proc_stat *st);

/* /proc/PID/stat, or with @tid that of a thread. 0 or -errno: -ESRCH when there is none. */
int proc__stat(pid_t pid, pid_t tid, struct proc_stat *st);

/* Has the task ended, so that only its parent still can ask for it? */
static inline bool proc_stat__ended(const struct proc_stat *st)
{
	return st->state == 'Z' || st->state == 'X';
}

/* The same of one that is about to: it runs none of its program any more, perhaps for seconds. */
static inline bool proc_stat__ending(const struct proc_stat *st)
{
	return proc_stat__ended(st) || st->flags & PROC_EXITING;
}

/* When the task was created, in the time of records; as exact as the ticks are (10 ms). */
uint64_t proc_stat__start_ns(const struct proc_stat *st);

/* The user who runs the thread. 0, or -ESRCH when there is none. */
int proc__uid(pid_t tid, uint32_t *uid);

/* The process of thread @tid: itself for a leader, 0 if there is none. */
pid_t proc__leader(pid_t tid);

/* Does a thread of the process live? Its leader may have ended before the others. */
bool proc__lives(pid_t pid);

/*
 * Call @fn for each process, or each thread of @pid, that /proc lists, until it returns other
 * than 0, which is returned; or -errno.
 */
int proc__each(int (*fn)(void *arg, pid_t pid), void *arg);
int proc__each_thread(pid_t pid, int (*fn)(void *arg, pid_t tid), void *arg);

/* Is our PID namespace the initial one, so that ids seen here are those in the trace? */
bool proc__in_first_namespace(void);

#endif
