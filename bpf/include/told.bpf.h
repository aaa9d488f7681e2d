/* SPDX-License-Identifier: GPL-2.0-only */
/* Which files a record told of: one map for all hooks that meet files. */
#ifndef XPUGAP_TOLD_BPF_H
#define XPUGAP_TOLD_BPF_H

#include "bpf/include/vmlinux.h"
#include <bpf/bpf_helpers.h>

#define MAX_TOLD 16384

/* files that a FILE record told of, and on which mount; the oldest are forgotten and told again */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_TOLD);
	__type(key, struct file_key);
	__type(value, __u32);
} told_files SEC(".maps");

#endif
