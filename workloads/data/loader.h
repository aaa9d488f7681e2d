/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The image loader: batches of training images from a folder of JPEG files.
 *
 * The folder has one subfolder for each class, as torchvision's ImageFolder: classes are numbered
 * from 0 in byte order of their names, files are ordered by class, then by name. An image is
 * read, decoded to RGB, cut by RandomResizedCrop (area 0.08-1, ratio 3/4-4/3, resized as Pillow's
 * BILINEAR does), flipped with probability 1/2, scaled to 0-1 and normalised with ImageNet's
 * means and deviations.
 *
 * What a batch holds depends on the folder and on dir, batch, side, shuffle, drop_last, layout
 * and seed only: not on the number or kind of workers, nor on timing.
 *
 * Workers mark what they do: role "loader"; ranges "read", "decode", "augment", "collate". The
 * consumer marks the counter "loader.ready", the number of batches that wait for it, and the
 * range "loader.wait".
 */
#ifndef XPUGAP_DATA_LOADER_H
#define XPUGAP_DATA_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum loader_kind {
	LOADER_THREADS,
	LOADER_PROCESSES, /* forked; batches in shared memory */
};
/* Their names, "threads" and "processes", NULL-terminated: choices of an option row. */
extern const char *const loader_kinds[];

enum loader_layout {
	LOADER_NCHW, /* images[((i * 3 + c) * side + y) * side + x] */
	LOADER_NHWC, /* images[((i * side + y) * side + x) * 3 + c] */
};

struct loader_opts {
	const char *dir;
	uint32_t batch;	  /* images in a batch */
	uint32_t side;	  /* of the square images, in pixels */
	uint32_t workers; /* 0: loader__next() does the work itself */
	enum loader_kind kind;
	uint32_t prefetch; /* batches made ahead of the consumer, in all; 0: 2 */
	bool shuffle;	   /* another order in each epoch */
	bool drop_last;	   /* leave out an epoch's last batch if it is not full */
	enum loader_layout layout;
	uint64_t seed;
	uint64_t epochs; /* 0: without end */
};

struct loader_batch {
	const float *images; /* aligned to 64 bytes */
	const int32_t *labels;
	uint32_t n;	/* images: opts.batch, or fewer in an epoch's last batch */
	uint64_t index; /* of the batch: 0, 1, … over all epochs */
	uint64_t epoch;
};

struct loader_stats {
	uint64_t files;	   /* in the folder */
	uint64_t classes;  /* subfolders with files */
	uint64_t labels;   /* all are less than this: empty subfolders have a number too */
	uint64_t images;   /* loaded so far */
	uint64_t bytes;	   /* of files read so far */
	uint64_t warnings; /* images with flaws that lose nothing, such as bytes between markers */
	uint64_t wait_ns;  /* that loader__next() waited for a batch */
	/* time of all workers together */
	uint64_t read_ns, decode_ns, augment_ns, collate_ns;
};

struct loader;

/*
 * Scan the folder and start the workers. NULL with errno, after printing why. With processes,
 * call it from a thread that lives as long as the loader; what other threads hold locked at that
 * moment does not matter to the workers.
 */
struct loader *loader__new(const struct loader_opts *opts);

/*
 * The next batch, waiting for it if need be. 1: @b is set; 0: the last epoch is over; -errno
 * after printing why: a file that cannot be read or decoded (-EBADMSG, or the system's error), a
 * worker that died (-ECHILD), too many batches held (-EBUSY). After an error every call returns
 * the same one. At most two batches may be held at a time. Not for several threads at once.
 */
int loader__next(struct loader *l, struct loader_batch *b);

/* Give a batch back; its memory is used again. In any order, from any thread. */
void loader__release(struct loader *l, const struct loader_batch *b);

uint64_t loader__batches(const struct loader *l); /* in an epoch */
void loader__stats(const struct loader *l, struct loader_stats *out);

/* Stop and reap the workers, release everything; a no-op on NULL. */
void loader__free(struct loader *l);

#endif
