/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The libraries behind the cpu device, resolved at run time: oneDNN, OpenBLAS and the OpenMP
 * runtime that oneDNN itself uses (so that its kernels and ours share one team of threads).
 */
#ifndef XPUGAP_DEVICE_CPU_LIB_H
#define XPUGAP_DEVICE_CPU_LIB_H

#include <stddef.h>

#include "workloads/device/cpu_blas.h"
#include "workloads/device/cpu_dnnl.h"
#include "workloads/device/cpu_omp.h"

struct cpu_lib {
#define X(ret, name, ...) ret (*name)(__VA_ARGS__);
	struct {
		CPU_BLAS_SYMBOLS(X)
	} blas;
	struct {
		CPU_OMP_SYMBOLS(X)
	} omp;
#undef X
#define X(name) __typeof__(&dnnl_##name) name;
	struct {
		CPU_DNNL_SYMBOLS(X)
	} dnnl;
#undef X
};

/*
 * The libraries, loaded once and kept; NULL if one is missing, and why, with the remedy, in
 * @reason. Safe to call from any thread.
 */
const struct cpu_lib *cpu_lib__get(char *reason, size_t size);

#endif
