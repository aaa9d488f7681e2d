// SPDX-License-Identifier: BSD-2-Clause
/* From one file of a recording to the next. */
#include "userspace/trace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool trace_part__is_durable(struct trace_part *p)
{
	return p->dump ? window_dump__has_ended(p->dump) : sink__has_ended(p->sink);
}

int trace_part__finish(struct trace_part *p)
{
	int err;

	if (!p)
		return 0;
	err = p->dump ? window_dump__finish(p->dump) : sink__finish(p->sink);
	sink__free(p->sink);
	free(p);
	return err;
}

void trace_writer__ask(struct trace_writer *w)
{
	if (w->carry)
		trace_carry__ask(w->carry);
}

static void count_file(struct trace_writer *w)
{
	w->before.records += w->stats.records;
	w->before.raw_bytes += w->stats.raw_bytes;
	w->before.clamped += w->stats.clamped;
	w->before.bytes += w->file.written;
	w->stats = (struct trace_writer_stats){0};
}

/* All that is of a file begins anew; rings keep their memory and their numbers. */
static void begin_file(struct trace_writer *w, uint64_t begin_ns)
{
	struct ring *r;

	count_file(w);
	if (w->realtime_ns)
		w->realtime_ns += begin_ns - w->begin_ns;
	w->begin_ns = begin_ns;
	w->file = (struct place){0};
	w->n_places = 0;
	w->seq = 0;
	w->round = (struct round){0};
	w->watermark = w->newest = w->last_round = begin_ns;
	w->n_index = w->index_fill = 0;
	w->index_step = 1;
	w->lost_since = w->lost_until = 0;
	w->rest_indexed = false;
	for (r = w->all_rings; r; r = r->next)
		r->floor = r->newest = begin_ns;
}

static int say_again(void *arg, const struct rec *rec)
{
	return trace_writer__append(arg, TRACE_RING_META, rec);
}

int writer__tell(struct trace_writer *w, struct trace_carry *c, uint64_t time_ns,
		 const char *const *facts)
{
	int err = 0;

	w->telling = true;
	if (c)
		err = trace_carry__tell(c, time_ns, say_again, w);
	for (; !err && facts && *facts; facts += 2)
		err = trace_writer__meta(w, time_ns, facts[0], facts[1]);
	w->telling = false;
	return err ? writer__fail(w, err) : 0;
}

static int go_on(struct trace_writer *w, int fd, uint64_t swept_ns, struct trace_part *p)
{
	struct sink *sink = sink__new(fd, w->sync);
	int err = w->stats.err;

	if (!err && !sink)
		err = writer__fail(w, -errno);
	if (!err)
		err = writer__end_file(w);
	if (err) {
		sink__free(sink);
		return err;
	}
	sink__end(w->sink);
	p->sink = w->sink;
	w->sink = sink;
	begin_file(w, swept_ns);
	return 0;
}

int trace_writer__next_file(struct trace_writer *w, int fd, uint64_t swept_ns,
			    const char *const *facts, struct trace_part **done)
{
	struct trace_part *p;
	int err;

	*done = NULL;
	if (w->window)
		return w->stats.err ? w->stats.err : window__dump(w, fd, facts, done);
	p = calloc(1, sizeof(*p));
	err = p ? go_on(w, fd, swept_ns, p) : writer__fail(w, -ENOMEM);
	if (err) {
		free(p);
		return err;
	}
	*done = p;
	return writer__tell(w, w->carry, swept_ns, facts);
}
