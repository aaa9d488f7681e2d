// SPDX-License-Identifier: GPL-2.0-only
/* The fault hook where the kernel does not describe its types: see fault.bpf.c for the rest. */
#include "bpf/include/arch.bpf.h"
#include "bpf/include/plain.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline int end_fault(struct bpf_perf_event_data *ctx, __u16 flags)
{
	struct hook_counts *h = counts__get(REC_HOOK_FAULT);
	struct rec_fault *rec;

	if (!h || !plain__find(plain__tid()))
		return 0;
	h->hits++;
	rec = ring__reserve(h, REC_FAULT, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = plain__tid();
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->address = ctx->addr;
	rec->ip = ctx->ip;
	rec->duration_ns = 0;
	rec->unseen = 0;
	rec->flags = flags | (event__in_kernel(ctx) ? REC_FAULT_KERNEL : 0);
	rec->area = REC_AREA_UNKNOWN;
	rec->pad = 0;
	ring__submit(h, rec);
	return 0;
}

SEC("perf_event")
int fault_minor(struct bpf_perf_event_data *ctx)
{
	return end_fault(ctx, 0);
}

SEC("perf_event")
int fault_major(struct bpf_perf_event_data *ctx)
{
	return end_fault(ctx, REC_FAULT_MAJOR);
}
