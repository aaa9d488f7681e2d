// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/data/jpeg.h"

#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

struct jpeg_decoder {
	struct jpeg_decompress_struct cinfo;
	struct jpeg_error_mgr err;
	jmp_buf env;
	char reason[JMSG_LENGTH_MAX];
	unsigned int warnings;
	uint8_t *pixels;
	size_t size;
};

static int leave(struct jpeg_common_struct *common, char *reason)
{
	int code = common->err->msg_code;

	common->err->format_message(common, reason);
	return code == JERR_OUT_OF_MEMORY ? -ENOMEM : -EBADMSG;
}

static void decode_error(j_common_ptr common)
{
	struct jpeg_decoder *d = common->client_data;

	longjmp(d->env, -leave(common, d->reason));
}

/* Where the data ends early, libjpeg would go on with grey. */
static void decode_message(j_common_ptr common, int level)
{
	struct jpeg_decoder *d = common->client_data;
	int code = common->err->msg_code;

	if (level >= 0)
		return;
	if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)
		decode_error(common);
	d->warnings++;
}

static int create(struct jpeg_decoder *d)
{
	int err = setjmp(d->env);

	if (!err)
		jpeg_create_decompress(&d->cinfo);
	return err;
}

struct jpeg_decoder *jpeg_decoder__new(void)
{
	struct jpeg_decoder *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return NULL;
	d->cinfo.err = jpeg_std_error(&d->err);
	d->cinfo.client_data = d;
	d->err.error_exit = decode_error;
	d->err.emit_message = decode_message;
	err = create(d);
	if (!err)
		return d;
	free(d);
	errno = err;
	return NULL;
}

static int fail(struct jpeg_decoder *d, const char *reason)
{
	snprintf(d->reason, sizeof(d->reason), "%s", reason);
	return -EBADMSG;
}

/* An end-of-image marker: it cannot occur within the image's data. */
static bool has_end(const uint8_t *data, size_t len)
{
	size_t i;

	for (i = len; i >= 2; i--)
		if (data[i - 1] == 0xd9 && data[i - 2] == 0xff)
			return true;
	return false;
}

int jpeg_decoder__open(struct jpeg_decoder *d, const void *data, size_t len, uint32_t *width,
		       uint32_t *height)
{
	int err;

	d->warnings = 0;
	d->reason[0] = '\0';
	/* a file without tables would be decoded by those of the one before it */
	jpeg_destroy_decompress(&d->cinfo);
	err = create(d);
	if (err)
		return -err;
	if (len == 0)
		return fail(d, "the file is empty");
	err = setjmp(d->env);
	if (err)
		return -err;
	jpeg_mem_src(&d->cinfo, data, len);
	jpeg_read_header(&d->cinfo, TRUE);
	if (!has_end(data, len))
		return fail(d, "the file is truncated");
	if ((uint64_t)d->cinfo.image_width * d->cinfo.image_height > JPEG_MAX_PIXELS)
		return fail(d, "the image is larger than 178956970 pixels");
	*width = d->cinfo.image_width;
	*height = d->cinfo.image_height;
	return 0;
}

/* Adobe's inverted CMYK to RGB, rounded as Pillow does. */
static void convert_cmyk(uint8_t *row, size_t n)
{
	unsigned int c, k, t;
	size_t i;

	for (i = 0; i < n; i++, row += 4) {
		k = row[3];
		for (c = 0; c < 3; c++) {
			t = (255U - row[c]) * k + 128;
			row[c] = (uint8_t)(k - ((t + (t >> 8)) >> 8));
		}
	}
}

/*
 * The columns and rows that are decoded: a margin of one minimum coded unit, so that smoothing of
 * chroma sees the neighbours that it sees in the whole image.
 */
struct window {
	JDIMENSION x, w; /* as libjpeg rounds them */
	JDIMENSION y, h;
};

static void choose_window(struct jpeg_decompress_struct *c, struct window *win, uint32_t x,
			  uint32_t y, uint32_t w, uint32_t h)
{
	JDIMENSION mcu_w = (JDIMENSION)(c->max_h_samp_factor * DCTSIZE);
	JDIMENSION mcu_h = (JDIMENSION)(c->max_v_samp_factor * DCTSIZE);
	JDIMENSION right = x + w + mcu_w;

	win->x = x > mcu_w ? x - mcu_w : 0;
	if (right > c->output_width)
		right = c->output_width;
	win->w = right - win->x;
	win->y = y > mcu_h ? (y - mcu_h) / mcu_h * mcu_h : 0;
	win->h = y + h - win->y;
	if (win->w < c->output_width)
		jpeg_crop_scanline(c, &win->x, &win->w);
	if (win->y)
		jpeg_skip_scanlines(c, win->y);
}

static int reserve(struct jpeg_decoder *d, size_t size)
{
	if (size <= d->size)
		return 0;
	free(d->pixels);
	d->size = 0;
	d->pixels = malloc(size);
	if (!d->pixels) {
		snprintf(d->reason, sizeof(d->reason), "out of memory");
		return -ENOMEM;
	}
	d->size = size;
	return 0;
}

int jpeg_decoder__region(struct jpeg_decoder *d, uint32_t x, uint32_t y, uint32_t w, uint32_t h,
			 const uint8_t **rgbx, size_t *stride)
{
	struct jpeg_decompress_struct *c = &d->cinfo;
	struct window win;
	JSAMPROW row;
	int err;

	err = setjmp(d->env);
	if (err)
		return -err;
	if (c->jpeg_color_space == JCS_CMYK || c->jpeg_color_space == JCS_YCCK)
		c->out_color_space = JCS_CMYK;
	else
		c->out_color_space = JCS_EXT_RGBX;
	jpeg_start_decompress(c);
	choose_window(c, &win, x, y, w, h);
	err = reserve(d, (size_t)win.w * 4 * win.h);
	if (err)
		return err;
	*stride = (size_t)win.w * 4;
	while (c->output_scanline < win.y + win.h) {
		row = d->pixels + (c->output_scanline - win.y) * *stride;
		jpeg_read_scanlines(c, &row, 1);
		if (c->out_color_space == JCS_CMYK)
			convert_cmyk(row, win.w);
	}
	*rgbx = d->pixels + (y - win.y) * *stride + (size_t)(x - win.x) * 4;
	jpeg_abort_decompress(c);
	return 0;
}

const char *jpeg_decoder__error(const struct jpeg_decoder *d)
{
	return d->reason;
}

unsigned int jpeg_decoder__warnings(const struct jpeg_decoder *d)
{
	return d->warnings;
}

void jpeg_decoder__free(struct jpeg_decoder *d)
{
	if (!d)
		return;
	jpeg_destroy_decompress(&d->cinfo);
	free(d->pixels);
	free(d);
}

struct encoder {
	struct jpeg_compress_struct cinfo;
	struct jpeg_error_mgr err;
	jmp_buf env;
};

static void encode_error(j_common_ptr common)
{
	struct encoder *e = common->client_data;

	longjmp(e->env, common->err->msg_code == JERR_OUT_OF_MEMORY ? ENOMEM : EINVAL);
}

int jpeg__encode(const uint8_t *rgb, uint32_t width, uint32_t height, int quality, uint8_t **out,
		 size_t *len)
{
	struct encoder e = {0};
	unsigned char *volatile buf = NULL;
	unsigned long size = 0;
	JSAMPROW row;
	int err;

	*out = NULL;
	e.cinfo.err = jpeg_std_error(&e.err);
	e.err.error_exit = encode_error;
	e.cinfo.client_data = &e;
	err = setjmp(e.env);
	if (err)
		goto out;
	jpeg_create_compress(&e.cinfo);
	jpeg_mem_dest(&e.cinfo, (unsigned char **)&buf, &size);
	e.cinfo.image_width = width;
	e.cinfo.image_height = height;
	e.cinfo.input_components = 3;
	e.cinfo.in_color_space = JCS_RGB;
	jpeg_set_defaults(&e.cinfo);
	jpeg_set_quality(&e.cinfo, quality, TRUE);
	jpeg_start_compress(&e.cinfo, TRUE);
	while (e.cinfo.next_scanline < height) {
		row = (JSAMPROW)(uintptr_t)(rgb + (size_t)e.cinfo.next_scanline * width * 3);
		jpeg_write_scanlines(&e.cinfo, &row, 1);
	}
	jpeg_finish_compress(&e.cinfo);
	*out = buf;
	*len = size;
	buf = NULL;
out:
	jpeg_destroy_compress(&e.cinfo);
	free(buf);
	return -err;
}
