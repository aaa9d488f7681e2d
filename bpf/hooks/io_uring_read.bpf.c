// SPDX-License-Identifier: GPL-2.0-only
/* The io_uring hook where there is no bpf_rdonly_cast(): before 6.2. */
#define BY_READING
#include "bpf/hooks/io_uring.bpf.c"
