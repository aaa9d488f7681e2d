/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who belongs to what is recorded, of tasks that ran before the recording or came from outside.
 *
 * While the tree of a running process is added, some of its tasks are targets and some not yet.
 * Three things together let none slip through: the walk over all tasks looks for a target among
 * the ancestors of each; task_newtask does the same for the creator of each new task; and as a
 * task that ends leaves its children to init, which no longer shows where they came from, its
 * heirs are noted before.
 */
#ifndef XPUGAP_MEMBER_BPF_H
#define XPUGAP_MEMBER_BPF_H

#include "bpf/include/task.bpf.h"

#define MAX_DEPTH    64
#define MAX_CHILDREN 256
#define MAX_LINKS    48 /* hierarchies of control groups */
#define MAX_HEIRS    16384

/* what is recorded may run already: else nobody joins but whom a target creates */
const volatile bool follows = true;

struct follow follow;

/* pid → start time of a process whose parent was of the tree and has ended */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_HEIRS);
	__type(key, __u32);
	__type(value, __u64);
} heirs SEC(".maps");

static __always_inline bool member__is_heir(struct task_struct *leader)
{
	__u32 pid = leader->pid;
	__u64 *start = bpf_map_lookup_elem(&heirs, &pid);

	return start && *start == leader->start_time;
}

/* Is an ancestor of @task, or another thread of its process, a target? */
static __always_inline bool member__descends(struct task_struct *task)
{
	struct task_struct *up = task->group_leader;
	int i;

	for (i = 0; i < MAX_DEPTH && up->pid > 0; i++) {
		if (filter__find(up) || member__is_heir(up))
			return true;
		up = up->real_parent->group_leader;
	}
	return false;
}

/*
 * @task is about to end: note the processes that it created, if they are of the tree. False when
 * there are more than can be looked at.
 */
static __always_inline bool member__bequeath(struct task_struct *task)
{
	void *head = (void *)task + bpf_core_field_offset(struct task_struct, children);
	struct list_head *at;
	int i;

	if (!filter__find(task) && !member__descends(task))
		return true;
	at = BPF_CORE_READ(task, children.next);
	for (i = 0; i < MAX_CHILDREN && at && (void *)at != head; i++) {
		struct task_struct *child =
			(void *)at - bpf_core_field_offset(struct task_struct, sibling);
		__u64 start = BPF_CORE_READ(child, start_time);
		__u32 pid = BPF_CORE_READ(child, pid);

		bpf_map_update_elem(&heirs, &pid, &start, BPF_ANY);
		at = BPF_CORE_READ(at, next);
	}
	return i < MAX_CHILDREN;
}

/* Is @group the one that is followed, or below it? */
static __always_inline bool member__below(struct cgroup *group)
{
	int i;

	if (BPF_CORE_READ(group, root, hierarchy_id) != follow.hierarchy)
		return false;
	for (i = 0; i < MAX_DEPTH && group; i++) {
		struct cgroup_subsys_state *parent = BPF_CORE_READ(group, self.parent);

		if (BPF_CORE_READ(group, kn, id) == follow.group_id)
			return true;
		if (!parent)
			break;
		group = (void *)parent - bpf_core_field_offset(struct cgroup, self);
	}
	return false;
}

/* The control group of @task in the hierarchy that is followed, of any version. */
static __always_inline struct cgroup *member__group(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	void *head = (void *)set + bpf_core_field_offset(struct css_set, cgrp_links);
	struct list_head *at;
	int i;

	if (!follow.hierarchy)
		return BPF_CORE_READ(set, dfl_cgrp);
	at = BPF_CORE_READ(set, cgrp_links.next);
	for (i = 0; i < MAX_LINKS && at && (void *)at != head; i++) {
		struct cgrp_cset_link *link =
			(void *)at - bpf_core_field_offset(struct cgrp_cset_link, cgrp_link);
		struct cgroup *group = BPF_CORE_READ(link, cgrp);

		if (BPF_CORE_READ(group, root, hierarchy_id) == follow.hierarchy)
			return group;
		at = BPF_CORE_READ(at, next);
	}
	return NULL;
}

static __always_inline bool member__in_group(struct task_struct *task)
{
	struct cgroup *group = member__group(task);

	return group && member__below(group);
}

/* Does @task, which is no target, belong to what is recorded? */
static __always_inline bool member__is(struct task_struct *task)
{
	if (task->tgid == follow.except)
		return false;
	if (follow.everybody || (follow.group && member__in_group(task)))
		return true;
	return follow.attaching && member__descends(task);
}

/* The same of a task that @parent, which is no target, creates. */
static __always_inline bool member__joins(struct task_struct *parent, struct task_struct *child)
{
	if (!follows || parent->tgid == follow.except)
		return false;
	if (follow.everybody || (follow.group && member__in_group(child)))
		return true;
	return follow.attaching && member__descends(parent);
}

#endif
