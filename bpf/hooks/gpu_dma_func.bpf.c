// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gpu hook, probe dma, where the kernel has no tracepoints for it: at the returns of the
 * functions that drivers call. A name with BY_KPROBE is that of gpu_dma_kprobe.bpf.c.
 *
 * Which of the functions there are, the recorder finds out.
 */
#include "bpf/include/dma_args.bpf.h"

char LICENSE[] SEC("license") = "GPL";

DMA_COUNT_INTERRUPT("tp_btf/", irq_handler_exit, irq_handler_entry)
DMA_COUNT_INTERRUPT("tp_btf/", softirq_exit, softirq_entry)
DMA_COUNT_INTERRUPT("tp_btf/", hrtimer_expire_exit, hrtimer_expire_entry)

#if defined(BY_KPROBE)

#define MAX_CALLS 16384

struct call_args {
	__u64 arg[5];
};

/* thread → what it called one of the functions with that it has not returned from */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_CALLS);
	__type(key, __u64);
	__type(value, struct call_args);
} calls SEC(".maps");

static __always_inline int enter(struct pt_regs *regs)
{
	struct call_args a = {.arg = {PT_REGS_PARM1(regs), PT_REGS_PARM2(regs), PT_REGS_PARM3(regs),
				      PT_REGS_PARM4(regs), PT_REGS_PARM5(regs)}};
	__u64 me = bpf_get_current_pid_tgid();
	struct hook_counts *h;

	/* what maps is told of only if it is a target, outside of interrupts */
	if (!filter__find(bpf_get_current_task_btf()) || dma__in_interrupt())
		return 0;
	h = counts__get(REC_HOOK_GPU);
	if (h && bpf_map_update_elem(&calls, &me, &a, BPF_ANY))
		counts__add(&h->lost_state, 1);
	return 0;
}

static __always_inline bool leave(struct call_args *a)
{
	__u64 me = bpf_get_current_pid_tgid();
	struct call_args *kept;

	if (dma__in_interrupt())
		return false;
	kept = bpf_map_lookup_elem(&calls, &me);
	if (!kept)
		return false;
	*a = *kept;
	bpf_map_delete_elem(&calls, &me);
	return true;
}

/* A function whose result is wanted: _handler(a, ret) with its first five arguments. */
#define AT_RETURN(function, n)                                                                     \
	static __always_inline int function##_returned(const __u64 *a, __u64 ret);                 \
	SEC("?kprobe/" #function) int function##_enter(struct pt_regs *regs)                       \
	{                                                                                          \
		return enter(regs);                                                                \
	}                                                                                          \
	SEC("?kretprobe/" #function) int function(struct pt_regs *regs)                            \
	{                                                                                          \
		struct call_args a;                                                                \
                                                                                                   \
		return leave(&a) ? function##_returned(a.arg, PT_REGS_RC(regs)) : 0;               \
	}                                                                                          \
	static __always_inline int function##_returned(const __u64 *a, __u64 ret)

#define AT_CALL(function)                                                                          \
	static __always_inline int function##_called(const __u64 *a);                              \
	SEC("?kprobe/" #function) int function(struct pt_regs *regs)                               \
	{                                                                                          \
		const __u64 a[] = {PT_REGS_PARM1(regs), PT_REGS_PARM2(regs), PT_REGS_PARM3(regs),  \
				   PT_REGS_PARM4(regs), PT_REGS_PARM5(regs)};                      \
                                                                                                   \
		return function##_called(a);                                                       \
	}                                                                                          \
	static __always_inline int function##_called(const __u64 *a)

#else

/* A function of @n arguments whose result is wanted. */
#define AT_RETURN(function, n)                                                                     \
	static __always_inline int function##_returned(unsigned long long *a, __u64 ret);          \
	SEC("?fexit/" #function) int function(unsigned long long *ctx)                             \
	{                                                                                          \
		return function##_returned(ctx, ctx[n]);                                           \
	}                                                                                          \
	static __always_inline int function##_returned(unsigned long long *a, __u64 ret)

#define AT_CALL(function)                                                                          \
	static __always_inline int function##_called(unsigned long long *a);                       \
	SEC("?fentry/" #function) int function(unsigned long long *ctx)                            \
	{                                                                                          \
		return function##_called(ctx);                                                     \
	}                                                                                          \
	static __always_inline int function##_called(unsigned long long *a)

#endif

#define DEV   ((struct device *)a[0])
#define SG    ((struct scatterlist *)a[1])
#define TABLE ((struct sg_table *)a[1])

static __always_inline __u64 value_at(__u64 place)
{
	__u64 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (void *)place);
	return v;
}

AT_RETURN(dma_map_page_attrs, 6)
{
	return dma__map(DEV, ret, a[3], a[4], REC_DMA_MAP);
}

AT_RETURN(dma_map_resource, 5)
{
	return dma__map(DEV, ret, a[2], a[3], REC_DMA_MAP_RESOURCE);
}

AT_RETURN(dma_map_sg_attrs, 5)
{
	return dma__map_list(DEV, SG, a[2], ret, a[3]);
}

AT_RETURN(dma_map_sgtable, 4)
{
	int segments = (int)ret ? 0 : BPF_CORE_READ(TABLE, nents);

	return dma__map_list(DEV, BPF_CORE_READ(TABLE, sgl), BPF_CORE_READ(TABLE, orig_nents),
			     segments, a[2]);
}

AT_RETURN(dma_alloc_attrs, 5)
{
	return dma__alloc(DEV, ret ? value_at(a[2]) : 0, a[1], 0, !ret);
}

AT_RETURN(dma_alloc_pages, 5)
{
	return dma__alloc(DEV, ret ? value_at(a[2]) : 0, a[1], a[3], !ret);
}

AT_RETURN(dma_alloc_noncontiguous, 5)
{
	__u64 addr = ret ? BPF_CORE_READ((struct sg_table *)ret, sgl, dma_address) : 0;

	return dma__alloc(DEV, addr, a[1], a[2], !ret);
}

AT_CALL(dma_unmap_page_attrs)
{
	return dma__undo(DEV, a[1], a[2], a[3], REC_DMA_UNMAP);
}

AT_CALL(dma_unmap_resource)
{
	return dma__undo(DEV, a[1], a[2], a[3], REC_DMA_UNMAP_RESOURCE);
}

AT_CALL(dma_unmap_sg_attrs)
{
	return dma__undo_list(DEV, SG, a[2], a[3], REC_DMA_UNMAP_SG);
}

AT_CALL(dma_free_attrs)
{
	return dma__undo(DEV, a[3], a[1], 0, REC_DMA_FREE);
}

AT_CALL(dma_free_pages)
{
	return dma__undo(DEV, a[3], a[1], a[4], REC_DMA_FREE);
}

AT_CALL(dma_free_noncontiguous)
{
	__u64 addr = BPF_CORE_READ((struct sg_table *)a[2], sgl, dma_address);

	return dma__undo(DEV, addr, a[1], a[3], REC_DMA_FREE);
}

#define SYNC(function, what)                                                                       \
	AT_CALL(function)                                                                          \
	{                                                                                          \
		return dma__undo(DEV, a[1], a[2], a[3], what);                                     \
	}

#define SYNC_LIST(function, what)                                                                  \
	AT_CALL(function)                                                                          \
	{                                                                                          \
		return dma__undo_list(DEV, SG, a[2], a[3], what);                                  \
	}

/* since 6.10 the first two are names in a header, and the functions have others */
SYNC(dma_sync_single_for_cpu, REC_DMA_SYNC_CPU)
SYNC(dma_sync_single_for_device, REC_DMA_SYNC_DEVICE)
SYNC(__dma_sync_single_for_cpu, REC_DMA_SYNC_CPU)
SYNC(__dma_sync_single_for_device, REC_DMA_SYNC_DEVICE)
SYNC_LIST(dma_sync_sg_for_cpu, REC_DMA_SYNC_SG_CPU)
SYNC_LIST(dma_sync_sg_for_device, REC_DMA_SYNC_SG_DEVICE)
SYNC_LIST(__dma_sync_sg_for_cpu, REC_DMA_SYNC_SG_CPU)
SYNC_LIST(__dma_sync_sg_for_device, REC_DMA_SYNC_SG_DEVICE)
