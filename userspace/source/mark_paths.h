/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the mark library of this very program is: in the folder that it was built in, or where
 * `make install` put it beside the program.
 */
#ifndef XPUGAP_SOURCE_MARK_PATHS_H
#define XPUGAP_SOURCE_MARK_PATHS_H

#include <limits.h>

/* Absolute paths; "" for what is not there. */
struct mark_paths {
	char lib[PATH_MAX];	       /* libxpugap_mark.so.1 */
	char static_library[PATH_MAX]; /* libxpugap_mark.a */
	char header[PATH_MAX];	       /* xpugap_mark.h */
	char python[PATH_MAX];	       /* the folder that holds xpugap_mark.py and nothing else */
	char pkgconfig[PATH_MAX];      /* the folder of its .pc file */
};

void mark_paths__find(struct mark_paths *p);
/* The same for a program that lies in the folder @bin. */
void mark_paths__find_from(struct mark_paths *p, const char *bin);

#endif
