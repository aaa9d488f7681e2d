// SPDX-License-Identifier: BSD-2-Clause
/* The source 'mark': what the recorded programs say of themselves, see mark_hub.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "userspace/lib/map.h"
#include "userspace/mark/abi.h"
#include "userspace/mark/cost.h"
#include "userspace/source/hook_report.h"
#include "userspace/source/mark.h"
#include "userspace/source/mark_env.h"
#include "userspace/source/mark_hub.h"
#include "userspace/source/mark_paths.h"
#include "userspace/source/probe.h"
#include "userspace/source/source.h"

#define MAX_NAMES      65536 /* remembered; names beyond them may stand in the trace twice */
#define MIN_RING_BYTES (64U << 10)
#define MAX_RING_BYTES (16U << 20)
#define LAST_SWEEPS    16 /* at the end: one may not take all, and a program may not stop */

struct source {
	struct trace_writer *writer;
	struct mark_hub *hub; /* NULL: marks are not asked for */
	uint16_t ring;
	struct map names; /* ids that the trace has a string for */
	struct mark_env env;
};

/* ---- records ---- */

/* Has the trace no NAME record of this id yet? Processes each tell of the names that they use. */
static bool is_new_name(struct source *s, const struct rec_name *name)
{
	if (map__get(&s->names, name->id))
		return false;
	if (s->names.n < MAX_NAMES)
		map__put(&s->names, name->id, s); /* without memory: written again next time */
	return true;
}

static int write_record(void *arg, const struct rec *rec)
{
	struct source *s = arg;

	if (rec->type == REC_NAME && !is_new_name(s, (const struct rec_name *)rec))
		return 0;
	return trace_writer__append(s->writer, rec->type == REC_LOST ? TRACE_RING_META : s->ring,
				    rec);
}

static int write_hook(struct source *s)
{
	const struct hook_report r = {.state = REC_HOOK_ATTACHED, .way = "shared memory"};

	return hook_report__write(&r, s->writer, REC_HOOK_MARK, mark_cost__measure());
}

/* There are no hits: how many marks a program made is known from what came and what was lost. */
static int write_count(struct source *s, const struct mark_hub_stats *st)
{
	struct rec_hook_count count = {
		.hdr = {.type = REC_HOOK_COUNT, .size = sizeof(count)},
		.hook = REC_HOOK_MARK,
		.cpu = REC_NO_CPU,
	};

	count.hdr.time_ns = mark_hub__now();
	count.records = st->records;
	count.lost = st->lost + st->bad;
	return trace_writer__append(s->writer, TRACE_RING_META, &count.hdr);
}

/* What was altered or turned away stands in the trace; where nothing was, so does nothing. */
static int write_facts(struct source *s, const struct mark_hub_stats *st)
{
	const struct {
		const char *key;
		uint64_t value;
	} facts[] = {
		{"mark.clamped", st->clamped},
		{"mark.strange", st->strange},
		{"mark.refused", st->refused},
	};
	char text[24];
	int err = 0;

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && !err; i++) {
		if (!facts[i].value)
			continue;
		snprintf(text, sizeof(text), "%llu", (unsigned long long)facts[i].value);
		err = trace_writer__meta(s->writer, mark_hub__now(), facts[i].key, text);
	}
	if (st->refused && !err)
		err = trace_writer__meta(s->writer, mark_hub__now(), "mark.refused_why", st->why);
	return err;
}

/* ---- the source ---- */

static void mark_close(struct source *s)
{
	if (!s)
		return;
	mark_hub__free(s->hub);
	mark_env__free(&s->env);
	map__free(&s->names);
	free(s);
}

/* A ring for each of a region's threads out of the budget; they are paid for as they are used. */
static uint64_t ring_bytes(uint64_t budget)
{
	uint64_t bytes = MIN_RING_BYTES;

	if (!budget)
		return MARK_RING_BYTES;
	while (bytes * 2 * MARK_SLOTS <= budget && bytes < MAX_RING_BYTES)
		bytes *= 2;
	return bytes;
}

static int open_hub(struct source *s, const struct source_ctx *ctx)
{
	struct mark_hub_opts opts = {.ring_bytes = ring_bytes(ctx->memory_bytes)};
	int ring = trace_writer__new_ring(s->writer);

	if (ring < 0)
		return ring;
	s->ring = (uint16_t)ring;
	s->hub = mark_hub__new(&opts);
	if (!s->hub)
		return -errno;
	mark_hub__allow(s->hub, ctx->uid);
	return ctx->target ? mark_hub__add_target(s->hub, ctx->target) : 0;
}

static int mark_open(struct source **out, const struct source_ctx *ctx)
{
	struct source *s = calloc(1, sizeof(*s));
	struct mark_paths paths;
	int err = -ENOMEM;

	if (!s)
		goto fail;
	s->writer = ctx->writer;
	err = probe__wants(ctx->probes, REC_HOOK_MARK) ? open_hub(s, ctx) : 0;
	if (err)
		goto fail;
	/* a program that marks runs as it is where no marks are asked for, too */
	mark_paths__find(&paths);
	err = mark_env__init(&s->env, s->hub ? mark_hub__address(s->hub) : NULL, &paths,
			     !ctx->no_python);
	if (err)
		goto fail;
	*out = s;
	return 0;
fail:
	log_error("cannot listen for marks: %s", log__err(err));
	mark_close(s);
	return err;
}

static int mark_start(struct source *s)
{
	return s->hub ? write_hook(s) : 0;
}

static int mark_add(struct source *s, pid_t pid)
{
	return s->hub ? mark_hub__add_target(s->hub, pid) : 0;
}

static int sweep(struct source *s)
{
	int n = mark_hub__poll(s->hub, write_record, s);
	struct trace_writer_stats stats;

	trace_writer__stats(s->writer, &stats);
	if (n < 0 && !stats.err)
		log_error("cannot take in marks: %s", log__err(n));
	return n;
}

static int mark_poll(struct source *s)
{
	return s->hub ? sweep(s) : -ENODATA;
}

static int mark_stop(struct source *s)
{
	struct mark_hub_stats st;
	int n = 1, i;

	if (!s->hub)
		return 0;
	mark_hub__stop(s->hub);
	for (i = 0; n > 0 && i < LAST_SWEEPS; i++)
		n = sweep(s);
	if (n < 0)
		return n;
	mark_hub__stats(s->hub, &st);
	return write_count(s, &st) ?: write_facts(s, &st);
}

void source_mark__tell_tasks(struct source *s)
{
	if (s->hub)
		mark_hub__tell_tasks(s->hub);
}

static void mark_stats(const struct source *s, struct source_stats *out)
{
	struct mark_hub_stats st = {0};

	if (s->hub)
		mark_hub__stats(s->hub, &st);
	*out = (struct source_stats){
		.records = st.records,
		.lost = st.lost + st.bad,
		.bytes = st.bytes,
	};
}

static const char *const *mark_env(const struct source *s)
{
	return (const char *const *)s->env.strings;
}

static uint64_t mark_horizon(const struct source *s, uint64_t swept_ns)
{
	uint64_t horizon = s->hub ? mark_hub__horizon(s->hub) : swept_ns;

	return horizon < swept_ns ? horizon : swept_ns;
}

static unsigned int mark_fill(const struct source *s)
{
	return s->hub ? mark_hub__fill(s->hub) : 0;
}

const struct source_ops source_mark = {
	.name = "mark",
	.summary = "marks of the recorded programs",
	.open = mark_open,
	.start = mark_start,
	.poll = mark_poll,
	.stop = mark_stop,
	.stats = mark_stats,
	.close = mark_close,
	.add = mark_add,
	.env = mark_env,
	.horizon = mark_horizon,
	.fill = mark_fill,
};
