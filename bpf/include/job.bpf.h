/* SPDX-License-Identifier: GPL-2.0-only */
/* Jobs from the queue to their end: what the ways to attach the probe job share. */
#ifndef XPUGAP_JOB_BPF_H
#define XPUGAP_JOB_BPF_H

#include "bpf/include/name.bpf.h"
#include "bpf/include/ring.bpf.h"

#define MAX_JOBS 16384

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_JOBS);
	__type(key, struct gpu_key);
	__type(value, struct gpu_job);
} jobs SEC(".maps");

/* What had this key never ended, or that was not seen. */
static __always_inline void job__tell_open(struct hook_counts *h, const struct gpu_job *j)
{
	struct rec_job_open *rec;

	counts__add(&h->hits, 1);
	rec = ring__reserve(h, REC_JOB_OPEN, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = j->tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->queued_ns = j->queued_ns;
	rec->begun_ns = j->begun_ns;
	rec->fence = j->fence;
	rec->context = j->context;
	rec->seqno = j->seqno;
	rec->id = j->id;
	rec->ring = j->ring;
	rec->device = j->device;
	ring__submit_preemptible(h, rec);
}

/* The target j->tid puts a job into a queue. */
static __always_inline void job__queue(struct hook_counts *h, const struct gpu_key *key,
				       struct gpu_job *j)
{
	struct gpu_job *old = bpf_map_lookup_elem(&jobs, key);

	if (old)
		job__tell_open(h, old);
	j->queued_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&jobs, key, j, BPF_ANY))
		counts__add(&h->lost_state, 1);
}

/* The device gets it. */
static __always_inline int job__run(const struct gpu_key *key)
{
	struct gpu_job *j = bpf_map_lookup_elem(&jobs, key);

	if (j)
		j->begun_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int job__done(const struct gpu_key *key)
{
	struct gpu_job *j = bpf_map_lookup_elem(&jobs, key);
	struct hook_counts *h = counts__get(REC_HOOK_GPU);
	struct rec_job *rec;
	__u64 t, begun;

	if (!j || !h)
		return 0;
	t = cost__begin_preemptible(h);
	rec = ring__reserve(h, REC_JOB, sizeof(*rec));
	if (!rec)
		goto out;
	rec->hdr.tid = j->tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	begun = j->begun_ns ? j->begun_ns : rec->hdr.time_ns;
	rec->queue_ns = begun - j->queued_ns;
	rec->run_ns = rec->hdr.time_ns - begun;
	rec->fence = j->fence;
	rec->context = j->context;
	rec->seqno = j->seqno;
	rec->id = j->id;
	rec->ring = j->ring;
	rec->device = j->device;
	rec->client = j->client;
	rec->ahead = j->ahead;
	rec->pad = 0;
	ring__submit_preemptible(h, rec);
	cost__end_preemptible(h, t);
out:
	bpf_map_delete_elem(&jobs, key);
	return 0;
}

#endif
