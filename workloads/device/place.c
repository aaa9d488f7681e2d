// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/device/place.h"

#include <stdbool.h>
#include <stdlib.h>

static int larger_first(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return (a->first > b->first) - (a->first < b->first);
}

static bool meet(const struct place *a, const struct place *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset where @p fits over @placed, all of which have offsets. */
static size_t fit(const struct place *p, const struct place *placed, size_t n)
{
	size_t at = 0, end, i;
	bool moved;

	do {
		moved = false;
		for (i = 0; i < n; i++) {
			end = placed[i].offset + place__align(placed[i].bytes);
			if (!meet(p, &placed[i]) || end <= at ||
			    at + place__align(p->bytes) <= placed[i].offset)
				continue;
			at = end;
			moved = true;
		}
	} while (moved);
	return at;
}

size_t place__all(struct place *p, size_t n)
{
	size_t end, most = 0, i;

	qsort(p, n, sizeof(*p), larger_first);
	for (i = 0; i < n; i++) {
		p[i].offset = fit(&p[i], p, i);
		end = p[i].offset + place__align(p[i].bytes);
		most = end > most ? end : most;
	}
	return most;
}
