// SPDX-License-Identifier: GPL-2.0-only
/* The sample hook where the kernel does not describe its types: see sample.bpf.c. */
#include "bpf/include/plain.bpf.h"
#include "bpf/include/sample.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SAMPLE_PROGRAMS(plain__find(plain__tid()) != NULL)
