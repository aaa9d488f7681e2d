// SPDX-License-Identifier: BSD-2-Clause
/*
 * A condition of --dump-on, as a user types it, and then steps: the text, a NUL, and 8 bytes for
 * each MARK_STEP. Whatever is taken can be evaluated; what is not is said to be wrong somewhere.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/trigger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void step_on(struct trigger *t, const uint8_t *data, size_t size)
{
	struct rec_mark_step rec = {.hdr = {REC_MARK_STEP, sizeof(rec), 1, 1}};
	struct trigger_hit hit;
	uint64_t v;

	for (; size >= sizeof(v); data += sizeof(v), size -= sizeof(v)) {
		memcpy(&v, data, sizeof(v));
		rec.hdr.tid = v >> 62;
		rec.hdr.time_ns += v & 0xffffffff;
		rec.step = v >> 32 & 0xff ? v : REC_NO_STEP;
		if (trigger__step(t, &rec.hdr, &hit))
			assert(hit.step_ns >= 0 && hit.tid == rec.hdr.tid);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct trigger_values v = {.step = 2e7, .p50 = 1e7, .p90 = 1.5e7, .mean = 1e7};
	char *text = malloc(size + 1), why[120] = "";
	size_t len = strnlen((const char *)data, size);
	struct trigger *t;

	memcpy(text, data, size);
	text[size] = '\0';
	t = trigger__new(text, why, sizeof(why));
	assert(t || *why);
	if (t) {
		trigger__holds(t, &v);
		if (len < size)
			step_on(t, data + len + 1, size - len - 1);
	}
	trigger__free(t);
	free(text);
	return 0;
}
