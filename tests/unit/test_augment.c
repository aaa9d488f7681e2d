// SPDX-License-Identifier: BSD-2-Clause
/* Decoding, cropping, resizing and normalising against torchvision (tests/data/augment/make.py). */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/data/augment.h"
#include "workloads/data/jpeg.h"

#define DATA "tests/data/augment/"

static uint32_t crc32_more(uint32_t crc, const void *data, size_t n)
{
	const uint8_t *p = data;
	int bit;

	crc = ~crc;
	while (n--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
	}
	return ~crc;
}

static void *read_whole(const char *path, size_t *n)
{
	static uint8_t buf[1 << 16];
	FILE *f = fopen(path, "rb");

	cr_assert(f, "%s", path);
	*n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	return buf;
}

struct expected {
	char file[32];
	uint32_t width, height, side;
	struct crop crop;
	uint32_t pixels, planes, floats;
};

static bool next_expected(FILE *f, struct expected *e)
{
	char line[256];
	int flip;

	do {
		if (!fgets(line, sizeof(line), f))
			return false;
	} while (line[0] == '#');
	cr_assert_eq(sscanf(line,
			    "%31s %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32
			    " %" SCNu32 " %" SCNu32 " %d: %" SCNx32 " %" SCNx32 " %" SCNx32,
			    e->file, &e->width, &e->height, &e->crop.x, &e->crop.y, &e->crop.w,
			    &e->crop.h, &e->side, &flip, &e->pixels, &e->planes, &e->floats),
		     12, "%s", line);
	e->crop.flip = flip;
	return true;
}

static uint32_t crc_of_rgb(const uint8_t *rgbx, size_t stride, const struct crop *c)
{
	uint32_t crc = 0, x, y;

	for (y = 0; y < c->h; y++)
		for (x = 0; x < c->w; x++)
			crc = crc32_more(crc, rgbx + y * stride + (size_t)x * 4, 3);
	return crc;
}

static uint32_t crc_of_planes(const uint8_t *rgbx, size_t pixels)
{
	uint32_t crc = 0;
	size_t c, i;

	for (c = 0; c < 3; c++)
		for (i = 0; i < pixels; i++)
			crc = crc32_more(crc, rgbx + i * 4 + c, 1);
	return crc;
}

static void check_expected(const struct expected *e, bool plain)
{
	struct jpeg_decoder *d = jpeg_decoder__new();
	struct resizer *r = resizer__new(e->side);
	size_t n, stride, pixels = (size_t)e->side * e->side, i, c;
	float *chw = malloc(pixels * 12), *hwc = malloc(pixels * 12);
	struct normaliser norm;
	const uint8_t *rgbx;
	uint32_t width, height;
	char path[128];
	void *data;

	snprintf(path, sizeof(path), DATA "%s.jpeg", e->file);
	data = read_whole(path, &n);
	if (plain)
		resizer__use_plain(r);
	cr_assert_eq(jpeg_decoder__open(d, data, n, &width, &height), 0);
	cr_assert(width == e->width && height == e->height);
	cr_assert_eq(jpeg_decoder__region(d, e->crop.x, e->crop.y, e->crop.w, e->crop.h, &rgbx,
					  &stride),
		     0, "%s", jpeg_decoder__error(d));
	cr_expect_eq(crc_of_rgb(rgbx, stride, &e->crop), e->pixels, "pixels of %s", e->file);
	rgbx = resizer__run(r, &e->crop, rgbx, stride);
	cr_expect_eq(crc_of_planes(rgbx, pixels), e->planes, "resize of %s to %u", e->file,
		     e->side);
	normaliser__init(&norm);
	normaliser__run(&norm, chw, rgbx, pixels, LOADER_NCHW);
	normaliser__run(&norm, hwc, rgbx, pixels, LOADER_NHWC);
	cr_expect_eq(crc32_more(0, chw, pixels * 12), e->floats, "floats of %s", e->file);
	for (c = 0; c < 3; c++)
		for (i = 0; i < pixels; i++)
			cr_assert_eq(chw[c * pixels + i], hwc[i * 3 + c]);
	free(chw);
	free(hwc);
	resizer__free(r);
	jpeg_decoder__free(d);
}

Test(augment, equals_torchvision_to_the_bit)
{
	FILE *f = fopen(DATA "pixels.txt", "r");
	struct expected e;
	int n = 0;

	cr_assert(f);
	for (; next_expected(f, &e); n++) {
		check_expected(&e, false);
		check_expected(&e, true);
	}
	fclose(f);
	cr_assert_eq(n, 63);
}

Test(augment, chooses_crops_as_torchvision)
{
	FILE *f = fopen(DATA "crops.txt", "r");
	uint32_t width, height;
	uint64_t seed, epoch, index;
	struct crop want, got;
	struct rng rng;
	char line[256];
	int flip, n = 0;

	cr_assert(f);
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		cr_assert_eq(sscanf(line,
				    "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64
				    ": %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %d",
				    &width, &height, &seed, &epoch, &index, &want.x, &want.y,
				    &want.w, &want.h, &flip),
			     10);
		rng = rng__of(seed, epoch, index);
		crop__choose(&got, &rng, width, height);
		cr_expect(got.x == want.x && got.y == want.y && got.w == want.w &&
				  got.h == want.h && got.flip == flip,
			  "got %u %u %u %u %d for %s", got.x, got.y, got.w, got.h, got.flip, line);
		n++;
	}
	fclose(f);
	cr_assert_eq(n, 200);
}

/* The published distribution: area uniform in 0.08-1, half of them flipped, ratio within 3/4-4/3.
 */
Test(augment, crops_are_spread_as_defined)
{
	const uint32_t side = 1000;
	const int n = 20000;
	double area = 0, below = 0, ratio;
	struct rng rng;
	struct crop c;
	int i, flips = 0;

	for (i = 0; i < n; i++) {
		rng = rng__of(7, 1, (uint64_t)i);
		crop__choose(&c, &rng, side, side);
		cr_assert(c.w >= 1 && c.h >= 1 && c.x + c.w <= side && c.y + c.h <= side);
		ratio = (double)c.w / c.h;
		cr_assert(ratio > 0.745 && ratio < 1.34, "%f", ratio);
		area += (double)c.w * c.h / (side * (double)side) / n;
		below += ratio < 1 ? 1.0 / n : 0;
		flips += c.flip;
	}
	/* large areas with far ratios do not fit and are drawn again: the mean lies below 0.54 */
	cr_expect(area > 0.47 && area < 0.54, "mean area %f", area);
	cr_expect_float_eq(below, 0.5, 0.015);
	cr_expect_float_eq((double)flips / n, 0.5, 0.015);
}

Test(augment, permutation_is_one_and_differs_by_key)
{
	static const uint64_t sizes[] = {1, 2, 3, 64, 1000, 4097};
	uint64_t n, i, p, same;
	bool *seen;
	size_t k;

	for (k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		n = sizes[k];
		seen = calloc(n, sizeof(*seen));
		for (i = same = 0; i < n; i++) {
			p = rng__permute(42, i, n);
			cr_assert(p < n && !seen[p]);
			seen[p] = true;
			same += rng__permute(43, i, n) == p;
		}
		/* two random permutations agree in one place on average */
		cr_expect(n < 64 || same < 8, "%zu of %zu", (size_t)same, (size_t)n);
		free(seen);
	}
}
