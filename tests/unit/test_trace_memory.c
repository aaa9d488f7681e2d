// SPDX-License-Identifier: BSD-2-Clause
/* A reader's memory does not depend on how long the trace is. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"

/* 10,000 records in a round, over three rings. */
static void write_trace(int fd, uint64_t n)
{
	struct trace_writer *w = trace_writer__new(fd, NULL);
	struct rec_ioctl r = {.hdr = {.type = REC_IOCTL, .size = sizeof(r)}};
	uint64_t seed = 1, i;

	cr_assert_not_null(w);
	for (i = 0; i < n; i++) {
		r.hdr.time_ns = 1000 + i * 500;
		r.hdr.tid = (uint32_t)(i % 7);
		r.duration_ns = rnd(&seed) % 1000;
		r.arg = rnd(&seed) % 16;
		cr_assert_eq(trace_writer__append(w, (uint16_t)(i % 3), &r.hdr), 0);
		if (i % 10000 == 0)
			cr_assert_eq(trace_writer__round(w, r.hdr.time_ns, true), 0);
	}
	cr_assert_eq(trace_writer__finish(w), 0);
	trace_writer__free(w);
}

/* The peak of a process that reads all of @path, in KiB, as the kernel counted it. */
static long peak_of_reading(const char *path, uint64_t expected)
{
	struct trace_reader *r;
	struct trace_event ev;
	struct rusage usage;
	uint64_t n = 0;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		r = trace_reader__open(path);
		while (r && trace_reader__next(r, &ev) == 1)
			n++;
		trace_reader__free(r);
		_exit(n == expected ? 0 : 1);
	}
	cr_assert_eq(wait4(pid, &status, 0, &usage), pid);
	cr_assert_eq(status, 0);
	return usage.ru_maxrss;
}

Test(trace_memory, the_same_for_one_and_ten_million_events)
{
	char path[] = "/tmp/xpugap-test-XXXXXX";
	int fd = mkstemp(path);
	long one, ten;

#if defined(__SANITIZE_ADDRESS__)
	unlink(path);
	cr_skip_test("AddressSanitizer keeps what is freed");
#endif
	cr_assert_geq(fd, 0);
	write_trace(fd, 1000000);
	one = peak_of_reading(path, 1000000);
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	write_trace(fd, 10000000);
	ten = peak_of_reading(path, 10000000);
	unlink(path);
	close(fd);
	cr_assert_leq(ten, one + 1024, "%ld KiB for one million, %ld for ten", one, ten);
}
