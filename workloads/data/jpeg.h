/* SPDX-License-Identifier: BSD-2-Clause */
/* JPEG files by libjpeg-turbo: whole or in part, exact to the pixel either way. */
#ifndef XPUGAP_DATA_JPEG_H
#define XPUGAP_DATA_JPEG_H

#include <stddef.h>
#include <stdint.h>

/* More pixels than this in one image are taken for an attack or an error, as Pillow does. */
#define JPEG_MAX_PIXELS 178956970ULL

struct jpeg_decoder;

/* NULL with errno. A decoder is used by one thread and for any number of images. */
struct jpeg_decoder *jpeg_decoder__new(void);

/*
 * Read the head of the image in @data, which must stay until jpeg_decoder__region() is done.
 * 0, -EBADMSG (see jpeg_decoder__error()) or -ENOMEM.
 */
int jpeg_decoder__open(struct jpeg_decoder *d, const void *data, size_t len, uint32_t *width,
		       uint32_t *height);

/*
 * Decode the rectangle of the opened image to 4 bytes for each pixel: red, green, blue, and one
 * of no meaning. The pixels are those of a decoding of the whole (slow-integer DCT, smooth
 * chroma); what lies outside costs less or nothing. Grey is spread over the colours, CMYK is
 * converted as Pillow does. @rgbx points to the first pixel, rows are @stride bytes apart; both
 * are valid until the next call. Errors as above; data that ends early is an error, other flaws
 * that libjpeg only warns of are counted.
 */
int jpeg_decoder__region(struct jpeg_decoder *d, uint32_t x, uint32_t y, uint32_t w, uint32_t h,
			 const uint8_t **rgbx, size_t *stride);

/* Why the last call failed, libjpeg's words; valid until the next call. */
const char *jpeg_decoder__error(const struct jpeg_decoder *d);
/* Flaws of the current image that lost no data. */
unsigned int jpeg_decoder__warnings(const struct jpeg_decoder *d);
void jpeg_decoder__free(struct jpeg_decoder *d);

/*
 * Encode @width x @height pixels of RGB (3 bytes each) with 4:2:0 chroma. *@out is from malloc(),
 * to be freed by the caller. 0 or -errno.
 */
int jpeg__encode(const uint8_t *rgb, uint32_t width, uint32_t height, int quality, uint8_t **out,
		 size_t *len);

#endif
