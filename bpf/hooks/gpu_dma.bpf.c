// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gpu hook, probe dma: memory that a target makes reachable for devices, by the tracepoints
 * that the kernel has for this since 6.12. Which of them there are, the recorder finds out.
 */
#include "bpf/include/dma_args.bpf.h"

char LICENSE[] SEC("license") = "GPL";

DMA_COUNT_INTERRUPT("tp_btf/", irq_handler_exit, irq_handler_entry)
DMA_COUNT_INTERRUPT("tp_btf/", softirq_exit, softirq_entry)
DMA_COUNT_INTERRUPT("tp_btf/", hrtimer_expire_exit, hrtimer_expire_entry)

#define DEV(ctx) ((struct device *)(ctx)[0])
#define SG(ctx)	 ((struct scatterlist *)(ctx)[1])

SEC("?tp_btf/dma_map_page")
int dma_map_page(unsigned long long *ctx)
{
	return dma__map(DEV(ctx), ctx[2], ctx[3], ctx[4], REC_DMA_MAP);
}

SEC("?tp_btf/dma_map_resource")
int dma_map_resource(unsigned long long *ctx)
{
	return dma__map(DEV(ctx), ctx[2], ctx[3], ctx[4], REC_DMA_MAP_RESOURCE);
}

SEC("?tp_btf/dma_map_phys")
int dma_map_phys(unsigned long long *ctx)
{
	return dma__map(DEV(ctx), ctx[2], ctx[3], ctx[4],
			ctx[5] & DMA_ATTR_MMIO ? REC_DMA_MAP_RESOURCE : REC_DMA_MAP);
}

SEC("?tp_btf/dma_map_sg")
int dma_map_sg(unsigned long long *ctx)
{
	return dma__map_list(DEV(ctx), SG(ctx), ctx[2], ctx[3], ctx[4]);
}

SEC("?tp_btf/dma_map_sg_err")
int dma_map_sg_err(unsigned long long *ctx)
{
	return dma__map_list(DEV(ctx), SG(ctx), ctx[2], 0, ctx[4]);
}

SEC("?tp_btf/dma_unmap_page")
int dma_unmap_page(unsigned long long *ctx)
{
	return dma__undo(DEV(ctx), ctx[1], ctx[2], ctx[3], REC_DMA_UNMAP);
}

SEC("?tp_btf/dma_unmap_resource")
int dma_unmap_resource(unsigned long long *ctx)
{
	return dma__undo(DEV(ctx), ctx[1], ctx[2], ctx[3], REC_DMA_UNMAP_RESOURCE);
}

SEC("?tp_btf/dma_unmap_phys")
int dma_unmap_phys(unsigned long long *ctx)
{
	return dma__undo(DEV(ctx), ctx[1], ctx[2], ctx[3],
			 ctx[4] & DMA_ATTR_MMIO ? REC_DMA_UNMAP_RESOURCE : REC_DMA_UNMAP);
}

SEC("?tp_btf/dma_unmap_sg")
int dma_unmap_sg(unsigned long long *ctx)
{
	return dma__undo_list(DEV(ctx), SG(ctx), ctx[2], ctx[3], REC_DMA_UNMAP_SG);
}

/* of memory that both sides use at any time: that goes in both directions */
SEC("?tp_btf/dma_alloc")
int dma_alloc(unsigned long long *ctx)
{
	return dma__alloc(DEV(ctx), ctx[2], ctx[3], 0, !ctx[1]);
}

SEC("?tp_btf/dma_free")
int dma_free(unsigned long long *ctx)
{
	return dma__undo(DEV(ctx), ctx[2], ctx[3], 0, REC_DMA_FREE);
}

SEC("?tp_btf/dma_alloc_pages")
int dma_alloc_pages(unsigned long long *ctx)
{
	return dma__alloc(DEV(ctx), ctx[2], ctx[3], ctx[4], !ctx[1]);
}

SEC("?tp_btf/dma_free_pages")
int dma_free_pages(unsigned long long *ctx)
{
	return dma__undo(DEV(ctx), ctx[2], ctx[3], ctx[4], REC_DMA_FREE);
}

static __always_inline __u64 address_of(unsigned long long table)
{
	return BPF_CORE_READ((struct sg_table *)table, sgl, dma_address);
}

SEC("?tp_btf/dma_alloc_sgt")
int dma_alloc_sgt(unsigned long long *ctx)
{
	return dma__alloc(DEV(ctx), address_of(ctx[1]), ctx[2], ctx[3], false);
}

SEC("?tp_btf/dma_alloc_sgt_err")
int dma_alloc_sgt_err(unsigned long long *ctx)
{
	return dma__alloc(DEV(ctx), 0, ctx[3], ctx[4], true);
}

SEC("?tp_btf/dma_free_sgt")
int dma_free_sgt(unsigned long long *ctx)
{
	return dma__undo(DEV(ctx), address_of(ctx[1]), ctx[2], ctx[3], REC_DMA_FREE);
}

#define SYNC(event, what)                                                                          \
	SEC("?tp_btf/" #event)                                                                     \
	int event(unsigned long long *ctx)                                                         \
	{                                                                                          \
		return dma__undo(DEV(ctx), ctx[1], ctx[2], ctx[3], what);                          \
	}

#define SYNC_LIST(event, what)                                                                     \
	SEC("?tp_btf/" #event)                                                                     \
	int event(unsigned long long *ctx)                                                         \
	{                                                                                          \
		return dma__undo_list(DEV(ctx), SG(ctx), ctx[2], ctx[3], what);                    \
	}

SYNC(dma_sync_single_for_cpu, REC_DMA_SYNC_CPU)
SYNC(dma_sync_single_for_device, REC_DMA_SYNC_DEVICE)
SYNC_LIST(dma_sync_sg_for_cpu, REC_DMA_SYNC_SG_CPU)
SYNC_LIST(dma_sync_sg_for_device, REC_DMA_SYNC_SG_DEVICE)
