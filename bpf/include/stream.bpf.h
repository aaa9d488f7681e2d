/* SPDX-License-Identifier: GPL-2.0-only */
/* The probe stream: calls about pipes and sockets, how long they took and who is at the other end.
 */
#ifndef XPUGAP_STREAM_BPF_H
#define XPUGAP_STREAM_BPF_H

#include "bpf/include/file.bpf.h"
#include "bpf/include/stream_what.bpf.h"

#define MAX_MESSAGES	32
#define MESSAGE_VECTORS 16 /* in a struct msghdr: where the vectors are, then how many */
#define MESSAGE_SIZE	64 /* of a struct mmsghdr, the bytes moved in it */
#define MESSAGE_BYTES	56
#define MSG_PEEK_BIT	0x2
#define MSG_DONTWAIT	0x40
#define SPLICE_NONBLOCK 0x2
#define FILE_ACCESS	3
#define FILE_O_NONBLOCK 04000

/* how a call passes what it is about */
enum stream_shape {
	STREAM_PLAIN = 1 << 4,	  /* fd, memory, bytes */
	STREAM_VECTOR = 2 << 4,	  /* fd, vectors, how many */
	STREAM_BUFFER = 3 << 4,	  /* fd, memory, bytes, flags */
	STREAM_MESSAGE = 4 << 4,  /* fd, message, flags */
	STREAM_MESSAGES = 5 << 4, /* fd, messages, how many, flags */
	STREAM_MOVE = 6 << 4,	  /* fd read, offset, fd written, offset, bytes, flags */
	STREAM_COPY = 7 << 4,	  /* fd read, fd written, bytes, flags */
	STREAM_GIFT = 8 << 4,	  /* fd, vectors, how many, flags */
	STREAM_FROM = 9 << 4,	  /* fd written, fd read, offset, bytes */
	STREAM_NAME = 10 << 4,	  /* fd */
};

const volatile bool probe_stream = false;

#if defined(__TARGET_ARCH_x86)
#define STREAMS_BY_NUMBER(X)                                                                       \
	X(0, READ, PLAIN)                                                                          \
	X(1, WRITE, PLAIN)                                                                         \
	X(19, READ, VECTOR)                                                                        \
	X(20, WRITE, VECTOR)                                                                       \
	X(40, SENDFILE, FROM)                                                                      \
	X(42, CONNECT, NAME)                                                                       \
	X(43, ACCEPT, NAME)                                                                        \
	X(44, SEND, BUFFER)                                                                        \
	X(45, RECV, BUFFER)                                                                        \
	X(46, SENDMSG, MESSAGE)                                                                    \
	X(47, RECVMSG, MESSAGE)                                                                    \
	X(275, SPLICE, MOVE)                                                                       \
	X(276, TEE, COPY)                                                                          \
	X(278, VMSPLICE, GIFT)                                                                     \
	X(288, ACCEPT, NAME)                                                                       \
	X(299, RECVMMSG, MESSAGES)                                                                 \
	X(307, SENDMMSG, MESSAGES)                                                                 \
	X(327, READ, VECTOR)                                                                       \
	X(328, WRITE, VECTOR)
#elif defined(__TARGET_ARCH_arm64)
#define STREAMS_BY_NUMBER(X)                                                                       \
	X(63, READ, PLAIN)                                                                         \
	X(64, WRITE, PLAIN)                                                                        \
	X(65, READ, VECTOR)                                                                        \
	X(66, WRITE, VECTOR)                                                                       \
	X(71, SENDFILE, FROM)                                                                      \
	X(75, VMSPLICE, GIFT)                                                                      \
	X(76, SPLICE, MOVE)                                                                        \
	X(77, TEE, COPY)                                                                           \
	X(202, ACCEPT, NAME)                                                                       \
	X(203, CONNECT, NAME)                                                                      \
	X(206, SEND, BUFFER)                                                                       \
	X(207, RECV, BUFFER)                                                                       \
	X(211, SENDMSG, MESSAGE)                                                                   \
	X(212, RECVMSG, MESSAGE)                                                                   \
	X(242, ACCEPT, NAME)                                                                       \
	X(243, RECVMMSG, MESSAGES)                                                                 \
	X(269, SENDMMSG, MESSAGES)                                                                 \
	X(286, READ, VECTOR)                                                                       \
	X(287, WRITE, VECTOR)
#endif

/* ---- who is there ---- */

enum meet {
	MEET_OUT = 1,	/* it is written to */
	MEET_TO = 2,	/* it is what to_fd names */
	MEET_LOOK = 4,	/* what it is may have changed */
	MEET_SILENT = 8 /* nothing is moved: the task is not at this end for that */
};

static __always_inline void set_end(struct stream_call *c, const struct file_key *key,
				    struct file *file, __u32 how)
{
	if (how & MEET_TO) {
		c->to_inode = key->inode;
		c->to_dev = key->dev;
	} else {
		c->inode = key->inode;
		c->dev = key->dev;
	}
	if (!c->inode || !(how & MEET_TO))
		c->generation = key->generation;
	if (LOAD(file, f_flags) & FILE_O_NONBLOCK && !(how & MEET_SILENT && how & MEET_TO))
		c->flags |= REC_STREAM_NONBLOCK;
}

/*
 * @task, the current one, is at an end of the stream that its @fd names, and its call is told which
 * that is: enum rec_stream_kind, REC_STREAM_NONE where it is no stream.
 */
static __noinline int meet(struct task_struct *task, struct task_state *s, __s32 fd, __u32 how)
{
	struct hook_counts *h = counts__get(REC_HOOK_SYSCALL);
	struct file *file = file__named(task, fd);
	__u32 type = file ? file__type(file) : 0;
	struct file_key key;
	struct stream_seen *seen;

	if (!h || (type != MODE_PIPE && type != MODE_SOCKET) || !stream_key(&key, file))
		return REC_STREAM_NONE;
	seen = stream__find(&key, file, type);
	if (!seen)
		return REC_STREAM_NONE;
	if (!seen->whole || how & MEET_LOOK)
		look(h, task, s, file, &key, seen);
	if (!(how & MEET_SILENT))
		seen->tids[how & MEET_OUT] = task->pid;
	set_end(&s->stream, &key, file, how);
	if (!s->stream.kind)
		s->stream.kind = seen->kind;
	return seen->kind;
}

/* The target last met at the other end of what @c is about. */
static __always_inline __u32 who_is_there(const struct stream_call *c)
{
	struct file_key key = {
		.inode = c->inode ? c->inode : c->to_inode,
		.dev = c->inode ? c->dev : c->to_dev,
		.generation = c->generation,
	};
	struct stream_seen *seen = bpf_map_lookup_elem(&streams, &key);
	bool out = c->inode ? c->flags & REC_STREAM_OUT : true;
	__u32 tid;

	if (!seen)
		return 0;
	if (seen->kind == REC_STREAM_PIPE || seen->kind == REC_STREAM_FIFO)
		return out ? seen->tids[0] : seen->tids[1];
	key.inode = seen->peer_inode;
	seen = key.inode ? bpf_map_lookup_elem(&streams, &key) : NULL;
	if (!seen)
		return 0;
	tid = out ? seen->tids[0] : seen->tids[1];
	return tid ? tid : seen->tids[out];
}

/* ---- calls ---- */

/* Bytes that the vectors of the message at @from have room for. */
static __always_inline __u64 sum_message(__u64 from)
{
	__u64 v[2];

	if (bpf_probe_read_user(v, sizeof(v), (void *)(from + MESSAGE_VECTORS)))
		return 0;
	return sum_vectors(v[0], v[1]);
}

static __always_inline void set_message_flags(struct stream_call *c, __u64 flags)
{
	if (flags & MSG_DONTWAIT)
		c->flags |= REC_STREAM_NONBLOCK;
	if (flags & MSG_PEEK_BIT && (c->call == REC_STREAM_RECV || c->call == REC_STREAM_RECVMSG ||
				     c->call == REC_STREAM_RECVMMSG))
		c->flags |= REC_STREAM_PEEK;
}

/* Calls with one descriptor. */
static __always_inline void read_stream_arguments(struct stream_call *c, struct pt_regs *regs,
						  __u8 shape)
{
	switch (shape) {
	case STREAM_BUFFER:
		set_message_flags(c, regs__arg3(regs));
		/* fallthrough */
	case STREAM_PLAIN:
		c->asked = regs__arg2(regs, false);
		break;
	case STREAM_GIFT:
		if (regs__arg3(regs) & SPLICE_NONBLOCK)
			c->flags |= REC_STREAM_NONBLOCK;
		/* fallthrough */
	case STREAM_VECTOR:
		c->asked = sum_vectors(regs__arg1(regs, false), regs__arg2(regs, false));
		break;
	case STREAM_MESSAGE:
		c->asked = sum_message(regs__arg1(regs, false));
		set_message_flags(c, regs__arg2(regs, false));
		break;
	case STREAM_MESSAGES:
		c->messages = regs__arg1(regs, false);
		set_message_flags(c, regs__arg3(regs));
		break;
	}
}

/* Those with two, of which either may be no stream: false if neither is one. */
static __always_inline bool enter_between(struct task_struct *task, struct task_state *s,
					  struct pt_regs *regs, __u8 shape)
{
	struct stream_call *c = &s->stream;
	int from, to;

	c->fd = shape == STREAM_FROM ? regs__arg1(regs, false) : regs__arg0(regs, false);
	c->to_fd = shape == STREAM_FROM	  ? regs__arg0(regs, false)
		   : shape == STREAM_COPY ? regs__arg1(regs, false)
					  : regs__arg2(regs, false);
	c->asked = shape == STREAM_FROM	  ? regs__arg3(regs)
		   : shape == STREAM_COPY ? regs__arg2(regs, false)
					  : regs__arg4(regs);
	from = meet(task, s, c->fd, 0);
	to = meet(task, s, c->to_fd, MEET_TO | MEET_OUT);
	if (shape == STREAM_COPY && regs__arg3(regs) & SPLICE_NONBLOCK)
		c->flags |= REC_STREAM_NONBLOCK;
	return from || to;
}

static __always_inline bool enter_at(struct task_struct *task, struct task_state *s,
				     struct pt_regs *regs, __u8 shape)
{
	struct stream_call *c = &s->stream;
	struct file *file;
	__u32 how = 0;

	c->fd = regs__arg0(regs, false);
	if (shape == STREAM_NAME)
		how = MEET_SILENT;
	if (c->call == REC_STREAM_WRITE || c->call == REC_STREAM_SEND ||
	    c->call == REC_STREAM_SENDMSG || c->call == REC_STREAM_SENDMMSG)
		how = MEET_OUT;
	if (shape == STREAM_GIFT) {
		file = file__named(task, c->fd);
		if (file && LOAD(file, f_flags) & FILE_ACCESS)
			how = MEET_OUT;
	}
	if (how & MEET_OUT)
		c->flags = REC_STREAM_OUT;
	if (!meet(task, s, c->fd, how))
		return false;
	read_stream_arguments(c, regs, shape);
	return true;
}

static __always_inline void stream__enter(struct hook_counts *h, struct task_struct *task,
					  struct task_state *s, struct pt_regs *regs, __u8 known)
{
	/* its hit is counted at its end */
	__u64 t = (h->hits + 1) % COST_EVERY == 0 ? bpf_ktime_get_ns() : 0;
	struct stream_call *c = &s->stream;
	__u8 shape = known & SHAPE_OF;
	bool is;

	__builtin_memset(c, 0, sizeof(*c));
	c->call = known & CALL_OF;
	c->to_fd = -1;
	if (shape == STREAM_MOVE || shape == STREAM_COPY || shape == STREAM_FROM)
		is = enter_between(task, s, regs, shape);
	else
		is = enter_at(task, s, regs, shape);
	if (!is)
		return;
	c->start_ns = bpf_ktime_get_ns();
	c->cost_ns = t ? c->start_ns - t : 0;
}

/* What STREAM_IO and STREAM_BLOCKED have in common, which are two types. */
#define COPY_STREAM(rec, c)                                                                        \
	do {                                                                                       \
		(rec)->asked = (c)->asked;                                                         \
		(rec)->inode = (c)->inode;                                                         \
		(rec)->to_inode = (c)->to_inode;                                                   \
		(rec)->dev = (c)->dev;                                                             \
		(rec)->to_dev = (c)->to_dev;                                                       \
		(rec)->fd = (c)->fd;                                                               \
		(rec)->to_fd = (c)->to_fd;                                                         \
		(rec)->peer_tid = who_is_there(c);                                                 \
		(rec)->flags = (c)->flags;                                                         \
		(rec)->call = (c)->call;                                                           \
		(rec)->kind = (c)->kind;                                                           \
	} while (0)

/* Bytes of the @n messages that were moved. */
static __always_inline __u64 sum_messages(struct stream_call *c, long n)
{
	__u64 sum = 0;
	__u32 bytes;
	int i;

	for (i = 0; i < MAX_MESSAGES && i < n; i++) {
		if (bpf_probe_read_user(&bytes, sizeof(bytes),
					(void *)(c->messages + i * MESSAGE_SIZE + MESSAGE_BYTES)))
			break;
		sum += bytes;
	}
	if (i < n)
		c->flags |= REC_STREAM_PART;
	return sum;
}

static __always_inline __u64 bytes_moved(struct stream_call *c, long ret)
{
	if (ret <= 0 || c->call == REC_STREAM_ACCEPT || c->call == REC_STREAM_CONNECT)
		return 0;
	return c->messages ? sum_messages(c, ret) : ret;
}

/* A connection is there: which is only now known. Returns when the call had returned, 0: now. */
static __always_inline __u64 stream__joined(struct task_struct *task, struct task_state *s,
					    long ret)
{
	struct stream_call *c = &s->stream;
	__u64 now;

	if (c->call != REC_STREAM_ACCEPT && c->call != REC_STREAM_CONNECT)
		return 0;
	now = bpf_ktime_get_ns();
	if (c->call == REC_STREAM_CONNECT) {
		meet(task, s, c->fd, MEET_LOOK | MEET_SILENT);
	} else if (ret >= 0) {
		c->to_fd = ret;
		meet(task, s, c->to_fd, MEET_TO | MEET_SILENT);
	}
	return now;
}

static __always_inline void stream__exit(struct hook_counts *h, struct task_struct *task,
					 struct task_state *s, __u8 known, long ret)
{
	struct stream_call *c = &s->stream;
	__u64 start = c->start_ns, now, t;
	struct rec_stream_io *rec;

	c->start_ns = 0;
	if (!start || c->call != (known & CALL_OF)) /* it did not return in the usual way */
		return;
	t = c->cost_ns ? bpf_ktime_get_ns() - c->cost_ns : 0;
	now = stream__joined(task, s, ret);
	h->hits++;
	rec = ring__reserve(h, REC_STREAM_IO, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = (now ? now : rec->hdr.time_ns) - start;
	rec->ret = ret;
	rec->bytes = bytes_moved(c, ret);
	COPY_STREAM(rec, c);
	ring__submit(h, rec);
	cost__end(h, t);
}

/* The recording ends: tell of the call that @task is in, if it is in one. */
static __always_inline void stream__blocked(struct task_struct *task, const struct stream_call *c)
{
	struct hook_counts *h = counts__get(REC_HOOK_SYSCALL);
	__u64 start = c->start_ns;
	struct rec_stream_blocked *rec;

	rec = call__reserve_open(h, task, start, REC_STREAM_BLOCKED, sizeof(*rec));
	if (!rec)
		return;
	rec->start_ns = start;
	COPY_STREAM(rec, c);
	call__submit_open(h, rec, start, &c->start_ns);
}

#endif
