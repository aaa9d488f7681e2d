// SPDX-License-Identifier: BSD-2-Clause
/* A recorded trace again: the same records in the same rings, at once or at their own pace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/source/source.h"

#define RECORDS_A_POLL 4096

struct source {
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_event next;
	bool has_next;
	bool pace;
	uint64_t shift_ns; /* from the trace's time to that of this machine */
	uint64_t reached_ns;
	const char *path;
	struct source_stats stats;
};

static void replay_close(struct source *s)
{
	if (!s)
		return;
	trace_reader__free(s->reader);
	free(s);
}

static int replay_open(struct source **out, const struct source_ctx *ctx)
{
	struct source *s = calloc(1, sizeof(*s));
	int err;

	if (!s) {
		log_error("cannot replay: out of memory");
		return -ENOMEM;
	}
	s->writer = ctx->writer;
	s->pace = ctx->pace;
	s->path = ctx->input ? ctx->input : "-";
	s->reader = trace_reader__open(s->path);
	if (!s->reader) {
		err = -errno;
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

/* The next record becomes known before it is due. */
static int fetch(struct source *s)
{
	int ret = trace_reader__next(s->reader, &s->next);

	s->has_next = ret == 1;
	return ret < 0 ? ret : 0;
}

static int replay_start(struct source *s)
{
	struct trace_damage damage;
	struct trace_info info;
	int err = fetch(s);

	trace_reader__info(s->reader, &info);
	trace_reader__damage(s->reader, &damage);
	if (!damage.bad_head) /* it was recorded then, on whichever machine */
		trace_writer__began(s->writer, info.begin_ns, info.realtime_ns);
	if (!err && s->has_next)
		s->shift_ns = hostclock__now() - s->next.rec->time_ns;
	return err;
}

static int replay_poll(struct source *s)
{
	uint64_t due = s->pace ? hostclock__now() - s->shift_ns : UINT64_MAX;
	int n, err;

	if (!s->has_next)
		return -ENODATA;
	for (n = 0; n < RECORDS_A_POLL && s->has_next && s->next.rec->time_ns <= due; n++) {
		err = trace_writer__append(s->writer, s->next.ring, s->next.rec);
		if (err)
			return err;
		s->reached_ns = s->next.rec->time_ns;
		s->stats.records++;
		s->stats.bytes += s->next.rec->size;
		err = fetch(s);
		if (err)
			return err;
	}
	return n;
}

/* What was damaged in the trace that is replayed is lost in the one that is written. */
static int write_damage(struct source *s, const struct trace_damage *d)
{
	struct rec_lost lost = {
		.hdr = {.type = REC_LOST, .size = sizeof(lost), .time_ns = s->reached_ns},
		.hook = REC_HOOK_META,
		.cpu = ~0u,
		.why = REC_LOST_BAD,
		.count = d->bad_records,
	};
	char text[128];
	int err;

	if (d->bad_records) {
		s->stats.lost += d->bad_records;
		err = trace_writer__append(s->writer, TRACE_RING_META, &lost.hdr);
		if (err)
			return err;
	}
	snprintf(text, sizeof(text), "%llu chunks, %llu stray bytes, %s",
		 (unsigned long long)d->bad_chunks, (unsigned long long)d->skipped_bytes,
		 d->truncated ? "without end" : "complete");
	return trace_writer__meta(s->writer, s->reached_ns, "replay.damage", text);
}

static int replay_stop(struct source *s)
{
	struct trace_damage d;
	int err;

	if (!s->stats.records)
		return 0;
	trace_reader__damage(s->reader, &d);
	err = trace_writer__meta(s->writer, s->reached_ns, "replay.trace", s->path);
	if (!err && (d.bad_chunks || d.skipped_bytes || d.truncated))
		err = write_damage(s, &d);
	return err;
}

static void replay_stats(const struct source *s, struct source_stats *out)
{
	*out = s->stats;
}

static uint64_t replay_horizon(const struct source *s, uint64_t swept_ns)
{
	(void)swept_ns;
	return s->reached_ns;
}

const struct source_ops source_replay = {
	.name = "replay",
	.summary = "a recorded trace again",
	.open = replay_open,
	.start = replay_start,
	.poll = replay_poll,
	.stop = replay_stop,
	.stats = replay_stats,
	.close = replay_close,
	.horizon = replay_horizon,
};
