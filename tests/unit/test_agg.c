// SPDX-License-Identifier: BSD-2-Clause
/* Totals that grow become records of what is more than the time before. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"
#include "userspace/source/agg.h"
#include "userspace/source/probe.h"
#include "userspace/source/probe_list.h"

static struct rec_syscall_agg totals[16];
static struct rec_syscall_hist buckets[16];
static unsigned int n_totals, n_buckets;

static void read_back(struct trace_writer *w, int fd)
{
	struct trace_reader *r;
	struct trace_event ev;

	cr_assert_eq(trace_writer__finish(w), 0);
	trace_writer__free(w);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	r = trace_reader__open_fd(fd, "agg");
	cr_assert_not_null(r);
	while (trace_reader__next(r, &ev) == 1) {
		if (ev.rec->type == REC_SYSCALL_AGG && n_totals < 16)
			memcpy(&totals[n_totals++], ev.rec, sizeof(totals[0]));
		if (ev.rec->type == REC_SYSCALL_HIST && n_buckets < 16)
			memcpy(&buckets[n_buckets++], ev.rec, sizeof(buckets[0]));
	}
	trace_reader__free(r);
	close(fd);
}

static void see(struct agg *a, uint16_t type, uint32_t tid, uint32_t old_tid)
{
	struct rec_task_exec exec = {.hdr = {.type = type, .size = sizeof(exec), .tid = tid}};
	struct rec_task_exit exit = {.hdr = {.type = type, .size = sizeof(exit), .tid = tid}};

	exec.old_tid = old_tid;
	cr_assert_eq(agg__saw(a, type == REC_TASK_EXEC ? &exec.hdr : &exit.hdr), 0);
}

Test(agg, tells_what_is_more)
{
	int fd = memory_file("", 0);
	struct trace_writer *w = trace_writer__new(fd, NULL);
	struct agg *a = agg__new(1000);
	const struct agg_key key = {.tid = 7, .nr = 3 | AGG_COMPAT};
	const struct agg_key none = {.tid = 8, .nr = AGG_NONE};
	struct agg_value v = {.count = 2, .total_ns = 50, .max_ns = 40, .turn = 1};

	v.log2[3] = 1;
	v.log2[5] = 1;
	cr_assert_eq(agg__take(a, w, &key, &v, 1, 2000), 0);
	agg__end_interval(a, 2000);
	/* nothing more: no record */
	cr_assert_eq(agg__take(a, w, &key, &v, 2, 3000), 0);
	agg__end_interval(a, 3000);
	/* two more in interval 3, and one after it has ended, while this is read */
	v = (struct agg_value){.count = 5,
			       .total_ns = 350,
			       .max_ns = 60,
			       .turn = 4,
			       .before_ns = 200,
			       .before = 3};
	v.log2[3] = 1;
	v.log2[5] = 3;
	v.log2[7] = 1;
	cr_assert_eq(agg__take(a, w, &key, &v, 3, 4000), 0);
	agg__end_interval(a, 4000);
	v = (struct agg_value){.count = 1, .total_ns = 9, .max_ns = 9, .turn = 4};
	v.log2[3] = 1;
	cr_assert_eq(agg__take(a, w, &none, &v, 4, 5000), 0);
	agg__free(a);
	read_back(w, fd);
	cr_assert_eq(n_totals, 3);
	cr_expect(totals[0].hdr.tid == 7 && totals[0].nr == 3 && totals[0].flags == REC_AGG_COMPAT);
	cr_expect(totals[0].since_ns == 1000 && totals[0].until_ns == 2000);
	cr_expect(totals[0].count == 2 && totals[0].total_ns == 50 && totals[0].max_ns == 40);
	cr_expect(totals[1].since_ns == 3000 && totals[1].until_ns == 4000);
	cr_expect(totals[1].count == 3 && totals[1].total_ns == 300 && totals[1].max_ns == 200);
	cr_expect(totals[2].hdr.tid == 8 && totals[2].nr == -1 && totals[2].flags == 0);
	cr_assert_eq(n_buckets, 5);
	cr_expect(buckets[0].log2_ns == 3 && buckets[0].count == 1);
	cr_expect(buckets[2].log2_ns == 5 && buckets[2].count == 2 && buckets[2].nr == 3);
	cr_expect(buckets[3].log2_ns == 7 && buckets[3].count == 1);
}

Test(agg, forgets_who_has_ended)
{
	int fd = memory_file("", 0);
	struct trace_writer *w = trace_writer__new(fd, NULL);
	struct agg *a = agg__new(1000);
	const struct agg_key key = {.tid = 7, .nr = 3};
	struct agg_value v = {.count = 2, .total_ns = 50, .max_ns = 40, .turn = 1};

	v.log2[4] = 2;
	see(a, REC_TASK_EXIT, 7, 0);
	cr_assert_eq(agg__take(a, w, &key, &v, 1, 2000), 0, "there was more");
	agg__end_interval(a, 2000);
	cr_assert_eq(agg__take(a, w, &key, &v, 2, 3000), 1);
	/* before it is removed another thread of that id comes, and calls */
	v.count = 3;
	v.total_ns = 70;
	v.log2[4] = 3;
	cr_assert_eq(agg__forget(a, w, &key, &v, 2, 3000), 0);
	agg__end_interval(a, 3000);
	/* and begins from 0 */
	v = (struct agg_value){.count = 1, .total_ns = 9, .max_ns = 9, .turn = 3};
	v.log2[3] = 1;
	cr_assert_eq(agg__take(a, w, &key, &v, 3, 4000), 0);
	agg__end_interval(a, 4000);
	cr_assert_eq(agg__take(a, w, &key, &v, 4, 5000), 0, "it lives");
	/* who starts a program takes its leader's id; the leader's own stays */
	see(a, REC_TASK_EXEC, 7, 7);
	cr_assert_eq(agg__take(a, w, &key, &v, 4, 5000), 0);
	see(a, REC_TASK_EXEC, 6, 7);
	cr_assert_eq(agg__take(a, w, &key, &v, 4, 5000), 1);
	agg__free(a);
	read_back(w, fd);
	cr_assert_eq(n_totals, 3);
	cr_expect(totals[0].count == 2 && totals[1].count == 1 && totals[2].count == 1);
	cr_expect(totals[1].total_ns == 20 && totals[1].since_ns == 2000);
	cr_assert_eq(n_buckets, 3);
	cr_expect(buckets[0].count == 2 && buckets[1].count == 1 && buckets[1].log2_ns == 4);
}

static int parse(struct probe_list *l, const char *item)
{
	char copy[32];
	char *items[] = {strcpy(copy, item)};
	const struct opt_list list = {.items = items, .n = 1};

	return probe_list__parse(l, &list);
}

Test(agg, is_asked_for_by_an_option)
{
	struct probe_list l;

	cr_assert_eq(parse(&l, "syscall:agg"), 0);
	cr_expect(probe__wanted(l.names, "syscall"));
	cr_expect(probe__wants(l.names, REC_HOOK_SYSCALL));
	cr_expect_not(probe__wanted(l.names, "ioctl"));
	probe_list__free(&l);
	cr_expect_not(probe__wanted(NULL, "syscall"), "no default");
	cr_expect_eq(parse(&l, "syscall"), -EINVAL);
	cr_expect_eq(parse(&l, "sched:agg"), -EINVAL);
	cr_expect_eq(parse(&l, "syscall:ag"), -EINVAL);
}
