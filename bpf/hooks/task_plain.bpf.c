// SPDX-License-Identifier: GPL-2.0-only
/*
 * The task hook by classic tracepoints. Not known here: ids in namespaces, and the kernel's counts
 * at the end of a task, of which TASK_EXIT then tells the moment only.
 */
#include "bpf/include/plain.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define FILE_LEN     256
#define CLONE_THREAD 0x00010000

/* offsets in the tracepoints' data */
const volatile __u32 at_newtask_pid, at_newtask_flags;
const volatile __u32 at_exec_filename, at_exec_pid, at_exec_old_pid;
const volatile __u32 at_exit_pid, at_free_pid;
const volatile __u32 at_rename_pid, at_rename_newcomm;

__s64 live; /* tasks of the target that have not ended */

SEC("tracepoint/task/task_newtask")
int task_newtask(void *ctx)
{
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	__u32 child = plain__u32(ctx, at_newtask_pid);
	struct task_state state = {.flags = TASK_STATE_DEFINED};
	struct rec_task_fork *rec;

	if (!h)
		return 0;
	if (!plain__find(plain__tid())) {
		bpf_map_delete_elem(&tids, &child); /* of an earlier task with this id */
		return 0;
	}
	h->hits++;
	if (bpf_map_update_elem(&tids, &child, &state, BPF_ANY))
		__sync_fetch_and_add(&h->lost_state, 1);
	else
		__sync_fetch_and_add(&live, 1);
	rec = ring__reserve(h, REC_TASK_FORK, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = plain__tid();
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->clone_flags = plain__u64(ctx, at_newtask_flags);
	rec->child_tid = child;
	rec->child_pid = rec->clone_flags & CLONE_THREAD ? plain__pid() : child;
	rec->child_ns_tid = 0;
	rec->child_ns_pid = 0;
	rec->start_ns = rec->hdr.time_ns;
	bpf_get_current_comm(rec->comm, sizeof(rec->comm));
	ring__submit(h, rec);
	return 0;
}

/*
 * @old, which was not the leader, takes the leader's id. The leader has ended, and its entry says
 * so until now.
 */
static __always_inline void take_id(struct hook_counts *h, __u32 old, __u32 tid)
{
	struct task_state fresh = {.flags = TASK_STATE_DEFINED}, *s = plain__find(old);

	if (s) { /* the call that it is in */
		fresh.agg_ns = s->agg_ns;
		fresh.agg_nr = s->agg_nr;
	}
	if (bpf_map_update_elem(&tids, &tid, &fresh, BPF_ANY))
		__sync_fetch_and_add(&h->lost_state, 1);
	bpf_map_delete_elem(&tids, &old);
}

SEC("tracepoint/sched/sched_process_exec")
int sched_process_exec(void *ctx)
{
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	__u32 tid = plain__u32(ctx, at_exec_pid), old = plain__u32(ctx, at_exec_old_pid);
	__u32 where = plain__u32(ctx, at_exec_filename); /* length << 16 | offset */
	struct rec_task_exec *rec;
	char *text;
	long len;

	if (!h || !plain__find(old))
		return 0;
	if (tid != old)
		take_id(h, old, tid);
	h->hits++;
	rec = ring__reserve(h, REC_TASK_EXEC, sizeof(*rec) + FILE_LEN);
	if (!rec)
		return 0;
	text = (char *)(rec + 1);
	__builtin_memset(text, 0, FILE_LEN);
	len = bpf_probe_read_kernel_str(text, FILE_LEN, ctx + (where & 0xffff));
	len = len > 0 ? len - 1 : 0;
	rec->hdr.size = sizeof(*rec) + ((len + REC_ALIGN - 1) & ~(REC_ALIGN - 1));
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->pid = plain__pid();
	rec->old_tid = old;
	rec->file_len = len;
	rec->pad = 0;
	ring__submit(h, rec);
	return 0;
}

SEC("tracepoint/task/task_rename")
int task_rename(void *ctx)
{
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	__u32 tid = plain__u32(ctx, at_rename_pid);
	struct rec_task_comm *rec;

	if (!h || !plain__find(tid))
		return 0;
	h->hits++;
	rec = ring__reserve(h, REC_TASK_COMM, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->pid = plain__pid();
	rec->pad = 0;
	__builtin_memset(rec->comm, 0, sizeof(rec->comm));
	bpf_probe_read_kernel_str(rec->comm, sizeof(rec->comm), ctx + at_rename_newcomm);
	ring__submit(h, rec);
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int sched_process_exit(void *ctx)
{
	struct hook_counts *h = counts__get(REC_HOOK_TASK);
	__u32 tid = plain__u32(ctx, at_exit_pid);
	struct rec_task_exit *rec;
	struct task_state *state;

	state = plain__find(tid);
	if (!h || !state)
		return 0;
	h->hits++;
	state->flags |= TASK_STATE_ENDED;
	__sync_fetch_and_add(&live, -1);
	rec = ring__reserve(h, REC_TASK_EXIT, sizeof(*rec));
	if (!rec)
		return 0;
	__builtin_memset(&rec->pid, 0, sizeof(*rec) - sizeof(rec->hdr));
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->pid = plain__pid();
	ring__submit(h, rec);
	return 0;
}

/* The state stays until here: a task that has ended still runs a while, and is no neighbour. */
SEC("tracepoint/sched/sched_process_free")
int sched_process_free(void *ctx)
{
	__u32 tid = plain__u32(ctx, at_free_pid);
	struct task_state *state = plain__find(tid);

	if (state && state->flags & TASK_STATE_ENDED)
		bpf_map_delete_elem(&tids, &tid);
	return 0;
}
