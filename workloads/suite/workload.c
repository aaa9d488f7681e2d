// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/suite/workload.h"

#include <string.h>

#include "userspace/lib/log.h"

#define NAMES_MAX 256

const char *const workload_sizes[] = {"tiny", "small", "full", NULL};

const struct workload *workload__find(const char *name)
{
	const char *names[NAMES_MAX], *near;
	size_t n = 0;

	for (; workloads[n] && n < NAMES_MAX; n++) {
		if (strcmp(workloads[n]->name, name) == 0)
			return workloads[n];
		names[n] = workloads[n]->name;
	}
	near = opt__nearest(name, names, n);
	if (near)
		log_error("no workload '%s' (did you mean '%s'?)", name, near);
	else
		log_error("no workload '%s' (see 'xpugap list workloads')", name);
	return NULL;
}
