/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What perf tells beside samples: who maps what to be executed, takes another name, creates tasks
 * and ends. One event and one ring for each cpu; all that happens on this machine comes.
 */
#ifndef XPUGAP_SOURCE_SIDEBAND_RING_H
#define XPUGAP_SOURCE_SIDEBAND_RING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/include/events.h"
#include "userspace/source/build_id.h"

enum side_kind {
	SIDE_MAP,
	SIDE_COMM,
	SIDE_FORK,
	SIDE_EXIT,
	SIDE_LOST,
	SIDE_OTHER,
};

/* One of perf's records, whatever kernel wrote it. */
struct side_event {
	enum side_kind kind;
	uint64_t time_ns;
	uint32_t pid, tid;
	/* SIDE_MAP */
	uint64_t addr, len, pgoff, inode;
	uint32_t dev, prot, mmap_flags;
	char build_id[BUILD_ID_HEX]; /* "": the kernel did not tell */
	const char *path;	     /* in the record */
	/* SIDE_COMM: path is the name */
	bool exec;
	/* SIDE_FORK: @pid and @tid are the child's */
	uint32_t parent_pid, parent_tid;
	/* SIDE_LOST */
	uint64_t lost;
};

/* One of perf's records, which has @size bytes. 0 or -EINVAL when it cannot be such. */
int side_event__parse(struct side_event *e, const void *rec, uint32_t size);

struct sideband_rings;

/*
 * Open an event on each cpu that is on; nothing comes until they are started. NULL with errno.
 * @build_ids: set to whether the kernel tells of these.
 */
struct sideband_rings *sideband_rings__new(bool *build_ids);
int sideband_rings__start(struct sideband_rings *r);
void sideband_rings__stop(struct sideband_rings *r);

/* Look which records are there; until the next look, next() gives these only. */
void sideband_rings__look(struct sideband_rings *r);

/*
 * The oldest of all rings that is not younger than @until_ns; valid until the next call. 1, or 0
 * when there is none. @cpu: whose ring it is.
 */
int sideband_rings__next(struct sideband_rings *r, uint64_t until_ns, struct side_event *e,
			 unsigned int *cpu);

/*
 * After all was read: how many events of a cpu were lost that no event told of, since none came
 * after them. Called until it is 0; before Linux 6.0 it always is.
 */
uint64_t sideband_rings__untold(struct sideband_rings *r, unsigned int *cpu);

/* After a look: how full, in per cent, the fullest was. */
unsigned int sideband_rings__fill(const struct sideband_rings *r);
void sideband_rings__free(struct sideband_rings *r);

#endif
