// SPDX-License-Identifier: BSD-2-Clause
/*
 * Anything on the data pipe, in pieces of any size: no byte is lost, and what passes for a payload
 * is one when it is read back from the .data line that it becomes part of.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/suite/lines.h"
#include "workloads/suite/voir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_wrapped(const char *line, size_t n)
{
	static const char head[] = "{\"event\": \"data\", \"data\": ",
			  tail[] = ", \"pipe\": \"data\"}";
	size_t len = sizeof(head) - 1 + n + sizeof(tail) - 1;
	char *text = malloc(len);
	struct voir_record r;

	if (!text)
		return;
	memcpy(text, head, sizeof(head) - 1);
	memcpy(text + sizeof(head) - 1, line, n);
	memcpy(text + sizeof(head) - 1 + n, tail, sizeof(tail) - 1);
	voir__parse(text, len, &r);
	if (r.kind != VOIR_DATA)
		abort();
	voir__clear(&r);
	free(text);
}

static void take(void *arg, const char *line, size_t n)
{
	struct voir_record r;

	*(size_t *)arg += n;
	voir__parse(line, n, &r);
	if (r.kind == VOIR_BAD && (!*r.message || !*r.type))
		abort();
	if (r.kind == VOIR_EVENT && !*r.event)
		abort();
	if (r.kind == VOIR_DATA) {
		while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			n--;
		check_wrapped(line, n);
	}
	voir__clear(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines l = {0};
	size_t i, len, step, taken = 0;

	if (!size)
		return 0;
	step = data[0] + 1U;
	for (i = 1; i < size; i += len) {
		len = size - i < step ? size - i : step;
		lines__feed(&l, (const char *)data + i, len, take, &taken);
	}
	lines__end(&l, take, &taken);
	lines__free(&l);
	if (taken != size - 1)
		abort();
	return 0;
}
