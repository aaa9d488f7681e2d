/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps and ranges of processes that run already: by the USDT probes of the mark library that
 * they have mapped. Their records come through the rings of the hooks, for targets of these only.
 * What a process marks through shared memory does not come here.
 */
#ifndef XPUGAP_SOURCE_MARK_USDT_H
#define XPUGAP_SOURCE_MARK_USDT_H

#include <sys/types.h>

#include "userspace/source/hooks.h"

struct mark_usdt;

/* Load the programs, with the maps of @h, which must outlive this. NULL with errno. */
struct mark_usdt *mark_usdt__new(struct hooks *h);

/*
 * Attach to the probes in all files that @pid has mapped; for a file that was attached to before
 * nothing is done. All processes that map the file, now or later, are then asked for their marks,
 * and those that are targets are recorded. Returns the number of files whose probes are attached
 * to, or -errno if the process cannot be looked into; *@failed: why the first file of those was
 * refused whose are not (-errno), or 0.
 */
int mark_usdt__attach(struct mark_usdt *u, pid_t pid, int *failed);

void mark_usdt__free(struct mark_usdt *u);

#endif
