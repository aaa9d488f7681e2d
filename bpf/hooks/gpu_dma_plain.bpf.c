// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gpu hook, probe dma, by classic tracepoints, which pass a device's name and no more of it,
 * and of lists no more than 128 parts. A list is known by its memory, as that is what is passed
 * again when it is unmapped.
 */
#include "bpf/include/plain.bpf.h"

#include "bpf/include/dma.bpf.h"

char LICENSE[] SEC("license") = "GPL";

DMA_COUNT_INTERRUPT("tracepoint/irq/", irq_handler_exit, irq_handler_entry)
DMA_COUNT_INTERRUPT("tracepoint/irq/", softirq_exit, softirq_entry)
DMA_COUNT_INTERRUPT("tracepoint/timer/", hrtimer_expire_exit, hrtimer_expire_entry)

#define MAX_LENGTHS 128
#define BY_MEMORY   (1ULL << 63) /* no address: what a list is known by */
#define ATTR_MMIO   (1ULL << 10)

const volatile struct dma_at at_map, at_map_resource, at_unmap, at_unmap_resource;
const volatile struct dma_at at_alloc, at_alloc_pages, at_alloc_sgt, at_free, at_free_pages,
	at_free_sgt;
const volatile struct dma_at at_sync_cpu, at_sync_device;
const volatile struct dma_list_at at_map_sg, at_map_sg_err, at_unmap_sg, at_sync_sg_cpu,
	at_sync_sg_device;

/* Where the array or string is of which @field tells length << 16 | offset. */
static __always_inline void *array(void *ctx, __u32 field, __u32 *bytes)
{
	__u32 loc = field ? plain__u32(ctx, field) : 0;

	*bytes = loc >> 16;
	return ctx + (loc & 0xffff);
}

static __always_inline bool is_mine(struct dma_event *e)
{
	if (dma__in_interrupt() || !plain__find(plain__tid()))
		return false;
	e->tid = plain__tid();
	return true;
}

/* The id of the device's name; told of only if it is a target's. */
static __always_inline void read_device(struct dma_event *e, void *ctx, __u32 field)
{
	struct hook_counts *h = counts__get(REC_HOOK_GPU);
	__u64 w[NAME_WORDS] = {0};
	__u32 bytes;
	void *name = array(ctx, field, &bytes);
	long len;

	if (!h)
		return;
	if (e->tid) {
		e->device = name__of(h, name);
		if (e->device && !bpf_map_lookup_elem(&told_devices, &e->device))
			dma__tell_device(h, e->device, 0, -1);
		return;
	}
	len = bpf_probe_read_kernel_str(w, sizeof(w), name);
	if (len > 1)
		e->device = name__id(w, (len - 1) & (NAME_LEN - 1));
}

static __always_inline int begin(void *ctx, const volatile struct dma_at *at, __u8 call)
{
	struct dma_event e = {.call = call};

	if (!is_mine(&e))
		return 0;
	read_device(&e, ctx, at->device);
	e.addr = plain__u64(ctx, at->addr);
	e.bytes = plain__u64(ctx, at->size);
	e.dir = at->dir ? dma__dir(plain__u32(ctx, at->dir)) : REC_DMA_BOTH;
	if (call == REC_DMA_MAP && at->attrs && plain__u64(ctx, at->attrs) & ATTR_MMIO)
		e.call = REC_DMA_MAP_RESOURCE;
	if (e.addr == DMA_ERROR || (at->pages && !plain__u64(ctx, at->pages))) {
		e.flags = REC_DMA_FAILED;
		e.addr = 0;
	}
	dma__begin(&e);
	return 0;
}

static __always_inline int end(void *ctx, const volatile struct dma_at *at, __u8 call)
{
	bool interrupt = dma__in_interrupt();
	struct dma_event e = {.call = call};

	is_mine(&e);
	read_device(&e, ctx, at->device);
	e.addr = plain__u64(ctx, at->addr);
	e.bytes = plain__u64(ctx, at->size);
	e.dir = at->dir ? dma__dir(plain__u32(ctx, at->dir)) : REC_DMA_BOTH;
	if (call == REC_DMA_UNMAP && at->attrs && plain__u64(ctx, at->attrs) & ATTR_MMIO)
		e.call = REC_DMA_UNMAP_RESOURCE;
	dma__end(&e, interrupt ? 0 : plain__tid(),
		 call != REC_DMA_SYNC_CPU && call != REC_DMA_SYNC_DEVICE);
	return 0;
}

static __always_inline void add_lengths(struct dma_event *e, void *ctx, __u32 field)
{
	__u32 bytes, len, i;
	void *from = array(ctx, field, &bytes);

	for (i = 0; i < MAX_LENGTHS; i++) {
		if (i >= bytes / sizeof(len))
			break;
		len = 0;
		bpf_probe_read_kernel(&len, sizeof(len), from + i * sizeof(len));
		e->bytes += len;
	}
}

static __always_inline void read_list(struct dma_event *e, void *ctx,
				      const volatile struct dma_list_at *at)
{
	__u32 bytes;
	void *from;

	read_device(e, ctx, at->device);
	e->dir = dma__dir(plain__u32(ctx, at->dir));
	from = array(ctx, at->phys, &bytes);
	if (bytes)
		e->known_by = plain__u64(from, 0) | BY_MEMORY;
	from = array(ctx, at->addrs, &bytes);
	if (bytes)
		e->addr = plain__u64(from, 0);
	e->entries = bytes / sizeof(__u64);
	if (at->entries)
		e->entries = plain__u32(ctx, at->entries);
	if (at->segments)
		e->segments = plain__u32(ctx, at->segments);
	if (at->lengths)
		add_lengths(e, ctx, at->lengths);
}

static __always_inline int map_list(void *ctx, const volatile struct dma_list_at *at, __u16 flags)
{
	struct dma_event e = {.call = REC_DMA_MAP_SG, .flags = flags};

	if (!is_mine(&e))
		return 0;
	read_list(&e, ctx, at);
	/* what was mapped into fewer parts has the lengths of these, the sum of which is the same
	 */
	if (flags || (at->truncated && plain__u32(ctx, at->truncated) & 0xff))
		e.flags |= REC_DMA_PARTIAL;
	dma__begin(&e);
	return 0;
}

static __always_inline int end_list(void *ctx, const volatile struct dma_list_at *at, __u8 call)
{
	bool interrupt = dma__in_interrupt();
	struct dma_event e = {.call = call};

	is_mine(&e);
	read_list(&e, ctx, at);
	dma__end(&e, interrupt ? 0 : plain__tid(), call == REC_DMA_UNMAP_SG);
	return 0;
}

/* one after another, as the kernel calls them; their ends' names end their programs' */
#define BEGIN(event, at, call)                                                                     \
	SEC("?tracepoint/dma/" #event) int event(void *ctx)                                        \
	{                                                                                          \
		return begin(ctx, &(at), call);                                                    \
	}
#define END(event, at, call)                                                                       \
	SEC("?tracepoint/dma/" #event) int event(void *ctx)                                        \
	{                                                                                          \
		return end(ctx, &(at), call);                                                      \
	}
#define END_LIST(event, at, call)                                                                  \
	SEC("?tracepoint/dma/" #event) int event(void *ctx)                                        \
	{                                                                                          \
		return end_list(ctx, &(at), call);                                                 \
	}

BEGIN(dma_map_page, at_map, REC_DMA_MAP)
BEGIN(dma_map_phys, at_map, REC_DMA_MAP)
BEGIN(dma_map_resource, at_map_resource, REC_DMA_MAP_RESOURCE)
BEGIN(dma_alloc, at_alloc, REC_DMA_ALLOC)
BEGIN(dma_alloc_pages, at_alloc_pages, REC_DMA_ALLOC)
BEGIN(dma_alloc_sgt, at_alloc_sgt, REC_DMA_ALLOC)
END(dma_unmap_page, at_unmap, REC_DMA_UNMAP)
END(dma_unmap_phys, at_unmap, REC_DMA_UNMAP)
END(dma_unmap_resource, at_unmap_resource, REC_DMA_UNMAP_RESOURCE)
END(dma_free, at_free, REC_DMA_FREE)
END(dma_free_pages, at_free_pages, REC_DMA_FREE)
END(dma_free_sgt, at_free_sgt, REC_DMA_FREE)
END(dma_sync_single_for_cpu, at_sync_cpu, REC_DMA_SYNC_CPU)
END(dma_sync_single_for_device, at_sync_device, REC_DMA_SYNC_DEVICE)
END_LIST(dma_unmap_sg, at_unmap_sg, REC_DMA_UNMAP_SG)
END_LIST(dma_sync_sg_for_cpu, at_sync_sg_cpu, REC_DMA_SYNC_SG_CPU)
END_LIST(dma_sync_sg_for_device, at_sync_sg_device, REC_DMA_SYNC_SG_DEVICE)

SEC("?tracepoint/dma/dma_map_sg")
int dma_map_sg(void *ctx)
{
	return map_list(ctx, &at_map_sg, 0);
}

SEC("?tracepoint/dma/dma_map_sg_err")
int dma_map_sg_err(void *ctx)
{
	return map_list(ctx, &at_map_sg_err, REC_DMA_FAILED);
}
