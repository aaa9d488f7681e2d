/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was asked for with -e: probes, and what some of them take as an option.
 *
 *	sched,ioctl		names
 *	default,sample:499	those on by default, and samples, 499 a second
 *	syscall:agg		system calls counted in the kernel
 *	pmu:cycles,llc-misses	after pmu: what is no probe counts on
 */
#ifndef XPUGAP_SOURCE_PROBE_LIST_H
#define XPUGAP_SOURCE_PROBE_LIST_H

#include <stdint.h>

#include "userspace/lib/opt.h"

#define SAMPLE_HZ     99
#define SAMPLE_HZ_MAX 10000

/* What the options of probes come to; zeros are the defaults. */
struct probe_args {
	uint32_t sample_hz;
	const char *const *events; /* to be counted, NULL-terminated; NULL: the default ones */
};

struct probe_list {
	const char **names; /* NULL-terminated; NULL: the defaults */
	const char **events;
	struct probe_args args;
	char *text; /* that both point into */
};

/* 0, or -EINVAL after printing what is not understood and what may be meant, or -ENOMEM. */
int probe_list__parse(struct probe_list *l, const struct opt_list *items);
void probe_list__free(struct probe_list *l);

#endif
