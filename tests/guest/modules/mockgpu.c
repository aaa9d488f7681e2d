// SPDX-License-Identifier: GPL-2.0-only
/*
 * A GPU without hardware: the kernel's real scheduler for GPUs in front of a device that is a
 * timer. It does one job after another, each for as long as it was asked for.
 *
 * What the scheduler's functions are called with changed within stable series, so it is not asked
 * for by version: whoever builds this says which it is, by what stands in the header.
 */
#include <drm/gpu_scheduler.h>
#include <linux/dma-fence.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mockgpu.h"

#define RING	  "mock-ring0"
#define IN_DEVICE 2 /* jobs that it takes at a time */

struct mock_job {
	struct drm_sched_job base;
	u32 us;
	bool hang;
};

struct mock_fence {
	struct dma_fence base;
	struct hrtimer timer;
};

static struct drm_gpu_scheduler sched;
static struct platform_device *pdev;
static DEFINE_SPINLOCK(fence_lock);
static u64 fence_context;
static atomic_t fence_seqno;
static ktime_t busy_until;

static const char *driver_name(struct dma_fence *f)
{
	return "mockgpu";
}

static const char *timeline_name(struct dma_fence *f)
{
	return "mock-engine";
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = driver_name,
	.get_timeline_name = timeline_name,
};

static enum hrtimer_restart job_ends(struct hrtimer *timer)
{
	struct mock_fence *f = container_of(timer, struct mock_fence, timer);

	dma_fence_signal(&f->base);
	dma_fence_put(&f->base);
	return HRTIMER_NORESTART;
}

static struct dma_fence *run_job(struct drm_sched_job *base)
{
	struct mock_job *job = container_of(base, struct mock_job, base);
	struct mock_fence *f = kzalloc(sizeof(*f), GFP_KERNEL);
	ktime_t now = ktime_get();

	if (!f)
		return ERR_PTR(-ENOMEM);
	dma_fence_init(&f->base, &fence_ops, &fence_lock, fence_context,
		       atomic_inc_return(&fence_seqno));
	if (job->hang)
		return &f->base;
	if (ktime_before(busy_until, now))
		busy_until = now;
	busy_until = ktime_add_us(busy_until, job->us);
	hrtimer_init(&f->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	f->timer.function = job_ends;
	dma_fence_get(&f->base);
	hrtimer_start(&f->timer, busy_until, HRTIMER_MODE_ABS);
	return &f->base;
}

/* never: there is no limit */
static enum drm_gpu_sched_stat timed_out(struct drm_sched_job *base)
{
	return DRM_GPU_SCHED_STAT_NOMINAL;
}

static void free_job(struct drm_sched_job *base)
{
	drm_sched_job_cleanup(base);
	kfree(container_of(base, struct mock_job, base));
}

static const struct drm_sched_backend_ops ops = {
	.run_job = run_job,
	.timedout_job = timed_out,
	.free_job = free_job,
};

static int submit(struct drm_sched_entity *entity, const struct mockgpu_submit *s,
		  struct dma_fence **last)
{
	struct mock_job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	int err;

	if (!job)
		return -ENOMEM;
	job->us = s->us;
	job->hang = s->hang;
#if defined(JOB_INIT_HAS_CLIENT)
	err = drm_sched_job_init(&job->base, entity, 1, NULL, 4711);
#elif defined(JOB_INIT_HAS_CREDITS)
	err = drm_sched_job_init(&job->base, entity, 1, NULL);
#else
	err = drm_sched_job_init(&job->base, entity, NULL);
#endif
	if (err) {
		kfree(job);
		return err;
	}
	drm_sched_job_arm(&job->base);
	dma_fence_put(*last);
	*last = dma_fence_get(&job->base.s_fence->finished);
	drm_sched_entity_push_job(&job->base);
	return 0;
}

static long mock_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct drm_sched_entity *entity = file->private_data;
	struct dma_fence *last = NULL;
	struct mockgpu_submit s;
	long err = 0;
	u32 i;

	if (cmd != MOCKGPU_SUBMIT)
		return -ENOTTY;
	if (copy_from_user(&s, (void __user *)arg, sizeof(s)))
		return -EFAULT;
	for (i = 0; !err && i < s.jobs; i++)
		err = submit(entity, &s, &last);
	if (!err && s.wait && last)
		err = dma_fence_wait(last, true);
	dma_fence_put(last);
	return err;
}

static int mock_open(struct inode *inode, struct file *file)
{
	struct drm_sched_entity *entity = kzalloc(sizeof(*entity), GFP_KERNEL);
	struct drm_gpu_scheduler *list = &sched;
	int err;

	if (!entity)
		return -ENOMEM;
	err = drm_sched_entity_init(entity, DRM_SCHED_PRIORITY_NORMAL, &list, 1, NULL);
	if (err)
		kfree(entity);
	else
		file->private_data = entity;
	return err;
}

static int mock_release(struct inode *inode, struct file *file)
{
	drm_sched_entity_destroy(file->private_data);
	kfree(file->private_data);
	return 0;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = mock_open,
	.release = mock_release,
	.unlocked_ioctl = mock_ioctl,
};

static struct miscdevice misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "mockgpu",
	.fops = &fops,
};

static int __init mock_init(void)
{
	struct drm_sched_init_args args = {
		.ops = &ops,
#if defined(ARGS_HAVE_QUEUES)
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
		.credit_limit = IN_DEVICE,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = RING,
	};
	int err;

	fence_context = dma_fence_context_alloc(1);
	pdev = platform_device_register_simple("mockgpu", -1, NULL, 0);
	if (IS_ERR(pdev))
		return PTR_ERR(pdev);
	args.dev = &pdev->dev;
	err = drm_sched_init(&sched, &args);
	if (!err)
		err = misc_register(&misc);
	return err;
}

/* for as long as the guest lives: a job that hung is never over */
module_init(mock_init);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a GPU that is a timer, behind the kernel's scheduler for GPUs");
