/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From what the kernel's own DMA functions are called with to events: where the kernel describes
 * its types. By tracepoint, at a function's return, or by kprobe, the same arguments are there.
 */
#ifndef XPUGAP_DMA_ARGS_BPF_H
#define XPUGAP_DMA_ARGS_BPF_H

#include "bpf/include/filter.bpf.h"

#include "bpf/include/dma.bpf.h"

#define SG_CHAIN       1UL
#define SG_END	       2UL
#define MAX_WALKS      4096
#define MAX_SG_ENTRIES 65536 /* of a list: the rest is not added up */
#define DMA_ATTR_MMIO  (1UL << 10)

/* a device's place and that of its name → the name's id: both are its own while it lives */
struct device_key {
	__u64 device;
	__u64 name;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_DEVICES);
	__type(key, struct device_key);
	__type(value, __u64);
} devices SEC(".maps");

static __always_inline __u64 name_of_device(struct device *dev)
{
	const char *name = BPF_CORE_READ(dev, init_name);

	return (__u64)(name ? name : BPF_CORE_READ(dev, kobj.name));
}

/* The id of @dev, if it was seen before; else 0. */
static __always_inline __u64 device__known(struct device *dev)
{
	struct device_key key = {.device = (__u64)dev, .name = name_of_device(dev)};
	__u64 *id = bpf_map_lookup_elem(&devices, &key);

	return id ? *id : 0;
}

static __always_inline __u64 device__id(struct hook_counts *h, struct device *dev)
{
	struct device_key key = {.device = (__u64)dev, .name = name_of_device(dev)};
	__u64 *known = bpf_map_lookup_elem(&devices, &key), id, driver;
	int node = -1;

	if (known)
		return *known;
	id = name__of(h, (void *)key.name);
	if (!id)
		return 0;
	bpf_map_update_elem(&devices, &key, &id, BPF_ANY);
	if (bpf_map_lookup_elem(&told_devices, &id))
		return id;
	driver = name__of(h, BPF_CORE_READ(dev, driver, name));
	if (bpf_core_field_exists(dev->numa_node))
		node = BPF_CORE_READ(dev, numa_node);
	dma__tell_device(h, id, driver, node);
	return id;
}

/* ---- lists ---- */

/*
 * How far a list was added up. It lives in a map, not on the stack: there the verifier would follow
 * each value that the sum can have, and never come to an end.
 */
struct sg_walk {
	__u64 at;
	__u64 bytes;
};

/* by the thread that maps the list */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_WALKS);
	__type(key, __u64);
	__type(value, struct sg_walk);
} walks SEC(".maps");

struct sg_walk_of {
	struct sg_walk *walk;
};

static long add_entry(__u32 i, struct sg_walk_of *of)
{
	struct sg_walk *w = of->walk;
	struct scatterlist *sg = (void *)w->at;
	unsigned long link = BPF_CORE_READ(sg, page_link);

	if (link & SG_CHAIN) {
		sg = (void *)(link & ~(SG_CHAIN | SG_END));
		link = BPF_CORE_READ(sg, page_link);
	}
	w->bytes += BPF_CORE_READ(sg, length);
	w->at = (__u64)sg + bpf_core_type_size(struct scatterlist);
	return link / SG_END & 1;
}

static __always_inline void add_list(struct dma_event *e, struct scatterlist *sg, __u32 entries)
{
	__u32 n = entries < MAX_SG_ENTRIES ? entries : MAX_SG_ENTRIES;
	struct sg_walk w = {.at = (__u64)sg};
	__u64 me = bpf_get_current_pid_tgid();
	struct sg_walk_of of;

	e->flags |= REC_DMA_PARTIAL;
	if (bpf_map_update_elem(&walks, &me, &w, BPF_ANY))
		return;
	of.walk = bpf_map_lookup_elem(&walks, &me);
	if (!of.walk)
		return;
	bpf_loop(n, add_entry, &of, 0);
	e->bytes = of.walk->bytes;
	if (n == entries)
		e->flags &= ~REC_DMA_PARTIAL;
	bpf_map_delete_elem(&walks, &me);
}

/* Bytes and address of the list at @sg, of @entries parts. */
static __always_inline void read_list(struct dma_event *e, struct scatterlist *sg, __u32 entries)
{
	e->entries = entries;
	if (!sg || !entries)
		return;
	e->addr = BPF_CORE_READ(sg, dma_address);
	add_list(e, sg, entries);
}

/* ---- what happened ---- */

/* Fill in whose the event is; false: no target's. Here nothing that an interrupt does counts. */
static __always_inline bool is_mine(struct dma_event *e, struct device *dev)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct hook_counts *h;

	if (!filter__find(task) || dma__in_interrupt())
		return false;
	h = counts__get(REC_HOOK_GPU);
	if (!h)
		return false;
	e->tid = task->pid;
	e->device = device__id(h, dev);
	return true;
}

static __always_inline int dma__map(struct device *dev, __u64 addr, __u64 bytes, __u64 dir,
				    __u8 call)
{
	struct dma_event e = {.addr = addr, .bytes = bytes, .dir = dma__dir(dir), .call = call};

	if (!is_mine(&e, dev))
		return 0;
	if (addr == DMA_ERROR)
		e.flags = REC_DMA_FAILED;
	dma__begin(&e);
	return 0;
}

/* @segments: into how many parts the list was mapped, 0 or less: it was not */
static __always_inline int dma__map_list(struct device *dev, struct scatterlist *sg, __u32 entries,
					 int segments, __u64 dir)
{
	struct dma_event e = {.dir = dma__dir(dir), .call = REC_DMA_MAP_SG};

	if (!is_mine(&e, dev))
		return 0;
	read_list(&e, sg, entries);
	e.segments = segments > 0 ? segments : 0;
	if (segments <= 0) {
		e.flags |= REC_DMA_FAILED;
		e.addr = 0;
	}
	dma__begin(&e);
	return 0;
}

/* @addr 0 with @failed: it was not allocated */
static __always_inline int dma__alloc(struct device *dev, __u64 addr, __u64 bytes, __u64 dir,
				      bool failed)
{
	struct dma_event e = {.addr = addr,
			      .bytes = bytes,
			      .dir = dma__dir(dir),
			      .call = REC_DMA_ALLOC};

	if (!is_mine(&e, dev))
		return 0;
	if (failed)
		e.flags = REC_DMA_FAILED;
	dma__begin(&e);
	return 0;
}

/* The same for what is undone or synchronised: who does it, and whether anybody may care. */
static __always_inline bool may_end(struct dma_event *e, struct device *dev, __u32 *by)
{
	bool interrupt = dma__in_interrupt();
	struct task_struct *task = bpf_get_current_task_btf();

	*by = interrupt ? 0 : task->pid;
	e->device = device__known(dev);
	if (interrupt || !filter__find(task))
		return e->device != 0;
	e->tid = *by;
	if (!e->device) {
		struct hook_counts *h = counts__get(REC_HOOK_GPU);

		e->device = h ? device__id(h, dev) : 0;
	}
	return true;
}

static __always_inline int dma__undo(struct device *dev, __u64 addr, __u64 bytes, __u64 dir,
				     __u8 call)
{
	struct dma_event e = {.addr = addr, .bytes = bytes, .dir = dma__dir(dir), .call = call};
	__u32 by;

	if (may_end(&e, dev, &by))
		dma__end(&e, by, call != REC_DMA_SYNC_CPU && call != REC_DMA_SYNC_DEVICE);
	return 0;
}

static __always_inline int dma__undo_list(struct device *dev, struct scatterlist *sg, __u32 entries,
					  __u64 dir, __u8 call)
{
	struct dma_event e = {.dir = dma__dir(dir), .call = call};
	struct dma_key key;
	__u32 by;

	if (!may_end(&e, dev, &by))
		return 0;
	e.addr = BPF_CORE_READ(sg, dma_address);
	key = dma__key(&e);
	if (!bpf_map_lookup_elem(&mappings, &key)) {
		if (!e.tid)
			return 0;
		read_list(&e, sg, entries);
	}
	dma__end(&e, by, call == REC_DMA_UNMAP_SG);
	return 0;
}

#endif
