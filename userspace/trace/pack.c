// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/pack.h"

#include <string.h>

#include "userspace/trace/format.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define EXCEPTION_BITS	24 /* what one costs, roughly: its distance and its high part */
#define TRIALS		15
#define DICT_MIN_VALUES 16
#define DICT_ENTRY_BITS 40
#define SAMPLES		32
#define RUN		16

uint8_t *pack__varint(uint8_t *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*out++ = (uint8_t)(v | 0x80);
	*out++ = (uint8_t)v;
	return out;
}

/* The most exceptions that a column of @n may have. */
static uint32_t max_exceptions(uint32_t n)
{
	return n / 4 < PACK_EXCEPTIONS ? n / 4 : PACK_EXCEPTIONS;
}

static uint8_t *pack_words(uint8_t *out, const uint64_t *x, uint32_t n, uint64_t base)
{
	uint64_t y;
	uint32_t i;

	for (i = 0; i < n; i++, out += 8) {
		y = x[i] - base;
		memcpy(out, &y, 8);
	}
	return out;
}

/*
 * Write the low @bits of each x - @base; what does not fit becomes an exception. NULL if these
 * are too many.
 */
static uint8_t *pack_bits(struct packer *p, uint8_t *out, const uint64_t *x, uint32_t n,
			  uint64_t base, unsigned int bits, uint32_t *n_exceptions)
{
	uint64_t mask = (1ULL << (bits & 63)) - 1, acc = 0, y;
	uint8_t *end = out + ((uint64_t)n * bits + 7) / 8;
	uint32_t i, exceptions = 0, max = max_exceptions(n);
	unsigned int fill = 0;

	*n_exceptions = 0;
	if (bits == 64)
		return pack_words(out, x, n, base);
	for (i = 0; i < n; i++) {
		y = x[i] - base;
		if (__builtin_expect(y > mask, 0)) {
			if (exceptions == max)
				return NULL;
			p->exception_at[exceptions] = i;
			p->exception_high[exceptions++] = y >> bits;
			y &= mask;
		}
		acc |= y << fill;
		fill += bits;
		if (fill >= 64) {
			memcpy(out, &acc, 8);
			out += 8;
			fill -= 64;
			acc = y >> (bits - fill);
		}
	}
	if (fill)
		memcpy(out, &acc, 8);
	*n_exceptions = exceptions;
	return end;
}

/*
 * Choose the number of bits that makes numbers with these lengths shortest. @cost becomes the
 * bits for each 256 of them.
 */
static unsigned int choose_bits(const uint32_t *lengths, uint32_t n, unsigned int longest,
				uint64_t *cost)
{
	unsigned int b, best = longest > 56 ? 64 : longest;
	uint64_t bits, least = (uint64_t)n * best;
	uint32_t exceptions = 0;

	for (b = longest; b-- > 0;) {
		exceptions += lengths[b + 1];
		if (exceptions > n / 8)
			break;
		bits = (uint64_t)n * b + (uint64_t)exceptions * EXCEPTION_BITS;
		if (b <= 56 && bits < least) {
			least = bits;
			best = b;
		}
	}
	*cost = least * 256 / n;
	return best;
}

/*
 * In how many bits are x - @base written best? Looks at a quarter of a long column, in runs that
 * are longer than most patterns that a loop makes.
 */
static unsigned int measure(const uint64_t *x, uint32_t n, uint64_t base, uint64_t max,
			    uint64_t *cost)
{
	unsigned int longest = bit_length(max - base), b;
	uint32_t lengths[2][65] = {{0}};
	uint32_t i, k, seen = 0, step = n >= 512 ? 4 * RUN : RUN;

	if (longest <= 2 || n < RUN) { /* nothing to gain */
		*cost = (uint64_t)longest * 256;
		return longest > 56 ? 64 : longest;
	}
	for (i = 0; i + RUN <= n; i += step, seen += RUN) {
		for (k = i; k < i + RUN; k += 2) {
			lengths[0][bit_length(x[k] - base)]++;
			lengths[1][bit_length(x[k + 1] - base)]++;
		}
	}
	for (b = 0; b <= longest; b++)
		lengths[0][b] += lengths[1][b];
	return choose_bits(lengths[0], seen, longest, cost);
}

static uint32_t dict_hash(uint64_t v)
{
	return (uint32_t)(v * 0x9e3779b97f4a7c15ULL >> 54);
}

/* Replace each x by its place in the dictionary; returns the entries, 0 if they are too many. */
static uint32_t make_dict(struct packer *p, const uint64_t *x, uint32_t n)
{
	uint64_t last = ~x[0];
	uint32_t entries = 0, h, i;
	uint8_t code = 0;

	memset(p->slot_code, 0, sizeof(p->slot_code));
	for (i = 0; i < n; i++) {
		if (x[i] != last) {
			last = x[i];
			h = dict_hash(last);
			while (p->slot_code[h] && p->slot_value[h] != last)
				h = (h + 1) % ARRAY_SIZE(p->slot_code);
			if (!p->slot_code[h]) {
				if (entries == ARRAY_SIZE(p->dict))
					return 0;
				p->dict[entries++] = last;
				p->slot_value[h] = last;
				p->slot_code[h] = (uint16_t)entries;
			}
			code = (uint8_t)(p->slot_code[h] - 1);
		}
		p->codes[i] = code;
	}
	return entries;
}

static uint8_t tag(unsigned int width, enum column_method method, enum column_transform transform)
{
	static const uint8_t log2_width[9] = {[1] = 0, [2] = 1, [4] = 2, [8] = 3};

	return (uint8_t)(log2_width[width] | method << 2 | transform << 4);
}

static void extremes(const uint64_t *x, uint32_t n, uint64_t *min, uint64_t *max)
{
	uint64_t lo = x[0], hi = x[0];
	uint32_t i;

	for (i = 1; i < n; i++) {
		lo = x[i] < lo ? x[i] : lo;
		hi = x[i] > hi ? x[i] : hi;
	}
	*min = lo;
	*max = hi;
}

static uint8_t *put_exceptions(const struct packer *p, uint8_t *out, uint32_t n)
{
	uint32_t i, before = 0;

	out = pack__varint(out, n);
	for (i = 0; i < n; i++) {
		out = pack__varint(out, p->exception_at[i] - before);
		out = pack__varint(out, p->exception_high[i]);
		before = p->exception_at[i];
	}
	return out;
}

static uint8_t *put_packed(struct packer *p, uint8_t *out, const uint64_t *x, uint32_t n,
			   uint8_t tag_byte, uint64_t min, uint64_t max, unsigned int bits)
{
	uint8_t *at = out, *end;
	uint32_t exceptions;

	*out++ = tag_byte;
	out = pack__varint(out, min);
	*out++ = (uint8_t)bits;
	end = pack_bits(p, out, x, n, min, bits, &exceptions);
	if (!end) { /* what measure() saw was not typical */
		bits = bit_length(max - min) > 56 ? 64 : bit_length(max - min);
		out[-1] = (uint8_t)bits;
		end = pack_bits(p, out, x, n, min, bits, &exceptions);
	}
	if (exceptions) {
		*at |= COLUMN_EXCEPTIONS;
		end = put_exceptions(p, end, exceptions);
	}
	return end;
}

/* Places in a dictionary, in the least number of bits. */
static uint8_t *pack_codes(uint8_t *out, const uint8_t *codes, uint32_t n, unsigned int bits)
{
	uint8_t *end = out + ((uint64_t)n * bits + 7) / 8;
	unsigned int fill = 0;
	uint64_t acc = 0;
	uint32_t i;

	if (bits == 8) {
		memcpy(out, codes, n);
		return end;
	}
	for (i = 0; i < n; i++) {
		acc |= (uint64_t)codes[i] << fill;
		fill += bits;
		if (fill >= 64) {
			memcpy(out, &acc, 8);
			out += 8;
			fill -= 64;
			acc = (uint64_t)codes[i] >> (bits - fill);
		}
	}
	if (fill)
		memcpy(out, &acc, 8);
	return end;
}

static uint8_t *put_dict(struct packer *p, uint8_t *out, uint32_t n, uint8_t tag_byte,
			 uint32_t entries)
{
	uint64_t before = 0;
	uint32_t i;

	*out++ = tag_byte;
	*out++ = (uint8_t)(entries - 1);
	for (i = 0; i < entries; i++) {
		out = pack__varint(out, zigzag(p->dict[i] - before));
		before = p->dict[i];
	}
	return pack_codes(out, p->codes, n, bit_length(entries - 1));
}

/* Would differences be much shorter? Judged by pairs of neighbours all over the column. */
static bool rather_diff(const uint64_t *v, uint32_t n, uint64_t cost)
{
	uint32_t step = n / SAMPLES + 1, i, samples = 0;
	uint64_t bits = 0;

	for (i = 1; i < n; i += step, samples++)
		bits += bit_length(zigzag(v[i] - v[i - 1]));
	return samples && (bits + samples) * 256 < cost * samples;
}

static enum column_transform to_diff(uint64_t *v, uint32_t n)
{
	uint64_t before = 0, x, falls = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		x = v[i] - before;
		falls |= x;
		before = v[i];
		v[i] = x;
	}
	if (!(falls >> 63))
		return TRANSFORM_DIFF;
	for (i = 0; i < n; i++)
		v[i] = zigzag(v[i]);
	return TRANSFORM_ZIGZAG_DIFF;
}

static enum column_transform to_signed(uint64_t *v, uint32_t n, unsigned int width)
{
	unsigned int shift = 64 - 8 * width;
	uint64_t any = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		any |= v[i];
	if (!(any >> (8 * width - 1)))
		return TRANSFORM_NONE;
	for (i = 0; i < n; i++)
		v[i] = zigzag((uint64_t)((int64_t)(v[i] << shift) >> shift));
	return TRANSFORM_ZIGZAG;
}

static enum column_transform to_age(uint64_t *v, uint32_t n, const uint64_t *times)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		v[i] = times[i] - v[i];
	return TRANSFORM_AGE;
}

uint8_t *pack__constant(uint8_t *out, uint64_t v, unsigned int width)
{
	*out++ = tag(width, v ? COLUMN_CONST : COLUMN_ZERO, TRANSFORM_NONE);
	return v ? pack__varint(out, v) : out;
}

/* In the same unit as measure(): bits for 256 values. */
static uint64_t dict_cost(uint32_t entries, uint32_t n)
{
	return bit_length(entries - 1) * 256 + entries * DICT_ENTRY_BITS * 256ULL / n;
}

/* A column that a dictionary suited the last time: its end, or NULL if that is over. */
static uint8_t *try_dict_again(struct packer *p, uint8_t *out, const uint64_t *v, uint32_t n,
			       uint8_t tag_byte, struct pack_memory *m)
{
	uint32_t entries;

	if (!m || !m->dict || !m->trials || n < DICT_MIN_VALUES)
		return NULL;
	m->trials--;
	entries = make_dict(p, v, n);
	if (entries < 2 || dict_cost(entries, n) >= m->cost) {
		m->trials = 0;
		return NULL;
	}
	return put_dict(p, out, n, tag_byte, entries);
}

static bool worth_a_dict(uint32_t n, enum pack_hint hint, uint64_t cost, struct pack_memory *m)
{
	if (n < DICT_MIN_VALUES || hint == PACK_RISING || cost <= 4 * 256)
		return false;
	if (!m || m->dict || !m->trials)
		return true;
	m->trials--;
	return false;
}

static void remember(struct pack_memory *m, bool dict, uint64_t cost)
{
	if (m)
		*m = (struct pack_memory){.cost = cost, .trials = TRIALS, .dict = dict};
}

uint8_t *pack__column(struct packer *p, uint8_t *out, uint64_t *v, uint32_t n, unsigned int width,
		      enum pack_hint hint, const uint64_t *times, struct pack_memory *memory)
{
	enum column_transform transform = TRANSFORM_NONE;
	uint64_t min, max, cost;
	unsigned int bits;
	uint32_t entries;
	uint8_t *end;

	if (hint == PACK_SIGNED)
		transform = to_signed(v, n, width);
	else if (hint == PACK_TIME)
		transform = to_age(v, n, times);
	else if (hint == PACK_RISING)
		transform = to_diff(v, n);
	end = try_dict_again(p, out, v, n, tag(width, COLUMN_DICT, transform), memory);
	if (end)
		return end;
	extremes(v, n, &min, &max);
	if (min == max && transform == TRANSFORM_NONE)
		return pack__constant(out, min, width);
	bits = measure(v, n, min, max, &cost);
	if (worth_a_dict(n, hint, cost, memory)) {
		entries = make_dict(p, v, n);
		remember(memory, entries && dict_cost(entries, n) < cost, cost);
		if (entries && dict_cost(entries, n) < cost)
			return put_dict(p, out, n, tag(width, COLUMN_DICT, transform), entries);
	}
	if (n >= DICT_MIN_VALUES && hint == PACK_PLAIN && cost > 4 * 256 &&
	    rather_diff(v, n, cost)) {
		transform = to_diff(v, n);
		extremes(v, n, &min, &max);
		bits = measure(v, n, min, max, &cost);
	}
	return put_packed(p, out, v, n, tag(width, COLUMN_PACKED, transform), min, max, bits);
}
