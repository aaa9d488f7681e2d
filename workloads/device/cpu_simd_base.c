// SPDX-License-Identifier: BSD-2-Clause
/* Vectors of eight in whatever the compiler's default instruction set makes of them. */
#define SIMD_NAME  cpu_simd_base
#define SIMD_LANES 8
#include "workloads/device/cpu_simd_body.h"
