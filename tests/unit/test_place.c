// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <stdlib.h>

#include "workloads/device/place.h"

Test(place, lives_that_meet_do_not_overlap)
{
	enum { N = 300 };
	struct place p[N];
	size_t most, end = 0, sum = 0, least = 0, at, i, j;
	unsigned int seed = 1;
	int t;

	for (i = 0; i < N; i++) {
		p[i].bytes = 1 + rand_r(&seed) % 5000;
		p[i].first = rand_r(&seed) % 100;
		p[i].last = p[i].first + rand_r(&seed) % 10;
		sum += place__align(p[i].bytes);
	}
	most = place__all(p, N);
	for (i = 0; i < N; i++) {
		at = p[i].offset + place__align(p[i].bytes);
		end = at > end ? at : end;
		cr_expect_eq(p[i].offset % PLACE_ALIGN, 0);
		for (j = 0; j < i; j++)
			cr_expect(p[i].last < p[j].first || p[j].last < p[i].first ||
				  p[i].offset + p[i].bytes <= p[j].offset ||
				  p[j].offset + p[j].bytes <= p[i].offset);
	}
	for (t = 0; t < 110; t++) {
		for (at = i = 0; i < N; i++)
			if (p[i].first <= t && t <= p[i].last)
				at += place__align(p[i].bytes);
		least = at > least ? at : least;
	}
	cr_expect_eq(most, end);
	cr_expect_geq(most, least);
	cr_expect_leq(most, least * 5 / 4, "%zu, where %zu live at once", most, least);
	cr_expect_eq(place__all(p, 0), 0);
}
