// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"
#include "userspace/lib/crc32c.h"
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

/* When it was recorded, not when it is replayed. */
Test(source_replay, the_date_stays)
{
	struct trace_info was, is;
	struct trace_reader *r;
	size_t size;
	uint8_t *data = random_trace(100, 43, NULL, &size);
	int from, fd;

	/* the head: begin_ns at 16, realtime_ns at 24, its checksum at 60 */
	memcpy(data + 16, &(uint64_t){777}, 8);
	memcpy(data + 24, &(uint64_t){1234567890123456789}, 8);
	memcpy(data + 60, &(uint32_t){crc32c(data, 60)}, 4);
	from = memory_file(data, size);
	r = trace_reader__open_fd(from, "was");
	cr_assert_not_null(r);
	trace_reader__info(r, &was);
	trace_reader__free(r);
	cr_assert_eq(was.realtime_ns, 1234567890123456789);
	close(from);
	r = replay(data, size, &fd);
	trace_reader__info(r, &is);
	cr_expect_eq(is.begin_ns, 777);
	cr_expect_eq(is.realtime_ns, 1234567890123456789);
	trace_reader__free(r);
	close(fd);
	free(data);
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

	data[size / 2 + 400] ^= 4; /* not in a chunk's head, which has the number of records */
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

/* ---- who says what failed ---- */

static int broken_open(struct source **s, const struct source_ctx *ctx)
{
	*s = NULL;
	return 0;
}

static int broken_start(struct source *s)
{
	return 0;
}

static int broken_poll(struct source *s)
{
	return -EIO; /* having said so itself */
}

static void broken_close(struct source *s)
{
}

static const struct source_ops broken = {
	.name = "broken",
	.open = broken_open,
	.start = broken_start,
	.poll = broken_poll,
	.stop = broken_start,
	.close = broken_close,
};

/* That the trace cannot be written is not said where it is the source that failed. */
Test(source_copy, a_failed_source_is_no_failed_trace)
{
	struct source_ctx ctx = {.writer = trace_writer__new(memfd_create("trace", 0), NULL)};

	cr_redirect_stderr();
	cr_assert_eq(source__copy(&broken, &ctx, &never), -EIO);
	fflush(stderr);
	cr_assert_stderr_eq_str("");
	trace_writer__free(ctx.writer);
}

Test(source_copy, a_failed_trace_is_said_once)
{
	size_t size;
	uint8_t *data = random_trace(5000, 41, NULL, &size);
	int from = memory_file(data, size), full = open("/dev/full", O_WRONLY);
	struct source_ctx ctx = {.writer = trace_writer__new(full, NULL)};
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", from);
	ctx.input = path;
	cr_redirect_stderr();
	cr_assert_eq(source__copy(&source_replay, &ctx, &never), -ENOSPC);
	fflush(stderr);
	cr_assert_stderr_eq_str("xpugap: cannot write the trace: no space left on device\n");
	trace_writer__free(ctx.writer);
	close(from);
	close(full);
	free(data);
}
