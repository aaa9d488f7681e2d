// SPDX-License-Identifier: GPL-2.0-only
/* The sched hook where the preemption count is a variable of its own. */
#define BY_PREEMPT_COUNT
#include "bpf/hooks/sched.bpf.c"
