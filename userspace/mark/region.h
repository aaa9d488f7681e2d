/* SPDX-License-Identifier: BSD-2-Clause */
/* A region of rings, of the library's own inside. */
#ifndef XPUGAP_MARK_REGION_H
#define XPUGAP_MARK_REGION_H

#include "userspace/mark/state.h"

#pragma GCC visibility push(hidden)

struct mark_map {
	struct mark_region *shm;
	struct mark_thread *threads;
	size_t bytes;
	uint64_t ring_bytes;
	uint32_t slots;
};

/*
 * Make a region, or as many of its rings as this process may have, and send it to the recorder at
 * @where; no descriptor stays open. 0 or -errno; -EAGAIN, -ENOMEM, -EMFILE and the like pass.
 */
int mark_region__new(struct mark_map *r, const struct mark_where *where);

/* A connection to the recorder, or -errno: -ECONNREFUSED when it is gone. */
int mark_region__connect(const struct mark_where *where);

/* A message to the recorder at @where; @msg has one part, of @size. 0 or -errno. */
struct msghdr;
int mark_region__send(const struct mark_where *where, const struct msghdr *msg, size_t size);

/*
 * excuse.c: tell the recorder at @where that no region could be made, also if this process has no
 * descriptor left for it. 0 or -errno.
 */
int mark_excuse__send(const struct mark_where *where, const struct mark_excuse *excuse);

/* Of the threads' own state, with the names that they know behind it. */
size_t mark_region__threads_bytes(const struct mark_map *r);

/* Memory that a fork wipes (not on a kernel older than 4.14), or NULL. */
void *mark__wiped_memory(size_t bytes);

#pragma GCC visibility pop

#endif
