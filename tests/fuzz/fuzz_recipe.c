// SPDX-License-Identifier: BSD-2-Clause
/* Recipes of the source fake: understood or refused, never worse. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/source/source.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int null_fd;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	null_fd = open("/dev/null", O_WRONLY);
	log__set_level(LOG_NONE);
	if (null_fd < 0)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct source_ctx ctx = {.input = text};
	struct source *s = NULL;

	ctx.writer = trace_writer__new(null_fd, NULL);
	if (!text || !ctx.writer)
		abort();
	if (source_fake.open(&s, &ctx) == 0) {
		if (source_fake.start(s) || source_fake.poll(s) < 0 || source_fake.stop(s) ||
		    trace_writer__finish(ctx.writer))
			abort();
		source_fake.close(s);
	}
	trace_writer__free(ctx.writer);
	free(text);
	return 0;
}
