// SPDX-License-Identifier: BSD-2-Clause
/*
 * The null device accepts everything and does nothing: what is left of a workload on it is the
 * framework's own cost. Memory is real; kernels and copies are spans of zero length.
 */
#include "workloads/device/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "workloads/device/op.h"
#include "workloads/device/span.h"

struct device {
	uint32_t number;
	uint16_t n_queues;
	struct device_queue *queues;
};

struct device_queue {
	struct device_queue *next;
	uint32_t device;
	uint16_t id;
};

struct device_event {
	char none; /* nothing ever has to be waited for */
};

static int null_probe(char *reason, size_t size)
{
	if (size)
		reason[0] = '\0';
	return 0;
}

static struct device *null_open(const char *spec)
{
	struct device *d;

	if (*spec) {
		log_error("cannot open device 'null:%s': null has no parts (use 'null')", spec);
		errno = EINVAL;
		return NULL;
	}
	d = calloc(1, sizeof(*d));
	if (!d) {
		log_error("cannot open device 'null': %s", log__err(errno));
		return NULL;
	}
	d->number = span__device("null");
	return d;
}

static void null_info(struct device *d, struct device_info *out)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "null");
	out->bf16 = true;
}

static int null_clock_pair(struct device *d, uint64_t *host_ns, uint64_t *ticks,
			   uint64_t *uncertainty_ns)
{
	*host_ns = *ticks = span__now();
	*uncertainty_ns = 0; /* the device's clock is the host's */
	return 0;
}

static void *null_alloc(struct device *d, size_t bytes)
{
	void *mem;
	int err = posix_memalign(&mem, 64, bytes ? bytes : 1);

	if (err) {
		errno = err;
		return NULL;
	}
	return mem;
}

static void null_release(struct device *d, void *mem)
{
	free(mem);
}

static struct device_queue *null_queue(struct device *d, const char *name)
{
	struct device_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->device = d->number;
	q->id = d->n_queues++;
	q->next = d->queues;
	d->queues = q;
	return q;
}

static int null_copy(struct device_queue *q, const struct device_copy *c)
{
	struct device_span span;

	span__launch_copy(&span, q->device, q->id, c);
	span__begin_end(&span, c->bytes);
	return 0;
}

static int null_launch(struct device_queue *q, const struct device_kernel *k)
{
	struct device_span span;

	span__launch_kernel(&span, q->device, q->id, k->name);
	span__begin_end(&span, 0);
	return 0;
}

static struct device_event *null_record(struct device_queue *q)
{
	return calloc(1, sizeof(struct device_event));
}

static int null_wait(struct device_queue *q, struct device_event *e)
{
	return 0;
}

static int null_event_sync(struct device_event *e)
{
	return 0;
}

static void null_event_release(struct device_event *e)
{
	free(e);
}

static int null_sync(struct device *d, struct device_queue *q)
{
	return 0;
}

static void null_close(struct device *d)
{
	struct device_queue *q, *next;

	if (!d)
		return;
	for (q = d->queues; q; q = next) {
		next = q->next;
		free(q);
	}
	free(d);
}

const struct device_ops device_null = {
	.name = "null",
	.summary = "accepts work and does none: the framework's own cost",
	.probe = null_probe,
	.open = null_open,
	.info = null_info,
	.clock_pair = null_clock_pair,
	.alloc = null_alloc,
	.release = null_release,
	.queue = null_queue,
	.copy = null_copy,
	.launch = null_launch,
	.record = null_record,
	.wait = null_wait,
	.event_sync = null_event_sync,
	.event_release = null_event_release,
	.sync = null_sync,
	.close = null_close,
	.backend = &op_backend_null,
};
