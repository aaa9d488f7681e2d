/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loops of cpu_simd.h; a file that includes this sets SIMD_NAME and SIMD_LANES (8 or 1).
 *
 * Each loop is an inline function with its types as constant arguments; the function behind the
 * table calls it once for each combination, so that the compiler makes a loop without tests.
 */
#include <string.h>

#include "workloads/device/cpu_simd.h"

#define INLINE static inline __attribute__((always_inline))

#if SIMD_LANES == 1
typedef float vec;
typedef int32_t ivec;
typedef uint32_t uvec;
typedef uint16_t hvec;
typedef uint8_t bvec;
#define CONVERT(x, type) ((type)(x))
#define MASK(cond)	 (-(ivec)(cond)) /* all ones where true, as vectors compare */
#else
typedef float vec __attribute__((vector_size(4 * SIMD_LANES)));
typedef int32_t ivec __attribute__((vector_size(4 * SIMD_LANES)));
typedef uint32_t uvec __attribute__((vector_size(4 * SIMD_LANES)));
typedef uint16_t hvec __attribute__((vector_size(2 * SIMD_LANES)));
typedef uint8_t bvec __attribute__((vector_size(SIMD_LANES)));
#define CONVERT(x, type) __builtin_convertvector(x, type)
#define MASK(cond)	 (cond)
#endif

/* Pixels whose sums are kept in float before they are added up in double. */
#define CHUNK 256

INLINE uvec bits(vec x)
{
	uvec u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

INLINE vec floats(uvec u)
{
	vec x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

INLINE vec splat(float x)
{
	return x - (vec){0};
}

INLINE vec load_f32(const float *p)
{
	vec x;

	memcpy(&x, p, sizeof(x));
	return x;
}

INLINE hvec round_bf16(vec x)
{
	uvec u = bits(x);
	/* nearest even; what is not a number stays so, whatever its low bits */
	uvec near = u + 0x7fff + ((u >> 16) & 1);
	uvec nan = (uvec)MASK(x != x);

	return CONVERT(((near & ~nan) | ((u | 0x400000) & nan)) >> 16, hvec);
}

/* Element @i, and the following lanes, of an array of f32 or bf16. */
INLINE vec load(const void *p, size_t i, bool bf16)
{
	hvec h;

	if (!bf16)
		return load_f32((const float *)p + i);
	memcpy(&h, (const uint16_t *)p + i, sizeof(h));
	return floats(CONVERT(h, uvec) << 16);
}

INLINE void store(void *p, size_t i, vec x, bool bf16)
{
	hvec h;

	if (!bf16) {
		memcpy((float *)p + i, &x, sizeof(x));
		return;
	}
	h = round_bf16(x);
	memcpy((uint16_t *)p + i, &h, sizeof(h));
}

/* x where @mask is all ones, else 0 */
INLINE vec keep(vec x, ivec mask)
{
	return floats(bits(x) & (uvec)mask);
}

INLINE vec positive(vec x)
{
	return keep(x, MASK(x > 0));
}

INLINE void add_to(double *sum, vec x)
{
	float lane[SIMD_LANES];
	int l;

	memcpy(lane, &x, sizeof(x));
	for (l = 0; l < SIMD_LANES; l++)
		sum[l] += lane[l];
}

/* ---- sums and normalisation ---- */

INLINE void sums_loop(const struct cpu_plane *p, const void *x, const float *shift, double *sum,
		      double *square, const bool bf16)
{
	const vec k = load_f32(shift);
	size_t i, j, at, end;
	vec a, b, a2, b2, v;

	for (i = 0; i < p->n; i++) {
		for (j = 0; j < p->s; j = end) {
			end = p->s - j > CHUNK ? j + CHUNK : p->s;
			a = b = a2 = b2 = splat(0);
			at = i * p->sn + j * p->ss;
			for (; j + 2 <= end; j += 2, at += 2 * p->ss) {
				v = load(x, at, bf16) - k;
				a += v;
				a2 += v * v;
				v = load(x, at + p->ss, bf16) - k;
				b += v;
				b2 += v * v;
			}
			if (j < end) {
				v = load(x, at, bf16) - k;
				a += v;
				a2 += v * v;
			}
			add_to(sum, a + b);
			add_to(square, a2 + b2);
		}
	}
}

static void sums(const struct cpu_plane *p, const void *x, const float *shift, double *sum,
		 double *square)
{
	if (p->bf16)
		sums_loop(p, x, shift, sum, square, true);
	else
		sums_loop(p, x, shift, sum, square, false);
}

INLINE void norm_loop(const struct cpu_plane *p, const void *x, const void *residual, void *y,
		      const float *scale, const float *offset, const bool relu, const bool with,
		      const bool bf16)
{
	const vec a = load_f32(scale), b = load_f32(offset);
	size_t i, j, at;
	vec v;

	for (i = 0; i < p->n; i++) {
		at = i * p->sn;
		for (j = 0; j < p->s; j++, at += p->ss) {
			v = load(x, at, bf16) * a + b;
			if (with)
				v += load(residual, at, bf16);
			if (relu)
				v = positive(v);
			store(y, at, v, bf16);
		}
	}
}

INLINE void norm_typed(const struct cpu_plane *p, const void *x, const void *residual, void *y,
		       const float *scale, const float *offset, bool relu, const bool bf16)
{
	if (relu && residual)
		norm_loop(p, x, residual, y, scale, offset, true, true, bf16);
	else if (relu)
		norm_loop(p, x, residual, y, scale, offset, true, false, bf16);
	else if (residual)
		norm_loop(p, x, residual, y, scale, offset, false, true, bf16);
	else
		norm_loop(p, x, residual, y, scale, offset, false, false, bf16);
}

static void norm(const struct cpu_plane *p, const void *x, const void *residual, void *y,
		 const float *scale, const float *offset, bool relu)
{
	if (p->bf16)
		norm_typed(p, x, residual, y, scale, offset, relu, true);
	else
		norm_typed(p, x, residual, y, scale, offset, relu, false);
}

enum relu_from {
	RELU_NONE,
	RELU_X, /* computed again */
	RELU_Y,
};

/* g of one place; @x is loaded already */
INLINE vec gradient(const struct cpu_norm_bwd *b, size_t at, vec x, vec scale, vec offset,
		    const enum relu_from relu, const bool second, const bool bf16)
{
	vec g = load(b->dy, at, bf16);

	if (second)
		g += load(b->dy2, at, bf16);
	if (relu == RELU_X)
		g = keep(g, MASK(x * scale + offset > 0));
	else if (relu == RELU_Y)
		g = keep(g, MASK(load(b->y, at, bf16) > 0));
	return g;
}

INLINE void bwd_sums_loop(const struct cpu_plane *p, struct cpu_norm_bwd *b,
			  const enum relu_from relu, const bool second, const bool kept,
			  const bool bf16)
{
	const vec scale = load_f32(b->scale), offset = load_f32(b->offset);
	const vec mean = load_f32(b->mean);
	vec sum_g, sum_gx, x, g, rstd = load_f32(b->rstd);
	size_t i, j, at, end;

	for (i = 0; i < p->n; i++) {
		for (j = 0; j < p->s; j = end) {
			end = p->s - j > CHUNK ? j + CHUNK : p->s;
			sum_g = sum_gx = splat(0);
			at = i * p->sn + j * p->ss;
			for (; j < end; j++, at += p->ss) {
				x = load(b->x, at, bf16);
				g = gradient(b, at, x, scale, offset, relu, second, bf16);
				if (kept)
					store(b->g, at, g, bf16);
				sum_g += g;
				sum_gx += g * (x - mean);
			}
			add_to(b->sum_g, sum_g);
			add_to(b->sum_gx, sum_gx * rstd);
		}
	}
}

INLINE void bwd_sums_typed(const struct cpu_plane *p, struct cpu_norm_bwd *b, const bool bf16)
{
	if (!b->relu)
		bwd_sums_loop(p, b, RELU_NONE, b->dy2, b->g, bf16);
	else if (b->y && b->dy2 && b->g)
		bwd_sums_loop(p, b, RELU_Y, true, true, bf16);
	else if (b->y)
		bwd_sums_loop(p, b, RELU_Y, b->dy2, b->g, bf16);
	else if (!b->dy2 && !b->g)
		bwd_sums_loop(p, b, RELU_X, false, false, bf16);
	else
		bwd_sums_loop(p, b, RELU_X, b->dy2, b->g, bf16);
}

static void norm_bwd_sums(const struct cpu_plane *p, struct cpu_norm_bwd *b)
{
	if (p->bf16)
		bwd_sums_typed(p, b, true);
	else
		bwd_sums_typed(p, b, false);
}

INLINE void bwd_dx_loop(const struct cpu_plane *p, const struct cpu_norm_bwd *b,
			const enum relu_from relu, const bool second, const bool kept,
			const bool bf16)
{
	const vec scale = load_f32(b->scale), offset = load_f32(b->offset);
	const vec kg = load_f32(b->kg), kx = load_f32(b->kx), k1 = load_f32(b->k1);
	size_t i, j, at;
	vec x, g;

	for (i = 0; i < p->n; i++) {
		at = i * p->sn;
		for (j = 0; j < p->s; j++, at += p->ss) {
			x = load(b->x, at, bf16);
			if (kept)
				g = load(b->g, at, bf16);
			else
				g = gradient(b, at, x, scale, offset, relu, second, bf16);
			store(b->dx, at, g * kg + (x * kx + k1), bf16);
		}
	}
}

INLINE void bwd_dx_typed(const struct cpu_plane *p, const struct cpu_norm_bwd *b, const bool bf16)
{
	if (b->g)
		bwd_dx_loop(p, b, RELU_NONE, false, true, bf16);
	else if (!b->relu)
		bwd_dx_loop(p, b, RELU_NONE, b->dy2, false, bf16);
	else if (b->y)
		bwd_dx_loop(p, b, RELU_Y, b->dy2, false, bf16);
	else if (b->dy2)
		bwd_dx_loop(p, b, RELU_X, true, false, bf16);
	else
		bwd_dx_loop(p, b, RELU_X, false, false, bf16);
}

static void norm_bwd_dx(const struct cpu_plane *p, const struct cpu_norm_bwd *b)
{
	if (p->bf16)
		bwd_dx_typed(p, b, true);
	else
		bwd_dx_typed(p, b, false);
}

/* ---- pooling ---- */

/* The part of a window that is inside: elements first..last of an axis of @length. */
INLINE void inside(size_t out, size_t size, size_t stride, size_t pad, size_t length, size_t *first,
		   size_t *last)
{
	size_t at = out * stride;

	*first = at < pad ? pad - at : 0;
	*last = at + size > length + pad ? length + pad - at : size;
}

INLINE void maxpool_loop(const struct cpu_pool *p, const void *x, void *y, uint8_t *index,
			 const bool bf16)
{
	size_t i, oy, ox, ky, kx, y0, y1, x0, x1, in, out;
	vec best, v;
	uvec which, more;
	bvec b;

	for (i = 0; i < p->n; i++)
		for (oy = 0; oy < p->oh; oy++)
			for (ox = 0; ox < p->ow; ox++) {
				inside(oy, p->size, p->stride, p->pad, p->h, &y0, &y1);
				inside(ox, p->size, p->stride, p->pad, p->w, &x0, &x1);
				best = splat(0);
				which = (uvec){0};
				for (ky = y0; ky < y1; ky++)
					for (kx = x0; kx < x1; kx++) {
						in = (oy * p->stride + ky - p->pad) * p->w +
						     ox * p->stride + kx - p->pad;
						v = load(x, i * p->x_sn + in * p->x_ss, bf16);
						/* the first is taken, and what is not a number */
						more = (uvec)MASK(v > best) | (uvec)MASK(v != v);
						if (ky == y0 && kx == x0)
							more = ~(uvec){0};
						best = floats((bits(v) & more) |
							      (bits(best) & ~more));
						which = (which & ~more) |
							((uint32_t)(ky * p->size + kx) & more);
					}
				out = i * p->y_sn + (oy * p->ow + ox) * p->y_ss;
				store(y, out, best, bf16);
				b = CONVERT(which, bvec);
				memcpy(index + out, &b, sizeof(b));
			}
}

static void maxpool(const struct cpu_pool *p, const void *x, void *y, uint8_t *index)
{
	if (p->bf16)
		maxpool_loop(p, x, y, index, true);
	else
		maxpool_loop(p, x, y, index, false);
}

INLINE void maxpool_bwd_loop(const struct cpu_pool *p, const uint8_t *index, const void *dy,
			     const void *dy2, void *dx, const bool bf16)
{
	size_t i, j, oy, ox, ky, kx, y0, y1, x0, x1, in, out;
	uvec which;
	bvec b;
	vec g;

	for (i = 0; i < p->n; i++) {
		for (j = 0; j < p->h * p->w; j++)
			store(dx, i * p->x_sn + j * p->x_ss, splat(0), bf16);
		for (oy = 0; oy < p->oh; oy++)
			for (ox = 0; ox < p->ow; ox++) {
				inside(oy, p->size, p->stride, p->pad, p->h, &y0, &y1);
				inside(ox, p->size, p->stride, p->pad, p->w, &x0, &x1);
				out = i * p->y_sn + (oy * p->ow + ox) * p->y_ss;
				g = load(dy, out, bf16);
				if (dy2)
					g += load(dy2, out, bf16);
				memcpy(&b, index + out, sizeof(b));
				which = CONVERT(b, uvec);
				for (ky = y0; ky < y1; ky++)
					for (kx = x0; kx < x1; kx++) {
						in = (oy * p->stride + ky - p->pad) * p->w +
						     ox * p->stride + kx - p->pad;
						in = i * p->x_sn + in * p->x_ss;
						store(dx, in,
						      load(dx, in, bf16) +
							      keep(g, MASK(which ==
									   (uint32_t)(ky * p->size +
										      kx))),
						      bf16);
					}
			}
	}
}

static void maxpool_bwd(const struct cpu_pool *p, const uint8_t *index, const void *dy,
			const void *dy2, void *dx)
{
	if (p->bf16)
		maxpool_bwd_loop(p, index, dy, dy2, dx, true);
	else
		maxpool_bwd_loop(p, index, dy, dy2, dx, false);
}

static void avgpool(const struct cpu_plane *p, const void *x, void *y, size_t y_sn)
{
	size_t i, j;
	vec sum;

	for (i = 0; i < p->n; i++) {
		sum = splat(0);
		for (j = 0; j < p->s; j++)
			sum += load(x, i * p->sn + j * p->ss, p->bf16);
		store(y, i * y_sn, sum / (float)p->s, p->bf16);
	}
}

static void avgpool_bwd(const struct cpu_plane *p, const void *dy, size_t dy_sn, void *dx)
{
	size_t i, j;
	vec g;

	for (i = 0; i < p->n; i++) {
		g = load(dy, i * dy_sn, p->bf16) / (float)p->s;
		for (j = 0; j < p->s; j++)
			store(dx, i * p->sn + j * p->ss, g, p->bf16);
	}
}

/* ---- flat ---- */

/* The last @n elements, fewer than a vector. */
INLINE vec load_part(const void *p, size_t i, size_t n, bool bf16)
{
	float lane[SIMD_LANES] = {0};
	uint16_t half[SIMD_LANES] = {0};

	if (bf16) {
		memcpy(half, (const uint16_t *)p + i, n * sizeof(half[0]));
		return load(half, 0, true);
	}
	memcpy(lane, (const float *)p + i, n * sizeof(lane[0]));
	return load_f32(lane);
}

INLINE void store_part(void *p, size_t i, size_t n, vec x, bool bf16)
{
	uint16_t half[SIMD_LANES];
	float lane[SIMD_LANES];

	if (bf16) {
		store(half, 0, x, true);
		memcpy((uint16_t *)p + i, half, n * sizeof(half[0]));
		return;
	}
	memcpy(lane, &x, sizeof(x));
	memcpy((float *)p + i, lane, n * sizeof(lane[0]));
}

INLINE void relu_loop(const void *x, void *y, size_t n, const bool bf16)
{
	size_t i;

	for (i = 0; i + SIMD_LANES <= n; i += SIMD_LANES)
		store(y, i, positive(load(x, i, bf16)), bf16);
	if (i < n)
		store_part(y, i, n - i, positive(load_part(x, i, n - i, bf16)), bf16);
}

static void relu(const void *x, void *y, size_t n, bool bf16)
{
	if (bf16)
		relu_loop(x, y, n, true);
	else
		relu_loop(x, y, n, false);
}

INLINE void relu_bwd_loop(const void *dy, const void *y, void *dx, size_t n, const bool bf16)
{
	size_t i;

	for (i = 0; i + SIMD_LANES <= n; i += SIMD_LANES)
		store(dx, i, keep(load(dy, i, bf16), MASK(load(y, i, bf16) > 0)), bf16);
	if (i < n)
		store_part(dx, i, n - i,
			   keep(load_part(dy, i, n - i, bf16),
				MASK(load_part(y, i, n - i, bf16) > 0)),
			   bf16);
}

static void relu_bwd(const void *dy, const void *y, void *dx, size_t n, bool bf16)
{
	if (bf16)
		relu_bwd_loop(dy, y, dx, n, true);
	else
		relu_bwd_loop(dy, y, dx, n, false);
}

INLINE void add_loop(const void *a, const void *b, void *y, size_t n, const bool bf16)
{
	size_t i;

	for (i = 0; i + SIMD_LANES <= n; i += SIMD_LANES)
		store(y, i, load(a, i, bf16) + load(b, i, bf16), bf16);
	if (i < n)
		store_part(y, i, n - i, load_part(a, i, n - i, bf16) + load_part(b, i, n - i, bf16),
			   bf16);
}

static void add(const void *a, const void *b, void *y, size_t n, bool bf16)
{
	if (bf16)
		add_loop(a, b, y, n, true);
	else
		add_loop(a, b, y, n, false);
}

static void to_bf16(const float *x, uint16_t *y, size_t n)
{
	size_t i;

	for (i = 0; i + SIMD_LANES <= n; i += SIMD_LANES)
		store(y, i, load_f32(x + i), true);
	if (i < n)
		store_part(y, i, n - i, load_part(x, i, n - i, false), true);
}

static void from_bf16(const uint16_t *x, float *y, size_t n)
{
	size_t i;

	for (i = 0; i + SIMD_LANES <= n; i += SIMD_LANES)
		store(y, i, load(x, i, true), false);
	if (i < n)
		store_part(y, i, n - i, load_part(x, i, n - i, true), false);
}

static void sgd(float *w, const float *dw, float *v, uint16_t *copy, size_t n, float lr,
		float momentum, float decay)
{
	size_t i;
	vec a, b;

	for (i = 0; i + SIMD_LANES <= n; i += SIMD_LANES) {
		a = load_f32(w + i);
		b = momentum * load_f32(v + i) + (load_f32(dw + i) + decay * a);
		a -= lr * b;
		store(v, i, b, false);
		store(w, i, a, false);
		if (copy)
			store(copy, i, a, true);
	}
	for (; i < n; i++) {
		v[i] = momentum * v[i] + (dw[i] + decay * w[i]);
		w[i] -= lr * v[i];
		if (copy)
			store_part(copy, i, 1, splat(w[i]), true);
	}
}

const struct cpu_simd SIMD_NAME = {
#define NAME_OF(x) #x
#define NAME(x)	   NAME_OF(x)
	.name = NAME(SIMD_NAME),
	.sums = sums,
	.norm = norm,
	.norm_bwd_sums = norm_bwd_sums,
	.norm_bwd_dx = norm_bwd_dx,
	.maxpool = maxpool,
	.maxpool_bwd = maxpool_bwd,
	.avgpool = avgpool,
	.avgpool_bwd = avgpool_bwd,
	.relu = relu,
	.relu_bwd = relu_bwd,
	.add = add,
	.to_bf16 = to_bf16,
	.from_bf16 = from_bf16,
	.sgd = sgd,
};
