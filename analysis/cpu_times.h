/* SPDX-License-Identifier: BSD-2-Clause */
/* What each cpu did while it was recorded, from CPU_STAT records: differences of running totals. */
#ifndef XPUGAP_ANALYSIS_CPU_TIMES_H
#define XPUGAP_ANALYSIS_CPU_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/include/events.h"

#define CPU_TIMES_MAX 8192 /* cpus; further ones are passed over */

/*
 * struct cpu_time - one cpu, or all
 * @user_ns: with what is nice, and with guests
 * @irq_ns: with softirqs
 * @steal_ns: what the hypervisor gave to others while somebody wanted to run here
 * @total_ns: all these together
 */
struct cpu_time {
	uint64_t cpu;
	uint64_t readings; /* 0: of this cpu there are none */
	uint64_t user_ns, system_ns, irq_ns, idle_ns, iowait_ns, steal_ns;
	uint64_t total_ns;
	double user_pct, system_pct, irq_pct, idle_pct, iowait_pct, steal_pct; /* of total_ns */
	struct rec_cpu_stat last;
};

struct cpu_times {
	struct cpu_time *rows; /* by cpu */
	size_t n;
};

/* 0 or -ENOMEM */
int cpu_times__add(struct cpu_times *t, const struct rec_cpu_stat *rec);

/* All cpus together; its cpu is the one of which most was stolen. readings is 0 if there are none.
 */
void cpu_times__sum(const struct cpu_times *t, struct cpu_time *out);

void cpu_times__free(struct cpu_times *t);

#endif
