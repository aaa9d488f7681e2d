// SPDX-License-Identifier: GPL-2.0-only
/* The reclaim hook by classic tracepoints: whose limit was hit is not known here. */
#include "bpf/include/plain.bpf.h"
#include "bpf/include/reclaim.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* offsets in the tracepoints' data */
const volatile __u32 at_direct_pages, at_memcg_pages;

static __always_inline struct task_state *current_state(void)
{
	return plain__find(plain__tid());
}

SEC("tracepoint/vmscan/mm_vmscan_direct_reclaim_begin")
int direct_begin(void *ctx)
{
	return reclaim__begin(current_state());
}

SEC("tracepoint/vmscan/mm_vmscan_direct_reclaim_end")
int direct_end(void *ctx)
{
	return reclaim__end(current_state(), plain__u64(ctx, at_direct_pages), 0);
}

SEC("?tracepoint/vmscan/mm_vmscan_memcg_reclaim_begin")
int memcg_begin(void *ctx)
{
	return reclaim__begin(current_state());
}

SEC("?tracepoint/vmscan/mm_vmscan_memcg_reclaim_end")
int memcg_end(void *ctx)
{
	return reclaim__end(current_state(), plain__u64(ctx, at_memcg_pages), 0);
}
