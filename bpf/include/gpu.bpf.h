/* SPDX-License-Identifier: GPL-2.0-only */
/* What all objects of the gpu hook share. */
#ifndef XPUGAP_GPU_BPF_H
#define XPUGAP_GPU_BPF_H

#include "bpf/include/name.bpf.h"
#include "bpf/include/ring.bpf.h"

/*
 * What is recorded here ends in interrupts, which may come while the same family is at work on that
 * cpu: unlike those of most hooks, these counters are always added to atomically.
 */
static __always_inline void gpu__count(__u64 *what, __u64 n)
{
	__sync_fetch_and_add(what, n);
}

/* Count a hit; now and then begin to measure what it costs: 0 when it is not measured. */
static __always_inline __u64 gpu__begin(struct hook_counts *h)
{
	gpu__count(&h->hits, 1);
	return cost__sample(h);
}

static __always_inline void gpu__end(struct hook_counts *h, __u64 begin_ns)
{
	if (begin_ns) {
		gpu__count(&h->cost_ns, bpf_ktime_get_ns() - begin_ns);
		gpu__count(&h->cost_hits, 1);
	}
}

#endif
