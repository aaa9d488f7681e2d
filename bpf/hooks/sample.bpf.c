// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sample hook: at a frequency, on each cpu, what of the target it runs. One of the two
 * programs is loaded: what stands for a sample, cycles or time, is their only difference, and the
 * recorder finds the event by the program's name.
 */
#include "bpf/include/filter.bpf.h"
#include "bpf/include/sample.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("?perf_event")
int sample_cycles(struct bpf_perf_event_data *ctx)
{
	return sample__hit(ctx, filter__find(bpf_get_current_task_btf()) != NULL);
}

SEC("?perf_event")
int sample_clock(struct bpf_perf_event_data *ctx)
{
	return sample__hit(ctx, filter__find(bpf_get_current_task_btf()) != NULL);
}
