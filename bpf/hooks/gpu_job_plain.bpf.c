// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gpu hook, probe job, by classic tracepoints: the older ones pass the address of a job's
 * fence, those since 6.16 its context and number, and the device.
 */
#include "bpf/include/plain.bpf.h"

#include "bpf/include/job.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* offsets in the tracepoints' data, 0 for what this kernel's do not have */
const volatile struct job_at at_queue, at_run, at_done;

static __always_inline struct gpu_key key_of(void *ctx, const volatile struct job_at *at)
{
	struct gpu_key key = {0};

	if (at->fence)
		key.a = plain__u64(ctx, at->fence);
	else
		key = (struct gpu_key){plain__u64(ctx, at->context), plain__u64(ctx, at->seqno)};
	return key;
}

static __always_inline __u64 name_at(struct hook_counts *h, void *ctx, __u32 field)
{
	return field ? name__of(h, ctx + (plain__u32(ctx, field) & 0xffff)) : 0;
}

static __always_inline int queue(void *ctx)
{
	struct gpu_key key = key_of(ctx, &at_queue);
	struct gpu_job j = {.tid = plain__tid()};
	struct hook_counts *h;

	if (!plain__find(j.tid))
		return 0;
	h = counts__get(REC_HOOK_GPU);
	if (!h)
		return 0;
	if (at_queue.fence) {
		j.fence = key.a;
	} else {
		j.context = key.a;
		j.seqno = key.b;
	}
	if (at_queue.id)
		j.id = plain__u64(ctx, at_queue.id);
	if (at_queue.client)
		j.client = plain__u64(ctx, at_queue.client);
	j.ring = name_at(h, ctx, at_queue.name);
	j.device = name_at(h, ctx, at_queue.dev);
	j.ahead = plain__u32(ctx, at_queue.ahead);
	job__queue(h, &key, &j);
	return 0;
}

static __always_inline int run(void *ctx)
{
	struct gpu_key key = key_of(ctx, &at_run);

	return job__run(&key);
}

static __always_inline int done(void *ctx)
{
	struct gpu_key key = key_of(ctx, &at_done);

	return job__done(&key);
}

#define PROGRAM(event, what)                                                                       \
	SEC("?tracepoint/gpu_scheduler/" #event)                                                   \
	int event(void *ctx)                                                                       \
	{                                                                                          \
		return what(ctx);                                                                  \
	}

PROGRAM(drm_sched_job, queue)
PROGRAM(drm_sched_job_queue, queue)
PROGRAM(drm_run_job, run)
PROGRAM(drm_sched_job_run, run)
PROGRAM(drm_sched_process_job, done)
PROGRAM(drm_sched_job_done, done)
