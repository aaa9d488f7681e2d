// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gpu hook, probe job: what a target puts into the queues of the kernel's scheduler for GPUs,
 * which many drivers use (module gpu-sched). Its tracepoints were renamed in 6.16; which there are,
 * the recorder finds out.
 *
 * A job is known by its fence, which lives as long as anybody cares for it.
 */
#include "bpf/include/filter.bpf.h"

#include "bpf/include/job.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline __u64 name_of_device(struct hook_counts *h, struct device *dev)
{
	const char *name;

	if (!dev)
		return 0;
	name = BPF_CORE_READ(dev, init_name);
	return name__of(h, name ? name : BPF_CORE_READ(dev, kobj.name));
}

static __always_inline int queue(struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct drm_sched_fence *fence;
	struct drm_gpu_scheduler *sched;
	struct hook_counts *h;
	struct gpu_job j = {0};
	struct gpu_key key = {0};

	/* the verifier takes what tracepoints of modules pass for what may be NULL */
	if (!filter__find(task) || !job || !entity)
		return 0;
	h = counts__get(REC_HOOK_GPU);
	if (!h)
		return 0;
	fence = BPF_CORE_READ(job, s_fence);
	sched = BPF_CORE_READ(job, sched);
	key.a = (__u64)fence;
	j.tid = task->pid;
	j.fence = (__u64)fence + bpf_core_field_offset(struct drm_sched_fence, finished);
	j.context = BPF_CORE_READ(fence, finished.context);
	j.seqno = BPF_CORE_READ(fence, finished.seqno);
	if (bpf_core_field_exists(job->id))
		j.id = BPF_CORE_READ(job, id);
	if (bpf_core_field_exists(fence->drm_client_id))
		j.client = BPF_CORE_READ(fence, drm_client_id);
	j.ring = name__of(h, BPF_CORE_READ(sched, name));
	j.device = name_of_device(h, BPF_CORE_READ(sched, dev));
	j.ahead = BPF_CORE_READ(entity, job_queue.job_count.counter);
	job__queue(h, &key, &j);
	return 0;
}

static __always_inline int run(struct drm_sched_job *job)
{
	struct gpu_key key = {0};

	if (!job)
		return 0;
	key.a = (__u64)BPF_CORE_READ(job, s_fence);
	return job__run(&key);
}

static __always_inline int done(struct drm_sched_fence *fence)
{
	struct gpu_key key = {.a = (__u64)fence};

	return job__done(&key);
}

#define QUEUE(event)                                                                               \
	SEC("?tp_btf/" #event)                                                                     \
	int event(unsigned long long *ctx)                                                         \
	{                                                                                          \
		return queue((void *)ctx[0], (void *)ctx[1]);                                      \
	}
#define RUN(event)                                                                                 \
	SEC("?tp_btf/" #event)                                                                     \
	int event(unsigned long long *ctx)                                                         \
	{                                                                                          \
		return run((void *)ctx[0]);                                                        \
	}
#define DONE(event)                                                                                \
	SEC("?tp_btf/" #event)                                                                     \
	int event(unsigned long long *ctx)                                                         \
	{                                                                                          \
		return done((void *)ctx[0]);                                                       \
	}

QUEUE(drm_sched_job)
QUEUE(drm_sched_job_queue)
RUN(drm_run_job)
RUN(drm_sched_job_run)
DONE(drm_sched_process_job)
DONE(drm_sched_job_done)
