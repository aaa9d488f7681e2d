// SPDX-License-Identifier: BSD-2-Clause
/* Writer and reader together: what goes in comes out, in order of time. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"
#include "userspace/trace/format.h"

static struct trace_writer *new_writer(int *fd)
{
	struct trace_writer *w;

	*fd = memfd_create("trace", MFD_CLOEXEC);
	w = trace_writer__new(*fd, NULL);
	cr_assert_not_null(w);
	return w;
}

static void finish(struct trace_writer *w, struct trace_writer_stats *stats)
{
	cr_assert_eq(trace_writer__finish(w), 0);
	trace_writer__stats(w, stats);
	trace_writer__free(w);
}

static struct trace_reader *open_again(int fd)
{
	struct trace_reader *r;

	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	r = trace_reader__open_fd(fd, "memory");
	cr_assert_not_null(r);
	return r;
}

static void expect_no_damage(const struct trace_reader *r)
{
	struct trace_damage d, none = {0};

	trace_reader__damage(r, &d);
	cr_assert_eq(memcmp(&d, &none, sizeof(d)), 0);
}

static const struct rec *ioctl_at(uint64_t time_ns, uint32_t tid)
{
	static struct rec_ioctl r;

	r = (struct rec_ioctl){
		.hdr = {.type = REC_IOCTL, .size = sizeof(r), .tid = tid, .time_ns = time_ns}};
	return &r.hdr;
}

Test(trace, every_record_comes_back)
{
	struct sums in = {0}, out = {0};
	struct trace_writer_stats stats;
	struct trace_info info;
	struct trace_reader *r;
	struct trace_writer *w;
	int fd;

	w = new_writer(&fd);
	write_random(w, 200000, 1, &in);
	finish(w, &stats);
	cr_assert_eq(stats.records, in.count);
	cr_assert_eq(stats.lost, 0);
	cr_assert_eq(stats.clamped, 0);
	r = open_again(fd);
	cr_assert_eq(read_all(r, &out), 0);
	cr_assert(sums__equal(&in, &out));
	expect_no_damage(r);
	trace_reader__info(r, &info);
	cr_assert(info.complete);
	cr_assert_eq(info.records, in.count);
	cr_assert_eq(info.bytes, stats.bytes);
	trace_reader__free(r);
	close(fd);
	sums__free(&in);
	sums__free(&out);
}

Test(trace, empty_trace)
{
	struct trace_writer_stats stats;
	struct trace_reader *r;
	struct trace_event ev;
	struct trace_info info;
	int fd;

	finish(new_writer(&fd), &stats);
	cr_assert_eq(stats.records, 0);
	r = open_again(fd);
	cr_assert_eq(trace_reader__next(r, &ev), 0);
	cr_assert_eq(trace_reader__next(r, &ev), 0);
	expect_no_damage(r);
	trace_reader__info(r, &info);
	cr_assert(info.complete);
	trace_reader__free(r);
	close(fd);
}

/* Equal times: by ring, and in a ring as they came. */
Test(trace, equal_times_have_one_order)
{
	static const uint16_t rings[] = {7, TRACE_RING_META, 3, 7, TRACE_RING_USER, 3};
	static const uint32_t expected[] = {2, 5, 0, 3, 4, 1};
	struct trace_writer_stats stats;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_event ev;
	uint32_t i;
	int fd;

	w = new_writer(&fd);
	for (i = 0; i < 6; i++)
		cr_assert_eq(trace_writer__append(w, rings[i], ioctl_at(5000, i)), 0);
	finish(w, &stats);
	r = open_again(fd);
	for (i = 0; i < 6; i++) {
		cr_assert_eq(trace_reader__next(r, &ev), 1);
		cr_assert_eq(ev.rec->tid, expected[i]);
		cr_assert_eq(ev.ring, rings[expected[i]]);
	}
	cr_assert_eq(trace_reader__next(r, &ev), 0);
	trace_reader__free(r);
	close(fd);
}

/* Records newer than the sweep's beginning are in the round already, and are held back. */
Test(trace, a_round_may_run_ahead_of_its_watermark)
{
	struct trace_writer_stats stats;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_event ev;
	uint64_t last = 0, n = 0;
	unsigned int round, i;
	int fd;

	w = new_writer(&fd);
	for (round = 0; round < 50; round++) {
		for (i = 0; i < 100; i++) /* ring 0 is swept up to 1,000, ring 1 up to 1,400 */
			trace_writer__append(w, 0, ioctl_at(round * 1000 + i * 10, 0));
		for (i = 0; i < 140; i++)
			if (round == 0 || i >= 40)
				trace_writer__append(w, 1, ioctl_at(round * 1000 + i * 10, 1));
		cr_assert_eq(trace_writer__round(w, round * 1000 + 990, true), 0);
	}
	finish(w, &stats);
	cr_assert_eq(stats.clamped, 0);
	r = open_again(fd);
	for (; trace_reader__next(r, &ev) == 1; n++) {
		cr_assert_geq(ev.rec->time_ns, last);
		last = ev.rec->time_ns;
	}
	cr_assert_eq(n, stats.records);
	expect_no_damage(r);
	trace_reader__free(r);
	close(fd);
}

Test(trace, late_records_are_sorted_or_clamped)
{
	static const uint64_t times[] = {100, 300, 200, 250, 90, 300};
	static const uint64_t expected[] = {90, 100, 200, 250, 300, 300, 400, 400, 500};
	struct trace_writer_stats stats;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_event ev;
	unsigned int i;
	int fd;

	w = new_writer(&fd);
	for (i = 0; i < 6; i++) /* the chunk is still open: no harm done */
		cr_assert_eq(trace_writer__append(w, 0, ioctl_at(times[i], i)), 0);
	cr_assert_eq(trace_writer__round(w, 400, true), 0);
	cr_assert_eq(trace_writer__append(w, 0, ioctl_at(10, 6)), 0); /* too late */
	cr_assert_eq(trace_writer__append(w, 1, ioctl_at(399, 7)), 0);
	cr_assert_eq(trace_writer__append(w, 0, ioctl_at(500, 8)), 0);
	finish(w, &stats);
	cr_assert_eq(stats.clamped, 2);
	cr_assert_eq(stats.records, 9);
	r = open_again(fd);
	for (i = 0; i < 9; i++) {
		cr_assert_eq(trace_reader__next(r, &ev), 1);
		cr_assert_eq(ev.rec->time_ns, expected[i]);
	}
	cr_assert_eq(trace_reader__next(r, &ev), 0);
	expect_no_damage(r);
	trace_reader__free(r);
	close(fd);
}

/* A payload of an older or newer version of a record than this program's. */
Test(trace, shorter_and_longer_records)
{
	struct {
		struct rec_counter rec;
		uint64_t more[2];
	} longer = {.rec.hdr = {.type = REC_COUNTER, .size = sizeof(longer), .time_ns = 1},
		    .rec.value = 2.5,
		    .more = {11, 12}};
	struct rec_counter shorter = {.hdr = {.type = REC_COUNTER,
					      .size = sizeof(shorter) - 8,
					      .time_ns = 2},
				      .name = 77,
				      .value = 99};
	struct trace_writer_stats stats;
	const struct rec_counter *got;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_event ev;
	int fd;

	w = new_writer(&fd);
	cr_assert_eq(trace_writer__append(w, 0, &longer.rec.hdr), 0);
	cr_assert_eq(trace_writer__append(w, 0, &shorter.hdr), 0);
	finish(w, &stats);
	r = open_again(fd);
	cr_assert_eq(trace_reader__next(r, &ev), 1);
	cr_assert_eq(ev.rec->size, sizeof(longer));
	cr_assert_eq(memcmp(ev.rec, &longer, sizeof(longer)), 0);
	cr_assert_eq(trace_reader__next(r, &ev), 1);
	got = (const struct rec_counter *)ev.rec;
	cr_assert_eq(got->hdr.size, sizeof(*got));
	cr_assert_eq(got->name, 77);
	cr_assert_eq(got->value, 0);
	cr_assert_eq(trace_reader__next(r, &ev), 0);
	trace_reader__free(r);
	close(fd);
}

/* Types that this program does not know are left out and counted, and do not disturb others. */
Test(trace, unknown_types)
{
	uint64_t buf[REC_MAX_SIZE / 8] = {0};
	struct rec *rec = (struct rec *)buf;
	struct trace_writer_stats stats;
	struct trace_damage damage;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_event ev;
	uint64_t n = 0, i;
	int fd;

	w = new_writer(&fd);
	for (i = 0; i < 3000; i++) { /* of more types than a chunk may hold */
		*rec = (struct rec){.type = (uint16_t)(1000 + i % 600), .time_ns = i};
		rec->size = (uint16_t)(sizeof(*rec) + i % 5 * 8);
		cr_assert_eq(trace_writer__append(w, 0, rec), 0);
		cr_assert_eq(trace_writer__append(w, 0, ioctl_at(i, (uint32_t)i)), 0);
	}
	rec->type = UINT16_MAX;
	rec->size = REC_MAX_SIZE;
	cr_assert_eq(trace_writer__append(w, 1, rec), 0);
	finish(w, &stats);
	cr_assert_eq(stats.records, 6001);
	r = open_again(fd);
	for (; trace_reader__next(r, &ev) == 1; n++) {
		cr_assert_eq(ev.rec->type, REC_IOCTL);
		cr_assert_eq(ev.rec->tid, n);
	}
	cr_assert_eq(n, 3000);
	trace_reader__damage(r, &damage);
	cr_assert_eq(damage.unknown_records, 3001);
	cr_assert_eq(damage.bad_chunks, 0);
	trace_reader__free(r);
	close(fd);
}

Test(trace, ill_formed_records_are_refused)
{
	struct rec_name name = {.hdr = {.type = REC_NAME, .size = sizeof(name)}, .name_len = 100};
	struct trace_writer_stats stats;
	struct rec odd = {.type = REC_IOCTL, .size = 20};
	struct trace_writer *w;
	int fd;

	w = new_writer(&fd);
	cr_assert_eq(trace_writer__append(w, 0, &name.hdr), -EINVAL);
	cr_assert_eq(trace_writer__append(w, 0, &odd), -EINVAL);
	finish(w, &stats);
	cr_assert_eq(stats.records, 0);
	cr_assert_eq(stats.lost, 0);
	close(fd);
}

Test(trace, the_largest_record)
{
	char *text = malloc(REC_MAX_SIZE + 1);
	const char *const texts[] = {"key", text};
	struct trace_writer_stats stats;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_event ev;
	const char *got;
	size_t len, i;
	uint64_t seed = 4;
	int fd;

	for (i = 0; i < REC_MAX_SIZE; i++)
		text[i] = (char)(' ' + rnd(&seed) % 90);
	text[i] = '\0';
	w = new_writer(&fd);
	for (i = 0; i < 20; i++)
		cr_assert_eq(trace_writer__meta(w, i, texts[0], texts[1]), 0);
	finish(w, &stats);
	r = open_again(fd);
	for (i = 0; i < 20; i++) {
		cr_assert_eq(trace_reader__next(r, &ev), 1);
		cr_assert_eq(ev.rec->size, REC_MAX_SIZE);
		got = record__text(ev.rec, 1, &len);
		cr_assert_eq(len, REC_MAX_SIZE - sizeof(struct rec_meta) - 3);
		cr_assert_eq(memcmp(got, text, len), 0);
	}
	cr_assert_eq(trace_reader__next(r, &ev), 0);
	trace_reader__free(r);
	close(fd);
	free(text);
}

/* Every ring number there is, all in one round. */
Test(trace, as_many_rings_as_can_be)
{
	struct trace_writer_stats stats;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_event ev;
	uint32_t i;
	int fd, ring;

	w = new_writer(&fd);
	for (i = 0; i <= UINT16_MAX; i++)
		cr_assert_eq(trace_writer__append(w, (uint16_t)i, ioctl_at(100000 - i, i)), 0);
	for (i = TRACE_RING_USER; i < TRACE_RING_META; i++) {
		ring = trace_writer__new_ring(w);
		cr_assert_eq(ring, i);
	}
	cr_assert_eq(trace_writer__new_ring(w), -ENOSPC);
	finish(w, &stats);
	r = open_again(fd);
	for (i = UINT16_MAX; trace_reader__next(r, &ev) == 1; i--) {
		cr_assert_eq(ev.ring, i);
		cr_assert_eq(ev.rec->tid, i);
	}
	cr_assert_eq(i, UINT32_MAX);
	expect_no_damage(r);
	trace_reader__free(r);
	close(fd);
}

static uint64_t count_watermarks(int fd)
{
	uint64_t at = sizeof(struct trace_head), n = 0;
	struct chunk_head head;

	while (pread(fd, &head, sizeof(head), (off_t)at) == sizeof(head)) {
		cr_assert_eq(head.magic, CHUNK_MAGIC);
		n += head.kind == CHUNK_WATERMARK;
		at += sizeof(head) + head.stored;
	}
	return n;
}

/* Who never ends a round gets them ended, before a reader would have to hold too much. */
Test(trace, endless_round_is_cut)
{
	struct trace_writer_stats stats;
	uint64_t seed = 6, i, last = 0, n = 0;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_event ev;
	struct rec_ioctl rec;
	int fd;

	w = new_writer(&fd);
	for (i = 0; i < 3000000; i++) { /* 40 random bytes in each: 120 MB */
		rec = (struct rec_ioctl){
			.hdr = {.type = REC_IOCTL, .size = sizeof(rec), .tid = 1, .time_ns = i},
			.duration_ns = rnd(&seed),
			.ret = (int64_t)rnd(&seed),
			.cmd = (uint32_t)rnd(&seed),
			.rdev = (uint32_t)rnd(&seed),
			.inode = rnd(&seed),
			.arg = rnd(&seed),
		};
		cr_assert_eq(trace_writer__append(w, (uint16_t)(i % 2), &rec.hdr), 0);
	}
	finish(w, &stats);
	cr_assert_eq(stats.clamped, 0);
	cr_assert_geq(count_watermarks(fd), 2);
	cr_assert_gt(stats.bytes, ROUND_CUT_BYTES);
	r = open_again(fd);
	for (; trace_reader__next(r, &ev) == 1; n++) {
		cr_assert_geq(ev.rec->time_ns, last);
		last = ev.rec->time_ns;
	}
	cr_assert_eq(n, 3000000);
	expect_no_damage(r);
	trace_reader__free(r);
	close(fd);
}

/* The sweep that makes a round so long goes on to a ring that holds what is older. */
Test(trace, a_round_cut_within_a_sweep_makes_no_record_late)
{
	struct trace_writer_stats stats;
	uint64_t seed = 6, i, n = 0, last = 0;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_event ev;
	struct rec_ioctl rec;
	int fd;

	w = new_writer(&fd);
	for (i = 0; i < 2000000; i++) { /* 80 MB */
		rec = (struct rec_ioctl){
			.hdr = {.type = REC_IOCTL, .size = sizeof(rec), .tid = 1},
			.duration_ns = rnd(&seed),
			.ret = (int64_t)rnd(&seed),
			.cmd = (uint32_t)rnd(&seed),
			.rdev = (uint32_t)rnd(&seed),
			.inode = rnd(&seed),
			.arg = rnd(&seed),
		};
		rec.hdr.time_ns = 1000000 + i;
		cr_assert_eq(trace_writer__append(w, 0, &rec.hdr), 0);
	}
	cr_assert_geq(count_watermarks(fd), 1); /* it was cut */
	for (i = 0; i < 1000; i++)
		cr_assert_eq(trace_writer__append(w, 1, ioctl_at(500 + i, 2)), 0);
	cr_assert_eq(trace_writer__round(w, 3000000, true), 0);
	finish(w, &stats);
	cr_assert_eq(stats.clamped, 0);
	r = open_again(fd);
	for (; trace_reader__next(r, &ev) == 1; n++) {
		cr_assert_geq(ev.rec->time_ns, last);
		last = ev.rec->time_ns;
		if (n < 1000)
			cr_assert(ev.ring == 1 && last == 500 + n);
	}
	cr_assert_eq(n, 2001000);
	expect_no_damage(r);
	trace_reader__free(r);
	close(fd);
}

/* Through a pipe, into a reader that sees each round when it is complete. */
Test(trace, pipe)
{
	const struct trace_writer_opts opts = {.round_ns = 1000000};
	struct sums in = {0}, out = {0};
	struct trace_info info;
	struct trace_reader *r;
	struct trace_writer *w;
	int fds[2], status;
	pid_t pid;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		w = trace_writer__new(fds[1], &opts);
		write_random(w, 100000, 12, NULL);
		_exit(0);
	}
	close(fds[1]);
	w = trace_writer__new(memfd_create("trace", 0), &opts);
	write_random(w, 100000, 12, &in);
	trace_writer__free(w);
	r = trace_reader__open_fd(fds[0], "pipe");
	cr_assert_not_null(r);
	cr_assert_eq(read_all(r, &out), 0);
	cr_assert(sums__equal(&in, &out));
	expect_no_damage(r);
	trace_reader__info(r, &info);
	cr_assert(info.complete);
	cr_assert(!info.seekable);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	trace_reader__free(r);
	close(fds[0]);
	sums__free(&in);
	sums__free(&out);
}
