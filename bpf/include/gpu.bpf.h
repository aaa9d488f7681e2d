/* SPDX-License-Identifier: GPL-2.0-only */
/* What all objects of the gpu hook share. */
#ifndef XPUGAP_GPU_BPF_H
#define XPUGAP_GPU_BPF_H

#include "bpf/include/name.bpf.h"
#include "bpf/include/ring.bpf.h"

#endif
