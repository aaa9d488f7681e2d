// SPDX-License-Identifier: GPL-2.0-only
/* The syscall hook where there is no bpf_rdonly_cast(): before 6.2. */
#define BY_READING
#include "bpf/hooks/syscall.bpf.c"
