// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <stdlib.h>

#include "userspace/lib/map.h"

#define KEYS 512

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Against an array indexed by key, which is as obvious as a map can be. */
Test(map, behaves_as_an_array)
{
	void *array[KEYS] = {NULL}, *value;
	struct map m = MAP_INIT;
	uint64_t seed = 1, key;
	struct map_slot *s;
	size_t n = 0, seen;
	int i;

	for (i = 0; i < 200000; i++) {
		key = next_random(&seed) % KEYS;
		if (next_random(&seed) % 2) {
			value = &array[next_random(&seed) % KEYS];
			n += !array[key];
			array[key] = value;
			cr_assert_eq(map__put(&m, key, value), 0);
		} else {
			n -= !!array[key];
			cr_assert_eq(map__del(&m, key), array[key]);
			array[key] = NULL;
		}
		cr_assert_eq(m.n, n);
		key = next_random(&seed) % KEYS;
		cr_assert_eq(map__get(&m, key), array[key]);
	}
	for (seen = 0, s = map__next(&m, NULL); s; s = map__next(&m, s), seen++)
		cr_assert_eq(s->value, array[s->key]);
	cr_expect_eq(seen, n);
	map__free(&m);
}

Test(map, empty)
{
	struct map m = MAP_INIT;

	cr_expect_null(map__get(&m, 0));
	cr_expect_null(map__del(&m, 0));
	cr_expect_null(map__next(&m, NULL));
	map__free(&m);
}
