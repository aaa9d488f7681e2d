/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the marks of all recorded processes come together: the socket that userspace/mark/abi.h
 * describes, the regions that came through it, and the draining of their rings. It knows nothing
 * of traces; userspace/source/mark.c joins the two.
 */
#ifndef XPUGAP_SOURCE_MARK_HUB_H
#define XPUGAP_SOURCE_MARK_HUB_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/include/events.h"

struct mark_hub;

struct mark_hub_opts {
	uint32_t slots;		/* rings of a region; 0: MARK_SLOTS */
	uint64_t ring_bytes;	/* a power of two; 0: MARK_RING_BYTES */
	uint32_t max_processes; /* that mark at the same time; 0: 4,096 */
};

#define MARK_WHY_MAX 96

struct mark_hub_stats {
	uint64_t records; /* handed to emit, LOST and TASK records not among them */
	uint64_t lost;	  /* marks for which a program had no room */
	uint64_t bad;	  /* records of a program that cannot be */
	uint64_t clamped; /* records with an impossible time, which was corrected */
	uint64_t bytes;	  /* of records */
	uint64_t processes;
	uint64_t
		refused; /* regions of other users, of too many, of another version, not made ... */
	char why[MARK_WHY_MAX]; /* the first was refused */
	uint64_t strange;	/* threads whose id is not known here: named as their process */
	uint32_t alive;		/* processes now */
};

/* CLOCK_MONOTONIC. */
uint64_t mark_hub__now(void);

/* NULL with errno; nothing is printed. */
struct mark_hub *mark_hub__new(const struct mark_hub_opts *opts);

/* The value of XPUGAP_MARK for the programs to be recorded; lives as long as the hub. */
const char *mark_hub__address(const struct mark_hub *h);

/* Besides root and the recorder's own user, @uid may mark (a target that runs as another). */
void mark_hub__allow(struct mark_hub *h, uid_t uid);
/* The tree of @target may mark whatever its uid. 0 or -ENOMEM. */
int mark_hub__add_target(struct mark_hub *h, pid_t target);

/* Precede the first record of each thread by a TASK record. */
void mark_hub__tell_tasks(struct mark_hub *h);

/*
 * Move all that is there to @emit, in order of time over all rings, without blocking; LOST
 * records follow. @rec is valid during the call only. Returns the number of records, or what
 * @emit returned if that is not 0 (the rest of the sweep is dropped), or -errno.
 */
int mark_hub__poll(struct mark_hub *h, int (*emit)(void *arg, const struct rec *rec), void *arg);

/* After a poll: records that come later are not older than this (but see trace_writer's). */
uint64_t mark_hub__horizon(const struct mark_hub *h);
/* After a poll: how full, in per cent, the fullest ring was. */
unsigned int mark_hub__fill(const struct mark_hub *h);

/* Tell all programs that nothing is recorded any more, and take no new ones. */
void mark_hub__stop(struct mark_hub *h);

void mark_hub__stats(const struct mark_hub *h, struct mark_hub_stats *out);
void mark_hub__free(struct mark_hub *h);

#endif
