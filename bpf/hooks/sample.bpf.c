// SPDX-License-Identifier: GPL-2.0-only
/* The sample hook: at a frequency, on each cpu, what of the target it runs. */
#include "bpf/include/filter.bpf.h"
#include "bpf/include/sample.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SAMPLE_PROGRAMS(filter__find(bpf_get_current_task_btf()) != NULL)
