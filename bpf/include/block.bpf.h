/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests in flight, and their records: what the block hook's ways to attach share. */
#ifndef XPUGAP_BLOCK_BPF_H
#define XPUGAP_BLOCK_BPF_H

#include "bpf/include/ring.bpf.h"

#define MAX_REQUESTS 16384

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_REQUESTS);
	__type(key, struct disk_request_key);
	__type(value, struct disk_request);
} requests SEC(".maps");

/* Keep @r, which begins now; @t is what cost__sample_next() said of it. */
static __always_inline void block__keep(struct hook_counts *h, const struct disk_request_key *key,
					struct disk_request *r, __u64 t)
{
	struct disk_request *kept;

	if (bpf_map_update_elem(&requests, key, r, BPF_ANY)) {
		if (r->tid)
			counts__add(&h->lost_state, 1);
		return;
	}
	kept = t && r->tid ? bpf_map_lookup_elem(&requests, key) : NULL;
	if (kept)
		kept->cost_ns = bpf_ktime_get_ns() - t;
}

/*
 * @r is known and a request like it is handed in now: is it perhaps another one, because nothing
 * saw the end of @r? It is if the driver had @r at another sector; or, where only device and sector
 * are known, if the end of @r may be among what the kernel skipped. Then @r is forgotten, and
 * counted if it is a target's.
 */
static __always_inline bool block__stale(struct disk_request *r, const struct disk_request_key *key,
					 __u64 sector)
{
	struct hook_counts *h = counts__get(REC_HOOK_BLOCK);
	bool same = r->sector == sector;

	if (!h || (r->issue_ns ? same && r->start_ns >= h->skipped_ns
			       : same || r->start_ns >= h->skipped_ns))
		return false;
	if (r->tid)
		counts__add(&h->lost_state, 1);
	bpf_map_delete_elem(&requests, key);
	return true;
}

/* The driver gets @r once more, perhaps after others were merged into it. */
static __always_inline void block__issue(struct disk_request *r, __u64 sector, __u32 bytes)
{
	r->issue_ns = bpf_ktime_get_ns();
	r->sector = sector;
	r->bytes = bytes;
}

static __always_inline void block__end(struct hook_counts *h, const struct disk_request *r, int err)
{
	__u64 t = r->cost_ns ? bpf_ktime_get_ns() - r->cost_ns : 0, issue;
	struct rec_block *rec;

	counts__add(&h->hits, 1);
	rec = ring__reserve(h, REC_BLOCK, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = r->tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	issue = r->issue_ns ? r->issue_ns : r->start_ns;
	rec->sector = r->sector;
	rec->queue_ns = issue - r->start_ns;
	rec->device_ns = rec->hdr.time_ns - issue;
	rec->inode = r->inode;
	rec->inode_dev = r->inode_dev;
	rec->dev = r->dev;
	rec->bytes = r->bytes;
	rec->by = r->by;
	rec->err = err;
	rec->flags = r->flags;
	rec->op = r->op;
	rec->pad = 0;
	ring__submit_preemptible(h, rec);
	cost__end_preemptible(h, t);
}

#endif
