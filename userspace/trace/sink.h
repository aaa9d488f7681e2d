/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the writer's bytes go: a file, a pipe, a memfd. Private to this folder. */
#ifndef XPUGAP_TRACE_SINK_H
#define XPUGAP_TRACE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sink;

/* @fd stays the caller's. With @sync, a helper thread makes durable what sink__sync() asks. */
struct sink *sink__new(int fd, bool sync);
void sink__free(struct sink *s);

/*
 * While @fd is a pipe or socket that takes nothing, ask @give_up ten times a second whether to end
 * the waiting: sink__write() then returns -ECANCELED.
 */
void sink__on_stall(struct sink *s, bool (*give_up)(void *arg), void *arg);

/*
 * Write all of @data; waits where @fd is non-blocking. 0 or -errno, with *@done bytes written.
 * Never raises SIGPIPE or SIGXFSZ.
 */
int sink__write(struct sink *s, const void *data, size_t size, size_t *done);

/* Ask for durability of what is written; returns at once. */
void sink__sync(struct sink *s);

/*
 * Go back to @size bytes after the place where this sink began, and cut off what was written there,
 * but nothing else; -ESPIPE for a pipe, and where others have appended to the file.
 */
int sink__rewind(struct sink *s, uint64_t size);

/*
 * No more is written: the helper makes all of it durable, and the caller goes on. sink__finish()
 * then waits no longer once sink__has_ended().
 */
void sink__end(struct sink *s);
bool sink__has_ended(struct sink *s);

/* End the helper; make everything durable. 0 or the first error of a sync. */
int sink__finish(struct sink *s);

#endif
