/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests of io_uring that have not been completed, and their records: what the io_uring hook's
 * ways to attach share.
 *
 * A request is known by its address, which the kernel uses again when it has been completed. Three
 * kinds of completions do not pass that: those of requests that are completed more than once, but
 * for the last; those for which the queue has no room; and those that the program does not want to
 * be told of, where nothing is said at all. The first two are found by what the program calls them.
 */
#ifndef XPUGAP_IO_URING_BPF_H
#define XPUGAP_IO_URING_BPF_H

#include "bpf/include/ring.bpf.h"

#define MAX_URING_REQUESTS 16384
#define MAX_URING_MANY	   4096
#define MAX_URING_RESULTS  4096

/* of an entry of the submission queue, as programs write them */
#define SQE_FIXED_FILE	  0x01
#define SQE_LINK	  0x0c /* of either kind */
#define SQE_BUFFER_SELECT 0x20
#define SQE_SKIP_SUCCESS  0x40
#define CQE_MORE	  0x02

#define OP_BIT(name) (1ULL << REC_IO_URING_OP_##name)
/* operations of which fd names no file that they are about */
#define OPS_WITHOUT_FILE                                                                           \
	(OP_BIT(NOP) | OP_BIT(POLL_REMOVE) | OP_BIT(TIMEOUT) | OP_BIT(TIMEOUT_REMOVE) |            \
	 OP_BIT(ASYNC_CANCEL) | OP_BIT(LINK_TIMEOUT) | OP_BIT(OPENAT) | OP_BIT(CLOSE) |            \
	 OP_BIT(FILES_UPDATE) | OP_BIT(STATX) | OP_BIT(MADVISE) | OP_BIT(OPENAT2) |                \
	 OP_BIT(EPOLL_CTL) | OP_BIT(PROVIDE_BUFFERS) | OP_BIT(REMOVE_BUFFERS) | OP_BIT(RENAMEAT) | \
	 OP_BIT(UNLINKAT) | OP_BIT(MKDIRAT) | OP_BIT(SYMLINKAT) | OP_BIT(LINKAT) |                 \
	 OP_BIT(SETXATTR) | OP_BIT(GETXATTR) | OP_BIT(SOCKET) | OP_BIT(WAITID) |                   \
	 OP_BIT(FUTEX_WAIT) | OP_BIT(FUTEX_WAKE) | OP_BIT(FUTEX_WAITV) | OP_BIT(PIPE) |            \
	 OP_BIT(NOP128))
/* that may be completed more than once: always, or into buffers that the kernel selects */
#define OPS_MANY (OP_BIT(POLL_ADD) | OP_BIT(TIMEOUT) | OP_BIT(ACCEPT) | OP_BIT(RECV_ZC))
#define OPS_MANY_BUFFERS                                                                           \
	(OP_BIT(SEND) | OP_BIT(SENDMSG) | OP_BIT(RECV) | OP_BIT(RECVMSG) | OP_BIT(URING_CMD) |     \
	 OP_BIT(READ_MULTISHOT))

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_URING_REQUESTS);
	__type(key, __u64);
	__type(value, struct uring_request);
} uring_requests SEC(".maps");

/* → address of a request that may be completed more than once */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_URING_MANY);
	__type(key, struct uring_key);
	__type(value, __u64);
} uring_many SEC(".maps");

/* what there was no room for; the oldest are forgotten */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_URING_RESULTS);
	__type(key, struct uring_key);
	__type(value, struct uring_result);
} uring_results SEC(".maps");

static __always_inline bool uring__has_file(__u8 op)
{
	return op > REC_IO_URING_OP_NOP128 ? op == REC_IO_URING_OP_URING_CMD128
					   : !(OPS_WITHOUT_FILE >> op & 1);
}

static __always_inline bool uring__may_be_many(__u8 op, __u32 sqe_flags)
{
	if (op > REC_IO_URING_OP_NOP128)
		return false;
	return (OPS_MANY | (sqe_flags & SQE_BUFFER_SELECT ? OPS_MANY_BUFFERS : 0)) >> op & 1;
}

/* ---- beginnings ---- */

/* What the entry of the queue says of a request. */
static __always_inline void uring__set(struct uring_request *r, __u8 op, __u32 sqe_flags, __s32 fd)
{
	r->op = op;
	r->fd = uring__has_file(op) ? fd : -1;
	if (sqe_flags & SQE_FIXED_FILE)
		r->flags |= REC_IO_URING_FIXED;
	if (sqe_flags & SQE_LINK)
		r->flags |= REC_IO_URING_LINK;
	if (sqe_flags & SQE_SKIP_SUCCESS)
		r->flags |= REC_IO_URING_SILENT;
	if (uring__may_be_many(op, sqe_flags))
		r->state |= URING_MANY;
}

/* Keep @r, the request at @address, which begins now; @t is what cost__sample_next() said of it. */
static __always_inline void uring__keep(struct hook_counts *h, __u64 address,
					struct uring_request *r, __u64 t)
{
	struct uring_key key = {.ring = r->ring, .user_data = r->user_data};
	struct uring_request *kept;

	r->start_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&uring_requests, &address, r, BPF_ANY)) {
		counts__add(&h->lost_state, 1);
		return;
	}
	if (r->state & URING_MANY && bpf_map_update_elem(&uring_many, &key, &address, BPF_ANY))
		counts__add(&h->lost_state, 1);
	kept = t ? bpf_map_lookup_elem(&uring_requests, &address) : NULL;
	if (kept)
		kept->cost_ns = bpf_ktime_get_ns() - t;
}

/* ---- ends ---- */

static __always_inline void uring__drop(__u64 address, const struct uring_request *r)
{
	struct uring_key key = {.ring = r->ring, .user_data = r->user_data};
	__u64 *many;

	if (r->state & URING_MANY) {
		many = bpf_map_lookup_elem(&uring_many, &key);
		if (many && *many == address)
			bpf_map_delete_elem(&uring_many, &key);
	}
	bpf_map_delete_elem(&uring_requests, &address);
}

/* A record of @r, which ended, or was completed for once, at @end_ns (0: now); @more: flags. */
static __always_inline void uring__tell(struct hook_counts *h, const struct uring_request *r,
					__s64 ret, __u64 end_ns, __u32 more)
{
	__u64 t = r->cost_ns ? bpf_ktime_get_ns() - r->cost_ns : 0;
	__u32 current = bpf_get_current_pid_tgid();
	struct rec_io_uring *rec;

	counts__add(&h->hits, 1);
	rec = ring__reserve(h, REC_IO_URING, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = r->tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->start_ns = r->start_ns;
	rec->duration_ns = (end_ns ? end_ns : rec->hdr.time_ns) - r->start_ns;
	rec->ret = ret;
	rec->offset = r->offset;
	rec->inode = r->inode;
	rec->asked = r->asked;
	rec->dev = r->dev;
	rec->mount = r->mount;
	rec->fs = r->fs;
	rec->mode = r->mode;
	rec->fd = r->fd;
	rec->nth = r->nth;
	rec->by = current == r->tid || end_ns ? 0 : current;
	rec->flags = r->flags | more;
	rec->op = r->op;
	rec->pad = 0;
	rec->pad2 = 0;
	if (more & REC_IO_URING_UNSEEN)
		rec->duration_ns = rec->by = 0;
	ring__submit_preemptible(h, rec);
	cost__end_preemptible(h, t);
}

/* What there was no room for, and is that of @r: true if so, and told. */
static __always_inline bool uring__tell_late(struct hook_counts *h, const struct uring_request *r)
{
	struct uring_key key = {.ring = r->ring, .user_data = r->user_data};
	struct uring_result *late = bpf_map_lookup_elem(&uring_results, &key);

	if (!late)
		return false;
	if (late->mixed)
		uring__tell(h, r, 0, 0, REC_IO_URING_UNSEEN | REC_IO_URING_OVERFLOW);
	else
		uring__tell(h, r, late->ret, late->end_ns, REC_IO_URING_OVERFLOW);
	if (late->n > 1)
		__sync_fetch_and_add(&late->n, -1);
	else
		bpf_map_delete_elem(&uring_results, &key);
	return true;
}

/*
 * A request is handed in at @address, where @r is known: the end of that was not told, or was among
 * what the kernel skipped.
 */
static __always_inline void uring__gone(struct hook_counts *h, __u64 address,
					struct uring_request *r)
{
	r->cost_ns = 0; /* what is told now is told at another's cost */
	r->nth++;
	if (uring__tell_late(h, r))
		;
	else if (r->start_ns < h->skipped_ns && !(r->flags & REC_IO_URING_SILENT))
		counts__add(&h->lost_state, 1);
	else
		uring__tell(h, r, 0, 0, REC_IO_URING_UNSEEN);
	uring__drop(address, r);
}

/* The request that may be completed more than once and is called @key; NULL: not known. */
static __always_inline struct uring_request *uring__by_name(const struct uring_key *key,
							    __u64 *address)
{
	__u64 *known = bpf_map_lookup_elem(&uring_many, key);
	struct uring_request *r;

	if (!known)
		return NULL;
	*address = *known;
	r = bpf_map_lookup_elem(&uring_requests, address);
	return r && r->ring == key->ring && r->user_data == key->user_data ? r : NULL;
}

/* The program may give a poll another name: it is the same all the same. */
static __always_inline bool uring__is(const struct uring_request *r, const struct uring_key *key)
{
	return r->ring == key->ring &&
	       (r->user_data == key->user_data || r->op == REC_IO_URING_OP_POLL_ADD);
}

static __always_inline void uring__once(struct hook_counts *h, struct uring_request *r, __s32 ret,
					__u32 more)
{
	r->nth++;
	uring__tell(h, r, ret, 0, REC_IO_URING_MORE | more);
	r->cost_ns = 0;
}

/* There is no room for a completion of @key, which is not told by its address. */
static __always_inline void uring__no_room(struct hook_counts *h, const struct uring_key *key,
					   __s32 ret, __u32 cqe_flags)
{
	struct uring_result first = {.ret = ret, .n = 1}, *late;
	struct uring_request *r;
	__u64 address = 0;

	r = uring__by_name(key, &address);
	if (r && cqe_flags & CQE_MORE) {
		uring__once(h, r, ret, REC_IO_URING_OVERFLOW);
		return;
	}
	if (r) {
		r->nth++;
		uring__tell(h, r, ret, 0, REC_IO_URING_OVERFLOW);
		uring__drop(address, r);
		return;
	}
	late = bpf_map_lookup_elem(&uring_results, key);
	if (late) {
		late->mixed = 1;
		__sync_fetch_and_add(&late->n, 1);
		return;
	}
	first.end_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&uring_results, key, &first, BPF_ANY);
}

/* The request at @address (0: one of several completions) is completed. */
static __always_inline struct uring_request *uring__find(__u64 address, const struct uring_key *key)
{
	struct uring_request *r = bpf_map_lookup_elem(&uring_requests, &address);

	return r && uring__is(r, key) ? r : NULL;
}

#endif
