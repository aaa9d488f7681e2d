// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/mark/cost.h"

#include <stdlib.h>

#include "userspace/mark/write.h"

#define COST_BATCHES 8
#define COST_BATCH   500U
#define COST_RING    (64U << 10)

double mark_cost__measure(void)
{
	static const char name[] = "cost";
	struct mark_ring ring = {0};
	struct mark_thread t = {.ring = &ring, .bytes = COST_RING};
	uint64_t best = UINT64_MAX, begin, ns;

	_Static_assert(COST_BATCH * sizeof(struct rec_span) < COST_RING, "a batch fits");
	t.data = malloc(COST_RING);
	t.known = calloc(MARK_KNOWN, sizeof(*t.known));
	if (t.known)
		mark__know(mark__known_at(&t, name), name, strlen(name), 1);
	for (unsigned int b = 0; b < COST_BATCHES && t.data && t.known; b++) {
		begin = mark__clock_ns();
		for (unsigned int i = 0; i < COST_BATCH; i++)
			mark__put_span(&t, name, &(struct mark_span){.corr = i});
		ns = mark__clock_ns() - begin;
		if (ns < best)
			best = ns;
		ring.tail = t.head;
	}
	free(t.data);
	free(t.known);
	return best == UINT64_MAX ? 0 : (double)best / COST_BATCH;
}
