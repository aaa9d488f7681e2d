/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks of targets that ran before the recording: the probes of their mark libraries. */
#ifndef XPUGAP_SOURCE_MARK_LIVE_H
#define XPUGAP_SOURCE_MARK_LIVE_H

#include "userspace/source/hooks.h"

struct mark_live;

/* NULL with errno only when memory is short; what the kernel refuses is in the report. */
struct mark_live *mark_live__new(struct hooks *h);

/* Attach to the probes in the files of all processes that are targets now. 0 or -errno. */
int mark_live__attach(struct mark_live *l);

/* How that went. */
const struct hook_report *mark_live__report(const struct mark_live *l);

/* Detach; records are in the hooks' rings. */
void mark_live__detach(struct mark_live *l);
void mark_live__free(struct mark_live *l);

#endif
