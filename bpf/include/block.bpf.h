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

/*
 * A request may be completed by an interrupt while another is begun on the same cpu: unlike those
 * of other hooks, these counters are always added to atomically.
 */
static __always_inline void block__count(__u64 *what, __u64 n)
{
	__sync_fetch_and_add(what, n);
}

/* Is the request that begins now one to measure? 0, or when it began. */
static __always_inline __u64 block__sample(const struct hook_counts *h)
{
	return (h->hits + 1) % COST_EVERY == 0 ? bpf_ktime_get_ns() : 0;
}

/* Keep @r, which begins now; @t is what block__sample() said of it. */
static __always_inline void block__keep(struct hook_counts *h, const struct disk_request_key *key,
					struct disk_request *r, __u64 t)
{
	if (t)
		r->state |= DISK_REQUEST_SAMPLED;
	if (bpf_map_update_elem(&requests, key, r, BPF_ANY) && r->tid)
		block__count(&h->lost_state, 1);
	if (t)
		block__count(&h->cost_ns, bpf_ktime_get_ns() - t);
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
	__u64 t = r->state & DISK_REQUEST_SAMPLED ? bpf_ktime_get_ns() : 0, issue;
	struct rec_block *rec;

	block__count(&h->hits, 1);
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
	if (t) {
		block__count(&h->cost_ns, bpf_ktime_get_ns() - t);
		block__count(&h->cost_hits, 1);
	}
}

#endif
