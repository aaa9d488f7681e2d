// SPDX-License-Identifier: BSD-2-Clause
/*
 * loader DIR PAIRS: images per second of one core, by the loader (read, decode, crop, resize,
 * flip, normalise, collate) and by libjpeg-turbo alone (decode of the same files from memory to
 * RGB), in turn. Prints, in CPU time of all threads:
 *
 *	loader/s  bare/s  ratio  low  high		(of the ratio's 95 % interval)
 *
 * and how the loader's time was spent: read decode augment collate, each in us per image.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <jpeglib.h>

#include "workloads/data/fakeimagenet.h"
#include "workloads/data/folder.h"
#include "workloads/data/loader.h"

#define IMAGES 128 /* of a block */

struct file {
	unsigned char data[1 << 18];
	unsigned long len;
};

static struct file files[IMAGES];

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_files(const char *dir)
{
	struct folder f;
	ssize_t n;
	int i, fd;

	if (folder__open(&f, dir))
		exit(1);
	for (i = 0; i < IMAGES; i++) {
		fd = openat(f.fd, f.files[i].path, O_RDONLY);
		n = read(fd, files[i].data, sizeof(files[i].data));
		if (n <= 0)
			exit(1);
		files[i].len = (unsigned long)n;
		close(fd);
	}
	folder__close(&f);
}

static double bare(void)
{
	static unsigned char rgb[FAKEIMAGENET_SIDE * FAKEIMAGENET_SIDE * 3];
	struct jpeg_decompress_struct c;
	struct jpeg_error_mgr err;
	double begin = cpu_time();
	JSAMPROW row;
	int i;

	c.err = jpeg_std_error(&err);
	jpeg_create_decompress(&c);
	for (i = 0; i < IMAGES; i++) {
		jpeg_mem_src(&c, files[i].data, files[i].len);
		jpeg_read_header(&c, TRUE);
		c.out_color_space = JCS_RGB;
		jpeg_start_decompress(&c);
		while (c.output_scanline < c.output_height) {
			row = rgb + (size_t)c.output_scanline * c.output_width * 3;
			jpeg_read_scanlines(&c, &row, 1);
		}
		jpeg_finish_decompress(&c);
	}
	jpeg_destroy_decompress(&c);
	return IMAGES / (cpu_time() - begin);
}

static double load(struct loader *l)
{
	double begin = cpu_time();
	struct loader_batch b;
	int n;

	for (n = 0; n < IMAGES; n += (int)b.n) {
		if (loader__next(l, &b) <= 0)
			exit(1);
		loader__release(l, &b);
	}
	return n / (cpu_time() - begin);
}

int main(int argc, char **argv)
{
	struct loader_opts opts = {.batch = 32, .side = 224, .shuffle = true, .seed = 1};
	double sum = 0, squares = 0, loads = 0, bares = 0, ratio, mean, half, x, y;
	int i, pairs = argc > 2 ? atoi(argv[2]) : 0;
	struct loader_stats s;
	struct loader *l;
	char dir[4096];

	if (pairs < 2 || fakeimagenet__ensure(argv[1], IMAGES, NULL, dir, sizeof(dir)))
		return 1;
	read_files(dir);
	opts.dir = dir;
	l = loader__new(&opts);
	if (!l)
		return 1;
	load(l); /* both once: caches and pages */
	bare();
	for (i = 0; i < pairs; i++) {
		x = i % 2 ? bare() : load(l);
		y = i % 2 ? load(l) : bare();
		ratio = i % 2 ? y / x : x / y;
		loads += (i % 2 ? y : x) / pairs;
		bares += (i % 2 ? x : y) / pairs;
		sum += ratio;
		squares += ratio * ratio;
	}
	mean = sum / pairs;
	half = 1.96 * sqrt((squares / pairs - mean * mean) / (pairs - 1));
	loader__stats(l, &s);
	printf("%.1f %.1f %.3f %.3f %.3f %.0f %.0f %.0f %.0f\n", loads, bares, mean, mean - half,
	       mean + half, (double)s.read_ns * 1e-3 / (double)s.images,
	       (double)s.decode_ns * 1e-3 / (double)s.images,
	       (double)s.augment_ns * 1e-3 / (double)s.images,
	       (double)s.collate_ns * 1e-3 / (double)s.images);
	loader__free(l);
	return 0;
}
