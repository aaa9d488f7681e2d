// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/device/cpu_simd.h"

const struct cpu_simd *cpu_simd__best(unsigned int lanes)
{
	if (lanes == 1)
		return &cpu_simd_scalar;
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &cpu_simd_avx2;
#endif
	return &cpu_simd_base;
}
