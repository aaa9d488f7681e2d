/* SPDX-License-Identifier: GPL-2.0-only */
/* What the objects of the irq hook share; before it comes what tells who is a target. */
#ifndef XPUGAP_IRQ_BPF_H
#define XPUGAP_IRQ_BPF_H

#include "bpf/include/ring.bpf.h"

#define IRQ_NAME_LEN 64
#define MAX_IRQS     8192

/* interrupts of which an IRQ_NAME told, as bits */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_IRQS / 64);
	__type(key, __u32);
	__type(value, __u64);
} named SEC(".maps");

static __always_inline int irq__begin(struct cpu_state *c, struct handling *w, __u32 nr)
{
	if (w->start_ns && w->start_ns >= c->hook[REC_HOOK_IRQ].skipped_ns)
		return 0; /* inside another one, whose time it is then */
	w->nr = nr;
	w->woke = 0;
	w->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* When what was begun as @nr began; 0 if it is another one that ends, or not known. */
static __always_inline __u64 irq__end(struct handling *w, __u32 nr)
{
	__u64 start = w->nr == nr ? w->start_ns : 0;

	if (start)
		w->start_ns = 0;
	return start;
}

/* Is what began at @start to be told of? Not where programs were skipped since: it is counted. */
static __always_inline bool irq__trusted(struct hook_counts *h, __u64 start)
{
	if (start >= h->skipped_ns)
		return true;
	__sync_fetch_and_add(&h->lost_state, 1);
	return false;
}

/* enum rec_irq_flags of what was handled; 0 if it concerns no target. */
static __always_inline __u32 irq__flags(const struct handling *w, bool target)
{
	__u32 flags = target ? REC_IRQ_TARGET : 0;

	barrier_var(flags);
	return w->woke ? flags | REC_IRQ_WOKE : flags;
}

/* Tell once what handles @irq; @name is the kernel's. */
static __always_inline void irq__name(struct hook_counts *h, __u32 irq, const char *name)
{
	__u32 word = irq / 64;
	__u64 bit = 1ULL << irq % 64, *told = bpf_map_lookup_elem(&named, &word);
	struct rec_irq_name *rec;
	char *text;
	long len;

	if (!told || *told & bit)
		return;
	counts__add(&h->hits, 1);
	rec = ring__reserve(h, REC_IRQ_NAME, sizeof(*rec) + IRQ_NAME_LEN);
	if (!rec)
		return;
	__sync_fetch_and_or(told, bit);
	text = (char *)(rec + 1);
	__builtin_memset(text, 0, IRQ_NAME_LEN);
	len = bpf_probe_read_kernel_str(text, IRQ_NAME_LEN, name);
	len = len > 0 ? len - 1 : 0;
	rec->hdr.size = sizeof(*rec) + ((len + REC_ALIGN - 1) & ~(REC_ALIGN - 1));
	rec->hdr.tid = 0;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->irq = irq;
	rec->name_len = len;
	ring__submit_preemptible(h, rec);
}

/*
 * The handler of @irq returned @ret, while a target was on the cpu or not. @name may be NULL where
 * it was told before.
 */
static __always_inline int irq__ended(struct cpu_state *c, __u64 start, bool target, __u32 irq,
				      int ret, const char *name)
{
	__u32 flags = irq__flags(&c->irq, target);
	struct hook_counts *h = &c->hook[REC_HOOK_IRQ];
	struct rec_irq *rec;
	__u64 t;

	if (!flags || !irq__trusted(h, start))
		return 0;
	t = cost__begin_preemptible(h);
	if (name)
		irq__name(h, irq, name);
	rec = ring__reserve(h, REC_IRQ, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = (__u32)bpf_get_current_pid_tgid();
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = rec->hdr.time_ns - start;
	rec->irq = irq;
	rec->flags = flags | (ret ? REC_IRQ_HANDLED : 0);
	ring__submit_preemptible(h, rec);
	cost__end_preemptible(h, t);
	return 0;
}

static __always_inline int softirq__ended(struct cpu_state *c, __u64 start, bool target, __u32 vec)
{
	__u32 flags = irq__flags(&c->softirq, target);
	struct hook_counts *h = &c->hook[REC_HOOK_IRQ];
	struct rec_softirq *rec;
	__u64 t;

	if (!flags || !irq__trusted(h, start))
		return 0;
	t = cost__begin_preemptible(h);
	rec = ring__reserve(h, REC_SOFTIRQ, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = (__u32)bpf_get_current_pid_tgid();
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = rec->hdr.time_ns - start;
	rec->vec = vec;
	rec->flags = flags;
	ring__submit_preemptible(h, rec);
	cost__end_preemptible(h, t);
	return 0;
}

#endif
