/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of the OpenMP runtime that the cpu device calls. GOMP_parallel is what a compiler
 * emits for "#pragma omp parallel": calling it by name keeps the runtime a matter of run time,
 * and the threads those that oneDNN uses. LLVM's libomp exports it as well.
 */
#ifndef XPUGAP_DEVICE_CPU_OMP_H
#define XPUGAP_DEVICE_CPU_OMP_H

#define CPU_OMP_FILE	"libgomp.so.1"
#define CPU_OMP_PACKAGE "libgomp1"

/* ret, name, parameters */
#define CPU_OMP_SYMBOLS(X)                                                                         \
	X(void, GOMP_parallel, void (*fn)(void *), void *data, unsigned int threads,               \
	  unsigned int flags)                                                                      \
	X(void, GOMP_barrier, void)                                                                \
	X(void, omp_set_num_threads, int n)                                                        \
	X(int, omp_get_num_threads, void)                                                          \
	X(int, omp_get_thread_num, void)

#endif
