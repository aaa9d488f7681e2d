/* SPDX-License-Identifier: BSD-2-Clause */
/* CLOCK_MONOTONIC of the initial time namespace, as records have it, wherever we are. */
#ifndef XPUGAP_LIB_HOSTCLOCK_H
#define XPUGAP_LIB_HOSTCLOCK_H

#include <stdint.h>

/* What CLOCK_MONOTONIC of our time namespace is ahead of the initial one's, in nanoseconds. */
int64_t hostclock__offset(void);

/* Now, in nanoseconds. A process that changes its namespace later is not noticed. */
uint64_t hostclock__now(void);

/* The date, in seconds since 1970 (CLOCK_REALTIME): for what people read, not for durations. */
double hostclock__date(void);

#endif
