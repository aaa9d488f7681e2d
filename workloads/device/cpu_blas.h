/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of OpenBLAS that the cpu device calls. */
#ifndef XPUGAP_DEVICE_CPU_BLAS_H
#define XPUGAP_DEVICE_CPU_BLAS_H

#define CPU_BLAS_FILE	 "libopenblas.so.0"
#define CPU_BLAS_PACKAGE "libopenblas0"

/* CBLAS_ORDER and CBLAS_TRANSPOSE, whose values the standard fixes */
#define CPU_BLAS_ROW_MAJOR 101
#define CPU_BLAS_NO_TRANS  111
#define CPU_BLAS_TRANS	   112

/* ret, name, parameters */
#define CPU_BLAS_SYMBOLS(X)                                                                        \
	X(void, cblas_sgemm, int order, int trans_a, int trans_b, int m, int n, int k,             \
	  float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c,     \
	  int ldc)                                                                                 \
	X(void, openblas_set_num_threads, int n)                                                   \
	X(char *, openblas_get_config, void)

#endif
