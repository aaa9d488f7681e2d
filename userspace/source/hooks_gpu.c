// SPDX-License-Identifier: BSD-2-Clause
/* The objects of the gpu hook, whose probes are attached each for itself. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/include/shared.h" /* skeletons use its types */

#include "bpf/hooks/gpu_dma.skel.h"
#include "bpf/hooks/gpu_dma_func.skel.h"
#include "bpf/hooks/gpu_dma_kprobe.skel.h"
#include "bpf/hooks/gpu_dma_plain.skel.h"
#include "bpf/hooks/gpu_fence.skel.h"
#include "bpf/hooks/gpu_fence_plain.skel.h"
#include "bpf/hooks/gpu_job.skel.h"
#include "bpf/hooks/gpu_job_plain.skel.h"
#include "userspace/source/hooks_priv.h"
#include "userspace/source/tracefs.h"

#define NO_DMA_EVENTS                                                                              \
	"the kernel has no tracepoints for memory of devices (since 6.12, CONFIG_TRACEPOINTS)"
#define NO_DMA_FUNCTIONS "the kernel describes none of its functions for memory of devices"

/* Load those programs whose tracepoint or function @btf describes. The number. */
static int choose(struct bpf_object *obj, const struct btf *btf)
{
	struct bpf_program *prog;
	int n = 0;

	bpf_object__for_each_program(prog, obj)
	{
		if (bpf_program__autoload(prog) ||
		    !kernel__describes(btf, bpf_program__section_name(prog)))
			continue;
		bpf_program__set_autoload(prog, true);
		n++;
	}
	return n;
}

/* By what the kernel describes, or its module of that name if that is not NULL: @of_module then. */
static int load_described(struct bpf_object *obj, const char *module, bool *of_module)
{
	struct btf *kernel = btf__load_vmlinux_btf(), *btf = NULL;
	int n = kernel ? choose(obj, kernel) : -errno;

	if (n == 0 && module) {
		*of_module = true;
		btf = btf__load_module_btf(module, kernel);
		n = btf ? choose(obj, btf) : -errno;
	}
	btf__free(btf);
	btf__free(kernel);
	return n;
}

static int set_described(struct family *f, struct bpf_object *obj, const char *lack)
{
	int n = load_described(obj, NULL, NULL);

	if (n == 0)
		f->lack = lack;
	return n > 0 ? 0 : n ?: -ENOENT;
}

OPEN_OBJECT(gpu_dma, 0, set_described(f, s->obj, NO_DMA_EVENTS))
OPEN_OBJECT(gpu_dma_func, 0, set_described(f, s->obj, NO_DMA_FUNCTIONS))
OPEN_OBJECT(gpu_dma_kprobe, 0, set_described(f, s->obj, NO_DMA_FUNCTIONS))

/* The place of field @name of @event; 0 if there is none. */
static uint32_t field_of(const struct hooks *h, const char *event, const char *name)
{
	uint32_t offset = 0;

	tracefs__field(h->facts.tracefs, event, name, &offset);
	return offset;
}

/* What the tracepoints of one kind call their fields, in the order of dma_at and dma_list_at. */
static bool find_fields(const struct hooks *h, const char *event, const char *const *names,
			unsigned int n, const volatile void *to)
{
	uint32_t *at = (uint32_t *)to;
	unsigned int i;

	for (i = 0; i < n; i++)
		at[i] = names[i] ? field_of(h, event, names[i]) : 0;
	return at[0] != 0; /* each has the device first */
}

static const char *const map_fields[] = {"device", "dma_addr", "size", "dir", "attrs", NULL};
static const char *const unmap_fields[] = {"device", "addr", "size", "dir", "attrs", NULL};
static const char *const alloc_fields[] = {"device", "dma_addr", "size", "dir", NULL, "virt_addr"};
static const char *const list_fields[] = {"device",	"full_nents", "full_ents", "truncated",
					  "phys_addrs", "dma_addrs",  "lengths",   "dir"};
static const char *const unlist_fields[] = {"device", NULL, NULL, NULL, "addrs", NULL, NULL, "dir"};
static const char *const synclist_fields[] = {"device", NULL,	     NULL,	NULL,
					      NULL,	"dma_addrs", "lengths", "dir"};

#define FIND(event, fields, to)                                                                    \
	do {                                                                                       \
		bool found_ = find_fields(h, "dma/" #event, fields,                                \
					  sizeof(fields) / sizeof((fields)[0]), &s->rodata->to);   \
                                                                                                   \
		bpf_program__set_autoload(s->progs.event, found_);                                 \
		n += found_;                                                                       \
	} while (0)

static int set_dma_fields(struct hooks *h, struct gpu_dma_plain_bpf *s)
{
	int n = 0;

	FIND(dma_map_page, map_fields, at_map);
	if (!n)
		FIND(dma_map_phys, map_fields, at_map);
	FIND(dma_map_resource, map_fields, at_map_resource);
	FIND(dma_map_sg, list_fields, at_map_sg);
	FIND(dma_map_sg_err, list_fields, at_map_sg_err);
	if (field_of(h, "dma/dma_unmap_page", "device"))
		FIND(dma_unmap_page, unmap_fields, at_unmap);
	else
		FIND(dma_unmap_phys, unmap_fields, at_unmap);
	FIND(dma_unmap_resource, unmap_fields, at_unmap_resource);
	FIND(dma_unmap_sg, unlist_fields, at_unmap_sg);
	FIND(dma_alloc, alloc_fields, at_alloc);
	FIND(dma_alloc_pages, alloc_fields, at_alloc_pages);
	FIND(dma_alloc_sgt, map_fields, at_alloc_sgt);
	FIND(dma_free, map_fields, at_free);
	FIND(dma_free_pages, map_fields, at_free_pages);
	FIND(dma_free_sgt, map_fields, at_free_sgt);
	FIND(dma_sync_single_for_cpu, map_fields, at_sync_cpu);
	FIND(dma_sync_single_for_device, map_fields, at_sync_device);
	FIND(dma_sync_sg_for_cpu, synclist_fields, at_sync_sg_cpu);
	FIND(dma_sync_sg_for_device, synclist_fields, at_sync_sg_device);
	return n;
}

static int set_dma(struct hooks *h, struct family *f, struct gpu_dma_plain_bpf *s)
{
	if (set_dma_fields(h, s))
		return 0;
	f->lack = NO_DMA_EVENTS;
	return -ENOENT;
}

OPEN_OBJECT(gpu_dma_plain, NO_TRACEFS(h), set_dma(h, f, s))

/* ---- fence ---- */

#define FENCE_INIT "dma_fence/dma_fence_init"
#define NO_FENCES  "the kernel has no tracepoints for fences (CONFIG_DMA_SHARED_BUFFER)"

/* Where the names and numbers of a fence lie; false: there is no such tracepoint to be read. */
#define FIND_FENCE_FIELDS(h, s)                                                                    \
	(((s)->rodata->at_driver = field_of(h, FENCE_INIT, "driver")) &&                           \
	 ((s)->rodata->at_timeline = field_of(h, FENCE_INIT, "timeline")) &&                       \
	 ((s)->rodata->at_context = field_of(h, FENCE_INIT, "context")) &&                         \
	 ((s)->rodata->at_seqno = field_of(h, FENCE_INIT, "seqno")))

static int open_fence(struct hooks *h, struct family *f, bool names)
{
	struct gpu_fence_bpf *s;

	if (!h->facts.trace_fence) {
		f->lack = NO_FENCES;
		return -ENOENT;
	}
	s = gpu_fence_bpf__open();
	if (!s)
		return -errno;
	ADOPT(f, s);
	if (!names)
		return 0;
	if (!*h->facts.tracefs || !FIND_FENCE_FIELDS(h, s)) {
		snprintf(h->tracefs_why, sizeof(h->tracefs_why), "tracefs cannot be read (%s)",
			 kernel__tracefs_remedy());
		f->lack = h->tracefs_why;
		return -ENODEV;
	}
	bpf_program__set_autoload(s->progs.dma_fence_names, true);
	return 0;
}

int open_gpu_fence(struct hooks *h, struct family *f)
{
	return open_fence(h, f, true);
}

int open_gpu_fence_nameless(struct hooks *h, struct family *f)
{
	return open_fence(h, f, false);
}

static int set_fence_plain(const struct hooks *h, struct family *f, struct gpu_fence_plain_bpf *s)
{
	if (FIND_FENCE_FIELDS(h, s))
		return 0;
	f->lack = NO_FENCES;
	return -ENOENT;
}

OPEN_OBJECT(gpu_fence_plain, NO_TRACEFS(h), set_fence_plain(h, f, s))

int hooks__tell_fences(struct hooks *h, int (*fence)(void *arg, const void *key, const void *value),
		       int (*wait)(void *arg, const void *key, const void *value), void *arg)
{
	const struct family *f = &h->family[FAMILY_FENCE];
	int err;

	if (!f->obj)
		return 0;
	err = hooks_map__each(f, "fences", fence, arg);
	return err ? err : hooks_map__each(f, "fence_waits", wait, arg);
}

/* ---- job ---- */

#define SCHED_MODULE "gpu_sched"
#define NO_MODULES                                                                                 \
	"these tracepoints are a module's, whose type information only CAP_SYS_ADMIN may read: "   \
	"run it as root"
#define NO_SCHED "no driver is loaded that uses the kernel's scheduler for GPUs (module gpu-sched)"

/* Not an error: there are no jobs where there is no such driver. */
static int no_sched(struct family *f)
{
	f->lack = NO_SCHED;
	return -ENXIO;
}

static int set_job(const struct hooks *h, struct family *f, struct gpu_job_bpf *s)
{
	const struct kernel_facts *k = &h->facts;
	bool of_module = false;
	int n = load_described(s->obj, SCHED_MODULE, &of_module);

	if (n == 0 || n == -ENOENT)
		return no_sched(f);
	/* if it cannot be loaded, this is why */
	if (of_module && k->cap_bpf && k->cap_perfmon && !k->cap_sys_admin &&
	    !kernel_facts__hides_memory(k))
		f->lack = NO_MODULES;
	return n > 0 ? 0 : n;
}

OPEN_OBJECT(gpu_job, 0, set_job(h, f, s))

/* Of the tracepoint's two names the one that is there; false if none is. */
static bool find_job_event(const struct hooks *h, struct bpf_program *old, struct bpf_program *new,
			   const volatile struct job_at *to)
{
	static const char *const fields[] = {"fence", "fence_context", "fence_seqno", "name", "dev",
					     "id",    "client_id",     "job_count"};
	struct bpf_program *const progs[] = {old, new};
	struct job_at *at = (struct job_at *)to;
	char event[64];
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(event, sizeof(event), "gpu_scheduler/%s", bpf_program__name(progs[i]));
		find_fields(h, event, fields, sizeof(fields) / sizeof(fields[0]), to);
		if (at->fence || (at->context && at->seqno)) {
			bpf_program__set_autoload(progs[i], true);
			return true;
		}
	}
	return false;
}

static int set_job_plain(struct hooks *h, struct family *f, struct gpu_job_plain_bpf *s)
{
	if (find_job_event(h, s->progs.drm_sched_job, s->progs.drm_sched_job_queue,
			   &s->rodata->at_queue) &&
	    find_job_event(h, s->progs.drm_run_job, s->progs.drm_sched_job_run,
			   &s->rodata->at_run) &&
	    find_job_event(h, s->progs.drm_sched_process_job, s->progs.drm_sched_job_done,
			   &s->rodata->at_done))
		return 0;
	return no_sched(f);
}

OPEN_OBJECT(gpu_job_plain, NO_TRACEFS(h), set_job_plain(h, f, s))

int hooks__tell_jobs(struct hooks *h, int (*tell)(void *arg, const void *key, const void *value),
		     void *arg)
{
	const struct family *f = &h->family[FAMILY_JOB];

	return f->obj ? hooks_map__each(f, "jobs", tell, arg) : 0;
}
