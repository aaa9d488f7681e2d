// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gpu hook, probe fence, by classic tracepoints, which pass no address: a fence is known by its
 * context and number, of both the lower 32 bits. One that its driver numbers only after it was made
 * is known from when it is emitted, as made then.
 */
#include "bpf/include/plain.bpf.h"

#include "bpf/include/fence.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* offsets in the tracepoints' data: they are all of one class */
const volatile __u32 at_driver, at_timeline, at_context, at_seqno;

static __always_inline struct gpu_key key_of(void *ctx)
{
	return (struct gpu_key){.a = plain__u32(ctx, at_context), .b = plain__u32(ctx, at_seqno)};
}

static __always_inline void read_fence(struct gpu_fence *f, void *ctx)
{
	struct hook_counts *h = counts__get(REC_HOOK_GPU);

	f->context = plain__u32(ctx, at_context);
	f->seqno = plain__u32(ctx, at_seqno);
	if (!h)
		return;
	f->driver = name__of(h, ctx + (plain__u32(ctx, at_driver) & 0xffff));
	f->timeline = name__of(h, ctx + (plain__u32(ctx, at_timeline) & 0xffff));
}

static __always_inline void make(void *ctx, const struct gpu_key *key)
{
	struct gpu_fence f = {.tid = plain__tid()};

	read_fence(&f, ctx);
	f.flags = plain__find(f.tid) ? REC_FENCE_MADE : 0;
	fence__make(key, &f);
}

SEC("tracepoint/dma_fence/dma_fence_init")
int dma_fence_init(void *ctx)
{
	struct gpu_key key = key_of(ctx);

	if (key.b)
		make(ctx, &key);
	return 0;
}

SEC("tracepoint/dma_fence/dma_fence_emit")
int dma_fence_emit(void *ctx)
{
	struct gpu_key key = key_of(ctx);
	struct gpu_fence *f = bpf_map_lookup_elem(&fences, &key);

	if (!f) {
		make(ctx, &key);
		f = bpf_map_lookup_elem(&fences, &key);
	}
	if (f)
		f->emitted_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tracepoint/dma_fence/dma_fence_signaled")
int dma_fence_signaled(void *ctx)
{
	struct gpu_key key = key_of(ctx);
	struct gpu_fence *f = bpf_map_lookup_elem(&fences, &key);

	if (f)
		fence__signal(f, 0);
	return 0;
}

SEC("tracepoint/dma_fence/dma_fence_destroy")
int dma_fence_destroy(void *ctx)
{
	struct gpu_key key = key_of(ctx);

	fence__drop(&key);
	return 0;
}

SEC("tracepoint/dma_fence/dma_fence_wait_start")
int dma_fence_wait_start(void *ctx)
{
	struct gpu_key key = key_of(ctx);
	struct gpu_fence f = {0};

	if (!plain__find(plain__tid()))
		return 0;
	read_fence(&f, ctx);
	fence__wait(&key, &f, plain__tid());
	return 0;
}

SEC("tracepoint/dma_fence/dma_fence_wait_end")
int dma_fence_wait_end(void *ctx)
{
	struct gpu_key key = key_of(ctx);
	struct gpu_fence *f = bpf_map_lookup_elem(&fences, &key);

	fence__waited(&key, plain__tid(), f && f->signalled_ns);
	return 0;
}
