/* SPDX-License-Identifier: BSD-2-Clause */
/* What only the source 'mark' can do, beside its source_ops. */
#ifndef XPUGAP_SOURCE_MARK_H
#define XPUGAP_SOURCE_MARK_H

struct source;

/* From now on write a TASK record of each thread that marks: nothing else tells of tasks. */
void source_mark__tell_tasks(struct source *s);

#endif
