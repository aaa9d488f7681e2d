/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Features: what of a machine decides how much can be seen on it. Rows of 'xpugap doctor'.
 *
 * A new one is a row here and a function probe_NAME() in feature.c.
 */
#ifndef XPUGAP_CMD_FEATURE_H
#define XPUGAP_CMD_FEATURE_H

#include <stddef.h>

#include "userspace/source/kernel.h"

enum feature_state {
	FEATURE_OK,
	FEATURE_LIMITED, /* works, but answers less or costs more */
	FEATURE_MISSING,
};

struct feature_result {
	enum feature_state state;
	char found[160];
	char remedy[512]; /* "" where there is nothing to do */
};

struct feature {
	const char *name;
	const char *what;
	const char *why; /* it matters */
	void (*probe)(const struct kernel_facts *k, struct feature_result *r);
};

/* X(name, what it is, why it matters) */
#define FEATURE_TABLE(X)                                                                           \
	X(kernel, "the running kernel", "what its hooks are like")                                 \
	X(btf, "type information of the kernel", "hooks find the kernel's data by it")             \
	X(jit, "compiler for BPF programs", "without it a hook costs several times as much")       \
	X(capabilities, "rights of this process",                                                  \
	  "loading hooks needs CAP_BPF and CAP_PERFMON; 'job' and 'bpf_stats' CAP_SYS_ADMIN")      \
	X(unprivileged_bpf, "kernel.unprivileged_bpf_disabled",                                    \
	  "whether BPF is there at all without rights")                                            \
	X(perf_event_paranoid, "kernel.perf_event_paranoid",                                       \
	  "'fault', 'sample', 'pmu' and 'map' are performance events of the kernel")               \
	X(lockdown, "kernel lockdown", "confidentiality mode forbids hooks to read memory")        \
	X(memlock, "limit of locked memory", "kernels before 5.11 charge rings to it")             \
	X(tracefs, "the tracing file system",                                                      \
	  "names of fences need it, and most hooks where there is no type information")            \
	X(bpf_stats, "run-time statistics of BPF", "other tools' view of what hooks cost")         \
	X(kallsyms, "symbols of kernel variables",                                                 \
	  "they tell at no cost whether an interrupt woke a task")                                 \
	X(clock, "the clock that records are stamped with", "each record reads it once")           \
	X(cgroup, "control groups", "by them containers and services are told apart")              \
	X(cpus, "processors", "each has a ring of its own")                                        \
	X(perf, "the program perf", "'make bench' compares with it")

extern const struct feature features[]; /* ends with a NULL name */

#endif
