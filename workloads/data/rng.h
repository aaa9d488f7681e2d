/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random numbers that depend on what they are for, not on who asks first.
 *
 * SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014)
 * seeded by a hash of the sample's coordinates.
 */
#ifndef XPUGAP_DATA_RNG_H
#define XPUGAP_DATA_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng__mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline uint64_t rng__u64(struct rng *r)
{
	return rng__mix(r->state += 0x9e3779b97f4a7c15ULL);
}

/* A stream of its own for each (seed, epoch, index). */
static inline struct rng rng__of(uint64_t seed, uint64_t epoch, uint64_t index)
{
	struct rng r = {seed};

	r.state = rng__u64(&r) ^ epoch;
	r.state = rng__u64(&r) ^ index;
	r.state = rng__u64(&r);
	return r;
}

/* Uniform in [0, 1): 53 bits. */
static inline double rng__f64(struct rng *r)
{
	return (double)(rng__u64(r) >> 11) * 0x1p-53;
}

static inline double rng__uniform(struct rng *r, double low, double high)
{
	return low + (high - low) * rng__f64(r);
}

/* Uniform in [0, n), n > 0; the bias of n/2^64 is of no account for the sizes of images. */
static inline uint32_t rng__below(struct rng *r, uint32_t n)
{
	return (uint32_t)(((unsigned __int128)rng__u64(r) * n) >> 64);
}

/*
 * The place of @i in a permutation of [0, n) chosen by @key: a Feistel network over the next
 * power of four, walked until it lands inside (Black and Rogaway, Ciphers with Arbitrary Finite
 * Domains, 2002). It needs no memory, so that any worker can find any sample of any epoch.
 */
static inline uint64_t rng__permute(uint64_t key, uint64_t i, uint64_t n)
{
	unsigned int half = 1, round;
	uint64_t mask, left, right, next;

	while (half < 32 && (1ULL << (2 * half)) < n)
		half++;
	mask = (1ULL << half) - 1;
	do {
		left = i >> half;
		right = i & mask;
		for (round = 0; round < 6; round++) {
			next = left ^
			       (rng__mix(key + (right + 1) * 0x9e3779b97f4a7c15ULL + round) & mask);
			left = right;
			right = next;
		}
		i = left << half | right;
	} while (i >= n);
	return i;
}

#endif
