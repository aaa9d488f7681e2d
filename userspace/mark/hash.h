/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The id of a name: XXH64 of its bytes with seed 0, as the specification of the xxHash family
 * defines it (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), so that every
 * process, and any tool outside, gives a name the same id.
 */
#ifndef XPUGAP_MARK_HASH_H
#define XPUGAP_MARK_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define XXH_P1 0x9E3779B185EBCA87ULL
#define XXH_P2 0xC2B2AE3D27D4EB4FULL
#define XXH_P3 0x165667B19E3779F9ULL
#define XXH_P4 0x85EBCA77C2B2AE63ULL
#define XXH_P5 0x27D4EB2F165667C5ULL

static inline uint64_t xxh__rotl(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

static inline uint64_t xxh__read64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v; /* little-endian machines only, as are the records */
}

static inline uint64_t xxh__round(uint64_t acc, uint64_t lane)
{
	return xxh__rotl(acc + lane * XXH_P2, 31) * XXH_P1;
}

static inline uint64_t xxh__merge(uint64_t acc, uint64_t v)
{
	return (acc ^ xxh__round(0, v)) * XXH_P1 + XXH_P4;
}

/* The part of XXH64 for inputs of 32 bytes and more: consumes stripes of 32. */
static inline uint64_t xxh__stripes(const unsigned char **p, size_t len)
{
	uint64_t v1 = XXH_P1 + XXH_P2, v2 = XXH_P2, v3 = 0, v4 = 0 - XXH_P1;
	const unsigned char *end = *p + (len & ~(size_t)31);
	uint64_t acc;

	for (; *p < end; *p += 32) {
		v1 = xxh__round(v1, xxh__read64(*p));
		v2 = xxh__round(v2, xxh__read64(*p + 8));
		v3 = xxh__round(v3, xxh__read64(*p + 16));
		v4 = xxh__round(v4, xxh__read64(*p + 24));
	}
	acc = xxh__rotl(v1, 1) + xxh__rotl(v2, 7) + xxh__rotl(v3, 12) + xxh__rotl(v4, 18);
	acc = xxh__merge(acc, v1);
	acc = xxh__merge(acc, v2);
	acc = xxh__merge(acc, v3);
	return xxh__merge(acc, v4);
}

static inline uint64_t mark_hash(const void *data, size_t len)
{
	const unsigned char *p = data, *end = p + len;
	uint64_t acc = len >= 32 ? xxh__stripes(&p, len) : XXH_P5;
	uint32_t four;

	acc += len;
	for (; p + 8 <= end; p += 8)
		acc = xxh__rotl(acc ^ xxh__round(0, xxh__read64(p)), 27) * XXH_P1 + XXH_P4;
	if (p + 4 <= end) {
		memcpy(&four, p, sizeof(four));
		acc = xxh__rotl(acc ^ four * XXH_P1, 23) * XXH_P2 + XXH_P3;
		p += 4;
	}
	for (; p < end; p++)
		acc = xxh__rotl(acc ^ *p * XXH_P5, 11) * XXH_P1;
	acc = (acc ^ acc >> 33) * XXH_P2;
	acc = (acc ^ acc >> 29) * XXH_P3;
	return acc ^ acc >> 32;
}

#endif
