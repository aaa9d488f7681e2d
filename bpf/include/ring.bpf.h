/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings and counters, shared by all hooks.
 *
 * Each cpu has a ring buffer of its own: no producer waits for another, and what is in a ring is
 * nearly in order of time. Nobody is woken; the recorder looks at the rings when it wants to.
 */
#ifndef XPUGAP_RING_BPF_H
#define XPUGAP_RING_BPF_H

#include "bpf/include/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/include/shared.h"

/* what each entry is like; the recorder puts in larger ones, and as many as there are cpus */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536); /* the largest page */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

/* This cpu's state; NULL only for the verifier. */
static __always_inline struct cpu_state *cpu__get(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline struct hook_counts *counts__get(__u32 hook)
{
	struct cpu_state *c = cpu__get();

	return c ? &c->hook[hook] : NULL;
}

/*
 * Reserve a record of @size bytes in this cpu's ring, NULL (counted) when there is no room.
 *
 * The caller reads the clock after this, never before: a record whose time is older than a sweep
 * is then visible to that sweep, if only as one that is still being filled, and the recorder's
 * promise that nothing older will follow holds.
 */
static __always_inline void *ring__reserve(struct hook_counts *h, __u32 type, __u32 size)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct rec *rec = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;

	if (!rec) {
		__sync_fetch_and_add(&h->lost_ring, 1);
		return NULL;
	}
	rec->type = type;
	rec->size = size;
	return rec;
}

static __always_inline void ring__submit(struct hook_counts *h, void *rec)
{
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	h->records++;
}

/* The same in a program that another one of the same hook may interrupt. */
static __always_inline void ring__submit_preemptible(struct hook_counts *h, void *rec)
{
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	__sync_fetch_and_add(&h->records, 1);
}

/* After a hit was counted: is it one that is measured? 0, or when it began. */
static __always_inline __u64 cost__sample(const struct hook_counts *h)
{
	return h->hits % COST_EVERY == 0 ? bpf_ktime_get_ns() : 0; /* not the first: it is cold */
}

/* Count a hit; now and then begin to measure what it costs: 0 when it is not measured. */
static __always_inline __u64 cost__begin(struct hook_counts *h)
{
	h->hits++;
	return cost__sample(h);
}

static __always_inline void cost__end(struct hook_counts *h, __u64 begin_ns)
{
	if (begin_ns) {
		h->cost_ns += bpf_ktime_get_ns() - begin_ns;
		h->cost_hits++;
	}
}

/*
 * The same in a program that another one of the same hook may interrupt: some hooks' events end in
 * interrupts, which may come while the hook is at work on that cpu. All counters of such a hook are
 * added to atomically.
 */
static __always_inline void counts__add(__u64 *what, __u64 n)
{
	__sync_fetch_and_add(what, n);
}

/* Is what begins now one to measure, if it becomes a hit? 0, or when it began. */
static __always_inline __u64 cost__sample_next(const struct hook_counts *h)
{
	return (h->hits + 1) % COST_EVERY == 0 ? bpf_ktime_get_ns() : 0;
}

static __always_inline __u64 cost__begin_preemptible(struct hook_counts *h)
{
	counts__add(&h->hits, 1);
	return cost__sample(h);
}

/* @begin_ns: 0 when it is not measured. */
static __always_inline void cost__end_preemptible(struct hook_counts *h, __u64 begin_ns)
{
	if (begin_ns) {
		counts__add(&h->cost_ns, bpf_ktime_get_ns() - begin_ns);
		counts__add(&h->cost_hits, 1);
	}
}

#endif
