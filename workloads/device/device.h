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
struct op_backend;   /* what models are made of: op.h */

struct device_info {
	char name[128];	  /* "AMD EPYC 7763" */
	char runtime[64]; /* "oneDNN 2.6.3, OpenBLAS 0.3.21" */
	uint32_t units;	  /* cores, SMs, … that work may use */
	uint64_t memory_bytes;
	bool bf16;     /* natively */
	bool computes; /* false: accepts work and leaves its results undefined (null) */
};

/*
 * One operation on a device. run() is called once: on cpu by the queue's executor thread, where
 * it does the work; on a stream runtime by the thread that launches, where it enqueues the work
 * (kernel, library call) on @native, and the backend measures what it enqueued.
 */
struct device_kernel {
	const char *name;  /* of the span; must outlive the queue */
	const char *klass; /* gemm, conv, norm, pool, elementwise, optimizer, loss, … */
	/* @native: the CUstream, cl_command_queue, … of the queue; on cpu its struct cpu_team */
	int (*run)(void *arg, void *native); /* 0 or -errno, which sync reports */
	void *arg;
};

enum device_copy_kind {
	DEVICE_H2D,
	DEVICE_D2H,
	DEVICE_D2D,
};

struct device_copy {
	const char *name; /* of the span; must outlive the queue */
	enum device_copy_kind kind;
	void *dst;
	const void *src;
	size_t bytes;
};

/*
 * probe:  can this runtime be used here? 0, or -ENODEV with the reason (for doctor)
 * open:   @spec is what follows the colon of "cpu:0-1" ("" if nothing); NULL with errno, printed
 * info:   never fails; what is not known is "" or 0
 * alloc:  device memory, aligned to 64 bytes, not initialised; NULL with errno
 * queue:  lives until the device is closed; @name is copied; NULL with errno
 * copy:   asynchronous; host memory must live, and must not be written, until it ran
 * launch: asynchronous; the kernel struct is copied, *arg must live until it ran; waits while
 *         the queue is full
 * record: an event at the end of what @q holds now; NULL with errno
 * wait:   what is put into @q from now on runs after @e
 * event_sync: the host waits for @e; 0 or the first error of the queue's work before it
 * event_release: from any thread, also before the event came
 * sync:   the host waits until @q is empty (NULL: all queues); the first error of its work since
 *         the last sync. After an error a queue skips work until sync reported it.
 * clock_pair: one reading of the host's clock (as spans are) and the device's, and its uncertainty
 * close:  waits for all work; releases queues and memory; a no-op on NULL
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
	int (*copy)(struct device_queue *q, const struct device_copy *c);
	int (*launch)(struct device_queue *q, const struct device_kernel *k);
	struct device_event *(*record)(struct device_queue *q);
	int (*wait)(struct device_queue *q, struct device_event *e);
	int (*event_sync)(struct device_event *e);
	void (*event_release)(struct device_event *e);
	int (*sync)(struct device *d, struct device_queue *q);
	void (*close)(struct device *d);
	const struct op_backend *backend; /* NULL: no models on this device yet */
};

#define DEVICE_TABLE(X)                                                                            \
	X(cpu, "the host's processor, by oneDNN and OpenBLAS")                                     \
	X(null, "accepts work and does none: the framework's own cost")

#define DEVICE_DECLARE(name, what) extern const struct device_ops device_##name;
DEVICE_TABLE(DEVICE_DECLARE)
#undef DEVICE_DECLARE

/* NULL-terminated, in the order of the table. */
extern const struct device_ops *const devices[];

/*
 * "cpu", "cpu:0-1", "null" → the backend's row, and in @rest the part after the colon, or "".
 * NULL if unknown, after printing so with the nearest known name.
 */
const struct device_ops *device__find(const char *spec, const char **rest);

#endif
