/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices: one file per runtime, which resolves its vendor's library at run time.
 *
 * Work goes to queues and is asynchronous; work in one queue runs in order, queues run
 * concurrently. Each kernel and copy is a span (xpugap_mark.h) joined to its launch by a
 * correlation id.
 */
#ifndef XPUGAP_DEVICE_DEVICE_H
#define XPUGAP_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;	     /* an open device */
struct device_queue; /* in order, asynchronous */
struct device_event; /* a point in a queue */

struct device_info {
	char name[128];	  /* "AMD EPYC 7763" */
	char runtime[64]; /* "oneDNN 2.6, OpenBLAS 0.3.21" */
	uint32_t units;	  /* cores, SMs, … */
	uint64_t memory_bytes;
	bool bf16; /* natively */
};

/* One operation on a device: its host code enqueues it, its device code is the backend's. */
struct device_kernel {
	const char *name;  /* of the span */
	const char *klass; /* gemm, conv, norm, pool, elementwise, optimizer, loss, … */
	/* cpu and null: run by the executor thread of the queue. 0 or -errno, reported by sync. */
	int (*run)(void *arg);
	void *arg;
};

/*
 * probe:  can this runtime be used here? 0, or -ENODEV with the reason (for doctor)
 * open:   @spec is what follows the colon of "cpu:0-1" ("" if nothing); NULL with errno, printed
 * alloc:  device memory, aligned to 64 bytes, not initialised; NULL with errno
 * copy:   asynchronous; dst and src may be host memory where @kind says so
 * launch: asynchronous; the kernel struct is copied, *arg must live until it ran
 * record, wait: an event in one queue, waited for by another
 * sync:   the host waits until @q is empty (NULL: all queues); the first error of its work
 * clock_pair: one reading of the host's and the device's clock and its uncertainty
 */
struct device_ops {
	const char *name;
	const char *summary;
	int (*probe)(char *reason, size_t size);
	struct device *(*open)(const char *spec);
	void (*info)(struct device *d, struct device_info *out);
	int (*clock_pair)(struct device *d, uint64_t *host_ns, uint64_t *ticks,
			  uint64_t *uncertainty_ns);
	void *(*alloc)(struct device *d, size_t bytes);
	void (*release)(struct device *d, void *mem);
	struct device_queue *(*queue)(struct device *d, const char *name);
	int (*copy)(struct device_queue *q, void *dst, const void *src, size_t bytes, int kind);
	int (*launch)(struct device_queue *q, const struct device_kernel *k);
	struct device_event *(*record)(struct device_queue *q);
	int (*wait)(struct device_queue *q, struct device_event *e);
	int (*event_sync)(struct device_event *e); /* the host waits; also releases */
	void (*event_release)(struct device_event *e);
	int (*sync)(struct device *d, struct device_queue *q);
	void (*close)(struct device *d);
};

#define DEVICE_TABLE(X)                                                                            \
	X(cpu, "the host's processor, by oneDNN and OpenBLAS")                                     \
	X(null, "accepts work and does none: the framework's own cost")

#define DEVICE_DECLARE(name, what) extern const struct device_ops device_##name;
DEVICE_TABLE(DEVICE_DECLARE)
#undef DEVICE_DECLARE

/* NULL-terminated, in the order of the table. */
extern const struct device_ops *const devices[];

/* "cpu", "cpu:0-1", "null" → the backend's row and the part after the colon; NULL if unknown. */
const struct device_ops *device__find(const char *spec, const char **rest);

#endif
