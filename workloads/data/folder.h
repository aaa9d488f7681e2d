/* SPDX-License-Identifier: BSD-2-Clause */
/* A data set as a folder: one subfolder for each class, JPEG files in it. */
#ifndef XPUGAP_DATA_FOLDER_H
#define XPUGAP_DATA_FOLDER_H

#include <stddef.h>
#include <stdint.h>

struct folder_file {
	char *path; /* relative to the folder: "007/1007.jpeg" */
	int32_t label;
};

struct folder {
	int fd; /* of the folder itself */
	struct folder_file *files;
	size_t n;
	size_t classes; /* with at least one file */
	size_t labels;	/* all are less than this; more than @classes where some are empty */
};

/*
 * List @dir: classes in byte order of their names, empty ones numbered too, then files in byte
 * order. Names that begin with a dot and files that do not end in .jpg or .jpeg (of any case) are
 * passed over. 0 or -errno, printed: no such folder, no subfolders, no JPEG files.
 */
int folder__open(struct folder *f, const char *dir);
void folder__close(struct folder *f);

#endif
