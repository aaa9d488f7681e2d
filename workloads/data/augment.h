/* SPDX-License-Identifier: BSD-2-Clause */
/* What torchvision's training transforms do to an image. */
#ifndef XPUGAP_DATA_AUGMENT_H
#define XPUGAP_DATA_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/data/loader.h"
#include "workloads/data/rng.h"

struct crop {
	uint32_t x, y, w, h;
	bool flip; /* left to right, after the resize */
};

/*
 * torchvision's RandomResizedCrop.get_params(scale=(0.08, 1), ratio=(3/4, 4/3)), then
 * RandomHorizontalFlip(0.5): up to ten tries with an area uniform in the scale and an aspect
 * ratio log-uniform in the ratio, else the central crop whose ratio is nearest. @width and
 * @height are at least 1.
 */
void crop__choose(struct crop *c, struct rng *rng, uint32_t width, uint32_t height);

struct resizer; /* filter taps and scratch memory of one thread */

struct resizer *resizer__new(uint32_t side); /* NULL with errno */
/* Do without the processor's special instructions: the same result, more slowly. */
void resizer__use_plain(struct resizer *r);

/*
 * Resize @c->w x @c->h pixels (4 bytes each, rows @stride bytes apart) to side x side and flip.
 * The result is Pillow's Image.resize(BILINEAR) to the bit: a triangle as wide as the reduction,
 * taps rounded to 22 bits, rows first, 8 bits between. It has 4 bytes for each pixel, too, no
 * padding, and is valid until the next call. NULL with errno.
 */
const uint8_t *resizer__run(struct resizer *r, const struct crop *c, const uint8_t *rgbx,
			    size_t stride);
void resizer__free(struct resizer *r);

/* Floats of the 256 values of each colour. */
struct normaliser {
	float value[3][256];
};

/*
 * (v / 255 - mean) / deviation with ImageNet's means (0.485, 0.456, 0.406) and deviations (0.229,
 * 0.224, 0.225), rounded at each step as PyTorch does.
 */
void normaliser__init(struct normaliser *t);

/* @n pixels of 4 bytes to floats; @n is the size of a plane in @layout. */
void normaliser__run(const struct normaliser *t, float *out, const uint8_t *rgbx, size_t n,
		     enum loader_layout layout);

#endif
