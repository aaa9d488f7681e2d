/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reader's end of a BPF ring buffer: mapped memory, no system call and no callback per record.
 *
 *	end = ring__begin(r);
 *	while ((rec = ring__next(r, end)))
 *		...
 *	ring__release(r);
 */
#ifndef XPUGAP_SOURCE_RING_H
#define XPUGAP_SOURCE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/include/events.h"

#define RING_BUSY 0x80000000u /* in a record's length: it is still being filled */

struct ring {
	unsigned long *consumer;       /* in the page that we may write */
	const unsigned long *producer; /* in the page before the data */
	const uint8_t *data;	       /* mapped twice in a row, so no record is torn */
	size_t bytes;
	unsigned long pos;
	bool busy; /* the last walk ended before a record that is still being filled */
};

/* Map the ring behind @map_fd, whose data area is @bytes. 0 or -errno. */
int ring__map(struct ring *r, int map_fd, size_t bytes);
void ring__unmap(struct ring *r);

/* How far records reach now. */
static inline unsigned long ring__begin(struct ring *r)
{
	r->busy = false;
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
}

/*
 * The next record before @end, valid until ring__release(); NULL when there is none or when it
 * is still being filled.
 */
const struct rec *ring__next(struct ring *r, unsigned long end);

/* Give what was walked over back to the kernel. */
static inline void ring__release(struct ring *r)
{
	__atomic_store_n(r->consumer, r->pos, __ATOMIC_RELEASE);
}

/*
 * Bytes of each cpu's ring: the largest power of two so that @ncpus of them fit in @budget, at
 * least a page and at most 16 MiB. @budget 0: 64 MiB.
 */
size_t ring__size(uint64_t budget, unsigned int ncpus);

#endif
