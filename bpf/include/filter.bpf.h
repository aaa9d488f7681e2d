/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is recorded.
 *
 * A task of the target has a task_state in task storage. The recorder gives one to the root of
 * the tree, the task hook to each new task whose creator has one: before the new task runs its
 * first instruction, so nothing of it is missed. Looking for the state is the filter.
 *
 * Neighbours are tasks that woke or displaced a target. They get no state, only one TASK record
 * that says who they are.
 */
#ifndef XPUGAP_FILTER_BPF_H
#define XPUGAP_FILTER_BPF_H

#include "bpf/include/ring.bpf.h"

#define MAX_NEIGHBOURS 8192

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

/* tid → start time of a neighbour that a record told of; the oldest are forgotten and told again */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_NEIGHBOURS);
	__type(key, __u32);
	__type(value, __u64);
} neighbours SEC(".maps");

static __always_inline struct task_state *filter__find(struct task_struct *task)
{
	return bpf_task_storage_get(&tasks, task, NULL, 0);
}

#endif
