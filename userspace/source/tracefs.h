/* SPDX-License-Identifier: BSD-2-Clause */
/* The tracing file system: where a classic tracepoint's fields lie. */
#ifndef XPUGAP_SOURCE_TRACEFS_H
#define XPUGAP_SOURCE_TRACEFS_H

#include <stdint.h>

/*
 * The offset of field @name in @format, the text of a tracepoint's format file: lines
 * "field:TYPE NAME[N]; offset:8; size:16; signed:0;". 0, or -ENOENT when there is no such field,
 * -EINVAL when its line cannot be understood.
 */
int tracefs__parse_field(const char *format, const char *name, uint32_t *offset);

/*
 * The same for @event ("sched/sched_switch") below @root; besides, -errno when its format file
 * cannot be read.
 */
int tracefs__field(const char *root, const char *event, const char *name, uint32_t *offset);

#endif
