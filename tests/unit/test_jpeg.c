// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/data/jpeg.h"
#include "workloads/data/rng.h"

static uint8_t *encode(uint32_t w, uint32_t h, int quality, bool smooth, size_t *len)
{
	uint8_t *rgb = malloc((size_t)w * h * 3), *out;
	struct rng rng = rng__of(w, h, 3);
	size_t i;

	for (i = 0; i < (size_t)w * h * 3; i++)
		rgb[i] = smooth ? (uint8_t)(i / 3 % w * 255 / w) : (uint8_t)rng__u64(&rng);
	cr_assert_eq(jpeg__encode(rgb, w, h, quality, &out, len), 0);
	free(rgb);
	return out;
}

Test(jpeg, round_trip_keeps_a_smooth_picture)
{
	struct jpeg_decoder *d = jpeg_decoder__new();
	uint32_t w, h, x, y, c;
	const uint8_t *rgbx;
	size_t len, stride;
	uint8_t *data = encode(200, 100, 95, true, &len);

	cr_assert_eq(jpeg_decoder__open(d, data, len, &w, &h), 0);
	cr_assert(w == 200 && h == 100);
	cr_assert_eq(jpeg_decoder__region(d, 0, 0, w, h, &rgbx, &stride), 0);
	for (y = 0; y < h; y++)
		for (x = 0; x < w; x++)
			for (c = 0; c < 3; c++)
				cr_assert(abs(rgbx[y * stride + x * 4 + c] - (int)(x * 255 / w)) <
					  6);
	cr_assert_eq(jpeg_decoder__warnings(d), 0);
	jpeg_decoder__free(d);
	free(data);
}

/* A part equals the same part of the whole, wherever it lies. */
Test(jpeg, region_equals_the_whole)
{
	struct jpeg_decoder *whole = jpeg_decoder__new(), *part = jpeg_decoder__new();
	const uint32_t W = 173, H = 131;
	size_t len, stride, stride2;
	uint8_t *data = encode(W, H, 75, false, &len);
	const uint8_t *all, *rgbx;
	struct rng rng = rng__of(1, 2, 3);
	uint32_t x, y, w, h, row, col, width, height;
	int i;

	cr_assert_eq(jpeg_decoder__open(whole, data, len, &width, &height), 0);
	cr_assert_eq(jpeg_decoder__region(whole, 0, 0, W, H, &all, &stride), 0);
	for (i = 0; i < 400; i++) {
		w = 1 + rng__below(&rng, W);
		h = 1 + rng__below(&rng, H);
		x = rng__below(&rng, W - w + 1);
		y = rng__below(&rng, H - h + 1);
		cr_assert_eq(jpeg_decoder__open(part, data, len, &width, &height), 0);
		cr_assert_eq(jpeg_decoder__region(part, x, y, w, h, &rgbx, &stride2), 0);
		for (row = 0; row < h; row++)
			for (col = 0; col < w; col++)
				cr_assert_eq(memcmp(rgbx + row * stride2 + col * 4,
						    all + (y + row) * stride + (x + col) * 4, 3),
					     0, "%ux%u at %u,%u", w, h, x, y);
	}
	jpeg_decoder__free(whole);
	jpeg_decoder__free(part);
	free(data);
}

static int decode(const void *data, size_t len)
{
	struct jpeg_decoder *d = jpeg_decoder__new();
	const uint8_t *rgbx;
	size_t stride;
	uint32_t w, h;
	int err;

	err = jpeg_decoder__open(d, data, len, &w, &h);
	if (!err)
		err = jpeg_decoder__region(d, 0, 0, w, h, &rgbx, &stride);
	cr_assert(!err || *jpeg_decoder__error(d));
	jpeg_decoder__free(d);
	return err;
}

Test(jpeg, damage_is_an_error)
{
	size_t len, i;
	uint8_t *data = encode(64, 64, 75, false, &len), *copy;

	cr_assert_eq(decode(data, len), 0);
	cr_assert_eq(decode(data, 0), -EBADMSG);
	cr_assert_eq(decode("no picture at all", 17), -EBADMSG);
	/* cut anywhere; a copy of exact size lets the sanitizer see reads beyond it */
	for (i = 1; i < len; i += 1 + i / 40) {
		copy = malloc(i);
		memcpy(copy, data, i);
		cr_assert_eq(decode(copy, i), -EBADMSG, "cut to %zu of %zu bytes", i, len);
		free(copy);
	}
	/* a hole in the middle, but with its end */
	memmove(data + len / 2, data + len - 2, 2);
	cr_assert_eq(decode(data, len / 2 + 2), -EBADMSG);
	free(data);
}

Test(jpeg, decoder_works_after_an_error)
{
	struct jpeg_decoder *d = jpeg_decoder__new();
	size_t len, stride;
	uint8_t *data = encode(40, 30, 75, true, &len);
	const uint8_t *rgbx;
	uint32_t w, h;

	cr_assert_eq(jpeg_decoder__open(d, "\xff\xd8junk", 6, &w, &h), -EBADMSG);
	cr_assert_eq(jpeg_decoder__open(d, data, len, &w, &h), 0);
	/* left half done */
	cr_assert_eq(jpeg_decoder__open(d, data, len, &w, &h), 0);
	cr_assert_eq(jpeg_decoder__region(d, 3, 3, 5, 5, &rgbx, &stride), 0);
	cr_assert_str_empty(jpeg_decoder__error(d));
	jpeg_decoder__free(d);
	free(data);
}

/* A file without its tables must not be decoded by those of the file before it. */
Test(jpeg, nothing_is_kept_of_the_image_before)
{
	struct jpeg_decoder *d = jpeg_decoder__new();
	size_t len, i, stride;
	uint8_t *data = encode(40, 30, 75, true, &len), *bare = malloc(len);
	const uint8_t *rgbx;
	uint32_t w, h;
	int fresh, err;

	memcpy(bare, data, len);
	for (i = 0; i + 1 < len; i++)
		if (bare[i] == 0xff && bare[i + 1] == 0xdb) /* quantisation becomes a comment */
			bare[i + 1] = 0xfe;
	fresh = decode(bare, len);
	cr_assert_eq(fresh, -EBADMSG);
	cr_assert_eq(jpeg_decoder__open(d, data, len, &w, &h), 0);
	cr_assert_eq(jpeg_decoder__region(d, 0, 0, w, h, &rgbx, &stride), 0);
	err = jpeg_decoder__open(d, bare, len, &w, &h);
	if (!err)
		err = jpeg_decoder__region(d, 0, 0, w, h, &rgbx, &stride);
	cr_expect_eq(err, fresh);
	jpeg_decoder__free(d);
	free(data);
	free(bare);
}

Test(jpeg, giants_are_refused)
{
	size_t len, i;
	uint8_t *data = encode(8, 8, 75, true, &len);
	struct jpeg_decoder *d = jpeg_decoder__new();
	uint32_t w, h;

	for (i = 0; i + 9 < len; i++)
		if (data[i] == 0xff && data[i + 1] == 0xc0)
			memcpy(data + i + 5, "\xff\x00\xff\x00", 4); /* 65280 x 65280 */
	cr_assert_eq(jpeg_decoder__open(d, data, len, &w, &h), -EBADMSG);
	cr_assert_str_eq(jpeg_decoder__error(d), "the image is larger than 178956970 pixels");
	jpeg_decoder__free(d);
	free(data);
}
