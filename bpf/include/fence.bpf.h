/* SPDX-License-Identifier: GPL-2.0-only */
/* Fences that live, and waits for them: what the ways to attach the probe fence share. */
#ifndef XPUGAP_FENCE_BPF_H
#define XPUGAP_FENCE_BPF_H

#include "bpf/include/name.bpf.h"
#include "bpf/include/ring.bpf.h"

#define MAX_FENCES	32768
#define MAX_FENCE_WAITS 8192

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FENCES);
	__type(key, struct gpu_key);
	__type(value, struct gpu_fence);
} fences SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FENCE_WAITS);
	__type(key, struct fence_wait_key);
	__type(value, struct fence_wait);
} fence_waits SEC(".maps");

/* A record of @f, which is over. */
static __always_inline void fence__tell(struct gpu_fence *f)
{
	struct hook_counts *h = counts__get(REC_HOOK_GPU);
	struct rec_fence *rec;
	__u64 t;

	if (!h)
		return;
	f->state |= GPU_FENCE_TOLD;
	t = cost__begin_preemptible(h);
	rec = ring__reserve(h, REC_FENCE, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = f->tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->fence = f->fence;
	rec->context = f->context;
	rec->seqno = f->seqno;
	rec->driver = f->driver;
	rec->timeline = f->timeline;
	rec->made_ns = f->made_ns;
	rec->emitted_ns = f->emitted_ns;
	rec->signalled_ns = f->signalled_ns;
	rec->err = f->err;
	rec->flags = f->flags;
	ring__submit_preemptible(h, rec);
	cost__end_preemptible(h, t);
}

/* @f was made; with names, or these come later. */
static __always_inline void fence__make(const struct gpu_key *key, struct gpu_fence *f)
{
	struct hook_counts *h;

	f->made_ns = bpf_ktime_get_ns();
	if (!bpf_map_update_elem(&fences, key, f, BPF_ANY) || !(f->flags & REC_FENCE_MADE))
		return;
	h = counts__get(REC_HOOK_GPU);
	if (h)
		counts__add(&h->lost_state, 1);
}

static __always_inline void fence__signal(struct gpu_fence *f, int err)
{
	f->signalled_ns = bpf_ktime_get_ns();
	f->err = err;
	if (f->flags & (REC_FENCE_MADE | REC_FENCE_WAITED))
		fence__tell(f);
}

/* The last who used it let go. */
static __always_inline void fence__drop(const struct gpu_key *key)
{
	struct gpu_fence *f = bpf_map_lookup_elem(&fences, key);

	if (!f)
		return;
	if (f->flags & (REC_FENCE_MADE | REC_FENCE_WAITED) && !(f->state & GPU_FENCE_TOLD)) {
		if (!f->signalled_ns)
			f->flags |= REC_FENCE_DROPPED;
		fence__tell(f);
	}
	bpf_map_delete_elem(&fences, key);
}

/*
 * The target @tid begins to wait for the fence of @key; @unknown is what can be said of it if it
 * was made before it could be seen.
 */
static __always_inline void fence__wait(const struct gpu_key *key, const struct gpu_fence *unknown,
					__u32 tid)
{
	struct gpu_fence *f = bpf_map_lookup_elem(&fences, key);
	struct fence_wait_key at = {.fence = *key, .tid = tid};
	struct hook_counts *h = counts__get(REC_HOOK_GPU);
	struct fence_wait w = {0};

	if (!f) {
		bpf_map_update_elem(&fences, key, unknown, BPF_ANY);
		f = bpf_map_lookup_elem(&fences, key);
	}
	w.start_ns = bpf_ktime_get_ns();
	w.fence = unknown->fence;
	w.context = unknown->context;
	w.seqno = unknown->seqno;
	w.driver = unknown->driver;
	w.timeline = unknown->timeline;
	if (f) {
		f->flags |= REC_FENCE_WAITED;
		if (!w.driver) {
			w.driver = f->driver;
			w.timeline = f->timeline;
		}
		w.made_by = f->tid;
		w.flags = f->signalled_ns ? REC_FENCE_WAIT_SIGNALLED : 0;
		if (f->signalled_ns && !(f->state & GPU_FENCE_TOLD))
			fence__tell(f);
	}
	if (bpf_map_update_elem(&fence_waits, &at, &w, BPF_ANY) && h)
		counts__add(&h->lost_state, 1);
}

/* The wait ended; @signalled: as it should. */
static __always_inline void fence__waited(const struct gpu_key *key, __u32 tid, bool signalled)
{
	struct fence_wait_key at = {.fence = *key, .tid = tid};
	struct fence_wait *w = bpf_map_lookup_elem(&fence_waits, &at);
	struct hook_counts *h = counts__get(REC_HOOK_GPU);
	struct rec_fence_wait *rec;
	__u64 t;

	if (!w || !h)
		return;
	t = cost__begin_preemptible(h);
	rec = ring__reserve(h, REC_FENCE_WAIT, sizeof(*rec));
	if (!rec)
		goto out;
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = rec->hdr.time_ns - w->start_ns;
	rec->fence = w->fence;
	rec->context = w->context;
	rec->seqno = w->seqno;
	rec->driver = w->driver;
	rec->timeline = w->timeline;
	rec->made_by = w->made_by;
	rec->flags = w->flags | (signalled ? 0 : REC_FENCE_WAIT_VAIN);
	ring__submit_preemptible(h, rec);
	cost__end_preemptible(h, t);
out:
	bpf_map_delete_elem(&fence_waits, &at);
}

#endif
