/* SPDX-License-Identifier: GPL-2.0-only */
/* Records about a task that more than one hook emits. */
#ifndef XPUGAP_TASK_BPF_H
#define XPUGAP_TASK_BPF_H

#include "bpf/include/filter.bpf.h"
#include "bpf/include/pid.bpf.h"

#define PF_EXITING     0x00000004
#define PF_KTHREAD     0x00200000
#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000

static __always_inline __u64 task__cgroup(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/* Emit the TASK record of @task; false when there was no room. */
static __always_inline bool task__define(struct hook_counts *h, struct task_struct *task,
					 __u32 flags)
{
	struct rec_task *rec;

	__sync_fetch_and_add(&h->hits, 1); /* iterators come here, too */
	rec = ring__reserve(h, REC_TASK, sizeof(*rec));
	if (!rec)
		return false;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->pid = task->tgid;
	rec->ppid = BPF_CORE_READ(task, real_parent, tgid);
	rec->ns_tid = pid__ns_nr(BPF_CORE_READ(task, thread_pid));
	rec->ns_pid = pid__ns_nr(BPF_CORE_READ(task, group_leader, thread_pid));
	rec->uid = BPF_CORE_READ(task, cred, uid.val);
	rec->flags = flags | (task->flags & PF_KTHREAD ? REC_TASK_KTHREAD : 0);
	rec->start_ns = task->start_time;
	rec->cgroup = task__cgroup(task);
	bpf_probe_read_kernel(rec->comm, sizeof(rec->comm), task->comm);
	ring__submit_preemptible(h, rec);
	return true;
}

/* Emit the TASK_EXIT record of @task, which is running for the last time. */
static __always_inline void task__exit(struct hook_counts *h, struct task_struct *task)
{
	struct rec_task_exit *rec;

	h->hits++;
	rec = ring__reserve(h, REC_TASK_EXIT, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->pid = task->tgid;
	rec->code = task->exit_code;
	rec->run_ns = task->se.sum_exec_runtime;
	rec->voluntary = task->nvcsw;
	rec->involuntary = task->nivcsw;
	rec->minor_faults = task->min_flt;
	rec->major_faults = task->maj_flt;
	ring__submit(h, rec);
}

/* Tell once who @task is, which is no target and not idle. */
static __always_inline void filter__neighbour(struct cpu_state *c, struct hook_counts *h,
					      struct task_struct *task)
{
	__u64 start = task->start_time, *known;
	__u32 tid = task->pid, i = tid % TOLD_NEIGHBOURS;

	if (c->told[i].tid == tid && c->told[i].start_ns == start)
		return;
	known = bpf_map_lookup_elem(&neighbours, &tid);
	if (!known || *known != start) {
		if (!task__define(h, task, REC_TASK_NEIGHBOUR))
			return;
		/* if this fails, another cpu tells of it once more */
		bpf_map_update_elem(&neighbours, &tid, &start, BPF_ANY);
	}
	c->told[i].tid = tid;
	c->told[i].start_ns = start;
}

#endif
