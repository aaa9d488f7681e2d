/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xpugap record --rotate-size, --rotate-time and --flight: a recording in several files, or its
 * last minutes in memory, of which files are made when something asks for one.
 */
#ifndef XPUGAP_CMD_RECORD_PARTS_H
#define XPUGAP_CMD_RECORD_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/cmd/parts.h"
#include "userspace/cmd/trigger.h"
#include "userspace/lib/caller.h"
#include "userspace/source/recorder.h"

struct record_parts_opts {
	uint64_t rotate_size;
	uint64_t rotate_ns;
	uint64_t keep;
	const char *flight;  /* "TIME[,SIZE]" */
	const char *dump_on; /* see trigger.h */
};

struct record_parts {
	const struct record_parts_opts *opts;
	struct parts files;
	uint64_t began_ns, began_bytes; /* of the current file: since when, all that was before */
	/* of --flight */
	uint64_t window_ns, window_bytes;
	struct trigger *trigger;
	bool asked;	       /* for a file */
	char cause[160];       /* what asked */
	uint64_t triggered_ns; /* when a step last did */
};

/*
 * Look at the options, which go with a trace in the file @output from the hooks (not from
 * --source). 0, or -EINVAL or -ENOMEM (printed).
 */
int record_parts__init(struct record_parts *p, const struct record_parts_opts *o,
		       const char *output, bool from_source);
void record_parts__free(struct record_parts *p);

bool record_parts__rotate(const struct record_parts *p);
bool record_parts__fly(const struct record_parts *p);

/* Either: what is written are numbered files. */
static inline bool record_parts__used(const struct record_parts *p)
{
	return record_parts__rotate(p) || record_parts__fly(p);
}

/* Create the first file, if it is time for one, and tell the recorder: 0 or -errno (printed). */
int record_parts__open(struct record_parts *p, const char *output, bool force,
		       const struct caller *caller, struct recorder_opts *o);

/* Say what will happen, and in the trace which file it is. 0 or -errno (printed). */
int record_parts__begin(struct record_parts *p, struct recorder *r);

/* Somebody asks for a file (SIGUSR1). */
void record_parts__ask(struct record_parts *p);
/* A MARK_STEP record. */
void record_parts__step(struct record_parts *p, const struct rec *rec);

/* After each sweep: another file, or one of the last minutes, if it is time. 0 or -errno (printed).
 */
int record_parts__poll(struct record_parts *p, struct recorder *r);

/* After recorder__stop(): a last file of what is kept. 0 or -errno (printed). */
int record_parts__stop(struct record_parts *p, struct recorder *r);

#endif
