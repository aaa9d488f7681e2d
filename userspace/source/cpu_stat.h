/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the cpus did since boot, by the kernel's own counts in /proc/stat: among it what a
 * hypervisor gave to others, which a program cannot tell from its own slowness. Records CPU_STAT.
 */
#ifndef XPUGAP_SOURCE_CPU_STAT_H
#define XPUGAP_SOURCE_CPU_STAT_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/trace/trace.h"

/*
 * Parse a line "cpuN USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL GUEST GUEST_NICE" of counts of
 * which there are @hz in a second; further counts are skipped, those at the end that an older
 * kernel does not have are 0. 0, or -EINVAL if it is no such line, as that of all cpus together.
 */
int cpu_stat__parse(const char *line, unsigned long hz, struct rec_cpu_stat *out);

/*
 * struct cpu_stat - the reading of one recording
 * @path: for tests; NULL: /proc/stat
 * @failed: it could not be read, which was said
 */
struct cpu_stat {
	const char *path;
	int failed;
};

/*
 * Write one record for each cpu that is on, as of now. What cannot be read is said once, and put
 * into the trace as the fact host.cpu_stat. 0, or an error of the writer.
 */
int cpu_stat__write(struct cpu_stat *s, struct trace_writer *w);

#endif
