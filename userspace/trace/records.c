// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/records.h"

#include <errno.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define SIGNED_u8  false
#define SIGNED_u16 false
#define SIGNED_u32 false
#define SIGNED_u64 false
#define SIGNED_s32 true
#define SIGNED_s64 true
#define SIGNED_f64 false

#define TAIL_NONE false
#define TAIL_TEXT true

#define FIELD(t, fname, fmt)                                                                       \
	{.name = #fname,                                                                           \
	 .offset = offsetof(this_rec, fname),                                                      \
	 .width = sizeof(rec_##t),                                                                 \
	 .is_signed = SIGNED_##t,                                                                  \
	 .format = REC_FMT_##fmt},
#define FIELD_COMM(fname)                                                                          \
	{.name = #fname,                                                                           \
	 .offset = offsetof(this_rec, fname),                                                      \
	 .width = REC_COMM_LEN,                                                                    \
	 .format = REC_FMT_COMM},
#define IS_LEN(t, fname, fmt) +(REC_FMT_##fmt == REC_FMT_LEN || REC_FMT_##fmt == REC_FMT_ADDRS)
#define IS_LEN_COMM(fname)

/* A function for each record, because only inside one can "this_rec" name its struct. */
#define DESCRIBE(id, NAME, rname, rhook, rtail, rwhat)                                             \
	static const struct record_desc *describe_##rname(void)                                    \
	{                                                                                          \
		typedef struct rec_##rname this_rec;                                               \
		static const struct record_field fields[] = {                                      \
			REC_FIELDS_##rname(FIELD, FIELD_COMM)};                                    \
		static const struct record_desc desc = {                                           \
			.type = id,                                                                \
			.hook = REC_HOOK_##rhook,                                                  \
			.size = sizeof(this_rec),                                                  \
			.n_fields = ARRAY_SIZE(fields),                                            \
			.n_texts = 0 REC_FIELDS_##rname(IS_LEN, IS_LEN_COMM),                      \
			.has_tail = TAIL_##rtail,                                                  \
			.name = #rname,                                                            \
			.what = rwhat,                                                             \
			.fields = fields,                                                          \
		};                                                                                 \
                                                                                                   \
		return &desc;                                                                      \
	}
REC_RECORDS(DESCRIBE)

static const struct record_desc *(*const by_type[REC_TYPE_MAX])(void) = {
#define X(id, NAME, name, hook, tail, what) [id] = describe_##name,
	REC_RECORDS(X)
#undef X
};

static const uint16_t in_order[] = {
#define X(id, NAME, name, hook, tail, what) id,
	REC_RECORDS(X)
#undef X
};

const uint16_t record_plain_sizes[REC_TYPE_MAX] = {
#define X(id, NAME, name, hook, tail, what) [id] = TAIL_##tail ? 0 : sizeof(struct rec_##name),
	REC_RECORDS(X)
#undef X
};

const struct record_desc *record__find(uint16_t type)
{
	return type < REC_TYPE_MAX && by_type[type] ? by_type[type]() : NULL;
}

const struct record_desc *record__at(size_t i)
{
	return i < ARRAY_SIZE(in_order) ? by_type[in_order[i]]() : NULL;
}

const struct record_desc *record__by_name(const char *name)
{
	const struct record_desc *d;
	size_t i;

	for (i = 0; (d = record__at(i)); i++)
		if (strcmp(d->name, name) == 0)
			return d;
	return NULL;
}

static const char *const hooks[] = {
#define X(num, NAME, name, what) [num] = #name,
	REC_HOOKS(X)
#undef X
};
static const char *const lost_whys[] = {
	[REC_LOST_RING] = "ring",   [REC_LOST_STATE] = "state", [REC_LOST_MARK] = "mark",
	[REC_LOST_WRITE] = "write", [REC_LOST_BAD] = "bad",	[REC_LOST_NESTED] = "nested",
};
static const char *const hook_states[] = {
	[REC_HOOK_OFF] = "off",
	[REC_HOOK_ATTACHED] = "attached",
	[REC_HOOK_DEGRADED] = "degraded",
	[REC_HOOK_REFUSED] = "refused",
};
static const char *const row_states[] = {
	[REC_ROW_BEGIN] = "begin",
	[REC_ROW_END] = "end",
};
static const char *const span_kinds[] = {
	[REC_SPAN_KERNEL] = "kernel", [REC_SPAN_H2D] = "h2d", [REC_SPAN_D2H] = "d2h",
	[REC_SPAN_D2D] = "d2d",	      [REC_SPAN_P2P] = "p2p", [REC_SPAN_COLLECTIVE] = "collective",
};

static const char *const fault_areas[] = {
	[REC_AREA_UNKNOWN] = "unknown", [REC_AREA_CODE] = "code",   [REC_AREA_DATA] = "data",
	[REC_AREA_HEAP] = "heap",	[REC_AREA_STACK] = "stack", [REC_AREA_MMAP] = "mmap",
	[REC_AREA_KERNEL] = "kernel",
};

static const char *const softirqs[] = {
	"hi",	    "timer",   "net_tx", "net_rx",  "block",
	"irq_poll", "tasklet", "sched",	 "hrtimer", "rcu",
};

static const char *const block_ops[] = {
	[REC_BLOCK_OTHER] = "other",   [REC_BLOCK_READ] = "read",	[REC_BLOCK_WRITE] = "write",
	[REC_BLOCK_FLUSH] = "flush",   [REC_BLOCK_DISCARD] = "discard", [REC_BLOCK_ERASE] = "erase",
	[REC_BLOCK_ZEROES] = "zeroes",
};

static const char *const file_calls[] = {
	[REC_FILE_UNKNOWN] = "unknown",	    [REC_FILE_READ] = "read",
	[REC_FILE_PREAD] = "pread",	    [REC_FILE_WRITE] = "write",
	[REC_FILE_PWRITE] = "pwrite",	    [REC_FILE_FSYNC] = "fsync",
	[REC_FILE_FDATASYNC] = "fdatasync", [REC_FILE_SYNC_RANGE] = "sync_file_range",
	[REC_FILE_SENDFILE] = "sendfile",   [REC_FILE_COPY] = "copy_file_range",
	[REC_FILE_OPEN] = "open",
};

static const char *const stream_calls[] = {
	[REC_STREAM_UNKNOWN] = "unknown",   [REC_STREAM_READ] = "read",
	[REC_STREAM_WRITE] = "write",	    [REC_STREAM_SEND] = "sendto",
	[REC_STREAM_RECV] = "recvfrom",	    [REC_STREAM_SENDMSG] = "sendmsg",
	[REC_STREAM_RECVMSG] = "recvmsg",   [REC_STREAM_SENDMMSG] = "sendmmsg",
	[REC_STREAM_RECVMMSG] = "recvmmsg", [REC_STREAM_SPLICE] = "splice",
	[REC_STREAM_TEE] = "tee",	    [REC_STREAM_VMSPLICE] = "vmsplice",
	[REC_STREAM_SENDFILE] = "sendfile", [REC_STREAM_CONNECT] = "connect",
	[REC_STREAM_ACCEPT] = "accept",
};

static const char *const stream_kinds[] = {
	[REC_STREAM_NONE] = "none", [REC_STREAM_PIPE] = "pipe",	    [REC_STREAM_FIFO] = "fifo",
	[REC_STREAM_UNIX] = "unix", [REC_STREAM_TCP] = "tcp",	    [REC_STREAM_UDP] = "udp",
	[REC_STREAM_INET] = "inet", [REC_STREAM_SOCKET] = "socket",
};

static const char *const socket_states[] = {
	[REC_SOCKET_NONE] = "none",
	[REC_SOCKET_ESTABLISHED] = "established",
	[REC_SOCKET_SYN_SENT] = "syn_sent",
	[REC_SOCKET_SYN_RECV] = "syn_recv",
	[REC_SOCKET_FIN_WAIT1] = "fin_wait1",
	[REC_SOCKET_FIN_WAIT2] = "fin_wait2",
	[REC_SOCKET_TIME_WAIT] = "time_wait",
	[REC_SOCKET_CLOSE] = "close",
	[REC_SOCKET_CLOSE_WAIT] = "close_wait",
	[REC_SOCKET_LAST_ACK] = "last_ack",
	[REC_SOCKET_LISTEN] = "listen",
	[REC_SOCKET_CLOSING] = "closing",
};

static const char *const wait_calls[] = {
	[REC_WAIT_UNKNOWN] = "unknown", [REC_WAIT_POLL] = "poll",   [REC_WAIT_SELECT] = "select",
	[REC_WAIT_EPOLL] = "epoll",	[REC_WAIT_SLEEP] = "sleep", [REC_WAIT_CHILD] = "child",
	[REC_WAIT_RESTART] = "restart",
};

static const char *const dma_calls[] = {
	[REC_DMA_UNKNOWN] = "unknown",
	[REC_DMA_MAP] = "map",
	[REC_DMA_MAP_SG] = "map_sg",
	[REC_DMA_MAP_RESOURCE] = "map_resource",
	[REC_DMA_UNMAP] = "unmap",
	[REC_DMA_UNMAP_SG] = "unmap_sg",
	[REC_DMA_UNMAP_RESOURCE] = "unmap_resource",
	[REC_DMA_ALLOC] = "alloc",
	[REC_DMA_FREE] = "free",
	[REC_DMA_SYNC_CPU] = "sync_for_cpu",
	[REC_DMA_SYNC_DEVICE] = "sync_for_device",
	[REC_DMA_SYNC_SG_CPU] = "sync_sg_for_cpu",
	[REC_DMA_SYNC_SG_DEVICE] = "sync_sg_for_device",
};

static const char *const dma_dirs[] = {
	[REC_DMA_DIR_UNKNOWN] = "unknown", [REC_DMA_BOTH] = "both",
	[REC_DMA_TO_DEVICE] = "to_device", [REC_DMA_FROM_DEVICE] = "from_device",
	[REC_DMA_NO_DIR] = "none",
};

static const char *const futex_ops[] = {
	[REC_FUTEX_OP_UNKNOWN] = "unknown",
	[REC_FUTEX_OP_WAIT] = "wait",
	[REC_FUTEX_OP_WAIT_BITSET] = "wait_bitset",
	[REC_FUTEX_OP_LOCK_PI] = "lock_pi",
	[REC_FUTEX_OP_WAIT_REQUEUE_PI] = "wait_requeue_pi",
	[REC_FUTEX_OP_WAITV] = "futex_waitv",
	[REC_FUTEX_OP_CALL] = "futex_wait",
};

static const char *const sample_events[] = {
	[REC_SAMPLE_UNKNOWN] = "unknown",
	[REC_SAMPLE_CYCLES] = "cycles",
	[REC_SAMPLE_CPU_CLOCK] = "cpu-clock",
};

static const char *const stack_kinds[] = {
	[REC_STACK_UNKNOWN] = "unknown",
	[REC_STACK_KERNEL] = "kernel",
	[REC_STACK_USER] = "user",
};

static const char *const stack_bys[] = {
	[REC_STACK_BY_UNKNOWN] = "unknown",
	[REC_STACK_BY_KERNEL] = "kernel",
	[REC_STACK_BY_EH] = "eh_frame",
};

static const char *const io_uring_ops[] = {
#define X(num, NAME, name) [num] = #name,
	REC_IO_URING_OPS(X)
#undef X
};

const char *record__value_name(enum record_format format, uint64_t value)
{
#define LOOK_UP(names) return value < ARRAY_SIZE(names) ? (names)[value] : NULL
	switch (format) {
	case REC_FMT_HOOK:
		LOOK_UP(hooks);
	case REC_FMT_WHY:
		LOOK_UP(lost_whys);
	case REC_FMT_HOOK_STATE:
		LOOK_UP(hook_states);
	case REC_FMT_ROW_STATE:
		LOOK_UP(row_states);
	case REC_FMT_SPAN_KIND:
		LOOK_UP(span_kinds);
	case REC_FMT_FAULT_AREA:
		LOOK_UP(fault_areas);
	case REC_FMT_SOFTIRQ:
		LOOK_UP(softirqs);
	case REC_FMT_BLOCK_OP:
		LOOK_UP(block_ops);
	case REC_FMT_FILE_CALL:
		LOOK_UP(file_calls);
	case REC_FMT_STREAM_CALL:
		LOOK_UP(stream_calls);
	case REC_FMT_STREAM_KIND:
		LOOK_UP(stream_kinds);
	case REC_FMT_SOCKET_STATE:
		LOOK_UP(socket_states);
	case REC_FMT_WAIT_CALL:
		LOOK_UP(wait_calls);
	case REC_FMT_DMA_CALL:
		LOOK_UP(dma_calls);
	case REC_FMT_DMA_DIR:
		LOOK_UP(dma_dirs);
	case REC_FMT_FUTEX_OP:
		LOOK_UP(futex_ops);
	case REC_FMT_SAMPLE_EVENT:
		LOOK_UP(sample_events);
	case REC_FMT_STACK_KIND:
		LOOK_UP(stack_kinds);
	case REC_FMT_STACK_BY:
		LOOK_UP(stack_bys);
	case REC_FMT_IO_URING_OP:
		LOOK_UP(io_uring_ops);
	default:
		return NULL;
	}
#undef LOOK_UP
}

const char *record__hook_name(uint32_t hook)
{
	return record__value_name(REC_FMT_HOOK, hook);
}

static uint32_t load_u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

const char *record__text(const struct rec *rec, unsigned int i, size_t *len)
{
	const struct record_desc *d = record__find(rec->type);
	const char *base = (const char *)rec, *text;
	unsigned int f, nth = 0;

	*len = 0;
	if (!d || i >= d->n_texts)
		return NULL;
	text = base + d->size;
	for (f = 0; f < d->n_fields; f++) {
		if (!record_format__is_length(d->fields[f].format))
			continue;
		*len = load_u32(base + d->fields[f].offset);
		if (nth++ == i)
			return text;
		text += *len;
	}
	return NULL;
}

int record__check(const struct rec *rec)
{
	const struct record_desc *d = record__find(rec->type);
	uint64_t need;
	unsigned int f;

	if (rec->size % REC_ALIGN || rec->size < sizeof(*rec))
		return -EINVAL;
	if (!d || !d->has_tail)
		return 0;
	need = d->size;
	if (rec->size < need)
		return -EINVAL;
	for (f = 0; f < d->n_fields; f++)
		if (record_format__is_length(d->fields[f].format))
			need += load_u32((const char *)rec + d->fields[f].offset);
	return need <= rec->size ? 0 : -EINVAL;
}

struct rec *record__build(void *buf, size_t size, const struct rec *fixed, const char *const *texts,
			  unsigned int n)
{
	const struct record_desc *d = record__find(fixed->type);
	unsigned int f, nth = 0;
	struct rec *rec = buf;
	size_t used, end, len;
	uint32_t stored;

	if (size > REC_MAX_SIZE)
		size = REC_MAX_SIZE;
	size &= ~(size_t)(REC_ALIGN - 1);
	if (!d || size < d->size)
		return NULL;
	memcpy(buf, fixed, d->size);
	used = d->size;
	for (f = 0; f < d->n_fields; f++) {
		if (!record_format__is_length(d->fields[f].format))
			continue;
		len = nth < n && texts[nth] && d->fields[f].format == REC_FMT_LEN
			      ? strlen(texts[nth])
			      : 0;
		if (len > size - used)
			len = size - used;
		if (len)
			memcpy((char *)buf + used, texts[nth], len);
		nth++;
		used += len;
		stored = (uint32_t)len;
		memcpy((char *)buf + d->fields[f].offset, &stored, sizeof(stored));
	}
	end = (used + REC_ALIGN - 1) & ~(size_t)(REC_ALIGN - 1);
	memset((char *)buf + used, 0, end - used);
	rec->size = (uint16_t)end;
	return rec;
}
