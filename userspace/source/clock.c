// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/clock.h"

#include <stdint.h>
#include <time.h>

#include "userspace/lib/hostclock.h"

#define TRIES 5

static uint64_t read_real(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

void clock__read_real(struct rec_clock *rec)
{
	uint64_t before, real, after, best = UINT64_MAX;
	int i;

	*rec = (struct rec_clock){.hdr = {.type = REC_CLOCK, .size = sizeof(*rec)}};
	for (i = 0; i < TRIES; i++) {
		before = hostclock__now();
		real = read_real();
		after = hostclock__now();
		if (after - before >= best)
			continue;
		best = after - before;
		rec->host_ns = before + best / 2;
		rec->ticks = real;
		rec->uncertainty_ns = (best + 1) / 2;
	}
	rec->hdr.time_ns = hostclock__now();
}
