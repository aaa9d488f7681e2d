/* SPDX-License-Identifier: BSD-2-Clause */
/* What only the source 'bpf' can say, beside its source_ops. */
#ifndef XPUGAP_SOURCE_BPF_H
#define XPUGAP_SOURCE_BPF_H

#include "userspace/source/hooks.h"

struct source;

/* Tasks of the targets that have not ended; -1: unknown (no task hook). */
int64_t source_bpf__live(const struct source *s);

/* Is the process a target? @arg: the source. */
bool source_bpf__is_target(void *arg, pid_t pid);

/* Bytes of each cpu's ring; 0: there are none. */
uint64_t source_bpf__ring_bytes(const struct source *s);

/* How a hook fared; NULL for hooks that are not the kernel's. */
const struct hook_report *source_bpf__report(const struct source *s, enum rec_hook_id hook);

/* The same of a probe, where its hook's probes are attached each for itself. */
struct probe;
const struct hook_report *source_bpf__probe_report(const struct source *s, const struct probe *p);

#endif
