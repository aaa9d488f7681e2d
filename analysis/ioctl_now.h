/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a thread is in an ioctl that has not returned, as far as its records tell: it left the
 * cpu inside of one, and nothing that it did since shows that it came out, nor may a record that
 * would show it be lost.
 */
#ifndef XPUGAP_ANALYSIS_IOCTL_NOW_H
#define XPUGAP_ANALYSIS_IOCTL_NOW_H

#include "analysis/session.h"

struct ioctl_now {
	uint64_t since; /* 0: in none */
	uint64_t lost;	/* records that there were then of those which might tell otherwise */
};

/* For an analysis' wants: what ioctl_now__event() needs to see. */
#define IOCTL_NOW_TYPES                                                                            \
	REC_IOCTL, REC_IOCTL_BLOCKED, REC_TASK_EXEC, REC_ROLE, REC_MARK_STEP, REC_COUNTER,         \
		REC_UNIT_BEGIN, REC_UNIT_HANDOVER, REC_UNIT_END, REC_RANGE_BEGIN, REC_RANGE_END,   \
		REC_SCHED_SWITCH

/* @rec is of the thread. */
void ioctl_now__event(struct ioctl_now *now, const struct session *s, const struct rec *rec);
bool ioctl_now__inside(const struct ioctl_now *now, const struct session *s);

/* How long the ioctl took that @rec tells of, at most all time there was. */
uint64_t ioctl__duration_ns(const struct rec *rec);

/* The same of a fault; and how many it stands for: some the kernel only counts. */
uint64_t fault__duration_ns(const struct rec *rec);
uint64_t fault__count(const struct rec *rec);

#endif
