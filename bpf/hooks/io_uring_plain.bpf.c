// SPDX-License-Identifier: GPL-2.0-only
/*
 * The io_uring hook by classic tracepoints. Not known here: the file, what was asked for, and
 * whether the completions of a ring that has no room for them are the target's.
 */
#include "bpf/include/plain.bpf.h"

#include "bpf/include/io_uring.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 at_complete_ring, at_complete_req, at_complete_data, at_complete_res,
	at_complete_flags;
const volatile __u32 at_overflow_ring, at_overflow_data, at_overflow_res, at_overflow_flags;
const volatile __u32 at_async_req;
const volatile __u32 at_file_req, at_file_fd;
const volatile __u32 at_failed_ring, at_failed_req, at_failed_data, at_failed_op, at_failed_flags;
const volatile __u32 at_submit_ring, at_submit_req, at_submit_data, at_submit_op, at_submit_flags,
	at_submit_polled;

static __always_inline __u8 byte_at(void *ctx, __u32 offset)
{
	return plain__u32(ctx, offset);
}

SEC("tracepoint/io_uring/io_uring_complete")
int io_uring_complete(void *ctx)
{
	struct uring_key key = {.ring = plain__u64(ctx, at_complete_ring),
				.user_data = plain__u64(ctx, at_complete_data)};
	__u32 cqe_flags = plain__u32(ctx, at_complete_flags);
	struct hook_counts *h = counts__get(REC_HOOK_IO_URING);
	__u64 address = plain__u64(ctx, at_complete_req);
	__s32 ret = plain__u32(ctx, at_complete_res);
	struct uring_request *r;

	if (!h)
		return 0;
	if (!address) {
		r = cqe_flags & CQE_MORE ? uring__by_name(&key, &address) : NULL;
		if (r)
			uring__once(h, r, ret, 0);
		return 0;
	}
	r = uring__find(address, &key);
	if (!r)
		return 0;
	r->nth++;
	uring__tell(h, r, ret, 0, 0);
	uring__drop(address, r);
	return 0;
}

SEC("tracepoint/io_uring/io_uring_cqe_overflow")
int io_uring_cqe_overflow(void *ctx)
{
	struct uring_key key = {.ring = plain__u64(ctx, at_overflow_ring),
				.user_data = plain__u64(ctx, at_overflow_data)};
	struct hook_counts *h = counts__get(REC_HOOK_IO_URING);

	if (h && plain__find(plain__tid()))
		uring__no_room(h, &key, plain__u32(ctx, at_overflow_res),
			       plain__u32(ctx, at_overflow_flags));
	return 0;
}

SEC("tracepoint/io_uring/io_uring_queue_async_work")
int io_uring_queue_async_work(void *ctx)
{
	__u64 address = plain__u64(ctx, at_async_req);
	struct uring_request *r = bpf_map_lookup_elem(&uring_requests, &address);

	if (r)
		r->flags |= REC_IO_URING_ASYNC;
	return 0;
}

/* When the kernel looks up what a descriptor names: it does so once the request is begun. */
SEC("tracepoint/io_uring/io_uring_file_get")
int io_uring_file_get(void *ctx)
{
	__u64 address = plain__u64(ctx, at_file_req);
	struct uring_request *r = bpf_map_lookup_elem(&uring_requests, &address);

	if (r && r->fd < 0)
		r->fd = plain__u32(ctx, at_file_fd);
	return 0;
}

static __always_inline void begin(__u64 address, struct uring_request *r, __u8 op, __u8 sqe_flags)
{
	struct hook_counts *h = counts__get(REC_HOOK_IO_URING);
	struct uring_request *before;
	__u64 t;

	if (!h)
		return;
	before = bpf_map_lookup_elem(&uring_requests, &address);
	if (before)
		uring__gone(h, address, before);
	if (!plain__find(plain__tid()))
		return;
	t = cost__sample_next(h);
	r->tid = plain__tid();
	uring__set(r, op, sqe_flags, -1);
	uring__keep(h, address, r, t);
}

SEC("tracepoint/io_uring/io_uring_req_failed")
int io_uring_req_failed(void *ctx)
{
	struct uring_request r = {
		.ring = plain__u64(ctx, at_failed_ring),
		.user_data = plain__u64(ctx, at_failed_data),
	};

	begin(plain__u64(ctx, at_failed_req), &r, byte_at(ctx, at_failed_op),
	      byte_at(ctx, at_failed_flags));
	return 0;
}

static __always_inline int submit(void *ctx)
{
	struct uring_request r = {
		.ring = plain__u64(ctx, at_submit_ring),
		.user_data = plain__u64(ctx, at_submit_data),
		.flags = byte_at(ctx, at_submit_polled) ? REC_IO_URING_SQPOLL : 0,
	};

	begin(plain__u64(ctx, at_submit_req), &r, byte_at(ctx, at_submit_op),
	      byte_at(ctx, at_submit_flags));
	return 0;
}

/* since 6.3 */
SEC("?tracepoint/io_uring/io_uring_submit_req")
int io_uring_submit_req(void *ctx)
{
	return submit(ctx);
}

/* before */
SEC("?tracepoint/io_uring/io_uring_submit_sqe")
int io_uring_submit_sqe(void *ctx)
{
	return submit(ctx);
}
