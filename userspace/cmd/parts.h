/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbered files of one recording: NAME.0001.xpt, NAME.0002.xpt, ... While one is written it is
 * called NAME.0001.xpt.part.
 */
#ifndef XPUGAP_CMD_PARTS_H
#define XPUGAP_CMD_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/lib/caller.h"
#include "userspace/trace/trace.h"

struct part;

struct parts {
	char *prefix; /* of their paths */
	char *folder; /* where they lie, and what their names begin with there */
	char *name;
	uint64_t keep; /* so many that are complete; 0: all */
	const struct caller *caller;
	struct part *first, **last; /* that have their end and are not durable yet */
	struct part *current;	    /* NULL: none is being written */
	bool replaces;		    /* those of an older recording, which are still there */
	char *aside;		    /* NULL, or the folder where these have gone for now */
	unsigned int number;	    /* of the newest */
	unsigned int complete;	    /* the newest that is */
	int err;		    /* the first of a file that could not be completed */
};

/*
 * They are named after @path, with or without ".xpt". Files of such names that exist are refused
 * unless @force: then they stay until parts__set_aside(). @caller owns them. 0 or -errno (printed).
 */
int parts__init(struct parts *p, const char *path, bool force, uint64_t keep,
		const struct caller *caller);
void parts__free(struct parts *p);

/* Create the next, which becomes the current one: its descriptor, or -errno (printed). */
int parts__create(struct parts *p);

/*
 * Those of an older recording go into a folder beside, and the current one gets its name. Nothing
 * is lost by it: parts__discard() puts them back. 0 or -errno (printed): then they are where they
 * were.
 */
int parts__set_aside(struct parts *p);

/* The recording stands: what was set aside is removed. 0 or -errno (printed). */
int parts__replace(struct parts *p);

/*
 * @which, that parts__create() made current, is complete once @done is durable, which is taken
 * over; NULL: it is already. What is complete gets its name, and the oldest beyond @keep goes, in
 * parts__look(). That does not wait.
 */
void parts__ended(struct parts *p, struct part *which, struct trace_part *done);
void parts__look(struct parts *p);

/*
 * Wait for all that has ended, and end the current one, which is durable; if it is empty, it goes.
 * 0 or the first -errno.
 */
int parts__close(struct parts *p);

/*
 * Remove the current one: nothing was recorded. @before, or NULL, is the current one again. What
 * was set aside is put back.
 */
void parts__discard(struct parts *p, struct part *before);

/* "'x.0001.xpt' to 'x.0004.xpt'": those that there are, in @buf. */
const char *parts__names(const struct parts *p, char *buf, size_t size);

#endif
