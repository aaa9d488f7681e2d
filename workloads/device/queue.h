/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues whose work runs on the host: each has an executor thread that takes commands in order.
 * The cpu device is made of them; a runtime without streams of its own can use them, too.
 */
#ifndef XPUGAP_DEVICE_QUEUE_H
#define XPUGAP_DEVICE_QUEUE_H

#include "workloads/device/device.h"

struct host_queue;
struct host_event;

/*
 * Start an executor named @name. It calls @begin(@arg, &native) first, on its own thread, to set
 * itself up, and gives @native to every kernel; @end(native) when it stops. NULL with errno.
 */
struct host_queue *host_queue__new(uint32_t device, uint16_t id, const char *name,
				   int (*begin)(void *arg, void **native),
				   void (*end)(void *native), void *arg);

/* As device_ops. */
int host_queue__copy(struct host_queue *q, const struct device_copy *c);
int host_queue__launch(struct host_queue *q, const struct device_kernel *k);
struct host_event *host_queue__record(struct host_queue *q);
int host_queue__wait(struct host_queue *q, struct host_event *e);
int host_queue__sync(struct host_queue *q);
int host_event__sync(struct host_event *e);
void host_event__release(struct host_event *e);

/* Run what is queued, then stop; an error that nobody asked for is returned. */
int host_queue__free(struct host_queue *q);

#endif
