// SPDX-License-Identifier: GPL-2.0-only
/* The gpu hook, probe dma, where functions can be probed but not entered: by kprobes. */
#define BY_KPROBE
#include "bpf/hooks/gpu_dma_func.bpf.c"
