// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sched hook by classic tracepoints. Not known here: the system call that a task leaves the cpu
 * in, wake-ups by interrupts, the process of a neighbour that displaced a target.
 */
#include "bpf/include/plain.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_NEIGHBOURS 8192
#define REPORT_MAX     0x100 /* sched_switch adds this to the state of a preempted task */

const volatile __u32 at_prev_pid, at_prev_state, at_next_pid, at_next_comm;
const volatile __u32 at_waking_pid, at_waking_cpu, at_new_pid, at_new_cpu;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_NEIGHBOURS);
	__type(key, __u32);
	__type(value, __u64);
} plain_neighbours SEC(".maps");

/* Tell once who the task @tid of process @pid (0: not known) is; @comm is the kernel's. */
static __always_inline void neighbour(struct hook_counts *h, __u32 tid, __u32 pid, const void *comm)
{
	struct rec_task *rec;
	__u64 told = 1;

	if (!tid || bpf_map_lookup_elem(&plain_neighbours, &tid))
		return;
	h->hits++;
	rec = ring__reserve(h, REC_TASK, sizeof(*rec));
	if (!rec)
		return;
	__builtin_memset(&rec->pid, 0, sizeof(*rec) - sizeof(rec->hdr));
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->pid = pid;
	rec->flags = REC_TASK_NEIGHBOUR;
	if (comm)
		bpf_probe_read_kernel(rec->comm, sizeof(rec->comm), comm);
	else
		bpf_get_current_comm(rec->comm, sizeof(rec->comm));
	ring__submit(h, rec);
	bpf_map_update_elem(&plain_neighbours, &tid, &told, BPF_ANY);
}

/* IOCTL_BLOCKED, once for each call. */
static __always_inline void tell_call(__u32 tid, struct call *call)
{
	struct hook_counts *h = counts__get(REC_HOOK_SYSCALL);
	struct rec_ioctl_blocked *rec;

	if (!h || !call->start_ns || call->flags & CALL_TOLD)
		return;
	h->hits++;
	rec = ring__reserve(h, REC_IOCTL_BLOCKED, sizeof(*rec));
	if (!rec)
		return;
	call->flags |= CALL_TOLD;
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->start_ns = call->start_ns;
	rec->cmd = call->cmd;
	rec->fd = call->fd;
	rec->rdev = 0;
	rec->mode = 0;
	rec->inode = 0;
	ring__submit(h, rec);
}

/* One that has ended, of which TASK_EXIT was told, is no target any more; nor is it a neighbour. */
static __always_inline __u32 who(struct task_state *from, struct task_state *to)
{
	__u32 flags = 0;

	if (from && !(from->flags & TASK_STATE_ENDED))
		flags |= REC_SCHED_PREV_TARGET;
	if (to && !(to->flags & TASK_STATE_ENDED))
		flags |= REC_SCHED_NEXT_TARGET;
	barrier_var(flags); /* else the compiler computes with the pointers */
	return flags;
}

SEC("tracepoint/sched/sched_switch")
int sched_switch(void *ctx)
{
	__u32 prev = plain__u32(ctx, at_prev_pid), next = plain__u32(ctx, at_next_pid);
	struct hook_counts *h = counts__get(REC_HOOK_SCHED);
	struct task_state *from = plain__find(prev), *to = plain__find(next);
	__u32 flags = who(from, to);
	struct rec_sched_switch *rec;
	__u64 state, t;

	if (!h || !flags)
		return 0;
	t = cost__begin(h);
	if (from)
		tell_call(prev, &from->call);
	state = plain__u64(ctx, at_prev_state);
	rec = ring__reserve(h, REC_SCHED_SWITCH, sizeof(*rec));
	if (rec) {
		rec->hdr.tid = prev;
		rec->hdr.time_ns = bpf_ktime_get_ns();
		rec->next_tid = next;
		rec->prev_state = state & REPORT_MAX ? 0 : state;
		rec->prev_nr = REC_NR_UNKNOWN;
		rec->flags = flags | (!state || state & REPORT_MAX ? REC_SCHED_PREEMPT : 0);
		ring__submit(h, rec);
	}
	if (!to)
		neighbour(h, next, 0, ctx + at_next_comm);
	cost__end(h, t);
	return 0;
}

/* The irq hook wants to know. */
static __always_inline void mark_woken(__u32 flags)
{
	struct cpu_state *c = cpu__get();

	if (c && flags & REC_SCHED_NEXT_TARGET)
		c->irq.woke = c->softirq.woke = 1;
}

static __always_inline int waking(__u32 wakee, __u32 cpu, __u32 flags)
{
	struct hook_counts *h = counts__get(REC_HOOK_SCHED);
	struct task_state *from = plain__find(plain__tid());
	__u32 targets = who(from, plain__find(wakee));
	struct rec_sched_waking *rec;
	__u64 t;

	if (!h || !targets)
		return 0;
	t = cost__begin(h);
	mark_woken(targets);
	rec = ring__reserve(h, REC_SCHED_WAKING, sizeof(*rec));
	if (rec) {
		rec->hdr.tid = plain__tid();
		rec->hdr.time_ns = bpf_ktime_get_ns();
		rec->wakee_tid = wakee;
		rec->wakee_pid = 0;
		rec->cpu = cpu;
		rec->flags = flags | targets | (plain__tid() ? 0 : REC_SCHED_IRQ);
		ring__submit(h, rec);
	}
	if (!from)
		neighbour(h, plain__tid(), plain__pid(), NULL);
	cost__end(h, t);
	return 0;
}

SEC("tracepoint/sched/sched_waking")
int sched_waking(void *ctx)
{
	return waking(plain__u32(ctx, at_waking_pid), plain__u32(ctx, at_waking_cpu), 0);
}

SEC("tracepoint/sched/sched_wakeup_new")
int sched_wakeup_new(void *ctx)
{
	return waking(plain__u32(ctx, at_new_pid), plain__u32(ctx, at_new_cpu), REC_SCHED_NEW);
}
