/* SPDX-License-Identifier: BSD-2-Clause */
/* xpugap record -p, --cgroup, --container and -a: what is recorded runs already. */
#ifndef XPUGAP_CMD_RECORD_TARGET_H
#define XPUGAP_CMD_RECORD_TARGET_H

#include <stdbool.h>

#include "userspace/lib/opt.h"
#include "userspace/source/cgroup.h"
#include "userspace/source/recorder.h"

struct record_target_opts {
	struct opt_list pids;
	const char *cgroup;
	const char *container;
	bool all;
};

struct record_target {
	const struct record_target_opts *opts;
	pid_t *pids;
	size_t npids;
	struct cgroup_ref group;
	char name[64]; /* for messages: "process 12" */
};

/* Do the options name something that runs? */
bool record_target__asked(const struct record_target_opts *o);

/* Find it; an exit status, what is wrong printed. Release with record_target__free(). */
int record_target__find(struct record_target *t, const struct record_target_opts *o);

/* From now on it is recorded, and stands in the trace. 0 or -errno (printed). */
int record_target__add(const struct record_target *t, struct recorder *r);

/* May others become targets that are created by none? Then our rights are needed to the end. */
bool record_target__grows(const struct record_target *t);

/* Has the last target ended, so that none can come any more? */
bool record_target__ended(const struct record_target *t, const struct recorder *r);

void record_target__free(struct record_target *t);

#endif
