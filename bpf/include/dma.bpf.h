/* SPDX-License-Identifier: GPL-2.0-only */
/* What is mapped for devices, and by whom: what the ways to attach the probe dma share. */
#ifndef XPUGAP_DMA_BPF_H
#define XPUGAP_DMA_BPF_H

#include "bpf/include/name.bpf.h"
#include "bpf/include/ring.bpf.h"

#define MAX_MAPPINGS 65536
#define MAX_DEVICES  1024
#define DMA_ERROR    (~0ULL) /* what the kernel calls the address of what could not be mapped */

/*
 * What is mapped is known by the device's name, and the address that it has there. Two mappings may
 * have one address, if no IOMMU is between: then the last begins and ends both.
 */
struct dma_key {
	__u64 device;
	__u64 addr;
};

struct dma_mapping {
	__u64 time_ns;
	__u64 bytes;
	__u32 tid;
	__u32 count;
	__u32 entries;
	__u32 segments;
	__u32 flags;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_MAPPINGS);
	__type(key, struct dma_key);
	__type(value, struct dma_mapping);
} mappings SEC(".maps");

/* devices that a DMA_DEVICE told of, by the ids of their names */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_DEVICES);
	__type(key, __u64);
	__type(value, __u8);
} told_devices SEC(".maps");

/* interrupts that each cpu is in */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} interrupts SEC(".maps");

/* What a program was told of. @tid is the target that it happens to, 0: none. */
struct dma_event {
	__u64 device;
	__u64 addr;
	__u64 known_by; /* in place of the address, if that is not 0 */
	__u64 bytes;
	__u32 entries;
	__u32 segments;
	__u32 tid;
	__u16 flags;
	__u8 call;
	__u8 dir;
};

/* ---- whether the cpu is in an interrupt: then nothing is the current task's ---- */

static __always_inline bool dma__in_interrupt(void)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&interrupts, &zero);

	return n && *n;
}

static __always_inline int dma__count_interrupt(int change)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&interrupts, &zero);

	if (n && (change > 0 || *n))
		*n += change;
	return 0;
}

/* Ends stand before beginnings so that they are attached first, and none is missed. */
#define DMA_COUNT_INTERRUPT(way, end, begin)                                                       \
	SEC(way #end) int end(void *ctx)                                                           \
	{                                                                                          \
		return dma__count_interrupt(-1);                                                   \
	}                                                                                          \
	SEC(way #begin) int begin(void *ctx)                                                       \
	{                                                                                          \
		return dma__count_interrupt(1);                                                    \
	}

/* ---- records ---- */

/* Tell once of the device with that name; @driver is its driver's, @node where it is. */
static __always_inline void dma__tell_device(struct hook_counts *h, __u64 device, __u64 driver,
					     int node)
{
	struct rec_dma_device *rec;
	__u8 told = 1;

	counts__add(&h->hits, 1);
	rec = ring__reserve(h, REC_DMA_DEVICE, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = 0;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->device = device;
	rec->driver = driver;
	rec->node = node;
	rec->pad = 0;
	ring__submit_preemptible(h, rec);
	bpf_map_update_elem(&told_devices, &device, &told, BPF_ANY);
}

static __always_inline void dma__emit(struct hook_counts *h, const struct dma_event *e, __u32 tid,
				      __u64 since)
{
	struct rec_dma *rec;
	__u32 by = e->tid;

	rec = ring__reserve(h, REC_DMA, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->device = e->device;
	rec->addr = e->addr;
	rec->bytes = e->bytes;
	rec->held_ns = since ? rec->hdr.time_ns - since : 0;
	rec->entries = e->entries;
	rec->segments = e->segments;
	rec->by = by == tid ? 0 : by;
	rec->flags = e->flags;
	rec->call = e->call;
	rec->dir = e->dir;
	ring__submit_preemptible(h, rec);
}

static __always_inline struct dma_key dma__key(const struct dma_event *e)
{
	return (struct dma_key){.device = e->device, .addr = e->known_by ? e->known_by : e->addr};
}

static __always_inline void dma__keep(struct hook_counts *h, const struct dma_event *e)
{
	struct dma_mapping m = {.time_ns = bpf_ktime_get_ns(),
				.bytes = e->bytes,
				.tid = e->tid,
				.count = 1,
				.entries = e->entries,
				.segments = e->segments,
				.flags = e->flags};
	struct dma_key key = dma__key(e);
	struct dma_mapping *old = bpf_map_lookup_elem(&mappings, &key);

	if (old)
		m.count += old->count;
	if (bpf_map_update_elem(&mappings, &key, &m, BPF_ANY))
		counts__add(&h->lost_state, 1);
}

/* A target, e->tid, mapped or allocated something, or could not. */
static __always_inline void dma__begin(const struct dma_event *e)
{
	struct hook_counts *h = counts__get(REC_HOOK_GPU);
	__u64 t;

	if (!h)
		return;
	t = cost__begin_preemptible(h);
	if (!(e->flags & REC_DMA_FAILED))
		dma__keep(h, e);
	dma__emit(h, e, e->tid, 0);
	cost__end_preemptible(h, t);
}

static __always_inline void dma__forget(const struct dma_key *key, struct dma_mapping *m)
{
	if (m->count > 1)
		m->count--;
	else
		bpf_map_delete_elem(&mappings, key);
}

/*
 * Something was undone, or synchronised if not @last. It is the mapping's maker's, whoever does it;
 * where that is not known, it is the target's that does it. @by: who does it, 0: an interrupt.
 */
static __always_inline void dma__end(struct dma_event *e, __u32 by, bool last)
{
	struct dma_key key = dma__key(e);
	struct dma_mapping *m = bpf_map_lookup_elem(&mappings, &key);
	struct hook_counts *h = counts__get(REC_HOOK_GPU);
	__u64 t, since = 0;
	__u32 tid = e->tid;

	if (!h || (!m && !tid))
		return;
	t = cost__begin_preemptible(h);
	if (!by)
		e->flags |= REC_DMA_INTERRUPT;
	e->tid = by;
	if (m) {
		tid = m->tid;
		since = m->time_ns;
		if (!e->bytes)
			e->bytes = m->bytes;
		if (m->entries) {
			e->entries = m->entries;
			e->segments = m->segments;
			e->bytes = m->bytes;
			e->flags |= m->flags & REC_DMA_PARTIAL;
		}
	}
	dma__emit(h, e, tid, since);
	if (m && last)
		dma__forget(&key, m);
	cost__end_preemptible(h, t);
}

static __always_inline __u8 dma__dir(__u64 dir)
{
	return (dir & 3) + 1;
}

#endif
