// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/data/augment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRECISION 22 /* bits of a filter tap's fraction */

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

struct resizer {
	uint32_t side;
	struct taps across, down;
	uint8_t *rows; /* resized across: a plane for each colour, input rows high */
	size_t size;
	uint8_t *planes;
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

struct resizer *resizer__new(uint32_t side)
{
	struct resizer *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->side = side;
	r->across.first = calloc(side, sizeof(uint32_t));
	r->across.n = calloc(side, sizeof(uint32_t));
	r->down.first = calloc(side, sizeof(uint32_t));
	r->down.n = calloc(side, sizeof(uint32_t));
	r->planes = malloc((size_t)side * side * 3);
	if (r->across.first && r->across.n && r->down.first && r->down.n && r->planes)
		return r;
	resizer__free(r);
	errno = ENOMEM;
	return NULL;
}

/* GCC's vectors: the four bytes of a pixel become four sums at once on any machine. */
typedef int32_t v4i __attribute__((vector_size(16)));
typedef uint8_t v4b __attribute__((vector_size(4)));

static v4i load_pixel(const uint8_t *p)
{
	v4b b;

	memcpy(&b, p, sizeof(b));
	return __builtin_convertvector(b, v4i);
}

/*
 * One row of @n outputs to three planes, @plane bytes apart. Rounded taps may add up to a little
 * more than one, hence the clipping.
 */
static void resize_row(const struct taps *t, uint32_t n, bool flip, const uint8_t *rgbx,
		       uint8_t *out, size_t plane)
{
	const v4i half = {1 << (PRECISION - 1), 1 << (PRECISION - 1), 1 << (PRECISION - 1), 0};
	const v4i most = {255, 255, 255, 255};
	const int32_t *taps;
	const uint8_t *p;
	uint32_t i, j, to;
	v4i sum, over;

	for (i = 0; i < n; i++) {
		taps = t->taps + (size_t)i * t->width;
		p = rgbx + (size_t)t->first[i] * 4;
		sum = half;
		for (j = 0; j < t->n[i]; j++, p += 4)
			sum += load_pixel(p) * taps[j];
		sum >>= PRECISION;
		over = sum > most;
		sum = (sum & ~over) | (most & over);
		to = flip ? n - 1 - i : i;
		out[to] = (uint8_t)sum[0];
		out[to + plane] = (uint8_t)sum[1];
		out[to + 2 * plane] = (uint8_t)sum[2];
	}
}

/* One row of @n outputs as the weighted sum of the rows from @in on. */
static void sum_rows(const int32_t *taps, uint32_t ntaps, const uint8_t *restrict in,
		     uint8_t *restrict out, uint32_t n)
{
	int32_t sum[64];
	uint32_t i, j, x, len;

	for (x = 0; x < n; x += len) {
		len = n - x < 64 ? n - x : 64;
		for (i = 0; i < len; i++)
			sum[i] = 1 << (PRECISION - 1);
		for (j = 0; j < ntaps; j++)
			for (i = 0; i < len; i++)
				sum[i] += in[(size_t)j * n + x + i] * taps[j];
		for (i = 0; i < len; i++) {
			sum[i] >>= PRECISION;
			out[x + i] = (uint8_t)(sum[i] > 255 ? 255 : sum[i]);
		}
	}
}

const uint8_t *resizer__run(struct resizer *r, const struct crop *c, const uint8_t *rgbx,
			    size_t stride)
{
	uint32_t side = r->side, y, colour;
	size_t plane = (size_t)side * c->h;
	const uint8_t *in;
	uint8_t *rows;

	if (plane * 3 > r->size) {
		rows = realloc(r->rows, plane * 3);
		if (!rows)
			return NULL;
		r->rows = rows;
		r->size = plane * 3;
	}
	if (compute_taps(&r->across, c->w, side) || compute_taps(&r->down, c->h, side)) {
		errno = ENOMEM;
		return NULL;
	}
	for (y = 0; y < c->h; y++)
		resize_row(&r->across, side, c->flip, rgbx + y * stride, r->rows + (size_t)y * side,
			   plane);
	for (colour = 0; colour < 3; colour++)
		for (y = 0; y < side; y++) {
			in = r->rows + colour * plane + (size_t)r->down.first[y] * side;
			sum_rows(r->down.taps + (size_t)y * r->down.width, r->down.n[y], in,
				 r->planes + ((size_t)colour * side + y) * side, side);
		}
	return r->planes;
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
	free(r->planes);
	free(r);
}

static const float mean[3] = {0.485F, 0.456F, 0.406F};
static const float deviation[3] = {0.229F, 0.224F, 0.225F};

void normalise(float *out, const uint8_t *planes, size_t n, enum loader_layout layout)
{
	const uint8_t *in;
	size_t c, i;

	for (c = 0; c < 3; c++) {
		in = planes + c * n;
		if (layout == LOADER_NCHW)
			for (i = 0; i < n; i++)
				out[c * n + i] = ((float)in[i] / 255.0F - mean[c]) / deviation[c];
		else
			for (i = 0; i < n; i++)
				out[i * 3 + c] = ((float)in[i] / 255.0F - mean[c]) / deviation[c];
	}
}
