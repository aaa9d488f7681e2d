/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts of the machine as META records:
 *
 *	recorder.version  recorder.pid
 *	host.name  host.kernel  host.build  host.arch  host.boot_id
 *	host.cpu  host.cpus (online)  host.cpu_mask  host.memory_bytes
 *	host.clocksource  host.page_bytes  host.hypervisor (where the kernel says so)
 *
 * host.cpu_stat, why there are no CPU_STAT records, comes from cpu_stat.c.
 */
#ifndef XPUGAP_SOURCE_HOST_H
#define XPUGAP_SOURCE_HOST_H

#include "userspace/trace/trace.h"

/* Write what is known here; a fact that cannot be found out is left out. 0 or -errno. */
int host__write(struct trace_writer *w);

#endif
