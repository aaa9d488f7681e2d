// SPDX-License-Identifier: BSD-2-Clause
/* Writer and reader together: what goes in comes out. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"

#define RINGS 5

/* What went into each ring: a checksum that depends on content and order. */
struct sums {
	uint64_t ring[RINGS];
	uint64_t count;
};

static void add(struct sums *s, unsigned int ring, const struct rec *rec)
{
	s->ring[ring] = fnv(s->ring[ring], rec, rec->size);
	s->count++;
}

/* @n records of all types over some rings, times rising by up to 2 us, a sweep every 100. */
static void write_random(struct trace_writer *w, uint64_t n, uint64_t seed, struct sums *sums)
{
	uint64_t buf[REC_MAX_SIZE / 8], time = 1000000000, i, types = 0;
	const struct record_desc *desc;
	struct rec *rec;
	unsigned int ring;

	while (record__at(types))
		types++;
	for (i = 0; i < n; i++) {
		time += rnd(&seed) % 2000;
		desc = record__at(rnd(&seed) % 2 ? rnd(&seed) % types : rnd(&seed) % 3 + 13);
		rec = random_record(buf, desc, time, &seed);
		ring = (unsigned int)(rnd(&seed) % RINGS);
		cr_assert_eq(trace_writer__append(w, (uint16_t)ring, rec), 0);
		add(sums, ring, rec);
		if (i % 100 == 0)
			cr_assert_eq(trace_writer__round(w, time, false), 0);
	}
}

static void read_all(struct trace_reader *r, struct sums *sums)
{
	struct trace_event ev;
	uint64_t last = 0;
	int ret;

	while ((ret = trace_reader__next(r, &ev)) == 1) {
		cr_assert_geq(ev.rec->time_ns, last);
		last = ev.rec->time_ns;
		cr_assert_lt(ev.ring, RINGS);
		add(sums, ev.ring, ev.rec);
	}
	cr_assert_eq(ret, 0);
}

static void expect_no_damage(const struct trace_reader *r)
{
	struct trace_damage d, none = {0};

	trace_reader__damage(r, &d);
	cr_assert_eq(memcmp(&d, &none, sizeof(d)), 0);
}

Test(trace, every_record_comes_back_in_order)
{
	const struct trace_writer_opts opts = {.round_ns = 1000000};
	struct sums in = {{0}}, out = {{0}};
	struct trace_writer_stats stats;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_info info;
	int fd = memfd_create("trace", 0);

	w = trace_writer__new(fd, &opts);
	cr_assert_not_null(w);
	write_random(w, 200000, 1, &in);
	cr_assert_eq(trace_writer__finish(w), 0);
	trace_writer__stats(w, &stats);
	cr_assert_eq(stats.records, in.count);
	cr_assert_eq(stats.lost, 0);
	cr_assert_eq(stats.clamped, 0);
	trace_writer__free(w);

	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	r = trace_reader__open_fd(fd, "memory");
	cr_assert_not_null(r);
	read_all(r, &out);
	cr_assert_eq(memcmp(&in, &out, sizeof(in)), 0);
	expect_no_damage(r);
	trace_reader__info(r, &info);
	cr_assert(info.complete);
	cr_assert_eq(info.records, in.count);
	cr_assert_eq(info.bytes, stats.bytes);
	trace_reader__free(r);
	close(fd);
}
