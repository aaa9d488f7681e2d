/* SPDX-License-Identifier: BSD-2-Clause */
/* What only the source 'sideband' can say and be told, beside its source_ops. */
#ifndef XPUGAP_SOURCE_SIDEBAND_H
#define XPUGAP_SOURCE_SIDEBAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "userspace/source/hooks.h"

struct source;

/*
 * Ask @is_target about processes that it does not know to be targets: of what runs already only
 * the hooks know.
 */
void source_sideband__ask(struct source *s, bool (*is_target)(void *arg, pid_t pid), void *arg);

/* How it fared. */
const struct hook_report *source_sideband__report(const struct source *s);

/* How it would fare: open what a recording would, and let it go at once. */
void source_sideband__probe(struct hook_report *r);

#endif
