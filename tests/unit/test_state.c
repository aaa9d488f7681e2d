// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <string.h>

#include "userspace/trace/records.h"
#include "userspace/trace/state.h"

static struct trace_state *s;

static void set_up(void)
{
	s = trace_state__new();
	cr_assert_not_null(s);
}

static void tear_down(void)
{
	trace_state__free(s);
}

TestSuite(state, .init = set_up, .fini = tear_down);

static void feed_task(uint32_t tid, uint32_t pid, const char *comm)
{
	struct rec_task r = {.hdr = {.type = REC_TASK, .size = sizeof(r), .tid = tid}, .pid = pid};

	memcpy(r.comm, comm, strnlen(comm, sizeof(r.comm)));
	cr_assert_eq(trace_state__feed(s, &r.hdr), 0);
}

static void feed_exit(uint32_t tid)
{
	struct rec_task_exit r = {.hdr = {.type = REC_TASK_EXIT, .size = sizeof(r), .tid = tid}};

	cr_assert_eq(trace_state__feed(s, &r.hdr), 0);
}

static void expect_task(uint32_t tid, uint32_t pid, const char *comm)
{
	const struct trace_task *t = trace_state__task(s, tid);

	cr_assert_not_null(t, "task %u", tid);
	cr_assert_eq(t->pid, pid);
	cr_assert_eq(t->comm_len, strlen(comm));
	cr_assert_eq(memcmp(t->comm, comm, t->comm_len), 0);
}

Test(state, tasks_live_and_change)
{
	struct rec_task_fork fork = {.hdr = {.type = REC_TASK_FORK,
					     .size = sizeof(fork),
					     .tid = 10},
				     .child_tid = 11,
				     .child_pid = 11,
				     .comm = "sh"};
	struct rec_task_comm comm = {.hdr = {.type = REC_TASK_COMM,
					     .size = sizeof(comm),
					     .tid = 11},
				     .pid = 11,
				     .comm = "sixteen_letters!"};
	struct rec_task_exec exec = {.hdr = {.type = REC_TASK_EXEC,
					     .size = sizeof(exec),
					     .tid = 12},
				     .pid = 12,
				     .old_tid = 13};

	cr_assert_null(trace_state__task(s, 10));
	feed_task(10, 10, "sh");
	expect_task(10, 10, "sh");
	trace_state__feed(s, &fork.hdr);
	expect_task(11, 11, "sh");
	trace_state__feed(s, &comm.hdr);
	expect_task(11, 11, "sixteen_letters!");
	trace_state__feed(s, &exec.hdr); /* of a task that nothing told of */
	expect_task(12, 12, "");
	feed_exit(11);
	expect_task(11, 11, "sixteen_letters!"); /* its last switch is still to come */
	feed_task(11, 99, "again");
	expect_task(11, 99, "again");
}

/* Those that ended go in the end, those that live, or live again, stay. */
Test(state, ended_tasks_are_forgotten)
{
	uint32_t tid;

	feed_task(5, 5, "lives");
	feed_task(6, 6, "ended");
	feed_task(7, 7, "ended");
	feed_exit(6);
	feed_exit(7);
	feed_exit(7);
	feed_task(7, 7, "again");
	for (tid = 1000; tid < 201000; tid++) {
		feed_task(tid, tid, "short");
		feed_exit(tid);
	}
	cr_assert_null(trace_state__task(s, 6));
	expect_task(5, 5, "lives");
	expect_task(7, 7, "again");
	cr_assert_null(trace_state__task(s, 1000));
	expect_task(200999, 200999, "short");
}

Test(state, names)
{
	static const char *const one[] = {"forward"}, *const two[] = {"other"};
	struct rec_name name = {.hdr = {.type = REC_NAME}, .id = 0};
	uint64_t buf[32];
	const char *text;
	size_t len;

	cr_assert_null(trace_state__name(s, 0, &len));
	cr_assert_eq(len, 0);
	trace_state__feed(s, record__build(buf, sizeof(buf), &name.hdr, one, 1));
	text = trace_state__name(s, 0, &len);
	cr_assert_eq(len, 7);
	cr_assert_eq(memcmp(text, "forward", 7), 0);
	/* an id is the hash of its string: a second definition says the same or is wrong */
	trace_state__feed(s, record__build(buf, sizeof(buf), &name.hdr, two, 1));
	trace_state__name(s, 0, &len);
	cr_assert_eq(len, 7);
}
