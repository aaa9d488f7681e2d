// SPDX-License-Identifier: BSD-2-Clause
/* Columns: any numbers come back, any bytes do no harm. */
#include <stdlib.h>
#include <string.h>

#include "userspace/trace/pack.h"

#define MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t times[MAX];

static uint64_t cut(uint64_t v, unsigned int width)
{
	return width == 8 ? v : v & ((1ULL << 8 * width) - 1);
}

/* The data are numbers. */
static void pack_and_unpack(const uint8_t *data, size_t size, unsigned int width,
			    enum pack_hint hint)
{
	static uint64_t in[MAX], work[MAX], out[MAX];
	static struct packer packer;
	struct pack_memory memory;
	uint8_t *buf, *end;
	uint32_t n = (uint32_t)(size / width), i;
	unsigned int w;

	n = n < MAX ? n : MAX;
	if (!n || (width < 8 && (hint == PACK_TIME || hint == PACK_RISING)))
		return;
	memset(in, 0, n * sizeof(*in));
	for (i = 0; i < n; i++)
		memcpy(&in[i], data + i * width, width);
	memcpy(work, in, n * sizeof(*in));
	buf = malloc((size_t)n * width * 3 / 2 + n * 3 / 4 + PACK_HEAD_BYTES + 8);
	if (!buf)
		abort();
	/* what came before may have been anything */
	memory.cost = work[n / 2] % (8 * width * 256 + 1);
	memory.trials = (uint8_t)work[0];
	memory.dict = work[n - 1] & 1;
	end = pack__column(&packer, buf, work, n, width, hint, times, &memory);
	if (unpack__skip(buf, end, n, &w) != end || w != width)
		abort();
	if (unpack__column(buf, end, out, n, times, &w) != end || w != width)
		abort();
	for (i = 0; i < n; i++)
		if (cut(out[i], width) != in[i])
			abort();
	free(buf);
}

/* The data are a column. */
static void unpack(const uint8_t *data, size_t size, uint32_t n)
{
	static uint64_t out[MAX + 1];
	const uint8_t *a, *b;
	uint8_t *copy;
	unsigned int w, w2;
	uint64_t v;

	copy = malloc(size + 8);
	if (!copy)
		abort();
	memcpy(copy, data, size);
	memset(copy + size, 0, 8);
	out[n] = 0x5a5a;
	a = unpack__column(copy, copy + size, out, n, times, &w);
	b = unpack__skip(copy, copy + size, n, &w2);
	if (out[n] != 0x5a5a || (a && (a != b || w != w2)))
		abort();
	unpack__constant(copy, copy + size, &v, &w);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int i;

	if (size < 4)
		return 0;
	for (i = 0; i < MAX; i++)
		times[i] = 1000000 + i * 100ULL;
	if (data[0] & 1)
		pack_and_unpack(data + 2, size - 2, 1u << (data[1] & 3), data[1] / 4 % 5);
	else
		unpack(data + 3, size - 3, 1 + (data[1] | (data[2] & 15u) << 8));
	return 0;
}
