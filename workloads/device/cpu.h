/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the cpu device: the team of threads on which a queue's kernels run. */
#ifndef XPUGAP_DEVICE_CPU_H
#define XPUGAP_DEVICE_CPU_H

#include "workloads/device/cpu_lib.h"
#include "workloads/device/device.h"

struct cpu_team {
	const struct cpu_lib *lib;
	unsigned int threads;
};

/* The part of 0..@n that thread @i of @threads does: *first..*last. */
static inline void cpu_share(size_t n, unsigned int i, unsigned int threads, size_t *first,
			     size_t *last)
{
	*first = n * i / threads;
	*last = n * (i + 1) / threads;
}

/*
 * Call @fn(@arg, i, n) on n threads of @team at once, i from 0 to n-1, and wait for all. Only
 * from the executor of the team's queue.
 */
void cpu_team__run(const struct cpu_team *team, void (*fn)(void *arg, unsigned int i, unsigned n),
		   void *arg);

/* All threads of the running cpu_team__run() meet here. */
void cpu_team__barrier(const struct cpu_team *team);

/* What an open cpu device runs with: libraries and number of threads. */
const struct cpu_team *cpu_device__team(const struct device *d);

#endif
