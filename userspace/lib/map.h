/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash map from 64-bit keys to pointers: open addressing, no allocation per entry. */
#ifndef XPUGAP_LIB_MAP_H
#define XPUGAP_LIB_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	void *value; /* NULL: free */
};

struct map {
	struct map_slot *slots;
	size_t size; /* a power of two, or 0 */
	size_t n;
};

#define MAP_INIT                                                                                   \
	{                                                                                          \
		NULL, 0, 0                                                                         \
	}

/* NULL if there is none. */
void *map__get(const struct map *m, uint64_t key);
/* Set or replace; @value is not NULL. 0 or -ENOMEM (the map is unchanged). */
int map__put(struct map *m, uint64_t key, void *value);
/* Remove and return what was there, or NULL. */
void *map__del(struct map *m, uint64_t key);
/* Release the map, not what its values point to. */
void map__free(struct map *m);

/* for (struct map_slot *s = map__next(m, NULL); s; s = map__next(m, s)); no put or del inside. */
struct map_slot *map__next(const struct map *m, const struct map_slot *s);

#endif
