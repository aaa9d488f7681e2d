// SPDX-License-Identifier: GPL-2.0-only
/*
 * The io_uring hook: requests that the target makes through rings, from their submission to their
 * completion. No system call tells of them: what one of the calls io_uring_enter does is done for
 * many requests, by threads of the kernel, or later.
 *
 * Who submits a request is the task in which it is taken from the ring: the caller of
 * io_uring_enter, or the thread that polls the ring, which is one of the target's process. The file
 * is looked up twice: what the descriptor names when the request is submitted, so that one that is
 * never completed has it; and what it was about in the end, as a request before it in a chain may
 * have opened that.
 */
#include "bpf/include/file.bpf.h"
#include "bpf/include/io_uring.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define SETUP_SQPOLL 0x2
#define NO_OFFSET    (~0ULL) /* where the file stands */

#define OPS_WITH_OFFSET                                                                            \
	(OP_BIT(READV) | OP_BIT(WRITEV) | OP_BIT(READ_FIXED) | OP_BIT(WRITE_FIXED) |               \
	 OP_BIT(READ) | OP_BIT(WRITE) | OP_BIT(READV_FIXED) | OP_BIT(WRITEV_FIXED))
/* of these, those that pass one buffer, not vectors */
#define OPS_WITH_LENGTH (OP_BIT(READ_FIXED) | OP_BIT(WRITE_FIXED) | OP_BIT(READ) | OP_BIT(WRITE))
#define OPS_TO_SOCKETS	(OP_BIT(SEND) | OP_BIT(RECV) | OP_BIT(SEND_ZC))

/* io_uring_complete passes the entry of the queue, not what is in it */
const volatile bool complete_has_entry = false;

#if defined(BY_READING)

static __always_inline struct io_kiocb *request_at(__u64 address)
{
	return (void *)address;
}

#else

static __always_inline struct io_kiocb *request_at(__u64 address)
{
	return bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct io_kiocb));
}

#endif

/* ---- what a request is about ---- */

/* @r is about @file, which is told of once. */
static __always_inline void take_file(struct hook_counts *h, struct uring_request *r,
				      struct file *file)
{
	struct inode *inode = LOAD(file, f_inode);
	struct file_call c = {0};
	__u32 type;

	identify_file(&c, file);
	r->inode = c.inode;
	r->generation = c.generation;
	r->dev = c.dev;
	r->mount = c.mount;
	r->fs = c.fs;
	r->mode = LOAD(inode, i_mode);
	type = r->mode & MODE_TYPE;
	if (type == MODE_REGULAR || type == MODE_FOLDER)
		tell_file(h, r->tid, file, &c);
}

/* The file that it was about in the end, if the kernel found one. */
static __always_inline void look_again(struct hook_counts *h, struct uring_request *r,
				       __u64 address)
{
	struct io_kiocb *req = request_at(address);
	struct file *file = LOAD(req, file);
	struct super_block *sb;
	struct inode *inode;

	if (!file)
		return;
	inode = LOAD(file, f_inode);
	sb = LOAD(inode, i_sb);
	if (LOAD(inode, i_ino) != r->inode || LOAD(sb, s_dev) != r->dev ||
	    LOAD(inode, i_generation) != r->generation)
		take_file(h, r, file);
}

/* What each operation keeps lies where the request does, and begins with its file. */
static __always_inline void read_entry(struct uring_request *r, void *req)
{
	__u64 bit = r->op > REC_IO_URING_OP_NOP128 ? 0 : 1ULL << r->op;
	struct io_sr_msg *msg = req + bpf_core_field_offset(struct io_kiocb, file);
	struct io_rw *rw = (void *)msg;

	if (bit & OPS_WITH_OFFSET && bpf_core_field_exists(rw->kiocb)) {
		r->offset = BPF_CORE_READ(rw, kiocb.ki_pos);
		if (r->offset == NO_OFFSET)
			r->offset = 0;
		else
			r->flags |= REC_IO_URING_OFFSET;
		if (bit & OPS_WITH_LENGTH)
			r->asked = BPF_CORE_READ(rw, len);
	}
	if (bit & OPS_TO_SOCKETS && bpf_core_field_exists(msg->len))
		r->asked = BPF_CORE_READ(msg, len);
}

/* ---- programs: ends stand before beginnings, so that they are attached first ---- */

static __always_inline void complete(__u64 address, const struct uring_key *key, __s32 ret,
				     __u32 cqe_flags)
{
	struct hook_counts *h = counts__get(REC_HOOK_IO_URING);
	struct uring_request *r;

	if (!h)
		return;
	if (!address) { /* of one that goes on */
		r = cqe_flags & CQE_MORE ? uring__by_name(key, &address) : NULL;
		if (!r)
			return;
		look_again(h, r, address);
		uring__once(h, r, ret, 0);
		return;
	}
	r = uring__find(address, key);
	if (!r)
		return;
	look_again(h, r, address);
	r->nth++;
	uring__tell(h, r, ret, 0, 0);
	uring__drop(address, r);
}

SEC("tp_btf/io_uring_complete")
int io_uring_complete(unsigned long long *ctx)
{
	struct uring_key key = {.ring = ctx[0]};
	__u32 cqe_flags;
	__s32 ret;

	if (complete_has_entry) {
		struct io_uring_cqe *cqe = (void *)ctx[2];

		key.user_data = BPF_CORE_READ(cqe, user_data);
		ret = BPF_CORE_READ(cqe, res);
		cqe_flags = BPF_CORE_READ(cqe, flags);
	} else {
		key.user_data = ctx[2];
		ret = ctx[3];
		cqe_flags = ctx[4];
	}
	complete(ctx[1], &key, ret, cqe_flags);
	return 0;
}

SEC("tp_btf/io_uring_cqe_overflow")
int io_uring_cqe_overflow(unsigned long long *ctx)
{
	struct hook_counts *h = counts__get(REC_HOOK_IO_URING);
	struct uring_key key = {.ring = ctx[0], .user_data = ctx[1]};

	if (h && filter__find(bpf_get_current_task_btf()))
		uring__no_room(h, &key, ctx[2], ctx[3]);
	return 0;
}

SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(io_uring_queue_async_work, struct io_kiocb *req)
{
	__u64 address = (__u64)req;
	struct uring_request *r = bpf_map_lookup_elem(&uring_requests, &address);

	if (r)
		r->flags |= REC_IO_URING_ASYNC;
	return 0;
}

static __always_inline void begin(struct io_kiocb *req, __u8 op, __s32 fd, bool failed)
{
	struct hook_counts *h = counts__get(REC_HOOK_IO_URING);
	struct task_struct *task = bpf_get_current_task_btf();
	struct uring_request r = {0}, *before;
	__u64 address = (__u64)req, t;
	struct file *file;

	if (!h)
		return;
	before = bpf_map_lookup_elem(&uring_requests, &address);
	if (before)
		uring__gone(h, address, before);
	if (!filter__find(task))
		return;
	t = cost__sample_next(h);
	r.tid = task->pid;
	r.ring = (__u64)req->ctx;
	r.user_data = req->cqe.user_data;
	uring__set(&r, op, req->flags, fd);
	if (req->ctx->flags & SETUP_SQPOLL)
		r.flags |= REC_IO_URING_SQPOLL;
	if (!failed)
		read_entry(&r, req);
	file = r.fd < 0 || r.flags & REC_IO_URING_FIXED ? NULL : file__named(task, r.fd);
	if (file)
		take_file(h, &r, file);
	uring__keep(h, address, &r, t);
}

/* One that the kernel refuses as it stands is not submitted, but completed. */
SEC("tp_btf/io_uring_req_failed")
int BPF_PROG(io_uring_req_failed, const struct io_uring_sqe *sqe, struct io_kiocb *req)
{
	begin(req, sqe->opcode, sqe->fd, true);
	return 0;
}

/* since 6.3 */
SEC("?tp_btf/io_uring_submit_req")
int BPF_PROG(io_uring_submit_req, struct io_kiocb *req)
{
	begin(req, req->opcode, req->cqe.fd, false);
	return 0;
}

/* before */
SEC("?tp_btf/io_uring_submit_sqe")
int BPF_PROG(io_uring_submit_sqe, struct io_kiocb *req)
{
	begin(req, req->opcode, req->cqe.fd, false);
	return 0;
}
