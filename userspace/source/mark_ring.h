/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's look at what a program wrote into its mark rings. A program may write anything:
 * bytes are copied out of its reach first and each one is checked here.
 */
#ifndef XPUGAP_SOURCE_MARK_RING_H
#define XPUGAP_SOURCE_MARK_RING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/include/events.h"

/*
 * @last_ns: in, out: time of the ring's last record; an earlier one that follows gets this
 * @now_ns: taken after the copy; a later time becomes this
 * @clamped: records whose time was moved
 * @bad: records dropped: of no type that a program may write, or with impossible contents
 */
struct mark_scan {
	uint64_t last_ns;
	uint64_t now_ns;
	uint64_t clamped;
	uint64_t bad;
};

/*
 * Check the @len bytes at @buf (8-byte aligned), a copy of what lies in a ring of @ring_bytes from
 * position @pos on, and call @emit for each record that holds good, in order. Padding is set to
 * zero in place; the tid is as the program wrote it. A record that goes beyond @len is left for
 * the next call.
 *
 * Returns the bytes used up; -EBADMSG if a size is impossible, after which nothing in the ring
 * can be made out; what @emit returned if that is not 0.
 */
ssize_t mark_ring__scan(struct mark_scan *s, unsigned char *buf, size_t len, uint64_t pos,
			uint64_t ring_bytes, int (*emit)(void *arg, struct rec *rec), void *arg);

#endif
