// SPDX-License-Identifier: BSD-2-Clause
/*
 * Records of any content in any order. Each record of the input is a byte that chooses its type, a
 * byte of time that passes, a byte of ring, a byte for tid, and then its payload, whose words are
 * single bytes so that ids meet each other.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/ranges.h"
#include "analysis/steps.h"
#include "analysis/threads.h"
#include "analysis/units.h"
#include "userspace/trace/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

union record {
	struct rec rec;
	uint8_t bytes[512];
};

struct input {
	const uint8_t *p, *end;
	uint64_t now;
};

static uint64_t byte(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

/* Small numbers, near-maximal ones, and moments around now. */
static uint64_t word(struct input *in)
{
	uint64_t b = byte(in);

	if (b < 200)
		return b;
	return b < 220 ? in->now - b : UINT64_MAX - (b - 220);
}

static void next_record(struct input *in, union record *buf, uint16_t *ring)
{
	const struct record_desc *d = record__at(byte(in) % 48);
	const struct record_field *f;
	uint64_t v, tail = 0;
	unsigned int i;

	memset(buf, 0, sizeof(*buf));
	in->now += byte(in);
	*ring = (uint16_t)(byte(in) % 5);
	if (*ring == 4)
		*ring = UINT16_MAX;
	buf->rec.tid = (uint32_t)byte(in) % 8;
	buf->rec.time_ns = in->now;
	if (!d) {
		buf->rec.type = 12345;
		buf->rec.size = 64;
		return;
	}
	buf->rec.type = d->type;
	for (i = 0; i < d->n_fields; i++) {
		f = &d->fields[i];
		v = word(in);
		if (record_format__is_length(f->format))
			tail += v %= 16;
		if (f->format == REC_FMT_TID)
			v %= 8;
		memcpy(buf->bytes + f->offset, &v, f->width < 8 ? f->width : 8);
	}
	buf->rec.size = (uint16_t)((d->size + tail + 7) & ~7ULL);
	for (i = d->size; i < buf->rec.size; i++)
		buf->bytes[i] = (uint8_t)byte(in);
	if (!d->has_tail && byte(in) > 250)
		buf->rec.size = sizeof(struct rec);
}

/* Each adds up, and all of them to the total. */
static void check_threads(const struct threads *a)
{
	struct thread_row sum = {0}, rest;
	const struct thread_row *rows;
	size_t i, n;

	rows = threads__threads(a, &n);
	for (i = 0; i < n; i++)
		if (facts__total_ns(&rows[i].facts) != rows[i].wall_ns)
			abort();
	rows = threads__processes(a, &n);
	for (i = 0; i < n; i++)
		thread_row__add(&sum, &rows[i]);
	thread_row__rest(&rest, threads__total(a), &sum);
	if (rest.threads || rest.wall_ns || facts__total_ns(&rest.facts) || rest.facts.ioctls)
		abort();
}

static void check_ranges(const struct ranges *a)
{
	const struct range_row *rows;
	size_t i, n;

	rows = ranges__rows(a, &n);
	for (i = 0; i < n; i++)
		if (!rows[i].count || rows[i].own_ns > rows[i].total_ns ||
		    rows[i].max_ns > rows[i].total_ns || rows[i].in_steps_ns > rows[i].own_ns)
			abort();
}

static void check(struct analysis_set *set)
{
	const struct steps *steps = analysis_set__state(set, &analysis_steps);
	const struct step_stream *st;
	const struct unit_row *rows;
	size_t i, k, n;

	for (i = 0; i < steps__streams(steps); i++) {
		st = steps__stream(steps, i);
		for (k = 0; k < st->n; k++)
			if (facts__total_ns(&st->steps[k].facts[STEP_CARRIER]) !=
			    st->steps[k].end_ns - st->steps[k].begin_ns)
				abort();
	}
	check_ranges(analysis_set__state(set, &analysis_ranges));
	check_threads(analysis_set__state(set, &analysis_threads));
	rows = units__rows(analysis_set__state(set, &analysis_units), &n);
	for (i = 0; i < n; i++)
		if (facts__total_ns(&rows[i].facts) != rows[i].wall_ns)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size, 1000};
	struct analysis_set *set = analysis_set__new();
	struct analysis_table table;
	union record buf;
	struct trace_event ev = {.rec = &buf.rec};

	if (analysis_set__add(set, &analysis_steps, NULL) ||
	    analysis_set__add(set, &analysis_units, NULL) ||
	    analysis_set__add(set, &analysis_threads, NULL) ||
	    analysis_set__add(set, &analysis_ranges, NULL))
		abort();
	while (in.p < in.end) {
		next_record(&in, &buf, &ev.ring);
		if (record__check(&buf.rec) || analysis_set__event(set, &ev))
			abort();
	}
	if (analysis_set__finish(set))
		abort();
	check(set);
	if (analysis_steps.table(analysis_set__state(set, &analysis_steps), &table) ||
	    analysis_units.table(analysis_set__state(set, &analysis_units), &table))
		abort();
	analysis_set__free(set);
	return 0;
}
