// SPDX-License-Identifier: BSD-2-Clause
/* Lines of /proc/stat, one after another, and what becomes of the counts. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cpu_times.h"
#include "userspace/source/cpu_stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *line;
	struct cpu_times t = {0};
	struct rec_cpu_stat rec;
	struct cpu_time sum;

	memcpy(text, data, size);
	text[size] = '\0';
	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (cpu_stat__parse(line, 100, &rec))
			continue;
		assert(rec.cpu != REC_NO_CPU && rec.pad == 0);
		assert(cpu_times__add(&t, &rec) == 0);
	}
	assert(t.n <= CPU_TIMES_MAX);
	cpu_times__sum(&t, &sum);
	assert(sum.cpu < CPU_TIMES_MAX);
	cpu_times__free(&t);
	free(text);
	return 0;
}
