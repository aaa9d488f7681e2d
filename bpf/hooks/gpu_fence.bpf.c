// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gpu hook, probe fence: fences (struct dma_fence) that a target makes or waits for, whichever
 * driver they are of.
 *
 * A fence is known by its address: some drivers number one only after it was made. What its driver
 * and its timeline are called is not said in it but by functions of its driver, which the kernel
 * calls for classic tracepoints. So the tracepoint where a fence is made is attached to twice: both
 * programs run one after the other, in no particular order, and what the first knows waits for the
 * second in a place of this cpu.
 */
#include "bpf/include/filter.bpf.h"

#include "bpf/include/fence.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* offsets in the classic tracepoint's data */
const volatile __u32 at_driver, at_timeline, at_context, at_seqno;

/* The first half of what is told of a fence that is made. @fence: or 0; then it is the names. */
struct half {
	__u64 fence;
	__u64 driver;
	__u64 timeline;
	__u32 context;
	__u32 seqno;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct half);
} halves SEC(".maps");

static __always_inline struct half *half__get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&halves, &zero);
}

static __always_inline bool half__fits(const struct half *half, __u32 context, __u32 seqno)
{
	return half->context == context && half->seqno == seqno;
}

static __always_inline void read_fence(struct gpu_fence *f, struct dma_fence *fence)
{
	f->fence = (__u64)fence;
	f->context = BPF_CORE_READ(fence, context);
	f->seqno = BPF_CORE_READ(fence, seqno);
}

SEC("tp_btf/dma_fence_init")
int BPF_PROG(dma_fence_init, struct dma_fence *fence)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct gpu_key key = {.a = (__u64)fence};
	struct half *half = half__get();
	struct gpu_fence f = {0};

	read_fence(&f, fence);
	f.tid = task->pid;
	f.flags = filter__find(task) ? REC_FENCE_MADE : 0;
	if (half && !half->fence && half->driver && half__fits(half, f.context, f.seqno)) {
		f.driver = half->driver;
		f.timeline = half->timeline;
		half->driver = 0;
	} else if (half) {
		half->fence = (__u64)fence;
		half->context = f.context;
		half->seqno = f.seqno;
	}
	fence__make(&key, &f);
	return 0;
}

SEC("?tracepoint/dma_fence/dma_fence_init")
int dma_fence_names(void *ctx)
{
	struct hook_counts *h = counts__get(REC_HOOK_GPU);
	__u32 driver = 0, timeline = 0, context = 0, seqno = 0;
	struct half *half = half__get();
	struct gpu_key key = {0};
	struct gpu_fence *f;

	if (!h || !half)
		return 0;
	bpf_probe_read_kernel(&driver, sizeof(driver), ctx + at_driver);
	bpf_probe_read_kernel(&timeline, sizeof(timeline), ctx + at_timeline);
	bpf_probe_read_kernel(&context, sizeof(context), ctx + at_context);
	bpf_probe_read_kernel(&seqno, sizeof(seqno), ctx + at_seqno);
	key.a = half->fence;
	half->fence = 0;
	half->driver = name__of(h, ctx + (driver & 0xffff));
	half->timeline = name__of(h, ctx + (timeline & 0xffff));
	f = key.a && half__fits(half, context, seqno) ? bpf_map_lookup_elem(&fences, &key) : NULL;
	if (f) {
		f->driver = half->driver;
		f->timeline = half->timeline;
		half->driver = 0;
		return 0;
	}
	half->context = context;
	half->seqno = seqno;
	return 0;
}

SEC("tp_btf/dma_fence_emit")
int BPF_PROG(dma_fence_emit, struct dma_fence *fence)
{
	struct gpu_key key = {.a = (__u64)fence};
	struct gpu_fence *f = bpf_map_lookup_elem(&fences, &key);

	if (!f)
		return 0;
	f->emitted_ns = bpf_ktime_get_ns();
	read_fence(f, fence);
	return 0;
}

SEC("tp_btf/dma_fence_signaled")
int BPF_PROG(dma_fence_signaled, struct dma_fence *fence)
{
	struct gpu_key key = {.a = (__u64)fence};
	struct gpu_fence *f = bpf_map_lookup_elem(&fences, &key);

	if (!f)
		return 0;
	read_fence(f, fence);
	fence__signal(f, BPF_CORE_READ(fence, error));
	return 0;
}

SEC("tp_btf/dma_fence_destroy")
int BPF_PROG(dma_fence_destroy, struct dma_fence *fence)
{
	struct gpu_key key = {.a = (__u64)fence};

	fence__drop(&key);
	return 0;
}

static __always_inline bool is_signalled(struct dma_fence *fence)
{
	__u64 bit = bpf_core_enum_value(enum dma_fence_flag_bits, DMA_FENCE_FLAG_SIGNALED_BIT);

	return BPF_CORE_READ(fence, flags) >> bit & 1;
}

SEC("tp_btf/dma_fence_wait_start")
int BPF_PROG(dma_fence_wait_start, struct dma_fence *fence)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct gpu_key key = {.a = (__u64)fence};
	struct gpu_fence f = {0};

	if (!filter__find(task))
		return 0;
	read_fence(&f, fence);
	if (is_signalled(fence)) {
		/* of one that was made unseen nobody knows since when */
		f.err = BPF_CORE_READ(fence, error);
		f.state = GPU_FENCE_TOLD;
	}
	fence__wait(&key, &f, task->pid);
	return 0;
}

SEC("tp_btf/dma_fence_wait_end")
int BPF_PROG(dma_fence_wait_end, struct dma_fence *fence)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct gpu_key key = {.a = (__u64)fence};

	if (filter__find(task))
		fence__waited(&key, task->pid, is_signalled(fence));
	return 0;
}
