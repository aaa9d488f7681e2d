/* SPDX-License-Identifier: BSD-2-Clause */
/* How devices tell the profiler of launches and spans: every backend's only way to the marks. */
#ifndef XPUGAP_DEVICE_SPAN_H
#define XPUGAP_DEVICE_SPAN_H

#include <stdint.h>

#include "workloads/device/device.h"

struct device_span {
	uint32_t device;
	uint16_t queue;
	uint16_t kind; /* enum xpugap_span_kind */
	const char *name;
	uint64_t corr; /* 0: nobody records */
	uint64_t start_ns;
};

/* A number for a device that was opened, announced by @name ("cpu:0-1"). */
uint32_t span__device(const char *name);

/* The calling thread hands @name to a queue: fills @s. */
void span__launch_kernel(struct device_span *s, uint32_t device, uint16_t queue, const char *name);
void span__launch_copy(struct device_span *s, uint32_t device, uint16_t queue,
		       const struct device_copy *c);

/* The work begins and ends, on whatever thread. */
void span__begin(struct device_span *s);
void span__end(const struct device_span *s, uint64_t bytes);

/* Both at one moment: a span of zero length. */
void span__begin_end(struct device_span *s, uint64_t bytes);

/* CLOCK_MONOTONIC as spans have it. */
uint64_t span__now(void);

#endif
