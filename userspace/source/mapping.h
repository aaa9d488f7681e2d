/* SPDX-License-Identifier: BSD-2-Clause */
/* What processes have mapped, as /proc tells, and the files behind it. */
#ifndef XPUGAP_SOURCE_MAPPING_H
#define XPUGAP_SOURCE_MAPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/source/build_id.h"

struct mapping {
	uint64_t addr, len, pgoff, inode;
	uint32_t dev;	      /* major << 20 | minor */
	uint32_t prot, flags; /* as mmap() takes them */
	char build_id[BUILD_ID_HEX];
	const char *path; /* "//anon": there is none */
};

/* A line of /proc/PID/maps, without its line feed; path points into it. 0 or -EINVAL. */
int mapping__parse(struct mapping *m, const char *line);

/*
 * Call @fn with each mapping of @pid that can be executed, until it returns other than 0, which is
 * returned; or -errno. What the line does not tell is for mapping__complete().
 */
int mapping__each(pid_t pid, int (*fn)(void *arg, struct mapping *m), void *arg);

/*
 * Look into the file behind a mapping of @pid, if it is still there: what of build id, inode and
 * device is not known is filled in, if the rest proves that it is the file.
 */
void mapping__complete(struct mapping *m, pid_t pid);

#endif
