// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/ioctl_now.h"

#include <string.h>

/* Losses that may have been the return of an ioctl. */
static uint64_t losses(const struct session *s)
{
	uint64_t n = s->lost_total;
	int i;

	for (i = 0; i < REC_HOOK_MAX; i++)
		if (!session__concerns((uint32_t)i, 1u << REC_HOOK_SYSCALL))
			n -= s->lost_by_hook[i];
	return n;
}

/* The number of ioctl where the trace was made, as SCHED_SWITCH has it. -1: not known. */
static int ioctl_nr(const struct session *s, uint32_t flags)
{
	const char *arch = session__fact(s, "host.arch");

	if (flags & REC_SCHED_COMPAT)
		return 54;
	if (!arch)
		return -1;
	return strcmp(arch, "x86_64") == 0 ? 16 : 29;
}

/* A thread that leaves the cpu in no ioctl is in none: that it returned was lost. */
static void on_switch(struct ioctl_now *now, const struct session *s, const struct rec *rec)
{
	const struct rec_sched_switch *r = RECORD(sched_switch, rec);
	int nr;

	if (!now->since || r->prev_nr == REC_NR_UNKNOWN)
		return;
	nr = r->prev_nr >= 0 ? ioctl_nr(s, r->flags) : -1;
	if (r->prev_nr < 0 || (nr >= 0 && r->prev_nr != nr))
		now->since = 0;
}

void ioctl_now__event(struct ioctl_now *now, const struct session *s, const struct rec *rec)
{
	switch (rec->type) {
	case REC_SCHED_SWITCH:
		on_switch(now, s, rec);
		break;
	case REC_IOCTL_BLOCKED:
		now->since = RECORD(ioctl_blocked, rec)->start_ns;
		now->lost = losses(s);
		break;
	case REC_IOCTL:
	case REC_TASK_EXEC:
	case REC_ROLE:
	case REC_MARK_STEP:
	case REC_COUNTER:
	case REC_UNIT_BEGIN:
	case REC_UNIT_HANDOVER:
	case REC_UNIT_END:
	case REC_RANGE_BEGIN:
	case REC_RANGE_END: /* it says so itself: it runs, outside of the kernel */
		now->since = 0;
		break;
	}
}

bool ioctl_now__inside(const struct ioctl_now *now, const struct session *s)
{
	return now->since && now->lost == losses(s);
}

uint64_t ioctl__duration_ns(const struct rec *rec)
{
	uint64_t ns = RECORD(ioctl, rec)->duration_ns;

	return ns < rec->time_ns ? ns : rec->time_ns;
}

uint64_t fault__duration_ns(const struct rec *rec)
{
	uint64_t ns = RECORD(fault, rec)->duration_ns;

	return ns < rec->time_ns ? ns : rec->time_ns;
}

uint64_t fault__count(const struct rec *rec)
{
	return 1 + (uint64_t)RECORD(fault, rec)->unseen;
}
