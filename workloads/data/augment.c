// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/data/augment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define PRECISION 22 /* bits of a filter tap's fraction */
#define HALF	  (1 << (PRECISION - 1))

static const double area_min = 0.08, area_max = 1.0;
static const double ratio_min = 3.0 / 4, ratio_max = 4.0 / 3;

void crop__choose(struct crop *c, struct rng *rng, uint32_t width, uint32_t height)
{
	double area, ratio, w, h;
	int i;

	for (i = 0; i < 10; i++) {
		area = (double)width * height * rng__uniform(rng, area_min, area_max);
		ratio = exp(rng__uniform(rng, log(ratio_min), log(ratio_max)));
		w = rint(sqrt(area * ratio));
		h = rint(sqrt(area / ratio));
		if (w < 1 || w > width || h < 1 || h > height)
			continue;
		c->w = (uint32_t)w;
		c->h = (uint32_t)h;
		c->y = rng__below(rng, height - c->h + 1);
		c->x = rng__below(rng, width - c->w + 1);
		c->flip = rng__f64(rng) < 0.5;
		return;
	}
	c->w = width;
	c->h = height;
	ratio = (double)width / height;
	if (ratio < ratio_min)
		c->h = (uint32_t)rint(width / ratio_min);
	else if (ratio > ratio_max)
		c->w = (uint32_t)rint(height * ratio_max);
	c->x = (width - c->w) / 2;
	c->y = (height - c->h) / 2;
	c->flip = rng__f64(rng) < 0.5;
}

/* Taps of one direction: output i is the sum of taps[i * width ...] over input first[i] .... */
struct taps {
	uint32_t *first;
	uint32_t *n;
	int32_t *taps;
	uint32_t width; /* room for each output */
	size_t room;
};

typedef void (*resize_fn)(const struct resizer *r, const struct crop *c, const uint8_t *rgbx,
			  size_t stride);

struct resizer {
	uint32_t side;
	resize_fn resize; /* the best that this processor can do */
	struct taps across, down;
	uint8_t *rows; /* resized across: as many as the crop has, and three */
	size_t size;
	uint8_t *pixels;
};

static double triangle(double x)
{
	x = fabs(x);
	return x < 1 ? 1 - x : 0;
}

static int reserve_taps(struct taps *t, uint32_t side, double support)
{
	int32_t *taps;

	t->width = (uint32_t)ceil(support) * 2 + 1;
	if ((size_t)t->width * side <= t->room)
		return 0;
	taps = reallocarray(t->taps, (size_t)t->width * side, sizeof(*taps));
	if (!taps)
		return -ENOMEM;
	t->taps = taps;
	t->room = (size_t)t->width * side;
	return 0;
}

static int compute_taps(struct taps *t, uint32_t in, uint32_t side)
{
	double scale = (double)in / side, support = scale < 1 ? 1 : scale;
	double centre, sum, weight;
	int64_t low, high;
	uint32_t i, j;
	int32_t *taps;

	if (reserve_taps(t, side, support))
		return -ENOMEM;
	for (i = 0; i < side; i++) {
		centre = (i + 0.5) * scale;
		low = (int64_t)(centre - support + 0.5);
		high = (int64_t)(centre + support + 0.5);
		low = low < 0 ? 0 : low;
		high = high > in ? in : high;
		t->first[i] = (uint32_t)low;
		t->n[i] = (uint32_t)(high - low);
		taps = t->taps + (size_t)i * t->width;
		for (sum = 0, j = 0; j < t->n[i]; j++)
			sum += triangle(((double)(j + low) - centre + 0.5) / support);
		for (j = 0; j < t->n[i]; j++) {
			weight = triangle(((double)(j + low) - centre + 0.5) / support) / sum;
			taps[j] = (int32_t)(0.5 + weight * (1 << PRECISION));
		}
	}
	return 0;
}

/* ---- plain C ---- */

/* Rounded taps may add up to a little more than one, hence the clipping. */
static uint8_t round_sum(int32_t sum)
{
	sum >>= PRECISION;
	return (uint8_t)(sum > 255 ? 255 : sum);
}

static void resize_row(const struct taps *t, uint32_t n, bool flip, const uint8_t *in, uint8_t *out)
{
	const int32_t *taps = t->taps;
	uint32_t i, j, c;
	const uint8_t *p;
	int32_t sum[4];
	uint8_t *to;

	for (i = 0; i < n; i++, taps += t->width) {
		p = in + (size_t)t->first[i] * 4;
		to = out + (size_t)(flip ? n - 1 - i : i) * 4;
		for (c = 0; c < 4; c++)
			sum[c] = HALF;
		for (j = 0; j < t->n[i]; j++, p += 4)
			for (c = 0; c < 4; c++)
				sum[c] += p[c] * taps[j];
		for (c = 0; c < 4; c++)
			to[c] = round_sum(sum[c]);
	}
}

static void sum_rows(const int32_t *taps, uint32_t ntaps, const uint8_t *in, uint8_t *out,
		     uint32_t n)
{
	uint32_t x, j;
	int32_t sum;

	for (x = 0; x < n; x++) {
		sum = HALF;
		for (j = 0; j < ntaps; j++)
			sum += in[(size_t)j * n + x] * taps[j];
		out[x] = round_sum(sum);
	}
}

static void resize_plain(const struct resizer *r, const struct crop *c, const uint8_t *rgbx,
			 size_t stride)
{
	size_t row = (size_t)r->side * 4;
	uint32_t y;

	for (y = 0; y < c->h; y++)
		resize_row(&r->across, r->side, c->flip, rgbx + y * stride, r->rows + y * row);
	for (y = 0; y < r->side; y++)
		sum_rows(r->down.taps + (size_t)y * r->down.width, r->down.n[y],
			 r->rows + r->down.first[y] * row, r->pixels + y * row, r->side * 4);
}

/* ---- AVX2: the same sums, eight at once ---- */

#ifdef __x86_64__

#define avx2 __attribute__((target("avx2")))

/* The low 8 bytes are the sums' rounded values. */
avx2 static inline __m128i round_sums(__m256i sum)
{
	__m256i v = _mm256_srai_epi32(sum, PRECISION);
	__m128i words = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	return _mm_packus_epi16(words, words);
}

/* @sum and eight more products of bytes and a tap. */
avx2 static inline __m256i add_tap(__m256i sum, __m128i bytes, __m256i tap)
{
	return _mm256_add_epi32(sum, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(bytes), tap));
}

/* The pixels at @p and @q, 4 bytes each. */
avx2 static inline __m128i load_pair(const uint8_t *p, const uint8_t *q)
{
	int second;

	memcpy(&second, q, sizeof(second));
	return _mm_insert_epi32(_mm_loadu_si32(p), second, 1);
}

/* Four rows of @n pixels, one behind the other in @out, from rows that begin at @in[]. */
avx2 static void resize_rows_avx2(const struct taps *t, uint32_t n, bool flip,
				  const uint8_t *const in[4], uint8_t *out)
{
	const int32_t *taps = t->taps;
	uint32_t i, j, to;
	__m256i a, b, tap;
	__m128i v, w;
	size_t at;

	for (i = 0; i < n; i++, taps += t->width) {
		a = b = _mm256_set1_epi32(HALF);
		at = (size_t)t->first[i] * 4;
		for (j = 0; j < t->n[i]; j++, at += 4) {
			tap = _mm256_set1_epi32(taps[j]);
			a = add_tap(a, load_pair(in[0] + at, in[1] + at), tap);
			b = add_tap(b, load_pair(in[2] + at, in[3] + at), tap);
		}
		v = round_sums(a);
		w = round_sums(b);
		to = (flip ? n - 1 - i : i) * 4;
		_mm_storeu_si32(out + to, v);
		_mm_storeu_si32(out + to + (size_t)n * 4, _mm_srli_si128(v, 4));
		_mm_storeu_si32(out + to + (size_t)n * 8, w);
		_mm_storeu_si32(out + to + (size_t)n * 12, _mm_srli_si128(w, 4));
	}
}

avx2 static void sum_rows_avx2(const int32_t *taps, uint32_t ntaps, const uint8_t *in, uint8_t *out,
			       uint32_t n)
{
	__m256i a, b, tap;
	uint32_t x, j;
	__m128i v;

	for (x = 0; x + 16 <= n; x += 16) {
		a = b = _mm256_set1_epi32(HALF);
		for (j = 0; j < ntaps; j++) {
			v = _mm_loadu_si128((const __m128i *)(in + (size_t)j * n + x));
			tap = _mm256_set1_epi32(taps[j]);
			a = add_tap(a, v, tap);
			b = add_tap(b, _mm_srli_si128(v, 8), tap);
		}
		_mm_storeu_si128((__m128i *)(out + x),
				 _mm_unpacklo_epi64(round_sums(a), round_sums(b)));
	}
	for (; x < n; x += 4) { /* whole pixels */
		a = _mm256_set1_epi32(HALF);
		for (j = 0; j < ntaps; j++)
			a = add_tap(a, _mm_loadu_si32(in + (size_t)j * n + x),
				    _mm256_set1_epi32(taps[j]));
		_mm_storeu_si32(out + x, round_sums(a));
	}
}

avx2 static void resize_avx2(const struct resizer *r, const struct crop *c, const uint8_t *rgbx,
			     size_t stride)
{
	size_t row = (size_t)r->side * 4;
	const uint8_t *in[4];
	uint32_t y, i;

	/* past the end the last row stands in: there is room behind it */
	for (y = 0; y < c->h; y += 4) {
		for (i = 0; i < 4; i++)
			in[i] = rgbx + (y + i < c->h ? y + i : c->h - 1) * stride;
		resize_rows_avx2(&r->across, r->side, c->flip, in, r->rows + y * row);
	}
	for (y = 0; y < r->side; y++)
		sum_rows_avx2(r->down.taps + (size_t)y * r->down.width, r->down.n[y],
			      r->rows + r->down.first[y] * row, r->pixels + y * row, r->side * 4);
}

#endif

static resize_fn choose_resize(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return resize_avx2;
#endif
	return resize_plain;
}

struct resizer *resizer__new(uint32_t side)
{
	struct resizer *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->side = side;
	r->resize = choose_resize();
	r->across.first = calloc(side, sizeof(uint32_t));
	r->across.n = calloc(side, sizeof(uint32_t));
	r->down.first = calloc(side, sizeof(uint32_t));
	r->down.n = calloc(side, sizeof(uint32_t));
	r->pixels = malloc((size_t)side * side * 4);
	if (r->across.first && r->across.n && r->down.first && r->down.n && r->pixels)
		return r;
	resizer__free(r);
	errno = ENOMEM;
	return NULL;
}

void resizer__use_plain(struct resizer *r)
{
	r->resize = resize_plain;
}

const uint8_t *resizer__run(struct resizer *r, const struct crop *c, const uint8_t *rgbx,
			    size_t stride)
{
	size_t size = (size_t)r->side * ((size_t)c->h + 3) * 4;
	uint8_t *rows;

	if (size > r->size) {
		rows = realloc(r->rows, size);
		if (!rows)
			return NULL;
		r->rows = rows;
		r->size = size;
	}
	if (compute_taps(&r->across, c->w, r->side) || compute_taps(&r->down, c->h, r->side)) {
		errno = ENOMEM;
		return NULL;
	}
	r->resize(r, c, rgbx, stride);
	return r->pixels;
}

void resizer__free(struct resizer *r)
{
	if (!r)
		return;
	free(r->across.first);
	free(r->across.n);
	free(r->across.taps);
	free(r->down.first);
	free(r->down.n);
	free(r->down.taps);
	free(r->rows);
	free(r->pixels);
	free(r);
}

void normaliser__init(struct normaliser *n)
{
	static const float mean[3] = {0.485F, 0.456F, 0.406F};
	static const float deviation[3] = {0.229F, 0.224F, 0.225F};
	int c, v;

	for (c = 0; c < 3; c++)
		for (v = 0; v < 256; v++)
			n->value[c][v] = ((float)v / 255.0F - mean[c]) / deviation[c];
}

void normaliser__run(const struct normaliser *t, float *out, const uint8_t *rgbx, size_t n,
		     enum loader_layout layout)
{
	float *red = out, *green = out + n, *blue = out + 2 * n;
	size_t i;

	if (layout == LOADER_NCHW) {
		for (i = 0; i < n; i++, rgbx += 4) {
			red[i] = t->value[0][rgbx[0]];
			green[i] = t->value[1][rgbx[1]];
			blue[i] = t->value[2][rgbx[2]];
		}
	} else {
		for (i = 0; i < n; i++, rgbx += 4, out += 3) {
			out[0] = t->value[0][rgbx[0]];
			out[1] = t->value[1][rgbx[1]];
			out[2] = t->value[2][rgbx[2]];
		}
	}
}
