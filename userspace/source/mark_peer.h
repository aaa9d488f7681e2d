/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is at the other end of a mark socket, and what its thread ids mean here. */
#ifndef XPUGAP_SOURCE_MARK_PEER_H
#define XPUGAP_SOURCE_MARK_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/include/events.h"

/* Is @pid @root or below it, as far as /proc tells (a daemon that left its parent is not)? */
bool mark_peer__below(pid_t pid, pid_t root);

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
