/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by session.c (tasks and their states) and session_facts.c (everything else). */
#ifndef XPUGAP_ANALYSIS_SESSION_PRIV_H
#define XPUGAP_ANALYSIS_SESSION_PRIV_H

#include "analysis/session.h"

void session__fail(struct session *s); /* out of memory */
void session__free_facts(struct session *s);
/* Records of the scheduler come from @time_ns on. */
void session__sched_flows(struct session *s, uint64_t time_ns);

void session__on_meta(struct session *s, const struct rec *rec);
void session__on_lost(struct session *s, const struct rec *rec);
void session__on_hook(struct session *s, const struct rec *rec);
void session__on_hook_count(struct session *s, const struct rec *rec);
void session__on_row(struct session *s, const struct rec *rec);
void session__on_name(struct session *s, const struct rec *rec);
void session__on_device(struct session *s, const struct rec *rec);

#endif
