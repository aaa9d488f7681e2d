// SPDX-License-Identifier: GPL-2.0-only
/* The pmu hook: counters of the processor and of the kernel, for each thread of the target. */
#include "bpf/include/filter.bpf.h"
#include "bpf/include/pmu.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_switch")
int BPF_PROG(pmu_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 from = filter__find(prev) ? prev->pid : 0, to = filter__find(next) ? next->pid : 0;

	return from || to ? pmu__switch(from, to) : 0;
}

SEC("perf_event")
int pmu_tick(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return filter__find(task) ? pmu__switch(task->pid, task->pid) : 0;
}
