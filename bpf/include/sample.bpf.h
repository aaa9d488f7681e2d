/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of what a cpu runs, with stacks, for both ways to know a target.
 *
 * All of this may run in a non-maskable interrupt, in the middle of anything: what it keeps is
 * written by plain stores only, and no map is used that takes a lock. So what was told of stacks is
 * kept in an array by bits of their hashes. Two that want the same place displace each other and
 * are told again: nothing is lost by that.
 */
#ifndef XPUGAP_SAMPLE_BPF_H
#define XPUGAP_SAMPLE_BPF_H

#include "bpf/include/arch.bpf.h"
#include "bpf/include/ring.bpf.h"

#define MAX_FRAMES  127 /* as many as the kernel takes by default */
#define FEW_FRAMES  16
#define SOME_FRAMES 48
#define FRAMES_ROOM 128
#define MAX_STACKS  65536 /* a power of two */
#define HASH_FACTOR 0x9e3779b97f4a7c15ULL

const volatile __u8 sample_event = REC_SAMPLE_UNKNOWN;
const volatile __u32 max_frames = MAX_FRAMES; /* kernel.perf_event_max_stack if that is less */

/*
 * struct sampler - what is kept for a cpu
 * @accounted: of the event's count: samples that came, and those that were found missing
 */
struct sampler {
	__u64 accounted;
	__u64 frames[FRAMES_ROOM];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sampler);
} samplers SEC(".maps");

/* ids of stacks that STACK records told of */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_STACKS);
	__type(key, __u32);
	__type(value, __u64);
} told_stacks SEC(".maps");

static __always_inline __u64 stack__hash(const __u64 *frames, __u32 n, __u8 kind)
{
	__u64 h = kind * HASH_FACTOR;
	__u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < MAX_FRAMES && i < n; i++) {
		h = (h ^ frames[i]) * HASH_FACTOR;
		h ^= h >> 32;
	}
	return h ? h : 1;
}

/* Put a STACK record with room for @room frames into the ring. 0 if it has none. */
static __always_inline bool stack__put(struct hook_counts *h, struct sampler *s, __u32 room,
				       __u32 n, __u64 id, __u8 kind)
{
	struct rec_stack *rec = ring__reserve(h, REC_STACK, sizeof(*rec) + room * sizeof(__u64));
	__u64 bytes = (__u64)n * sizeof(__u64);

	if (!rec)
		return false;
	barrier_var(bytes); /* the verifier wants to see the bound of this */
	if (bytes > room * sizeof(__u64))
		bytes = 0;
	bpf_probe_read_kernel(rec + 1, bytes, s->frames);
	rec->hdr.size = sizeof(*rec) + bytes;
	rec->hdr.tid = bpf_get_current_pid_tgid();
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->id = id;
	rec->frames_len = bytes;
	rec->flags = n >= max_frames ? REC_STACK_CUT : 0;
	rec->kind = kind;
	rec->by = REC_STACK_BY_KERNEL;
	ring__submit(h, rec);
	return true;
}

/* Tell of the stack once. */
static __always_inline void stack__tell(struct hook_counts *h, struct sampler *s, __u32 n, __u64 id,
					__u8 kind)
{
	__u32 key = id & (MAX_STACKS - 1);
	__u64 *told = bpf_map_lookup_elem(&told_stacks, &key);
	bool put;

	if (!told || *told == id)
		return;
	h->hits++;
	if (n <= FEW_FRAMES)
		put = stack__put(h, s, FEW_FRAMES, n, id, kind);
	else if (n <= SOME_FRAMES)
		put = stack__put(h, s, SOME_FRAMES, n, id, kind);
	else
		put = stack__put(h, s, MAX_FRAMES, n, id, kind);
	if (put)
		*told = id;
}

/* The id of the kernel's or the user's stack, which is told of; 0: there is none. */
static __always_inline __u64 stack__take(struct bpf_perf_event_data *ctx, struct hook_counts *h,
					 struct sampler *s, __u8 kind)
{
	__u64 flags = kind == REC_STACK_USER ? BPF_F_USER_STACK : 0, id;
	long bytes = bpf_get_stack(ctx, s->frames, MAX_FRAMES * sizeof(__u64), flags);
	__u32 n;

	if (bytes <= 0)
		return 0;
	n = (__u32)bytes / sizeof(__u64);
	id = stack__hash(s->frames, n, kind);
	stack__tell(h, s, n, id, kind);
	return id;
}

/*
 * How many samples were due on this cpu since the one before and did not come. The event counts on
 * whether or not the kernel comes to a sample, so what the count is ahead by were samples. Called
 * for every sample, whoever it is of.
 */
static __always_inline __u32 sample__missed(struct bpf_perf_event_data *ctx, struct sampler *s)
{
	struct bpf_perf_event_value v;
	__u64 period = ctx->sample_period, missed = 0;
	__s64 ahead;

	if (!period || bpf_perf_prog_read_value((void *)ctx, &v, sizeof(v)))
		return 0;
	s->accounted += period;
	ahead = v.counter - s->accounted;
	if (ahead >= (__s64)period)
		missed = (__u64)ahead / period;
	s->accounted += missed * period;
	return missed > ~0U ? ~0U : missed;
}

static __always_inline struct sampler *sampler__get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&samplers, &zero);
}

/* A sample of the current task, which is a target. */
static __always_inline int sample__take(struct bpf_perf_event_data *ctx, struct sampler *s,
					__u32 missed)
{
	struct hook_counts *h = counts__get(REC_HOOK_SAMPLE);
	bool in_kernel = event__in_kernel(ctx);
	__u64 kernel_stack = 0, user_stack, t;
	struct rec_sample *rec;

	if (!h)
		return 0;
	t = cost__begin(h);
	if (in_kernel)
		kernel_stack = stack__take(ctx, h, s, REC_STACK_KERNEL);
	user_stack = stack__take(ctx, h, s, REC_STACK_USER);
	rec = ring__reserve(h, REC_SAMPLE, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = bpf_get_current_pid_tgid();
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->ip = ctx->ip;
	rec->kernel_stack = kernel_stack;
	rec->user_stack = user_stack;
	rec->period = ctx->sample_period;
	rec->missed = missed;
	rec->flags = in_kernel ? REC_SAMPLE_KERNEL : 0;
	rec->event = sample_event;
	rec->pad = 0;
	ring__submit(h, rec);
	cost__end(h, t);
	return 0;
}

static __always_inline int sample__hit(struct bpf_perf_event_data *ctx, bool target)
{
	struct sampler *s = sampler__get();
	__u32 missed;

	if (!s)
		return 0;
	missed = sample__missed(ctx, s); /* whoever runs */
	return target ? sample__take(ctx, s, missed) : 0;
}

#endif
