/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Milabench's FakeImageNet: JPEG files of uniform random pixels, made once.
 *
 * Image i is 384 x 384 pixels of random bytes from the seed i, in class i mod 1000, as a JPEG of
 * quality 75 with 4:2:0 chroma (what Pillow writes by default). The folder has one subfolder for
 * each class, "000" to "999", so that loader.h numbers the classes alike.
 */
#ifndef XPUGAP_DATA_FAKEIMAGENET_H
#define XPUGAP_DATA_FAKEIMAGENET_H

#include <stddef.h>
#include <stdint.h>

#define FAKEIMAGENET_SIDE    384
#define FAKEIMAGENET_CLASSES 1000

/* How many images a workload of a size takes: full is Milabench's 512 x 60 for one device. */
#define FAKEIMAGENET_TINY  64
#define FAKEIMAGENET_SMALL 1024
#define FAKEIMAGENET_FULL  30720

/*
 * Make sure that @root (created if need be) holds @count images; the folder for the loader is
 * written to @path of @size bytes. A whole set is found again by its manifest and checked by the
 * sizes of its files; what is missing, damaged or was interrupted is made. Two processes that ask
 * at once share the work's result. @progress may be NULL; what is
 * made ends where it returns -errno. 0 or -errno, printed.
 */
int fakeimagenet__ensure(const char *root, uint64_t count,
			 int (*progress)(const char *fmt, ...)
				 __attribute__((format(printf, 1, 2))),
			 char *path, size_t size);

#endif
