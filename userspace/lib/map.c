// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/map.h"

#include <errno.h>
#include <stdlib.h>

#define LEAST_SIZE 16

/* The finaliser of MurmurHash3: consecutive keys (thread ids) land far apart. */
static size_t hash(uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdULL;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53ULL;
	return (size_t)(key ^ key >> 33);
}

/* The slot of @key, or the free one where it belongs; the map is never full. */
static struct map_slot *find(const struct map *m, uint64_t key)
{
	size_t i = hash(key) & (m->size - 1);

	while (m->slots[i].value && m->slots[i].key != key)
		i = (i + 1) & (m->size - 1);
	return &m->slots[i];
}

void *map__get(const struct map *m, uint64_t key)
{
	return m->size ? find(m, key)->value : NULL;
}

static int grow(struct map *m)
{
	struct map bigger = {NULL, m->size ? 2 * m->size : LEAST_SIZE, m->n};
	size_t i;

	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < m->size; i++)
		if (m->slots[i].value)
			*find(&bigger, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int map__put(struct map *m, uint64_t key, void *value)
{
	struct map_slot *s;
	int err;

	if (2 * (m->n + 1) > m->size) {
		err = grow(m);
		if (err)
			return err;
	}
	s = find(m, key);
	m->n += !s->value;
	s->key = key;
	s->value = value;
	return 0;
}

void *map__del(struct map *m, uint64_t key)
{
	size_t mask = m->size - 1, hole, i, home;
	void *value;

	if (!m->size || !find(m, key)->value)
		return NULL;
	hole = (size_t)(find(m, key) - m->slots);
	value = m->slots[hole].value;
	for (i = (hole + 1) & mask; m->slots[i].value; i = (i + 1) & mask) {
		home = hash(m->slots[i].key) & mask;
		/* an entry may move back to the hole unless its home lies behind it */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].value = NULL;
	m->n--;
	return value;
}

void map__free(struct map *m)
{
	free(m->slots);
	m->slots = NULL;
	m->size = m->n = 0;
}

struct map_slot *map__next(const struct map *m, const struct map_slot *s)
{
	size_t i = s ? (size_t)(s - m->slots) + 1 : 0;

	for (; i < m->size; i++)
		if (m->slots[i].value)
			return &m->slots[i];
	return NULL;
}
