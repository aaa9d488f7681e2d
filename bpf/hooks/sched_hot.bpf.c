// SPDX-License-Identifier: GPL-2.0-only
/* The sched hook where the preemption count is part of pcpu_hot: 6.2 to 6.14. */
#define BY_PCPU_HOT
#include "bpf/hooks/sched.bpf.c"
