// SPDX-License-Identifier: GPL-2.0-only
/* The task hook: who is created, runs which program, has which name, and ends. */
#include "bpf/include/arch.bpf.h"
#include "bpf/include/member.bpf.h"
#include "bpf/include/task.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define FILE_LEN 256

/* the sched hook reports ends, when the kernel's counts are final */
const volatile bool exit_by_sched = false;

__u64 found; /* tasks that walks over the tree told of */
__s64 live;  /* tasks of the target that have not ended */
__u64 moved; /* times that somebody was moved into the group, since when a walk is due */

/* @task has ended: who notices first takes it off. */
static __always_inline void task__uncount(struct task_state *state)
{
	if (__sync_lock_test_and_set(&state->counted, COUNTED_OFF) == COUNTED_ON)
		__sync_fetch_and_add(&live, -1);
}

/*
 * Who gives a task its state counts it and tells of it; NULL where there is no memory or, with
 * *@ours false, where a walk was there first.
 */
static __always_inline struct task_state *task__adopt(struct task_struct *task,
						      struct task_state *fresh, bool *ours)
{
	struct task_state *state = filter__find(task);

	*ours = false;
	if (state)
		return state;
	state = bpf_task_storage_get(&tasks, task, fresh, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state)
		return filter__find(task); /* somebody else did at the same moment */
	*ours = true;
	__sync_fetch_and_add(&live, 1);
	return state;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(task_newtask, struct task_struct *child, __u64 clone_flags)
{
	struct task_state fresh = {.flags = TASK_STATE_DEFINED, .counted = COUNTED_ON}, *state;
	struct task_struct *parent = bpf_get_current_task_btf();
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	struct rec_task_fork *rec;
	bool ours;
	__u64 t;

	if (!h || !(filter__find(parent) || member__joins(parent, child)))
		return 0;
	state = task__adopt(child, &fresh, &ours);
	if (!state)
		__sync_fetch_and_add(&h->lost_state, 1);
	else if (!ours) /* by a walk, which told of it */
		return 0;
	t = cost__begin(h);
	rec = ring__reserve(h, REC_TASK_FORK, sizeof(*rec));
	if (!rec) {
		if (state)
			state->flags &= ~TASK_STATE_DEFINED;
		return 0;
	}
	rec->hdr.tid = parent->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->child_tid = child->pid;
	rec->child_pid = child->tgid;
	rec->child_ns_tid = pid__ns_nr(child->thread_pid);
	rec->child_ns_pid = pid__ns_nr(BPF_CORE_READ(child, group_leader, thread_pid));
	rec->start_ns = child->start_time;
	rec->clone_flags = clone_flags;
	bpf_probe_read_kernel(rec->comm, sizeof(rec->comm), child->comm);
	ring__submit(h, rec);
	cost__end(h, t);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	struct rec_task_exec *rec;
	char *text;
	long len;

	if (!h || !filter__find(task))
		return 0;
	h->hits++;
	rec = ring__reserve(h, REC_TASK_EXEC, sizeof(*rec) + FILE_LEN);
	if (!rec)
		return 0;
	text = (char *)(rec + 1);
	__builtin_memset(text, 0, FILE_LEN);
	len = bpf_probe_read_kernel_str(text, FILE_LEN, bprm->filename);
	len = len > 0 ? len - 1 : 0;
	rec->hdr.size = sizeof(*rec) + ((len + REC_ALIGN - 1) & ~(REC_ALIGN - 1));
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->pid = task->tgid;
	rec->old_tid = old_pid;
	rec->file_len = len;
	rec->pad = 0;
	ring__submit(h, rec);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(task_rename, struct task_struct *task, const char *comm)
{
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	struct rec_task_comm *rec;

	if (!h || !filter__find(task))
		return 0;
	h->hits++;
	rec = ring__reserve(h, REC_TASK_COMM, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->pid = task->tgid;
	rec->pad = 0;
	__builtin_memset(rec->comm, 0, sizeof(rec->comm));
	bpf_probe_read_kernel_str(rec->comm, sizeof(rec->comm), comm);
	ring__submit(h, rec);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	struct task_state *state = filter__find(task);

	if (!h)
		return 0;
	if (follows && follow.attaching && !member__bequeath(task))
		__sync_fetch_and_add(&h->lost_state, 1);
	if (!state)
		return 0;
	task__uncount(state);
	if (!exit_by_sched)
		task__exit(h, task);
	return 0;
}

/*
 * The kernel names the first task of those that are moved together. The recorder walks over all
 * soon; what they create until then is seen to be in the group by task_newtask.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(cgroup_attach_task, struct cgroup *to)
{
	if (follow.group && member__below(to))
		__sync_fetch_and_add(&moved, 1);
	return 0;
}

/* Is @task in an ioctl, or was that its last call? What it entered the kernel with says so. */
static __always_inline bool task__in_ioctl(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	bool compat;

	return is_ioctl(task, regs__nr(regs), &compat);
}

/*
 * Walk over all tasks: those that belong to what is recorded become targets, and every target that
 * no record has told of yet gets a TASK record. The recorder repeats the walk until it finds
 * nothing new. Zombies and tasks about to be are left out: their ends may have been passed, and
 * would be waited for.
 */
SEC("iter/task")
int walk_tree(struct bpf_iter__task *ctx)
{
	struct task_state fresh = {.flags = TASK_STATE_INSIDE,
				   .counted = COUNTED_ON,
				   .faults = FAULTS_UNKNOWN},
			  *state;
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	struct task_struct *task = ctx->task;
	bool ours = false;

	if (!task || !h)
		return 0;
	follow.except =
		bpf_get_current_pid_tgid() >> 32; /* who reads this, in the first namespace */
	state = filter__find(task);
	if (!state && !(task->flags & PF_EXITING) && member__is(task)) {
		state = task__adopt(task, &fresh, &ours);
		if (!state)
			__sync_fetch_and_add(&h->lost_state, 1);
	}
	if (!state)
		return 0;
	if (task->flags & PF_EXITING) { /* since we looked, perhaps: then nobody counts its end */
		task__uncount(state);
		return 0;
	}
	if (state->flags & TASK_STATE_DEFINED)
		return 0;
	/* unless the task, which runs meanwhile, has told of one */
	__sync_val_compare_and_swap(&state->faults, FAULTS_UNKNOWN, task->min_flt + task->maj_flt);
	/* looked at after it became a target: a call that it enters from now on is recorded */
	if (!task__in_ioctl(task))
		state->flags &= ~TASK_STATE_INSIDE;
	if (task__define(h, task, REC_TASK_TARGET)) {
		state->flags |= TASK_STATE_DEFINED;
		__sync_fetch_and_add(&found, 1);
	}
	return 0;
}
