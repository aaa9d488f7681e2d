// SPDX-License-Identifier: BSD-2-Clause
/* Format files of tracepoints. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/source/tracefs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"pid", "prev_state", "comm", "filename", ""};
	char *text = malloc(size + 1);
	uint32_t offset;
	size_t i;

	memcpy(text, data, size);
	text[size] = '\0';
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		offset = UINT32_MAX;
		if (tracefs__parse_field(text, names[i], &offset) == 0)
			assert(offset <= 65535);
		else
			assert(offset == UINT32_MAX);
	}
	free(text);
	return 0;
}
