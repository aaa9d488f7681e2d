// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/record_source.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/output.h"
#include "userspace/lib/column.h"
#include "userspace/lib/log.h"
#include "userspace/source/source.h"

static volatile sig_atomic_t asked_to_stop;

/* The second signal ends at once: what was written can be read. */
static void ask_to_stop(int sig)
{
	signal(sig, SIG_DFL);
	asked_to_stop = 1;
}

/* Sources that record something that is already there, or nothing. */
static const struct source_ops *find_source(const char *spec, const char **input)
{
	static const char *const names[] = {"replay", "fake"};
	char name[16] = "";
	size_t n = strcspn(spec, ":");
	const char *near;
	size_t i;

	*input = spec[n] ? spec + n + 1 : NULL;
	if (n < sizeof(name))
		memcpy(name, spec, n);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return source__find(name);
	near = opt__nearest(name, names, sizeof(names) / sizeof(names[0]));
	if (near)
		log_error("record: --source: unknown '%s', did you mean '%s'?", name, near);
	else
		log_error("record: --source: unknown '%.*s' (one of: replay, fake)", (int)n, spec);
	return NULL;
}

static int copy(const struct source_ops *ops, const struct source_ctx *ctx, struct output *out)
{
	struct trace_writer_stats stats;
	char bytes[32];
	int err = source__copy(ops, ctx, &asked_to_stop);

	trace_writer__stats(ctx->writer, &stats);
	if (err && !stats.records) {
		output__discard(out);
		return err;
	}
	log_info("'%s': %llu records, %s", out->path, (unsigned long long)stats.records,
		 format__bytes(bytes, sizeof(bytes), stats.bytes));
	return (output__replace(out) ?: output__close(out)) ?: err;
}

int record_source(const struct record_source_opts *o)
{
	const struct trace_writer_opts wopts = {.level = o->level, .sync = o->sync};
	struct source_ctx ctx = {.pace = o->pace};
	const struct source_ops *ops = find_source(o->source, &ctx.input);
	struct output out = {.fd = -1};
	int err;

	if (!ops)
		return EXIT_USAGE;
	if (output__open(&out, o->output, o->force, o->caller))
		return EXIT_FAILED;
	signal(SIGINT, ask_to_stop);
	signal(SIGTERM, ask_to_stop);
	ctx.writer = trace_writer__new(out.fd, &wopts);
	if (ctx.writer) {
		err = copy(ops, &ctx, &out);
	} else {
		err = -errno;
		log_error("cannot begin the trace: %s", log__err(err));
		output__discard(&out);
	}
	trace_writer__free(ctx.writer);
	return err ? EXIT_FAILED : EXIT_OK;
}
