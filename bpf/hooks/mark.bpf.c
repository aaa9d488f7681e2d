// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mark hook: steps and ranges of a program that was running before its recorder, by the USDT
 * probes of the mark library. A program that the recorder started marks through shared memory
 * instead and raises none of these.
 */
#include "bpf/include/filter.bpf.h"
#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "GPL";

#define SHORT_TEXT 128	/* most names: a reservation of a long one takes a good part of a ring */
#define LONG_TEXT  2048 /* as the library cuts them */
#define MAX_NAMES  16384

/* ids of names that a NAME record told of; the oldest are forgotten and told again */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_NAMES);
	__type(key, __u64);
	__type(value, __u8);
} names SEC(".maps");

/*
 * The record gets the size that it needs of what is reserved for @room bytes of text. The text
 * is zeroed before: the ring holds what was there earlier.
 */
static __always_inline bool write_name(struct hook_counts *h, __u64 id, const void *where,
				       __u32 room, __u32 tid)
{
	struct rec_name *rec = ring__reserve(h, REC_NAME, sizeof(*rec) + room + 8);
	volatile __u64 *text = (void *)(rec + 1);
	__u8 one = 1;
	long len;

	if (!rec)
		return false;
	for (__u32 i = 0; i < room / 8 + 1; i++)
		text[i] = 0;
	len = bpf_probe_read_user_str(rec + 1, room + 1, where);
	if (len < 0) { /* not in memory: told with its next mark */
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
		return true;
	}
	len = len > 0 ? len - 1 : 0;
	rec->hdr.size = sizeof(*rec) + ((len + 7) & ~7U);
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->id = id;
	rec->name_len = len;
	rec->pad = 0;
	__sync_fetch_and_add(&h->hits, 1);
	ring__submit_preemptible(h, rec);
	bpf_map_update_elem(&names, &id, &one, BPF_ANY);
	return true;
}

/* False when there was no room for the name: the mark that has it is lost, and counted as that. */
static __always_inline bool tell_name(struct hook_counts *h, __u64 id, const void *where, __u64 len,
				      __u32 tid)
{
	if (!where || bpf_map_lookup_elem(&names, &id))
		return true;
	if (len <= SHORT_TEXT)
		return write_name(h, id, where, SHORT_TEXT, tid);
	return write_name(h, id, where, LONG_TEXT, tid);
}

/* The thread, if it is a target's. */
static __always_inline struct task_struct *target(struct hook_counts **h)
{
	struct task_struct *task = bpf_get_current_task_btf();

	*h = counts__get(REC_HOOK_MARK);
	return *h && filter__find(task) ? task : NULL;
}

static __always_inline __u64 begin_hit(struct hook_counts *h)
{
	__sync_fetch_and_add(&h->hits, 1);
	return cost__sample(h);
}

SEC("usdt")
int step(struct pt_regs *ctx)
{
	struct rec_mark_step *rec;
	struct task_struct *task;
	struct hook_counts *h;
	long number = 0, items = 0;
	__u64 t;

	task = target(&h);
	if (!task)
		return 0;
	t = begin_hit(h);
	bpf_usdt_arg(ctx, 0, &number);
	bpf_usdt_arg(ctx, 1, &items);
	rec = ring__reserve(h, REC_MARK_STEP, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->step = number;
	rec->items = items;
	ring__submit_preemptible(h, rec);
	cost__end(h, t);
	return 0;
}

static __always_inline int range(struct pt_regs *ctx, __u32 type)
{
	long id = 0, where = 0, len = 0;
	struct rec_range_begin *rec;
	struct task_struct *task;
	struct hook_counts *h;
	__u64 t;

	task = target(&h);
	if (!task)
		return 0;
	t = begin_hit(h);
	bpf_usdt_arg(ctx, 0, &id);
	bpf_usdt_arg(ctx, 1, &where);
	bpf_usdt_arg(ctx, 2, &len);
	if (!tell_name(h, id, (const void *)where, len, task->pid))
		return 0;
	rec = ring__reserve(h, type, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->name = id;
	ring__submit_preemptible(h, rec);
	cost__end(h, t);
	return 0;
}

SEC("usdt")
int range_begin(struct pt_regs *ctx)
{
	return range(ctx, REC_RANGE_BEGIN);
}

SEC("usdt")
int range_end(struct pt_regs *ctx)
{
	return range(ctx, REC_RANGE_END);
}
