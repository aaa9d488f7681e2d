// SPDX-License-Identifier: BSD-2-Clause
/*
 * The cpu device. A queue is an executor thread and the OpenMP team that it leads, both confined
 * to the device's cores; device memory is host memory.
 */
#include "workloads/device/cpu.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/lib/machine.h"
#include "workloads/device/cores.h"
#include "workloads/device/op.h"
#include "workloads/device/queue.h"
#include "workloads/device/span.h"

/* From this size on memory is aligned to huge pages and asks for them. */
#define HUGE_PAGE (2UL << 20)

struct device {
	uint32_t number;
	struct cores cores;
	struct cpu_team team;
	struct device_queue *queues;
	uint16_t n_queues;
};

struct device_queue {
	struct device_queue *next;
	struct device *device;
	struct host_queue *host;
	struct cpu_team team;
};

static int cpu_probe(char *reason, size_t size)
{
	return cpu_lib__get(reason, size) ? 0 : -ENODEV;
}

/* One thread for each core, but no more than the time that cgroups grant. */
static unsigned int team_size(const struct cores *cores)
{
	unsigned int n = cores__count(cores);
	unsigned int quota = cores__quota("/sys/fs/cgroup", "/proc/self/cgroup");

	return quota && quota < n ? quota : n;
}

static struct device *cpu_open(const char *spec)
{
	struct cores usable;
	char reason[512], name[300];
	struct device *d = NULL;
	int err;

	d = calloc(1, sizeof(*d));
	err = d ? cores__usable(&usable) : -ENOMEM;
	if (err) {
		log_error("cannot open device 'cpu': %s", log__err(err));
		goto out;
	}
	err = cores__parse(spec, &usable, &d->cores, reason, sizeof(reason));
	if (!err) {
		d->team.lib = cpu_lib__get(reason, sizeof(reason));
		err = d->team.lib ? 0 : -ENODEV;
	}
	if (err) {
		log_error("cannot open device 'cpu%s%s': %s", *spec ? ":" : "", spec, reason);
		goto out;
	}
	d->team.threads = team_size(&d->cores);
	snprintf(name, sizeof(name), "cpu:");
	cores__format(&d->cores, name + 4, sizeof(name) - 4);
	d->number = span__device(name);
	return d;
out:
	free(d);
	errno = -err;
	return NULL;
}

static void cpu_info(struct device *d, struct device_info *out)
{
	const struct cpu_lib *lib = d->team.lib;
	const dnnl_version_t *v = lib->dnnl.version();
	const char *blas = lib->blas.openblas_get_config(); /* "OpenBLAS 0.3.21 NO_LAPACKE …" */
	int len = strncmp(blas, "OpenBLAS ", 9) == 0 ? 9 + (int)strcspn(blas + 9, " ") : 0;

	memset(out, 0, sizeof(*out));
	machine__cpu_name(out->name, sizeof(out->name));
	snprintf(out->runtime, sizeof(out->runtime), "oneDNN %d.%d.%d, %.*s", v->major, v->minor,
		 v->patch, len ? len : 8, len ? blas : "OpenBLAS");
	out->units = d->team.threads;
	out->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
	out->computes = true;
}

static int cpu_clock_pair(struct device *d, uint64_t *host_ns, uint64_t *ticks,
			  uint64_t *uncertainty_ns)
{
	*host_ns = *ticks = span__now();
	*uncertainty_ns = 0; /* executors read the host's clock */
	return 0;
}

/* What the kernel could give without swapping, in bytes; all there is if it does not say. */
static uint64_t available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long kib = ULONG_MAX >> 10;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return (uint64_t)kib << 10;
}

static void *cpu_alloc(struct device *d, size_t bytes)
{
	size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : 64;
	void *mem;
	int err;

	/* the kernel would promise it now and kill somebody later */
	if (bytes >= HUGE_PAGE && bytes > available()) {
		errno = ENOMEM;
		return NULL;
	}
	err = posix_memalign(&mem, align, bytes ? bytes : 1);
	if (err) {
		errno = err;
		return NULL;
	}
	if (bytes >= HUGE_PAGE)
		madvise(mem, bytes, MADV_HUGEPAGE); /* fewer TLB misses; works without */
	return mem;
}

static void cpu_release(struct device *d, void *mem)
{
	free(mem);
}

/* On the executor, before it leads its first team: its threads take over its affinity. */
static int begin_queue(void *arg, void **native)
{
	struct device_queue *q = arg;

	q->team = q->device->team;
	q->team.lib->omp.omp_set_num_threads(q->team.threads);
	*native = &q->team;
	return cores__enter(&q->device->cores);
}

static struct device_queue *cpu_queue(struct device *d, const char *name)
{
	struct device_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->device = d;
	q->host = host_queue__new(d->number, d->n_queues, name, begin_queue, NULL, q);
	if (!q->host) {
		free(q);
		return NULL;
	}
	d->n_queues++;
	q->next = d->queues;
	d->queues = q;
	return q;
}

static int cpu_copy(struct device_queue *q, const struct device_copy *c)
{
	return host_queue__copy(q->host, c);
}

static int cpu_launch(struct device_queue *q, const struct device_kernel *k)
{
	return host_queue__launch(q->host, k);
}

/* A device_event of this device is a host_event. */
static struct device_event *cpu_record(struct device_queue *q)
{
	return (struct device_event *)host_queue__record(q->host);
}

static int cpu_wait(struct device_queue *q, struct device_event *e)
{
	return host_queue__wait(q->host, (struct host_event *)e);
}

static int cpu_event_sync(struct device_event *e)
{
	return host_event__sync((struct host_event *)e);
}

static void cpu_event_release(struct device_event *e)
{
	host_event__release((struct host_event *)e);
}

static int cpu_sync(struct device *d, struct device_queue *q)
{
	int err = 0, one;

	if (q)
		return host_queue__sync(q->host);
	for (q = d->queues; q; q = q->next) {
		one = host_queue__sync(q->host);
		err = err ? err : one;
	}
	return err;
}

static void cpu_close(struct device *d)
{
	struct device_queue *q;
	int err;

	if (!d)
		return;
	while ((q = d->queues)) {
		d->queues = q->next;
		err = host_queue__free(q->host);
		if (err)
			log_warning("work on device 'cpu' failed unseen: %s", log__err(err));
		free(q);
	}
	free(d);
}

struct share {
	void (*fn)(void *arg, unsigned int i, unsigned int n);
	void *arg;
	const struct cpu_lib *lib;
};

static void run_share(void *data)
{
	const struct share *s = data;

	s->fn(s->arg, s->lib->omp.omp_get_thread_num(), s->lib->omp.omp_get_num_threads());
}

void cpu_team__run(const struct cpu_team *team, void (*fn)(void *arg, unsigned int i, unsigned n),
		   void *arg)
{
	struct share s = {fn, arg, team->lib};

	team->lib->omp.GOMP_parallel(run_share, &s, team->threads, 0);
}

void cpu_team__barrier(const struct cpu_team *team)
{
	team->lib->omp.GOMP_barrier();
}

const struct cpu_team *cpu_device__team(const struct device *d)
{
	return &d->team;
}

const struct device_ops device_cpu = {
	.name = "cpu",
	.summary = "the host's processor, by oneDNN and OpenBLAS",
	.probe = cpu_probe,
	.open = cpu_open,
	.info = cpu_info,
	.clock_pair = cpu_clock_pair,
	.alloc = cpu_alloc,
	.release = cpu_release,
	.queue = cpu_queue,
	.copy = cpu_copy,
	.launch = cpu_launch,
	.record = cpu_record,
	.wait = cpu_wait,
	.event_sync = cpu_event_sync,
	.event_release = cpu_event_release,
	.sync = cpu_sync,
	.close = cpu_close,
	.backend = &op_backend_cpu,
};
