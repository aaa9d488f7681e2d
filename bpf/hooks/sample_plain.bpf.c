// SPDX-License-Identifier: GPL-2.0-only
/* The sample hook where the kernel does not describe its types: see sample.bpf.c. */
#include "bpf/include/plain.bpf.h"
#include "bpf/include/sample.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline int sample(struct bpf_perf_event_data *ctx)
{
	struct sampler *s = sampler__get();
	__u32 missed;

	if (!s)
		return 0;
	missed = sample__missed(ctx, s);
	if (!plain__find(plain__tid()))
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
