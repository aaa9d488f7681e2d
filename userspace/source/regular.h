/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening files whose paths others choose: what is not a regular file is never opened, as that
 * alone may do something to a device, or wait for ever.
 */
#ifndef XPUGAP_SOURCE_REGULAR_H
#define XPUGAP_SOURCE_REGULAR_H

#include <stdint.h>
#include <sys/types.h>

/* A descriptor to read the file at @path, or -errno: -EINVAL where it is no regular one. */
int regular__open(const char *path);

/*
 * The same of the file that process @pid (0: we) calls @path, which nobody is waited for to get:
 * not where its names are not in memory (-EAGAIN), nor on file systems of other machines and of
 * programs (-EREMOTE).
 */
int regular__open_of(pid_t pid, const char *path);

/* The same of the file that @pid has mapped from @begin to @end. */
int regular__open_mapped(pid_t pid, uint64_t begin, uint64_t end);

#endif
