/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops of the cpu device's own kernels, written once over vectors of eight and compiled for each
 * instruction set (cpu_simd_*.c); cpu_simd__best() picks by what this processor has.
 *
 * A plane is one block of channels of an image tensor in whatever layout: @n images, @s pixels
 * each; the element of image i, pixel j, lane l is at [i * sn + j * ss + l]. Lanes are 8, or 1 in
 * layouts that keep fewer channels side by side. Tensors of one call share the plane's strides.
 */
#ifndef XPUGAP_DEVICE_CPU_SIMD_H
#define XPUGAP_DEVICE_CPU_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_LANES 8

struct cpu_plane {
	size_t n, sn, s, ss;
	bool bf16; /* type of images; vectors of channels and sums are f32 and double */
};

struct cpu_norm_bwd {
	const void *x, *y, *dy, *dy2; /* y: takes relu's zeros from it; dy2 may be NULL */
	void *g;		      /* where g is kept, or NULL */
	bool relu;
	float scale[CPU_LANES], offset[CPU_LANES]; /* y = x scale + offset, before relu */
	float mean[CPU_LANES], rstd[CPU_LANES];
	double sum_g[CPU_LANES], sum_gx[CPU_LANES];	   /* out: += */
	float kg[CPU_LANES], kx[CPU_LANES], k1[CPU_LANES]; /* dx = g kg + x kx + k1 */
	void *dx;
};

struct cpu_pool {
	size_t h, w, oh, ow, size, stride, pad;
	size_t x_sn, x_ss, y_sn, y_ss; /* strides of x and of y and index */
	size_t n;
	bool bf16;
};

struct cpu_simd {
	const char *name;
	/* sum += x - shift, square += (x - shift)^2, by lane */
	void (*sums)(const struct cpu_plane *p, const void *x, const float *shift, double *sum,
		     double *square);
	/* y = x scale + offset [+ residual], relu if asked */
	void (*norm)(const struct cpu_plane *p, const void *x, const void *residual, void *y,
		     const float *scale, const float *offset, bool relu);
	void (*norm_bwd_sums)(const struct cpu_plane *p, struct cpu_norm_bwd *b);
	void (*norm_bwd_dx)(const struct cpu_plane *p, const struct cpu_norm_bwd *b);
	void (*maxpool)(const struct cpu_pool *p, const void *x, void *y, uint8_t *index);
	void (*maxpool_bwd)(const struct cpu_pool *p, const uint8_t *index, const void *dy,
			    const void *dy2, void *dx);
	/* y[i][lane] = mean over pixels, images @y_sn apart; and back */
	void (*avgpool)(const struct cpu_plane *p, const void *x, void *y, size_t y_sn);
	void (*avgpool_bwd)(const struct cpu_plane *p, const void *dy, size_t dy_sn, void *dx);
	/* flat; @bf16 is the type of all */
	void (*relu)(const void *x, void *y, size_t n, bool bf16);
	void (*relu_bwd)(const void *dy, const void *y, void *dx, size_t n, bool bf16);
	void (*add)(const void *a, const void *b, void *y, size_t n, bool bf16);
	void (*to_bf16)(const float *x, uint16_t *y, size_t n);
	void (*from_bf16)(const uint16_t *x, float *y, size_t n);
	/* v = momentum v + dw + decay w; w -= lr v; copy may be NULL */
	void (*sgd)(float *w, const float *dw, float *v, uint16_t *copy, size_t n, float lr,
		    float momentum, float decay);
};

/* For @lanes (1 or CPU_LANES) on this processor. */
const struct cpu_simd *cpu_simd__best(unsigned int lanes);

extern const struct cpu_simd cpu_simd_base, cpu_simd_scalar;
#ifdef __x86_64__
extern const struct cpu_simd cpu_simd_avx2;
#endif

#endif
