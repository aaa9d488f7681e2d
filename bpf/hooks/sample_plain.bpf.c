// SPDX-License-Identifier: GPL-2.0-only
/* The sample hook where the kernel does not describe its types: see sample.bpf.c. */
#include "bpf/include/plain.bpf.h"
#include "bpf/include/sample.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("?perf_event")
int sample_cycles(struct bpf_perf_event_data *ctx)
{
	return sample__hit(ctx, plain__find(plain__tid()) != NULL);
}

SEC("?perf_event")
int sample_clock(struct bpf_perf_event_data *ctx)
{
	return sample__hit(ctx, plain__find(plain__tid()) != NULL);
}
