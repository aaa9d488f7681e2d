// SPDX-License-Identifier: BSD-2-Clause
/* What the kernel counts of each cpu: its lines, what becomes of them, what is said without them.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/cpu_times.h"
#include "tests/unit/trace_util.h"
#include "userspace/source/cpu_stat.h"

#define S 1000000000ULL

static struct rec_cpu_stat rec;

Test(cpu_stat, reads_what_linux_6_18_writes)
{
	cr_assert_eq(cpu_stat__parse("cpu1 1992580 284452 728378 529668 8081 7 4146 17392 11 12\n",
				     100, &rec),
		     0);
	cr_assert_eq(rec.cpu, 1);
	cr_assert_eq(rec.user_ns, 1992580 * (S / 100));
	cr_assert_eq(rec.nice_ns, 284452 * (S / 100));
	cr_assert_eq(rec.system_ns, 728378 * (S / 100));
	cr_assert_eq(rec.idle_ns, 529668 * (S / 100));
	cr_assert_eq(rec.iowait_ns, 8081 * (S / 100));
	cr_assert_eq(rec.irq_ns, 7 * (S / 100));
	cr_assert_eq(rec.softirq_ns, 4146 * (S / 100));
	cr_assert_eq(rec.steal_ns, 17392 * (S / 100));
	cr_assert_eq(rec.guest_ns, 11 * (S / 100));
	cr_assert_eq(rec.guest_nice_ns, 12 * (S / 100));
}

Test(cpu_stat, older_and_later_kernels_have_fewer_and_more_counts)
{
	cr_assert_eq(cpu_stat__parse("cpu255 1 2 3 4", 1000, &rec), 0);
	cr_assert(rec.cpu == 255 && rec.idle_ns == 4000000 && rec.steal_ns == 0);
	cr_assert_eq(cpu_stat__parse("cpu0 1 2 3 4 5 6 7 8 9 10 11 12\n", 1024, &rec), 0);
	cr_assert_eq(rec.guest_nice_ns, 10 * S / 1024);
}

Test(cpu_stat, refuses_what_is_no_line_of_a_cpu)
{
	static const char *const bad[] = {
		"",
		"cpu",
		"cpu  1 2 3 4 5 6 7 8 9 10", /* all cpus together */
		"cpu0",
		"cpu0 1 2 3",
		"cpu0 1 2 3 x",
		"cpu0 1 2 3 -4",
		"cpu0 1 2 3 4x",
		"cpu-1 1 2 3 4",
		"cpu0x 1 2 3 4",
		"cpu4294967295 1 2 3 4",
		"cpu0 1 2 3 18446744073709551616",
		"cpu0 1 2 3 18446744073709551615", /* more nanoseconds than there are */
		"intr 1 2 3 4",
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_eq(cpu_stat__parse(bad[i], 100, &rec), -EINVAL, "'%s'", bad[i]);
	cr_expect_eq(cpu_stat__parse("cpu0 1 2 3 4", 0, &rec), -EINVAL);
}

static void give(struct cpu_times *t, uint32_t cpu, uint64_t user, uint64_t idle, uint64_t steal)
{
	const struct rec_cpu_stat r = {.cpu = cpu,
				       .user_ns = user,
				       .idle_ns = idle,
				       .steal_ns = steal};

	cr_assert_eq(cpu_times__add(t, &r), 0);
}

/* 10 s of two cpus, of which one was off for a while. */
Test(cpu_stat, shares_are_of_what_was_counted_meanwhile)
{
	struct cpu_times t = {0};
	struct cpu_time sum;

	cpu_times__sum(&t, &sum);
	cr_assert(sum.readings == 0 && sum.total_ns == 0);
	give(&t, 0, 100 * S, 200 * S, 5 * S);
	give(&t, 3, 7 * S, 9 * S, 0);
	give(&t, CPU_TIMES_MAX, 1, 2, 3);
	give(&t, 0, 103 * S, 201 * S, 6 * S);
	give(&t, 0, 106 * S, 203 * S, 6 * S);
	give(&t, 3, 7 * S, 8 * S, 0); /* idle time goes back */
	give(&t, 3, 7 * S, 12 * S, 6 * S);
	cr_assert_eq(t.n, 4);
	cr_assert(t.rows[1].readings == 0 && t.rows[0].readings == 3);
	cr_assert_eq(t.rows[0].total_ns, 10 * S);
	cr_assert_float_eq(t.rows[0].user_pct, 60, 1e-9);
	cr_assert_float_eq(t.rows[0].steal_pct, 10, 1e-9);
	cr_assert_eq(t.rows[3].total_ns, 10 * S);
	cr_assert_float_eq(t.rows[3].steal_pct, 60, 1e-9);
	cpu_times__sum(&t, &sum);
	cr_assert(sum.cpu == 3 && sum.steal_ns == 7 * S && sum.total_ns == 20 * S);
	cr_assert_float_eq(sum.steal_pct, 35, 1e-9);
	cpu_times__free(&t);
}

static const char *file_of(const char *text)
{
	static char path[] = "/tmp/xpugap-cpu_stat-XXXXXX";
	int fd = mkstemp(path);

	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	return path;
}

/* How many CPU_STAT records the trace @fd has; *@fact: what it says of them. */
static int count(int fd, char *fact, size_t size)
{
	struct trace_reader *r;
	struct trace_event ev;
	const char *text;
	char path[32];
	size_t len;
	int n = 0;

	*fact = '\0';
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = trace_reader__open(path);
	cr_assert_not_null(r);
	while (trace_reader__next(r, &ev) == 1) {
		n += ev.rec->type == REC_CPU_STAT;
		if (ev.rec->type != REC_META)
			continue;
		text = record__text(ev.rec, 1, &len);
		snprintf(fact, size, "%.*s", (int)len, text);
	}
	trace_reader__free(r);
	return n;
}

static int write_twice(const char *path, char *fact, size_t size)
{
	struct trace_writer_opts opts = {0};
	struct cpu_stat s = {.path = path};
	int fd = memory_file(NULL, 0), n;
	struct trace_writer *w = trace_writer__new(fd, &opts);

	cr_assert_not_null(w);
	cr_assert_eq(cpu_stat__write(&s, w), 0);
	cr_assert_eq(cpu_stat__write(&s, w), 0);
	cr_assert_eq(trace_writer__finish(w), 0);
	n = count(fd, fact, size);
	trace_writer__free(w);
	close(fd);
	return n;
}

Test(cpu_stat, each_cpu_is_one_record_each_time)
{
	const char *path = file_of("cpu  3 3 3 3 3 3 3 3 3 3\n"
				   "cpu0 1 1 1 1 1 1 1 1 1 1\n"
				   "cpu2 2 2 2 2 2 2 2 2 2 2\n"
				   "intr 17 cpu3 1 2 3 4\n");
	char fact[200];

	cr_assert_eq(write_twice(path, fact, sizeof(fact)), 4);
	cr_assert_str_empty(fact);
	unlink(path);
}

Test(cpu_stat, what_cannot_be_read_is_said_and_is_no_error, .init = cr_redirect_stderr)
{
	const char *path = file_of("intr 1 2 3 4\n");
	char fact[200];

	cr_assert_eq(write_twice(path, fact, sizeof(fact)), 0);
	cr_assert_str_eq(fact, "cannot be read: it names no cpu");
	unlink(path);
	cr_assert_eq(write_twice(path, fact, sizeof(fact)), 0);
	cr_assert_str_eq(fact, "cannot be read: no such file or directory");
}
