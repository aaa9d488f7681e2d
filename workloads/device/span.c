// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/device/span.h"

#include <stdatomic.h>

#include "userspace/mark/xpugap_mark.h"

static const uint16_t copy_kinds[] = {
	[DEVICE_H2D] = XPUGAP_H2D,
	[DEVICE_D2H] = XPUGAP_D2H,
	[DEVICE_D2D] = XPUGAP_D2D,
};

uint32_t span__device(const char *name)
{
	static atomic_uint next;
	uint32_t device = atomic_fetch_add(&next, 1);

	xpugap_device(device, name);
	return device;
}

static void launch(struct device_span *s, uint32_t device, uint16_t queue, uint16_t kind,
		   const char *name)
{
	s->device = device;
	s->queue = queue;
	s->kind = kind;
	s->name = name;
	s->corr = 0;
	if (!xpugap_recording())
		return;
	s->corr = xpugap_correlation();
	xpugap_launch(device, queue, kind, name, s->corr);
}

void span__launch_kernel(struct device_span *s, uint32_t device, uint16_t queue, const char *name)
{
	launch(s, device, queue, XPUGAP_KERNEL, name);
}

void span__launch_copy(struct device_span *s, uint32_t device, uint16_t queue,
		       const struct device_copy *c)
{
	launch(s, device, queue, copy_kinds[c->kind], c->name);
}

void span__begin(struct device_span *s)
{
	s->start_ns = s->corr ? xpugap_now() : 0;
}

void span__end(const struct device_span *s, uint64_t bytes)
{
	if (s->corr)
		xpugap_span(s->device, s->queue, s->kind, s->name, s->start_ns, xpugap_now(),
			    s->corr, bytes);
}

void span__begin_end(struct device_span *s, uint64_t bytes)
{
	span__begin(s);
	if (s->corr)
		xpugap_span(s->device, s->queue, s->kind, s->name, s->start_ns, s->start_ns,
			    s->corr, bytes);
}

uint64_t span__now(void)
{
	return xpugap_now();
}
