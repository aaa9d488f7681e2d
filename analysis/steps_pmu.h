/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of the processor and the kernel (PMU_READ) in each step: inside the analysis steps. */
#ifndef XPUGAP_ANALYSIS_STEPS_PMU_H
#define XPUGAP_ANALYSIS_STEPS_PMU_H

#include "analysis/steps.h"

/* Take in a PMU_COUNTER record. */
void steps_pmu__define(struct steps_pmu *p, const struct rec *rec);

/*
 * Add what a PMU_READ record counted to those of the @n steps that its interval touches, each its
 * part by time.
 */
void steps_pmu__spread(struct step *steps, size_t n, enum step_group group, const struct rec *rec);

#endif
