/* SPDX-License-Identifier: BSD-2-Clause */
/* Who comes to the mark socket, and what it brings. */
#ifndef XPUGAP_SOURCE_MARK_VISITOR_H
#define XPUGAP_SOURCE_MARK_VISITOR_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "userspace/mark/abi.h"

/* @memfd, @pidfd: -1 if there is none (pidfd: or -errno), or taken over */
struct mark_visitor {
	union {
		struct mark_hello hello;
		struct mark_excuse excuse;
	};
	struct ucred cred;
	int memfd;
	int pidfd;
};

/*
 * Read the hello of connection @fd. 0; 1: an excuse came instead; -EAGAIN: not sent yet; -EPROTO:
 * of another version; -ESRCH: of a pid namespace that is not below ours; -EBADMSG: nothing of ours.
 * mark_visitor__end() follows in any case.
 */
int mark_visitor__receive(struct mark_visitor *v, int fd);

/*
 * Is its memory of a kind that cannot be cut, cannot run out of huge pages and that no file
 * system of the program's stands behind?
 */
bool mark_visitor__is_sound(const struct mark_visitor *v);

/* Close what was not taken over. */
void mark_visitor__end(struct mark_visitor *v);

#endif
