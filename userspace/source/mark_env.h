/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recorded program needs in its environment so that it can mark. */
#ifndef XPUGAP_SOURCE_MARK_ENV_H
#define XPUGAP_SOURCE_MARK_ENV_H

#include <stdbool.h>

struct mark_env {
	char *strings[4]; /* "NAME=value", NULL-terminated */
	unsigned int n;
};

struct mark_paths;

/*
 * XPUGAP_MARK if there is an @address to mark to; XPUGAP_MARK_LIB, unless our caller has set it;
 * PYTHONPATH, ours with the module's folder at the end, if @python. 0 or -ENOMEM.
 */
int mark_env__init(struct mark_env *e, const char *address, const struct mark_paths *paths,
		   bool python);
void mark_env__free(struct mark_env *e);

#endif
