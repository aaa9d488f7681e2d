// SPDX-License-Identifier: GPL-2.0-only
/*
 * The block hook by classic tracepoints, which pass no address of a request: it is known by its
 * device and first sector. Not known here: the file, the disk's name, and who caused what workers
 * hand in.
 */
#include "bpf/include/plain.bpf.h"

#include "bpf/include/block.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RWBS_LEN 8

const volatile __u32 at_insert_dev, at_insert_sector, at_insert_bytes, at_insert_rwbs;
const volatile __u32 at_issue_dev, at_issue_sector, at_issue_bytes, at_issue_rwbs;
const volatile __u32 at_complete_dev, at_complete_sector, at_complete_error;

static __always_inline bool is_op(char c)
{
	return c == 'W' || c == 'D' || c == 'R' || c == 'F' || c == 'N';
}

static __always_inline __u8 op_of(char c)
{
	switch (c) {
	case 'R':
		return REC_BLOCK_READ;
	case 'W':
		return REC_BLOCK_WRITE;
	case 'F':
		return REC_BLOCK_FLUSH;
	case 'D':
		return REC_BLOCK_DISCARD;
	default:
		return REC_BLOCK_OTHER;
	}
}

static __always_inline __u16 flag_of(char c)
{
	switch (c) {
	case 'S':
		return REC_BLOCK_SYNC;
	case 'M':
		return REC_BLOCK_META;
	case 'A':
		return REC_BLOCK_RAHEAD;
	case 'F':
		return REC_BLOCK_FUA;
	default:
		return 0;
	}
}

/* The letters of blktrace: F for a flush before, the operation, E if it erases, then flags. */
static __always_inline void read_letters(struct disk_request *r, const void *from)
{
	char s[RWBS_LEN + 1] = {0};
	int i, at = 0;

	bpf_probe_read_kernel(s, RWBS_LEN, from);
	if (s[0] == 'F' && is_op(s[1])) {
		r->flags |= REC_BLOCK_PREFLUSH;
		at = 1;
	}
	r->op = op_of(at ? s[1] : s[0]);
	if (r->op == REC_BLOCK_DISCARD && (at ? s[2] : s[1]) == 'E')
		r->op = REC_BLOCK_ERASE;
	for (i = 1; i < RWBS_LEN; i++)
		if (i > at)
			r->flags |= flag_of(s[i]);
}

static __always_inline void begin(struct disk_request *r, bool issued)
{
	struct disk_request_key key = {.a = r->sector, .b = r->dev};
	struct hook_counts *h = counts__get(REC_HOOK_BLOCK);
	__u64 t;

	if (!h)
		return;
	t = cost__sample_next(h);
	if (plain__find(plain__tid()) && r->op != REC_BLOCK_FLUSH)
		r->tid = plain__tid();
	else if (issued)
		return;
	else
		r->state = DISK_REQUEST_OTHERS;
	r->start_ns = bpf_ktime_get_ns();
	if (issued)
		r->issue_ns = r->start_ns;
	block__keep(h, &key, r, t);
}

/* Ends stand before beginnings here, too. */

SEC("tracepoint/block/block_rq_complete")
int block_rq_complete(void *ctx)
{
	struct disk_request_key key = {.a = plain__u64(ctx, at_complete_sector),
				       .b = plain__u32(ctx, at_complete_dev)};
	struct disk_request *r = bpf_map_lookup_elem(&requests, &key);
	struct hook_counts *h = counts__get(REC_HOOK_BLOCK);

	if (!r || !h)
		return 0;
	if (r->tid)
		block__end(h, r, (int)plain__u32(ctx, at_complete_error));
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

SEC("tracepoint/block/block_rq_issue")
int block_rq_issue(void *ctx)
{
	struct disk_request r = {
		.sector = plain__u64(ctx, at_issue_sector),
		.dev = plain__u32(ctx, at_issue_dev),
		.bytes = plain__u32(ctx, at_issue_bytes),
	};
	struct disk_request_key key = {.a = r.sector, .b = r.dev};
	struct disk_request *known = bpf_map_lookup_elem(&requests, &key);

	if (known && !block__stale(known, &key, r.sector)) {
		block__issue(known, r.sector, r.bytes);
		return 0;
	}
	read_letters(&r, ctx + at_issue_rwbs);
	begin(&r, true);
	return 0;
}

SEC("tracepoint/block/block_rq_insert")
int block_rq_insert(void *ctx)
{
	struct disk_request r = {
		.sector = plain__u64(ctx, at_insert_sector),
		.dev = plain__u32(ctx, at_insert_dev),
		.bytes = plain__u32(ctx, at_insert_bytes),
	};

	read_letters(&r, ctx + at_insert_rwbs);
	begin(&r, false);
	return 0;
}
