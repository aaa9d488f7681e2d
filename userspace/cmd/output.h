/* SPDX-License-Identifier: BSD-2-Clause */
/* The file that a recording goes to. */
#ifndef XPUGAP_CMD_OUTPUT_H
#define XPUGAP_CMD_OUTPUT_H

#include <stdbool.h>

#include "userspace/lib/caller.h"

struct output {
	const char *path; /* as given */
	int fd;
	bool stream; /* standard output, a pipe or a device: not ours to create or remove */
	const struct caller *caller;
	char *beside; /* where the file lies while @path is another that it is to replace, or NULL
		       */
};

/*
 * Create @path, readable and writable by @caller only and his; "-" is standard output. A file
 * that exists is refused unless @force, which lets output__replace() replace it; a pipe or device
 * is written to. 0 or -errno after printing why.
 */
int output__open(struct output *o, const char *path, bool force, const struct caller *caller);

/*
 * The recording is worth more than the file that was there, if there was one: it takes the name.
 * 0 or -errno (printed): then it lies where the message says.
 */
int output__replace(struct output *o);

/* Close; 0 or -errno (printed). */
int output__close(struct output *o);

/* Close and remove what output__open() created. */
void output__discard(struct output *o);

#endif
