/* SPDX-License-Identifier: BSD-2-Clause */
/* xpugap record --source: what is recorded is no program. */
#ifndef XPUGAP_CMD_RECORD_SOURCE_H
#define XPUGAP_CMD_RECORD_SOURCE_H

#include <stdbool.h>

#include "userspace/lib/caller.h"

struct record_source_opts {
	const char *source; /* "NAME:INPUT" */
	const char *output;
	bool force;
	bool pace;
	bool sync;
	int level;
	const struct caller *caller;
};

/* Record until the source ends or a signal asks to; returns an exit status. */
int record_source(const struct record_source_opts *o);

#endif
