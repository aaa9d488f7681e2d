/* SPDX-License-Identifier: BSD-2-Clause */
/* Readings of two clocks at nearly the same moment. */
#ifndef XPUGAP_SOURCE_CLOCK_H
#define XPUGAP_SOURCE_CLOCK_H

#include "bpf/include/events.h"

/* CLOCK_REALTIME (clock 0) against CLOCK_MONOTONIC: the tightest of a few readings. */
void clock__read_real(struct rec_clock *rec);

#endif
