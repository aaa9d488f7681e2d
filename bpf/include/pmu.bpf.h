/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a target's thread makes counters count, for both ways to know a target.
 *
 * Counters run on each cpu for whoever is there. They are read when a target gets or leaves the
 * cpu, and at ticks between: the difference of two readings is what the thread did in between. So
 * the kernel need not save and restore them at each switch, and nothing is added for others.
 */
#ifndef XPUGAP_PMU_BPF_H
#define XPUGAP_PMU_BPF_H

#include "bpf/include/ring.bpf.h"

/* those that could be opened, and how records call each */
const volatile __u32 n_counters = 0;
const volatile __u8 counter_numbers[PMU_COUNTERS] = {0};

/* perf's events: cpu * PMU_COUNTERS + place among those */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, PMU_COUNTERS);
	__type(key, __u32);
	__type(value, __u32);
} pmu_events SEC(".maps");

/*
 * struct pmu_stay - the target that a cpu runs
 * @tid: 0: none, or it is not known since when
 * @since_ns: when the counters were last read
 */
struct pmu_stay {
	__u64 since_ns;
	__u32 tid;
	__u32 pad;
	struct bpf_perf_event_value last[PMU_COUNTERS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pmu_stay);
} pmu_stays SEC(".maps");

/* What one counter counted for thread @tid since it was last read; nothing is no record. */
static __always_inline void pmu__tell(struct hook_counts *h, struct pmu_stay *p, __u32 tid, __u32 i,
				      const struct bpf_perf_event_value *v)
{
	const struct bpf_perf_event_value *last = &p->last[i];
	__u64 value = v->counter - last->counter;
	__u64 enabled = v->enabled - last->enabled, running = v->running - last->running;
	struct rec_pmu_read *rec;

	if (!value && running == enabled)
		return;
	h->hits++;
	rec = ring__reserve(h, REC_PMU_READ, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->since_ns = p->since_ns;
	rec->value = value;
	rec->enabled_ns = enabled;
	rec->running_ns = running;
	rec->counter = counter_numbers[i & (PMU_COUNTERS - 1)];
	rec->pad = 0;
	ring__submit(h, rec);
}

/* Read all counters: for @tid, if it is known since when it runs (0: for nobody). */
static __always_inline void pmu__read(struct hook_counts *h, struct pmu_stay *p, __u32 tid)
{
	__u32 at = bpf_get_smp_processor_id() * PMU_COUNTERS, i;
	struct bpf_perf_event_value v;

#pragma clang loop unroll(disable)
	for (i = 0; i < PMU_COUNTERS && i < n_counters; i++) {
		if (bpf_perf_event_read_value(&pmu_events, at + i, &v, sizeof(v))) {
			__sync_fetch_and_add(&h->lost_state, 1);
			continue;
		}
		if (tid && p->tid == tid)
			pmu__tell(h, p, tid, i, &v);
		p->last[i] = v;
	}
}

/* @prev leaves the cpu to @next: their thread ids, 0 for who is no target. They may be the same. */
static __always_inline int pmu__switch(__u32 prev, __u32 next)
{
	struct hook_counts *h = counts__get(REC_HOOK_PMU);
	__u32 zero = 0;
	struct pmu_stay *p = bpf_map_lookup_elem(&pmu_stays, &zero);
	__u64 t;

	if (!h || !p)
		return 0;
	t = cost__sample(h);
	pmu__read(h, p, prev);
	p->since_ns = bpf_ktime_get_ns();
	p->tid = next;
	cost__end(h, t);
	return 0;
}

#endif
