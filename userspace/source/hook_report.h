/* SPDX-License-Identifier: BSD-2-Clause */
/* What became of a hook, or of a source that counts as one. */
#ifndef XPUGAP_SOURCE_HOOK_REPORT_H
#define XPUGAP_SOURCE_HOOK_REPORT_H

#include <stdbool.h>

#include "bpf/include/events.h"
#include "userspace/trace/trace.h"

struct hook_report {
	enum rec_hook_state state;
	unsigned int rung;
	int err;	     /* why the way above was not taken, or why none was: -errno or 0 */
	char way[64];	     /* "tp_btf", ...; of parts: "fence tp_btf, job tp_btf" */
	const char *without; /* NULL, or probes of the family that this way does not record */
	bool partial;	     /* some of what was asked for is refused: the reason says what */
	char reason[512];    /* what is missing and the remedy; "" where nothing is */
};

/* Does the way that was taken record nothing of that probe? */
bool hook_report__leaves_out(const struct hook_report *r, const char *probe);

/* Write it as a HOOK record of now; @cost_ns: of a hit, 0 if it is not known. As the writer. */
int hook_report__write(const struct hook_report *r, struct trace_writer *w, enum rec_hook_id hook,
		       double cost_ns);

#endif
