// SPDX-License-Identifier: GPL-2.0-only
/* The maps that all hooks share, and no program: the other objects are given these. */
#include "bpf/include/filter.bpf.h"
#include "bpf/include/plain.bpf.h"
#include "bpf/include/told.bpf.h"

char LICENSE[] SEC("license") = "GPL";
