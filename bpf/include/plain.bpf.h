/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the hooks are made of where the kernel does not describe its types: no task_struct can be
 * looked into and there is no task storage, so targets are known by their thread ids, and records
 * hold what the tracepoints themselves pass. Where in a tracepoint's data a field lies is read by
 * the recorder from the tracing file system.
 */
#ifndef XPUGAP_PLAIN_BPF_H
#define XPUGAP_PLAIN_BPF_H

#include "bpf/include/ring.bpf.h"

#define MAX_TIDS 262144

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_TIDS);
	__type(key, __u32);
	__type(value, struct task_state);
} tids SEC(".maps");

static __always_inline struct task_state *plain__find(__u32 tid)
{
	return bpf_map_lookup_elem(&tids, &tid);
}

static __always_inline __u32 plain__tid(void)
{
	return bpf_get_current_pid_tgid();
}

static __always_inline __u32 plain__pid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

/* The field of a tracepoint's data that lies at @offset. */
static __always_inline __u32 plain__u32(void *ctx, __u32 offset)
{
	__u32 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), ctx + offset);
	return v;
}

static __always_inline __u64 plain__u64(void *ctx, __u32 offset)
{
	__u64 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), ctx + offset);
	return v;
}

#endif
