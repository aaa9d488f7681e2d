/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is at the other end of a mark socket, and what its thread ids mean here. */
#ifndef XPUGAP_SOURCE_MARK_PEER_H
#define XPUGAP_SOURCE_MARK_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/include/events.h"

/* The roots of the recorded trees. */
struct mark_targets {
	pid_t *pids;
	size_t n;
};

/* 0 or -ENOMEM. Those that have ended are forgotten. */
int mark_targets__add(struct mark_targets *t, pid_t pid);
/* Is @pid one of them or below one, as far as /proc tells (a daemon that left its parent is not)?
 */
bool mark_targets__have(const struct mark_targets *t, pid_t pid);
void mark_targets__free(struct mark_targets *t);

/*
 * Is @pid in another (deeper) pid namespace than we are? @claimed, what it says its pid is,
 * decides if it is gone already.
 */
bool mark_peer__nested(pid_t pid, pid_t claimed);

/*
 * The thread that process @pid knows as @ns_tid. A thread that is gone is believed where the
 * namespaces are one; 0 if @ns_tid belongs to another process or cannot be found.
 */
pid_t mark_peer__tid(pid_t pid, bool nested, pid_t ns_tid);

/* Fill in what /proc knows of the thread: ppid, start_ns (to within a clock tick) and comm. */
void mark_peer__describe(pid_t pid, pid_t tid, struct rec_task *task);

#endif
