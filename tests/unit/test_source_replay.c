// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"
#include "userspace/source/source.h"

static const volatile sig_atomic_t never;

static struct trace_reader *replay(const uint8_t *data, size_t size, int *fd)
{
	int from = memory_file(data, size);
	struct source_ctx ctx = {0};
	struct trace_reader *r;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", from);
	ctx.input = path;
	*fd = memfd_create("again", 0);
	ctx.writer = trace_writer__new(*fd, NULL);
	cr_assert_not_null(ctx.writer);
	cr_assert_eq(source__copy(&source_replay, &ctx, &never), 0);
	trace_writer__free(ctx.writer);
	close(from);
	cr_assert_eq(lseek(*fd, 0, SEEK_SET), 0);
	r = trace_reader__open_fd(*fd, "again");
	cr_assert_not_null(r);
	return r;
}

static void expect_fact(const struct trace_event *ev, const char *key, const char *part)
{
	const char *text;
	size_t len;

	cr_assert_eq(ev->rec->type, REC_META);
	cr_assert_eq(ev->ring, TRACE_RING_META);
	text = record__text(ev->rec, 0, &len);
	cr_assert_eq(len, strlen(key));
	cr_assert_eq(memcmp(text, key, len), 0);
	text = record__text(ev->rec, 1, &len);
	cr_assert_not_null(memmem(text, len, part, strlen(part)));
}

/* Record for record the same, in the same rings; and a word on where it comes from. */
Test(source_replay, the_same_again)
{
	struct sums in = {0}, out = {0};
	struct trace_reader *r;
	struct trace_event ev;
	size_t size;
	uint8_t *data = random_trace(5000, 41, &in, &size);
	int fd;

	r = replay(data, size, &fd);
	while (out.count < in.count) {
		cr_assert_eq(trace_reader__next(r, &ev), 1);
		sums__add(&out, ev.ring, ev.rec);
	}
	cr_assert(sums__equal(&in, &out));
	cr_assert_eq(trace_reader__next(r, &ev), 1);
	expect_fact(&ev, "replay.trace", "/proc/self/fd/");
	cr_assert_eq(trace_reader__next(r, &ev), 0);
	trace_reader__free(r);
	close(fd);
	free(data);
	sums__free(&in);
	sums__free(&out);
}

/* A damaged trace becomes a whole one that says what it lacks. */
Test(source_replay, damage_becomes_loss)
{
	struct trace_damage d;
	struct trace_reader *r;
	struct trace_event ev;
	size_t size;
	uint8_t *data = random_trace(5000, 42, NULL, &size);
	uint64_t n = 0, lost = 0;
	bool said = false;
	int fd;

	data[size / 2] ^= 4;
	r = replay(data, size - 100, &fd);
	while (trace_reader__next(r, &ev) == 1) {
		if (ev.ring == TRACE_RING_META && ev.rec->type == REC_LOST) {
			lost += ((const struct rec_lost *)ev.rec)->count;
		} else if (ev.ring != TRACE_RING_META) {
			n++;
		} else if (n + lost == 5000) {
			said = true;
		}
	}
	cr_assert(said);
	cr_assert_gt(lost, 0);
	cr_assert_eq(n + lost, 5000);
	trace_reader__damage(r, &d);
	cr_assert(!d.truncated);
	cr_assert_eq(d.bad_chunks, 0);
	trace_reader__free(r);
	close(fd);
	free(data);
}

Test(source_replay, no_trace)
{
	struct trace_writer *w = trace_writer__new(memfd_create("trace", 0), NULL);
	struct source_ctx ctx = {.writer = w, .input = "/nonexistent/x.xpt"};
	struct source *s = NULL;

	cr_redirect_stderr();
	cr_assert_eq(source_replay.open(&s, &ctx), -ENOENT);
	cr_assert_null(s);
	trace_writer__free(w);
}
