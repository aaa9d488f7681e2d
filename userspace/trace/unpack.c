// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/pack.h"

#include <string.h>

#include "userspace/trace/format.h"

const uint8_t *unpack__varint(const uint8_t *in, const uint8_t *end, uint64_t *v)
{
	unsigned int shift;
	uint64_t x = 0;

	for (shift = 0; shift < 70 && in < end; shift += 7) {
		x |= (uint64_t)(*in & 0x7f) << shift;
		if (!(*in++ & 0x80)) {
			*v = x;
			return in;
		}
	}
	return NULL;
}

static const uint8_t *unpack_bits(const uint8_t *in, const uint8_t *end, uint64_t *v, uint32_t n,
				  uint64_t base, unsigned int bits)
{
	uint64_t mask = (1ULL << (bits & 63)) - 1, at, word;
	uint64_t bytes = ((uint64_t)n * bits + 7) / 8;
	uint32_t i;

	if (bytes > (uint64_t)(end - in) || (bits > 56 && bits != 64))
		return NULL;
	if (bits == 64) {
		for (i = 0; i < n; i++) {
			memcpy(&word, in + (size_t)i * 8, 8);
			v[i] = base + word;
		}
		return in + bytes;
	}
	for (i = 0, at = 0; i < n; i++, at += bits) {
		memcpy(&word, in + (at >> 3), 8);
		v[i] = base + (word >> (at & 7) & mask);
	}
	return in + bytes;
}

static const uint8_t *unpack_exceptions(const uint8_t *in, const uint8_t *end, uint64_t *v,
					uint32_t n, unsigned int bits)
{
	uint64_t count, distance, high, at = 0;

	in = unpack__varint(in, end, &count);
	if (!in || count > n)
		return NULL;
	while (count--) {
		in = unpack__varint(in, end, &distance);
		in = in ? unpack__varint(in, end, &high) : NULL;
		if (!in || distance >= n || at + distance >= n)
			return NULL;
		at += distance;
		v[at] += high << bits;
	}
	return in;
}

static const uint8_t *unpack_packed(const uint8_t *in, const uint8_t *end, uint64_t *v, uint32_t n,
				    bool exceptions)
{
	unsigned int bits;
	uint64_t base;

	in = unpack__varint(in, end, &base);
	if (!in || in == end)
		return NULL;
	bits = *in++;
	in = unpack_bits(in, end, v, n, base, bits);
	if (in && exceptions)
		in = bits <= 56 ? unpack_exceptions(in, end, v, n, bits) : NULL;
	return in;
}

static const uint8_t *unpack_dict(const uint8_t *in, const uint8_t *end, uint64_t *v, uint32_t n)
{
	uint64_t dict[256] = {0}, x, before = 0;
	unsigned int entries, i;

	if (in == end)
		return NULL;
	entries = *in++ + 1u;
	for (i = 0; i < entries; i++) {
		in = unpack__varint(in, end, &x);
		if (!in)
			return NULL;
		before += unzigzag(x);
		dict[i] = before;
	}
	in = unpack_bits(in, end, v, n, 0, bit_length(entries - 1));
	for (i = 0; in && i < n; i++)
		v[i] = dict[v[i]];
	return in;
}

static void undo(enum column_transform transform, uint64_t *v, uint32_t n, const uint64_t *times)
{
	uint64_t u = 0;
	uint32_t i;

	switch (transform) {
	case TRANSFORM_ZIGZAG:
		for (i = 0; i < n; i++)
			v[i] = unzigzag(v[i]);
		break;
	case TRANSFORM_AGE:
		for (i = 0; i < n; i++)
			v[i] = times[i] - v[i];
		break;
	case TRANSFORM_DIFF:
		for (i = 0; i < n; i++)
			v[i] = u += v[i];
		break;
	case TRANSFORM_ZIGZAG_DIFF:
		for (i = 0; i < n; i++)
			v[i] = u += unzigzag(v[i]);
		break;
	default:
		break;
	}
}

static void fill(uint64_t *v, uint32_t n, uint64_t x)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		v[i] = x;
}

const uint8_t *unpack__column(const uint8_t *in, const uint8_t *end, uint64_t *v, uint32_t n,
			      const uint64_t *times, unsigned int *width)
{
	enum column_transform transform;
	enum column_method method;
	uint64_t x = 0;
	uint8_t t;

	if (in >= end)
		return NULL;
	t = *in++;
	*width = 1u << (t & 3);
	method = t >> 2 & 3;
	transform = t >> 4 & 7;
	if (transform >= TRANSFORM_MAX || (transform == TRANSFORM_AGE && !times) ||
	    (t & COLUMN_EXCEPTIONS && method != COLUMN_PACKED))
		return NULL;
	switch (method) {
	case COLUMN_CONST:
		in = unpack__varint(in, end, &x);
		/* fall through */
	case COLUMN_ZERO:
		fill(v, n, x);
		break;
	case COLUMN_PACKED:
		in = unpack_packed(in, end, v, n, t & COLUMN_EXCEPTIONS);
		break;
	case COLUMN_DICT:
		in = unpack_dict(in, end, v, n);
		break;
	}
	if (in)
		undo(transform, v, n, times);
	return in;
}

static const uint8_t *skip_varints(const uint8_t *in, const uint8_t *end, uint64_t n)
{
	uint64_t x;

	while (in && n--)
		in = unpack__varint(in, end, &x);
	return in;
}

static const uint8_t *skip_bits(const uint8_t *in, const uint8_t *end, uint32_t n,
				unsigned int bits)
{
	uint64_t bytes = ((uint64_t)n * bits + 7) / 8;

	return bytes <= (uint64_t)(end - in) ? in + bytes : NULL;
}

static const uint8_t *skip_packed(const uint8_t *in, const uint8_t *end, uint32_t n,
				  bool exceptions)
{
	uint64_t count;

	in = skip_varints(in, end, 1);
	if (!in || in == end)
		return NULL;
	in = skip_bits(in + 1, end, n, *in);
	if (!in || !exceptions)
		return in;
	in = unpack__varint(in, end, &count);
	return in && count <= n ? skip_varints(in, end, 2 * count) : NULL;
}

const uint8_t *unpack__skip(const uint8_t *in, const uint8_t *end, uint32_t n, unsigned int *width)
{
	unsigned int entries;
	uint8_t t;

	if (in >= end)
		return NULL;
	t = *in++;
	*width = 1u << (t & 3);
	switch (t >> 2 & 3) {
	case COLUMN_ZERO:
		return in;
	case COLUMN_CONST:
		return skip_varints(in, end, 1);
	case COLUMN_PACKED:
		return skip_packed(in, end, n, t & COLUMN_EXCEPTIONS);
	default:
		if (in == end)
			return NULL;
		entries = *in++ + 1u;
		in = skip_varints(in, end, entries);
		return in ? skip_bits(in, end, n, bit_length(entries - 1)) : NULL;
	}
}

bool unpack__constant(const uint8_t *in, const uint8_t *end, uint64_t *value, unsigned int *width)
{
	enum column_method method;
	uint64_t v = 0;

	if (in >= end || *in >> 4)
		return false;
	method = *in >> 2 & 3;
	*width = 1u << (*in & 3);
	if (method == COLUMN_CONST)
		in = unpack__varint(in + 1, end, &v);
	if (value)
		*value = v;
	return in && (method == COLUMN_ZERO || method == COLUMN_CONST);
}
