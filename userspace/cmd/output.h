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
	/*
	 * While there is another that it is to replace: where it lies, or, once both have changed
	 * names, the other. NULL: there is none.
	 */
	char *beside;
	bool exchanged;
};

/*
 * Create @path, readable and writable by @caller only and his; "-" is standard output. A file
 * that exists is refused unless @force, which lets output__replace() replace it; a pipe or device
 * is written to. 0 or -errno after printing why.
 */
int output__open(struct output *o, const char *path, bool force, const struct caller *caller);

/*
 * Let it have @path from now on, and the file that was there its name, if the file system can do
 * that in one step and it may be; else nothing changes. Nothing is lost by it: output__discard()
 * undoes it.
 */
void output__exchange(struct output *o);

/*
 * The recording is worth more than the file that was there, if there was one: @path is the new one
 * and that is gone. 0 or -errno (printed): then one of them lies where the message says.
 */
int output__replace(struct output *o);

/* Close; 0 or -errno (printed). */
int output__close(struct output *o);

/* Close and remove what output__open() created; the file that was to be replaced is as it was. */
void output__discard(struct output *o);

#endif
