// SPDX-License-Identifier: BSD-2-Clause
/* Columns: what is packed comes out again, whatever the encoder chose. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/trace_util.h"
#include "userspace/trace/pack.h"

#define MAX 5000

struct scratch {
	struct packer packer;
	struct pack_memory memory[9];
	uint64_t in[MAX], work[MAX], out[MAX], times[MAX];
	uint8_t bytes[MAX * 16 + 1024];
};

static struct scratch *s;

static void set_up(void)
{
	s = calloc(1, sizeof(*s));
	cr_assert_not_null(s);
}

static void tear_down(void)
{
	free(s);
}

TestSuite(pack, .init = set_up, .fini = tear_down);

static uint64_t cut(uint64_t v, unsigned int width)
{
	return width == 8 ? v : v & ((1ULL << 8 * width) - 1);
}

/* Pack s->in, check all that can be known of the result, return its size. */
static size_t round_trip(uint32_t n, unsigned int width, enum pack_hint hint)
{
	unsigned int w = 0;
	const uint8_t *end, *p;
	size_t size;
	uint32_t i;

	memcpy(s->work, s->in, n * sizeof(*s->in));
	end = pack__column(&s->packer, s->bytes, s->work, n, width, hint, s->times,
			   n % 2 ? &s->memory[width] : NULL);
	size = (size_t)(end - s->bytes);
	cr_assert_leq(size, (size_t)n * width * 3 / 2 + n * 3 / 4 + PACK_HEAD_BYTES);
	memset(s->bytes + size, 0xa5, 8);
	p = unpack__skip(s->bytes, end, n, &w);
	cr_assert_eq(p, end);
	cr_assert_eq(w, width);
	memset(s->out, 0xee, sizeof(s->out));
	p = unpack__column(s->bytes, end, s->out, n, s->times, &w);
	cr_assert_eq(p, end);
	cr_assert_eq(w, width);
	for (i = 0; i < n; i++)
		cr_assert_eq(cut(s->out[i], width), s->in[i], "value %u of %u: width %u, hint %d",
			     i, n, width, hint);
	cr_assert_eq(s->out[n], 0xeeeeeeeeeeeeeeeeULL); /* nothing past the column */
	return size;
}

enum shape { CONSTANT, FEW, NARROW, OUTLIERS, RISING, RANDOM, AGE, NEGATIVE, SHAPES };

static uint64_t shaped(enum shape shape, uint32_t i, uint64_t *seed)
{
	uint64_t r = rnd(seed);

	switch (shape) {
	case CONSTANT:
		return 0x1234567890abcdef;
	case FEW:
		return (r % 37) * 0x9e3779b97f4a7c15ULL;
	case NARROW:
		return 1000000 + r % 500;
	case OUTLIERS:
		return r % 50 ? r >> 8 & 0xff : r;
	case RISING:
		return 5000000000ULL + i * 1000ULL + r % 900;
	case AGE:
		return s->times[i] - r % 3000;
	case NEGATIVE:
		return 0 - (r % 40);
	default:
		return r;
	}
}

Test(pack, all_shapes_widths_and_hints)
{
	static const uint32_t sizes[] = {1, 2, 7, 8, 15, 16, 17, 31, 100, 511, 512, 1000, MAX - 1};
	uint64_t seed = 1;
	unsigned int shape, width, hint, k;
	uint32_t i;

	for (i = 0; i < MAX; i++)
		s->times[i] = 100000000000ULL + i * 1000ULL;
	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		for (shape = 0; shape < SHAPES; shape++) {
			for (width = 1; width <= 8; width *= 2) {
				for (i = 0; i < sizes[k]; i++)
					s->in[i] = cut(shaped(shape, i, &seed), width);
				for (hint = PACK_PLAIN; hint <= PACK_REAL; hint++)
					if (width == 8 ||
					    (hint != PACK_TIME && hint != PACK_RISING))
						round_trip(sizes[k], width, hint);
			}
		}
	}
}

/* Numbers just at the limits of what a number of bits can hold. */
Test(pack, every_bit_length)
{
	uint64_t seed = 3;
	unsigned int bits;
	uint32_t i;

	for (bits = 0; bits <= 64; bits++) {
		for (i = 0; i < 300; i++)
			s->in[i] = bits ? rnd(&seed) >> (64 - bits) : 0;
		s->in[17] = bits ? ~0ULL >> (64 - bits) : 0;
		s->in[18] = 0;
		round_trip(300, 8, PACK_PLAIN);
		round_trip(300, 8, PACK_REAL);
		round_trip(300, 8, PACK_SIGNED);
	}
}

/* What the encoder is for: each of these shapes takes about its entropy. */
Test(pack, typical_columns_become_short)
{
	uint64_t seed = 5;
	uint32_t i, n = 2000;

	for (i = 0; i < n; i++)
		s->in[i] = 0xc0104629;
	cr_assert_leq(round_trip(n, 4, PACK_PLAIN), 8);
	for (i = 0; i < n; i++)
		s->in[i] = 4000 + rnd(&seed) % 8;
	cr_assert_leq(round_trip(n, 4, PACK_PLAIN), n * 3 / 8 + 40);
	for (i = 0; i < n; i++) /* sixteen ids that have nothing in common */
		s->in[i] = (rnd(&seed) % 16) * 0x9e3779b97f4a7c15ULL;
	cr_assert_leq(round_trip(n, 8, PACK_PLAIN), n / 2 + 16 * 11);
	for (i = 0; i < n; i++) /* one duration in a hundred is very long */
		s->in[i] = 400 + rnd(&seed) % 256 + (rnd(&seed) % 100 ? 0 : 100000000);
	cr_assert_leq(round_trip(n, 8, PACK_PLAIN), n + n / 100 * 2 * 8 + 40);
	for (i = 0; i < n; i++)
		s->in[i] = 1000000000000ULL + i * 700ULL + rnd(&seed) % 128;
	cr_assert_leq(round_trip(n, 8, PACK_PLAIN), n * 10 / 8 + 40);
	cr_assert_leq(round_trip(n, 8, PACK_RISING), n + 40);
}

/* Exceptions that measure(), which looks at a quarter, does not see. */
Test(pack, unseen_exceptions)
{
	uint32_t i;

	for (i = 0; i < 4096; i++)
		s->in[i] = i % 64 < 16 ? i % 7 : 1ULL << 50 | i;
	round_trip(4096, 8, PACK_REAL);
	for (i = 0; i < 4096; i++)
		s->in[i] = i % 64 < 60 ? i % 7 : 1ULL << 50 | i;
	round_trip(4096, 8, PACK_REAL);
}

/* A column that is cut off anywhere, or changed anywhere, is told or gives other numbers. */
Test(pack, damaged_columns_do_no_harm)
{
	uint64_t seed = 9;
	unsigned int shape, w, round;
	uint8_t *copy, *end;
	size_t size, i;
	uint32_t n = 200, k;

	for (shape = 0; shape < SHAPES; shape++) {
		for (k = 0; k < n; k++)
			s->in[k] = shaped(shape, k, &seed);
		size = round_trip(n, 8, shape == AGE ? PACK_TIME : PACK_PLAIN);
		for (i = 0; i < size; i++) {
			/* of exactly the size that may be read */
			copy = malloc(i + 8);
			memcpy(copy, s->bytes, i);
			memset(copy + i, 0, 8);
			cr_assert_null(unpack__column(copy, copy + i, s->out, n, s->times, &w));
			cr_assert_null(unpack__skip(copy, copy + i, n, &w));
			free(copy);
		}
		for (round = 0; round < 2000; round++) {
			copy = malloc(size + 8);
			memcpy(copy, s->bytes, size);
			memset(copy + size, 0, 8);
			end = copy + size;
			copy[rnd(&seed) % size] ^= (uint8_t)(1 << rnd(&seed) % 8);
			unpack__column(copy, end, s->out, n, s->times, &w);
			unpack__skip(copy, end, n, &w);
			free(copy);
		}
	}
}

Test(pack, varints)
{
	static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, 1ULL << 35, ~0ULL};
	uint8_t buf[16] = {0};
	uint64_t v;
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		uint8_t *end = pack__varint(buf, values[i]);

		cr_assert_eq(unpack__varint(buf, end, &v), end);
		cr_assert_eq(v, values[i]);
		cr_assert_null(unpack__varint(buf, end - 1, &v));
	}
	memset(buf, 0xff, sizeof(buf)); /* one that does not end */
	cr_assert_null(unpack__varint(buf, buf + sizeof(buf), &v));
}
