// SPDX-License-Identifier: BSD-2-Clause
/*
 * Anything as a JPEG file: it is decoded or refused, and a part of what can be decoded whole is
 * the same part of the whole. Input: five bytes that choose the part, then the file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/data/augment.h"
#include "workloads/data/jpeg.h"

#define SIDE	   16
#define MAX_PIXELS (1U << 18) /* more takes longer than it is worth */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct jpeg_decoder *whole, *part;
static struct resizer *resizer;

static void compare(const struct crop *c, const uint8_t *all, size_t stride, const uint8_t *some,
		    size_t stride2)
{
	uint32_t x, y;

	for (y = 0; y < c->h; y++)
		for (x = 0; x < c->w; x++)
			if (memcmp(all + (c->y + y) * stride + (size_t)(c->x + x) * 4,
				   some + y * stride2 + (size_t)x * 4, 3) != 0)
				abort();
}

static void choose(struct crop *c, const uint8_t *b, uint32_t width, uint32_t height)
{
	c->w = 1 + b[0] * (width - 1) / 255;
	c->h = 1 + b[1] * (height - 1) / 255;
	c->x = b[2] * (width - c->w) / 255;
	c->y = b[3] * (height - c->h) / 255;
	c->flip = b[4] & 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *all, *some;
	uint32_t width, height;
	size_t stride, stride2;
	struct crop c;

	if (size < 6)
		return 0;
	if (!whole) {
		whole = jpeg_decoder__new();
		part = jpeg_decoder__new();
		resizer = resizer__new(SIDE);
	}
	if (jpeg_decoder__open(part, data + 5, size - 5, &width, &height) ||
	    (uint64_t)width * height > MAX_PIXELS)
		return 0;
	choose(&c, data, width, height);
	if (jpeg_decoder__region(part, c.x, c.y, c.w, c.h, &some, &stride2))
		return 0;
	if (!resizer__run(resizer, &c, some, stride2))
		abort();
	if (jpeg_decoder__open(whole, data + 5, size - 5, &width, &height) == 0 &&
	    jpeg_decoder__region(whole, 0, 0, width, height, &all, &stride) == 0)
		compare(&c, all, stride, some, stride2);
	return 0;
}
