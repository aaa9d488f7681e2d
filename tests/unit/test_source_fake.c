// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"
#include "userspace/source/source.h"

static const volatile sig_atomic_t never;

/* Record by @recipe into memory. */
static int record(const char *recipe, bool pace, struct trace_writer_stats *stats)
{
	int fd = memfd_create("trace", 0);
	const struct trace_writer_opts opts = {.begin_ns = 1};
	struct source_ctx ctx = {.input = recipe, .pace = pace};

	ctx.writer = trace_writer__new(fd, &opts);
	cr_assert_not_null(ctx.writer);
	cr_assert_eq(source__copy(&source_fake, &ctx, &never), 0);
	trace_writer__stats(ctx.writer, stats);
	trace_writer__free(ctx.writer);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Read a trace to its end; the checksum covers every record. */
static uint64_t sum_of(int fd, uint64_t *counts)
{
	struct trace_reader *r = trace_reader__open_fd(fd, "memory");
	struct trace_event ev;
	uint64_t h = 0;

	cr_assert_not_null(r);
	while (trace_reader__next(r, &ev) == 1) {
		h = fnv(fnv(h, &ev.ring, sizeof(ev.ring)), ev.rec, ev.rec->size);
		counts[ev.rec->type]++;
	}
	trace_reader__free(r);
	close(fd);
	return h;
}

Test(source_fake, a_recipe_is_followed)
{
	uint64_t counts[REC_TYPE_MAX] = {0};
	struct trace_writer_stats stats;
	int fd = record("records=40000,types=ioctl*3+span*1,threads=7,lost=1000,user=1", false,
			&stats);

	sum_of(fd, counts);
	cr_assert_eq(counts[REC_TASK], 7);
	cr_assert_eq(counts[REC_NAME], 32);
	cr_assert_eq(counts[REC_LOST], 40);
	cr_assert_eq(counts[REC_META], 1);
	cr_assert_eq(counts[REC_IOCTL] + counts[REC_SPAN], 40000);
	/* five standard deviations of drawing one of four, 40,000 times */
	cr_assert_geq(counts[REC_SPAN], 10000 - 433);
	cr_assert_leq(counts[REC_SPAN], 10000 + 433);
	cr_assert_eq(stats.records, 40000 + 80);
	cr_assert_eq(stats.clamped, 0);
}

Test(source_fake, the_same_recipe_gives_the_same_records)
{
	uint64_t counts[REC_TYPE_MAX] = {0}, a, b, c;
	struct trace_writer_stats stats;

	a = sum_of(record("records=5000,seed=9", false, &stats), counts);
	b = sum_of(record("records=5000,seed=9", false, &stats), counts);
	c = sum_of(record("records=5000,seed=10", false, &stats), counts);
	cr_assert_eq(a, b);
	cr_assert_neq(a, c);
}

Test(source_fake, pace_takes_its_time)
{
	struct timespec from, to;
	struct trace_writer_stats stats;
	double took;

	clock_gettime(CLOCK_MONOTONIC, &from);
	close(record("records=200,rate=1000", true, &stats)); /* about 0.2 s */
	clock_gettime(CLOCK_MONOTONIC, &to);
	took = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
	cr_assert_geq(took, 0.15);
}

Test(source_fake, wrong_recipes_are_refused)
{
	static const char *const wrong[] = {
		"records",
		"records=",
		"records=x",
		"records=0",
		"rate=0",
		"rings=0",
		"rings=99999",
		"types=",
		"types=x",
		"types=ioctl*",
		"types=ioctl*0",
		"threads=0",
		"types=ioctl*9999999999",
		"nonsense=1",
		"seed=0",
		"records=1,,x=2",
	};
	struct trace_writer *w = trace_writer__new(memfd_create("trace", 0), NULL);
	struct source_ctx ctx = {.writer = w};
	struct source *s = NULL;
	size_t i;

	cr_redirect_stderr();
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ctx.input = wrong[i];
		cr_assert_eq(source_fake.open(&s, &ctx), -EINVAL, "'%s'", wrong[i]);
		cr_assert_null(s);
	}
	trace_writer__free(w);
}

Test(source_fake, sources_are_found_by_name)
{
	cr_assert_eq(source__find("fake"), &source_fake);
	cr_assert_eq(source__find("replay"), &source_replay);
	cr_assert_eq(source__find("bpf"), &source_bpf);
	cr_assert_null(source__find("fak"));
}
