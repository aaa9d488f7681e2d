// SPDX-License-Identifier: GPL-2.0-only
/* The task hook: who is created, runs which program, has which name, and ends. */
#include "bpf/include/arch.bpf.h"
#include "bpf/include/task.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define FILE_LEN  256
#define MAX_DEPTH 64

/* the sched hook reports ends, when the kernel's counts are final */
const volatile bool exit_by_sched = false;

__u64 found; /* tasks that walks over the tree told of */
__s64 live;  /* tasks of the target that have not ended */

SEC("tp_btf/task_newtask")
int BPF_PROG(task_newtask, struct task_struct *child, __u64 clone_flags)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	struct rec_task_fork *rec;
	struct task_state *state;
	__u64 t;

	if (!h || !filter__find(parent))
		return 0;
	t = cost__begin(h);
	state = bpf_task_storage_get(&tasks, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (state) {
		state->counted = 1;
		__sync_fetch_and_add(&live, 1);
	} else {
		__sync_fetch_and_add(&h->lost_state, 1);
	}
	rec = ring__reserve(h, REC_TASK_FORK, sizeof(*rec));
	if (!rec)
		return 0;
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
	if (state)
		state->flags = TASK_STATE_DEFINED;
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

	if (!h || !state)
		return 0;
	if (state->counted)
		__sync_fetch_and_add(&live, -1);
	if (!exit_by_sched)
		task__exit(h, task);
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
 * Walk over all tasks: those whose ancestor is a target become targets, and every target that
 * no record has told of yet gets a TASK record. The recorder repeats the walk until it finds
 * nothing new, so that a task created by one not yet found is not missed. Zombies and tasks about
 * to be are left out: their ends may have been passed, and would be waited for.
 */
SEC("iter/task")
int walk_tree(struct bpf_iter__task *ctx)
{
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	struct task_struct *task = ctx->task, *up;
	struct task_state fresh = {.flags = TASK_STATE_INSIDE}, *state;
	int i;

	if (!task || !h || task->flags & PF_EXITING)
		return 0;
	state = filter__find(task);
	up = task->group_leader;
	for (i = 0; !state && i < MAX_DEPTH && up->pid > 1; i++) {
		state = filter__find(up);
		up = up->real_parent->group_leader;
	}
	if (!state)
		return 0;
	state = bpf_task_storage_get(&tasks, task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state) {
		__sync_fetch_and_add(&h->lost_state, 1);
		return 0;
	}
	if (!state->counted) {
		state->counted = 1;
		__sync_fetch_and_add(&live, 1);
	}
	if (state->flags & TASK_STATE_DEFINED)
		return 0;
	state->faults = task->min_flt + task->maj_flt;
	/* looked at after it became a target: a call that it enters from now on is recorded */
	if (!task__in_ioctl(task))
		state->flags &= ~TASK_STATE_INSIDE;
	if (task__define(h, task, REC_TASK_TARGET)) {
		state->flags |= TASK_STATE_DEFINED;
		__sync_fetch_and_add(&found, 1);
	}
	return 0;
}
