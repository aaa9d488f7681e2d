/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's look at what a program wrote into its mark rings. A program may write anything:
 * bytes are copied out of its reach first and each record is checked here.
 */
#ifndef XPUGAP_SOURCE_MARK_RING_H
#define XPUGAP_SOURCE_MARK_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/include/events.h"

/*
 * A walk over a copy of a part of a ring.
 * @buf, @len: the copy, 8-byte aligned
 * @at: how far the walk has come
 * @pos: where in the ring @buf begins
 * @last_ns: time of the ring's record before; an earlier one that follows gets this
 * @now_ns: taken after the copy; later times cannot be
 * @limit_ns: what such a time becomes
 * @bad: records left out: of no type that a program may write, or with impossible contents
 * @moved: the record's time was changed
 */
struct mark_walk {
	unsigned char *buf;
	size_t len;
	size_t at;
	uint64_t pos;
	uint64_t ring_bytes;
	uint64_t last_ns;
	uint64_t now_ns;
	uint64_t limit_ns;
	uint64_t bad;
	bool moved;
};

/*
 * The next record that holds good. 1: @rec is set, in @buf, with padding zeroed and its tid as
 * the program wrote it; mark_walk__take() goes on. 0: no whole record is left in the copy.
 * -EBADMSG: a size is impossible, and nothing from @at on can be made out.
 */
int mark_walk__next(struct mark_walk *w, struct rec **rec);
void mark_walk__take(struct mark_walk *w, const struct rec *rec);

#endif
