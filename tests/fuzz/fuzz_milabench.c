// SPDX-License-Identifier: BSD-2-Clause
/* Logs of any content: read, summed up, printed, and the summary is JSON. */
#include <jansson.h>
#include <stdlib.h>

#include "analysis/milabench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct milabench *m = milabench__new();
	struct milabench_totals t;
	char *text = NULL;
	size_t n;
	FILE *out;
	json_t *root;

	/* two files: the second meets what the first left */
	if (milabench__read_buffer(m, "a.data", data, size / 2) ||
	    milabench__read_buffer(m, "b.data", data + size / 2, size - size / 2) ||
	    milabench__read_buffer(m, "c.data", data, size) || milabench__finish(m))
		abort();
	milabench__totals(m, &t);
	if (t.files != 3 || t.ignored > 3)
		abort();
	out = open_memstream(&text, &n);
	milabench__print(m, out);
	milabench__print_steps(m, out);
	fclose(out);
	free(text);
	out = open_memstream(&text, &n);
	milabench__write_summary(m, out);
	fclose(out);
	root = json_loads(text, 0, NULL);
	if (!root)
		abort();
	json_decref(root);
	free(text);
	milabench__free(m);
	return 0;
}
