/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls counted in the kernel (syscall:agg): by thread and number, how many returned and how
 * long they took. No record is made for a call; the recorder reads the totals once a second.
 */
#ifndef XPUGAP_AGG_BPF_H
#define XPUGAP_AGG_BPF_H

#include "bpf/include/ring.bpf.h"

/* the recorder makes it larger where calls are counted */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct agg_key);
	__type(value, struct agg_value);
} agg SEC(".maps");

const volatile bool probe_agg = false;
__u32 agg_turn = 1; /* the interval: the recorder counts it up */
static const struct agg_value agg_none;

static __always_inline void agg__enter(struct task_state *s, __u32 nr, bool compat)
{
	if (nr & AGG_COMPAT)
		nr = AGG_NONE;
	else if (compat)
		nr |= AGG_COMPAT;
	s->agg_nr = nr;
	s->agg_ns = bpf_ktime_get_ns();
}

/* The totals of @key, which begin now if there are none; NULL: no room. */
static __always_inline struct agg_value *agg__get(const struct agg_key *key)
{
	struct agg_value *v = bpf_map_lookup_elem(&agg, key);

	if (v)
		return v;
	bpf_map_update_elem(&agg, key, &agg_none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&agg, key);
}

/* The place of the highest bit, at most AGG_BUCKETS - 1. */
static __always_inline __u32 agg__bucket(__u64 ns)
{
	__u32 n = 0, low;

	if (ns >> 32)
		return AGG_BUCKETS - 1;
	low = ns;
	n = (low > 0xffff) << 4;
	low >>= n;
	if (low > 0xff) {
		low >>= 8;
		n += 8;
	}
	if (low > 0xf) {
		low >>= 4;
		n += 4;
	}
	if (low > 3) {
		low >>= 2;
		n += 2;
	}
	return n + (low > 1);
}

static __always_inline void agg__longest(struct agg_value *v, __u64 ns, __u32 turn)
{
	if (v->turn != turn) {
		v->before = v->turn;
		v->before_ns = v->max_ns;
		v->turn = turn;
		v->max_ns = ns;
	} else if (ns > v->max_ns) {
		v->max_ns = ns;
	}
}

/* A call that began before its task was a target, or that never began, is not counted. */
static __always_inline void agg__exit(struct task_state *s, __u32 tid)
{
	struct hook_counts *h;
	struct agg_value *v;
	struct agg_key key;
	__u64 ns;

	if (!s || !s->agg_ns)
		return;
	ns = bpf_ktime_get_ns() - s->agg_ns;
	s->agg_ns = 0;
	key.tid = tid;
	key.nr = s->agg_nr;
	v = agg__get(&key);
	if (!v) {
		h = counts__get(REC_HOOK_SYSCALL);
		if (h)
			__sync_fetch_and_add(&h->lost_state, 1);
		return;
	}
	v->count++;
	v->total_ns += ns;
	agg__longest(v, ns, *(volatile __u32 *)&agg_turn);
	v->log2[agg__bucket(ns) & (AGG_BUCKETS - 1)]++;
}

#endif
