// SPDX-License-Identifier: GPL-2.0-only
/* The reclaim hook by classic tracepoints: whose limit was hit is not known here. */
#include "bpf/include/plain.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* offsets in the tracepoints' data */
const volatile __u32 at_direct_pages, at_memcg_pages;

static __always_inline int begin(void)
{
	struct task_state *s = plain__find(plain__tid());

	if (s)
		s->reclaim_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int end(__u64 pages)
{
	struct task_state *s = plain__find(plain__tid());
	struct hook_counts *h = counts__get(REC_HOOK_RECLAIM);
	struct rec_reclaim *rec;
	__u64 start;

	if (!s || !h || !s->reclaim_ns)
		return 0;
	start = s->reclaim_ns;
	s->reclaim_ns = 0;
	h->hits++;
	rec = ring__reserve(h, REC_RECLAIM, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = plain__tid();
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = rec->hdr.time_ns - start;
	rec->pages = pages;
	rec->cgroup = 0;
	ring__submit(h, rec);
	return 0;
}

SEC("tracepoint/vmscan/mm_vmscan_direct_reclaim_begin")
int direct_begin(void *ctx)
{
	return begin();
}

SEC("tracepoint/vmscan/mm_vmscan_direct_reclaim_end")
int direct_end(void *ctx)
{
	return end(plain__u64(ctx, at_direct_pages));
}

SEC("?tracepoint/vmscan/mm_vmscan_memcg_reclaim_begin")
int memcg_begin(void *ctx)
{
	return begin();
}

SEC("?tracepoint/vmscan/mm_vmscan_memcg_reclaim_end")
int memcg_end(void *ctx)
{
	return end(plain__u64(ctx, at_memcg_pages));
}
