// SPDX-License-Identifier: GPL-2.0-only
/* The pmu hook where the kernel does not describe its types: see pmu.bpf.c. */
#include "bpf/include/plain.bpf.h"
#include "bpf/include/pmu.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 at_prev_pid = 0;
const volatile __u32 at_next_pid = 0;

static __always_inline __u32 target(__u32 tid)
{
	return tid && plain__find(tid) ? tid : 0;
}

SEC("tracepoint/sched/sched_switch")
int pmu_switch(void *ctx)
{
	__u32 from = target(plain__u32(ctx, at_prev_pid)),
	      to = target(plain__u32(ctx, at_next_pid));

	return from || to ? pmu__switch(from, to) : 0;
}

SEC("perf_event")
int pmu_tick(struct bpf_perf_event_data *ctx)
{
	__u32 tid = target(plain__tid());

	return tid ? pmu__switch(tid, tid) : 0;
}
