// SPDX-License-Identifier: BSD-2-Clause
/* Vectors of eight in AVX2 with fused multiply-add; run only where the processor has both. */
#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define SIMD_NAME  cpu_simd_avx2
#define SIMD_LANES 8
#include "workloads/device/cpu_simd_body.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
typedef int cpu_simd_avx2_is_for_x86; /* a file must not be empty */
#endif
