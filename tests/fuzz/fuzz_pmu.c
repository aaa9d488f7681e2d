// SPDX-License-Identifier: BSD-2-Clause
/*
 * Formats and terms of events, as files of sysfs and the command line have them: a line with the
 * format of every name, then the terms.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace/pmu/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int find(void *arg, const char *name, struct pmu_format *f)
{
	return pmu_format__parse(f, arg);
}

/* What was put in must be found there again. */
static void check_set(const struct pmu_format *f, uint64_t value)
{
	uint64_t configs[PMU_CONFIGS] = {0}, got = 0;
	unsigned int i, shift = 0;
	uint64_t seen = 0;

	if (pmu_format__set(f, value, configs))
		return;
	for (i = 0; i < f->n; i++) {
		unsigned int bits = f->range[i].last - f->range[i].first + 1u;
		uint64_t mask = bits > 63 ? UINT64_MAX : (1ULL << bits) - 1;

		if (seen & mask << f->range[i].first)
			return; /* ranges that overlap hide each other */
		seen |= mask << f->range[i].first;
		if (shift < 64)
			got |= (configs[f->config] >> f->range[i].first & mask) << shift;
		shift += bits;
	}
	if (got != value)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t configs[PMU_CONFIGS] = {0}, value = 0;
	char *text = malloc(size + 1), *terms, why[64];
	struct pmu_format f;
	int err;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	memcpy(&value, data, size < sizeof(value) ? size : sizeof(value));
	terms = strchr(text, '\n');
	if (terms)
		*terms++ = '\0';
	if (pmu_format__parse(&f, text) == 0) {
		check_set(&f, value);
		check_set(&f, value & 0xff);
	}
	if (terms) {
		err = pmu_terms__pack(terms, find, text, configs, why, sizeof(why));
		if ((err != 0) != (*why != '\0'))
			abort();
	}
	free(text);
	return 0;
}
