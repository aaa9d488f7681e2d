/* SPDX-License-Identifier: GPL-2.0-only */
/* The numbers of threads in their namespaces, and whom such a number means. */
#ifndef XPUGAP_PID_BPF_H
#define XPUGAP_PID_BPF_H

#include "bpf/include/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define MAX_LEVELS 0x7ff /* bytes of 32 levels of process ids, at up to 64 each */
#define TREE_SHIFT 6	 /* bits of a number that each level of the table takes */
#define TREE_MASK  0x3fULL
#define TREE_DEPTH 5 /* of 22 bits, which the kernel's numbers have at most, and one to spare */

/* What @pid is called at @level of the namespaces. */
static __always_inline void *pid__number(struct pid *pid, unsigned int level)
{
	void *numbers = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	__u64 at = level * bpf_core_type_size(struct upid);

	barrier_var(at);
	at &= MAX_LEVELS; /* 6.1's verifier wants to see a bound */
	barrier_var(at);
	return numbers + at;
}

static __always_inline __u32 pid__nr(struct pid *pid, unsigned int level)
{
	void *upid = pid__number(pid, level);
	int nr = 0;

	bpf_probe_read_kernel(&nr, sizeof(nr), upid + bpf_core_field_offset(struct upid, nr));
	return nr;
}

/* The number that @pid has in its own namespace. */
static __always_inline __u32 pid__ns_nr(struct pid *pid)
{
	return pid__nr(pid, BPF_CORE_READ(pid, level));
}

static __always_inline struct pid_namespace *pid__ns(struct pid *pid, unsigned int level)
{
	void *upid = pid__number(pid, level);
	struct pid_namespace *ns = NULL;

	bpf_probe_read_kernel(&ns, sizeof(ns), upid + bpf_core_field_offset(struct upid, ns));
	return ns;
}

/*
 * The entry for @nr in the tree that a namespace keeps its numbers in (lib/xarray.c): the kernel
 * has no helper for this before 6.14. A node is a pointer with the second bit set.
 */
static __always_inline struct pid *pid__look_up(struct pid_namespace *ns, __u32 nr)
{
	__u64 entry = (__u64)BPF_CORE_READ(ns, idr.idr_rt.xa_head), index, next;
	struct xa_node *node;
	int i;

	for (i = 0; i < TREE_DEPTH && (entry & 3) == 2; i++) {
		node = (void *)(entry - 2);
		index = nr >> (BPF_CORE_READ(node, shift) & 31);
		if (i == 0 && index > TREE_MASK)
			return NULL;
		index &= TREE_MASK;
		next = 0;
		bpf_probe_read_kernel(&next, sizeof(next),
				      (void *)node + bpf_core_field_offset(struct xa_node, slots) +
					      index * sizeof(next));
		entry = next;
	}
	return entry & 3 ? NULL : (void *)entry;
}

/*
 * The thread that @task calls @nr: NULL if there is none now. To be read with
 * bpf_probe_read_kernel() only.
 */
static __always_inline struct task_struct *pid__task(struct task_struct *task, __u32 nr)
{
	struct pid *own = BPF_CORE_READ(task, thread_pid), *pid;
	unsigned int level = BPF_CORE_READ(own, level);
	struct hlist_node *first;

	pid = pid__look_up(pid__ns(own, level), nr);
	if (!pid || pid__nr(pid, level) != nr) /* whatever the tree is like: it is that number */
		return NULL;
	first = BPF_CORE_READ(pid, tasks[0].first);
	return first ? (void *)first - bpf_core_field_offset(struct task_struct, pid_links) : NULL;
}

#endif
