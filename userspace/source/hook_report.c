// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/hook_report.h"

#include <string.h>

#include "userspace/lib/hostclock.h"

bool hook_report__leaves_out(const struct hook_report *r, const char *probe)
{
	const char *list = r->without;
	size_t len = strlen(probe), n;

	for (; list && *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n == len && memcmp(list, probe, n) == 0)
			return true;
	}
	return false;
}

int hook_report__write(const struct hook_report *r, struct trace_writer *w, enum rec_hook_id hook,
		       double cost_ns)
{
	const char *const texts[] = {r->way, r->reason};
	const struct rec_hook rec = {
		.hdr = {.type = REC_HOOK, .time_ns = hostclock__now()},
		.hook = hook,
		.state = r->state,
		.rung = r->rung,
		.err = r->err,
		.cost_ns = cost_ns,
	};

	return trace_writer__append_text(w, TRACE_RING_META, &rec.hdr, texts, 2);
}
