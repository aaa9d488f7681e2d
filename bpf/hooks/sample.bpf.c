// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sample hook: at a frequency, on each cpu, what of the target it runs. One of the two
 * programs is loaded: what stands for a sample, cycles or time, is their only difference, and the
 * recorder finds the event by the program's name.
 */
#include "bpf/include/filter.bpf.h"
#include "bpf/include/sample.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline int sample(struct bpf_perf_event_data *ctx)
{
	struct sampler *s = sampler__get();
	__u32 missed;

	if (!s)
		return 0;
	missed = sample__missed(ctx, s);
	if (!filter__find(bpf_get_current_task_btf()))
		return 0;
	return sample__take(ctx, s, missed);
}

SEC("?perf_event")
int sample_cycles(struct bpf_perf_event_data *ctx)
{
	return sample(ctx);
}

SEC("?perf_event")
int sample_clock(struct bpf_perf_event_data *ctx)
{
	return sample(ctx);
}
