// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/source.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"

#define IDLE_NS 1000000

const struct source_ops *source__find(const char *name)
{
#define X(row, what)                                                                               \
	if (strcmp(name, #row) == 0)                                                               \
		return &source_##row;
	SOURCE_TABLE(X)
#undef X
	return NULL;
}

static int copy_records(const struct source_ops *ops, struct source *s, struct trace_writer *w,
			const volatile sig_atomic_t *stop)
{
	const struct timespec idle = {.tv_nsec = IDLE_NS};
	uint64_t begin;
	int n, err;

	while (!*stop) {
		begin = hostclock__now();
		n = ops->poll(s);
		if (n == -ENODATA)
			return 0;
		if (n < 0)
			return n;
		err = trace_writer__round(w, ops->horizon ? ops->horizon(s, begin) : begin, false);
		if (err)
			return err;
		if (n == 0)
			nanosleep(&idle, NULL);
	}
	return 0;
}

int source__copy(const struct source_ops *ops, const struct source_ctx *ctx,
		 const volatile sig_atomic_t *stop)
{
	struct trace_writer_stats stats;
	struct source *s = NULL;
	int err = ops->open(&s, ctx), e;

	if (err)
		return err;
	err = ops->start(s);
	if (!err)
		err = copy_records(ops, s, ctx->writer, stop);
	e = ops->stop(s);
	if (!err)
		err = e;
	ops->close(s);
	e = trace_writer__finish(ctx->writer);
	if (!err)
		err = e;
	trace_writer__stats(ctx->writer, &stats);
	if (stats.err) /* all else was said by the source */
		log_error("cannot write the trace: %s", log__err(stats.err));
	return err;
}
