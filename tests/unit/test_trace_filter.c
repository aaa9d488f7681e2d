// SPDX-License-Identifier: BSD-2-Clause
/* Filters: what passes is what would have passed one record at a time, however it is read. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"

#define RECORDS 20000

static uint8_t *data;
static size_t size;

static void set_up(void)
{
	data = random_trace(RECORDS, 31, NULL, &size);
}

static void tear_down(void)
{
	free(data);
}

TestSuite(trace_filter, .init = set_up, .fini = tear_down);

static struct trace_reader *open_at(const uint8_t *bytes, size_t n, int *fd)
{
	struct trace_reader *r;

	*fd = memory_file(bytes, n);
	r = trace_reader__open_fd(*fd, "memory");
	cr_assert_not_null(r);
	return r;
}

static uint64_t add(uint64_t h, const struct trace_event *ev)
{
	return fnv(fnv(h, &ev->ring, sizeof(ev->ring)), ev->rec, ev->rec->size);
}

static uint64_t read_naively(size_t n, const struct trace_filter *f, uint64_t *count)
{
	uint64_t h = 0, to = f->to_ns ? f->to_ns : UINT64_MAX;
	uint64_t types = f->types ? f->types : ~0ULL;
	struct trace_reader *r;
	struct trace_event ev;
	int fd;

	r = open_at(data, n, &fd);
	for (*count = 0; trace_reader__next(r, &ev) == 1;) {
		if (ev.rec->time_ns > to || !(TRACE_TYPE(ev.rec->type) &
					      (ev.rec->time_ns < f->from_ns ? f->before : types)))
			continue;
		h = add(h, &ev);
		(*count)++;
	}
	trace_reader__free(r);
	close(fd);
	return h;
}

static uint64_t read_filtered(struct trace_reader *r, const struct trace_filter *f, uint64_t *count)
{
	struct trace_event ev;
	uint64_t h = 0;
	int ret;

	cr_assert_eq(trace_reader__filter(r, f), 0);
	for (*count = 0; (ret = trace_reader__next(r, &ev)) == 1; (*count)++)
		h = add(h, &ev);
	cr_assert_eq(ret, 0);
	cr_assert_eq(trace_reader__next(r, &ev), 0);
	return h;
}

/* Through a pipe that another process fills. */
static uint64_t read_piped(const struct trace_filter *f, uint64_t *count)
{
	struct trace_reader *r;
	int fds[2], status;
	size_t at = 0;
	uint64_t h;
	pid_t pid;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		signal(SIGPIPE, SIG_DFL);
		while (at < size)
			at += (size_t)write(fds[1], data + at, size - at < 777 ? size - at : 777);
		_exit(0);
	}
	close(fds[1]);
	r = trace_reader__open_fd(fds[0], "pipe");
	cr_assert_not_null(r);
	h = read_filtered(r, f, count);
	trace_reader__free(r);
	close(fds[0]);
	waitpid(pid, &status, 0);
	return h;
}

static void expect_same(const struct trace_filter *f, size_t n)
{
	uint64_t expected, got, count, naive;
	struct trace_reader *r;
	int fd;

	expected = read_naively(n, f, &naive);
	r = open_at(data, n, &fd);
	got = read_filtered(r, f, &count);
	trace_reader__free(r);
	close(fd);
	cr_assert_eq(count, naive);
	cr_assert_eq(got, expected);
	if (n != size)
		return;
	cr_assert_eq(read_piped(f, &count), expected);
	cr_assert_eq(count, naive);
}

Test(trace_filter, any_window_and_types)
{
	struct trace_filter f;
	uint64_t seed = 3, begin = 1000000000, length = RECORDS * 1000ULL;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		f = (struct trace_filter){0};
		if (i % 4 != 1)
			f.from_ns = begin + rnd(&seed) % length;
		if (i % 4 != 2)
			f.to_ns = f.from_ns + rnd(&seed) % (length / 4) + (f.from_ns ? 0 : begin);
		if (i % 3)
			f.types = TRACE_TYPE(REC_IOCTL) | 1ULL << rnd(&seed) % 64;
		if (i % 5)
			f.before = TRACE_DEFINITIONS;
		expect_same(&f, size);
		expect_same(&f, size - 60 - rnd(&seed) % (size / 2)); /* without an index */
	}
}

Test(trace_filter, windows_outside_of_the_trace)
{
	const struct trace_filter before = {.to_ns = 5}, after = {.from_ns = 1ULL << 60},
				  definitions = {.from_ns = 1ULL << 60,
						 .before = TRACE_TYPE(REC_NAME)};

	expect_same(&before, size);
	expect_same(&after, size);
	expect_same(&definitions, size);
}

/* With an index, what is not wanted is not even read. */
Test(trace_filter, the_index_saves_reading)
{
	const struct trace_filter f = {.from_ns = 1000000000 + RECORDS * 900ULL};
	struct trace_reader *r;
	struct trace_event ev;
	size_t i;
	int fd;

	for (i = 64; i < size / 2; i++) /* nothing there can be made sense of */
		data[i] = 0x55;
	r = open_at(data, size, &fd);
	cr_assert_eq(trace_reader__filter(r, &f), 0);
	cr_assert_eq(trace_reader__next(r, &ev), 1);
	cr_assert_geq(ev.rec->time_ns, f.from_ns);
	trace_reader__free(r);
	close(fd);
}

static void count_idle(void *arg)
{
	(*(int *)arg)++;
}

/* A file that is still being written is followed to its end. */
Test(trace_filter, following)
{
	char path[] = "/tmp/xpugap-test-XXXXXX";
	int out = mkstemp(path), idle = 0, status;
	struct trace_reader *r;
	struct trace_damage d;
	struct trace_event ev;
	uint64_t n = 0;
	size_t at = 0, step;
	pid_t pid;

	cr_assert_geq(out, 0);
	cr_assert_eq(write(out, data, 100), 100);
	pid = fork();
	if (pid == 0) {
		for (at = 100; at < size; at += step) {
			step = size - at < 20000 ? size - at : 20000;
			if (write(out, data + at, step) != (ssize_t)step)
				_exit(1);
			usleep(1000);
		}
		_exit(0);
	}
	r = trace_reader__open(path);
	cr_assert_not_null(r);
	trace_reader__follow(r);
	trace_reader__on_idle(r, count_idle, &idle);
	while (trace_reader__next(r, &ev) == 1)
		n++;
	cr_assert_eq(n, RECORDS);
	cr_assert_gt(idle, 0);
	trace_reader__damage(r, &d);
	cr_assert(!d.truncated);
	trace_reader__free(r);
	waitpid(pid, &status, 0);
	cr_assert_eq(status, 0);
	unlink(path);
	close(out);
}
