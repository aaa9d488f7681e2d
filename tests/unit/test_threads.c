// SPDX-License-Identifier: BSD-2-Clause
/* Threads over a whole recording against a made-up machine, and record by record. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/unit/script.h"

static void expect_sums(const struct threads *a)
{
	const struct thread_row *th, *p;
	struct thread_row of_threads = {0}, of_processes = {0};
	size_t n, i;

	th = threads__threads(a, &n);
	for (i = 0; i < n; i++) {
		cr_assert_eq(facts__total_ns(&th[i].facts), th[i].wall_ns);
		cr_assert_eq(th[i].end_ns - th[i].begin_ns, th[i].wall_ns);
		thread_row__add(&of_threads, &th[i]);
	}
	p = threads__processes(a, &n);
	for (i = 0; i < n; i++)
		thread_row__add(&of_processes, &p[i]);
	cr_assert_eq(of_threads.threads, threads__total(a)->threads);
	cr_assert_eq(of_threads.wall_ns, threads__total(a)->wall_ns);
	cr_assert_eq(of_processes.wall_ns, threads__total(a)->wall_ns);
	cr_assert_eq(of_processes.threads, of_threads.threads);
}

Test(threads, equal_the_truth_to_the_nanosecond)
{
	struct analysis_set *set;
	uint64_t seed;
	struct sim *s;

	for (seed = 1; seed <= 500; seed++) {
		s = sim__play(seed, 4000);
		set = analyse(s, 0);
		expect_facts(&threads__total(threads_of(set))->facts, &s->total, "all", seed, 0);
		cr_assert_eq(threads__total(threads_of(set))->facts.ioctl_ns, s->total.ioctl_ns);
		expect_sums(threads_of(set));
		analysis_set__free(set);
		sim__free(s);
	}
}

Test(threads, add_up_under_losses)
{
	struct analysis_set *set;
	uint64_t seed;
	struct sim *s;

	for (seed = 1; seed <= 200; seed++) {
		s = sim__play(seed, 2000);
		set = analyse(s, 2 + seed % 30);
		expect_sums(threads_of(set));
		analysis_set__free(set);
		sim__free(s);
	}
}

/* 10 runs from 2000 to 5000 with an ioctl and a fault; 20 of another process sleeps to the end. */
Test(threads, by_hand)
{
	const struct thread_row *th, *p;
	struct analysis_set *set;
	size_t n;

	begin_script();
	task(20, 20, 1, 1, "small");
	task(10, 10, 1, 1, "large");
	task(11, 10, 1, 1, "helper");
	sched_switch(2000, 20, 1, 10);
	at(4000);
	SIM_EMIT(&script, 0, IOCTL, ioctl, 10, .duration_ns = 700);
	SIM_EMIT(&script, 0, FAULT, fault, 10, .duration_ns = 300, .unseen = 2);
	sched_switch(5000, 10, 1, 11);
	SIM_EMIT(&script, 0, IOCTL_BLOCKED, ioctl_blocked, 11, .start_ns = 5500);
	at(6000);
	SIM_EMIT(&script, 0, SCHED_SWITCH, sched_switch, 11, .prev_state = 1, .prev_nr = 16,
		 .flags = REC_SCHED_PREV_TARGET);
	at(9000);
	SIM_EMIT(&script, 0, TASK_EXIT, task_exit, 10, .pid = 10);
	set = end_script();
	p = threads__processes(threads_of(set), &n);
	cr_assert_eq(n, 2);
	cr_expect_str_eq(p[0].name, "large");
	cr_expect_eq(p[0].threads, 2);
	cr_expect_eq(p[0].facts.host_ns[HOST_RUNNING], 4000);
	cr_expect_str_eq(p[1].name, "small");
	cr_expect_eq(p[1].facts.host_ns[HOST_UNKNOWN], 1000); /* no switch was recorded yet */
	cr_expect_eq(p[1].facts.host_ns[HOST_BLOCKED], 7000);
	th = threads__threads(threads_of(set), &n);
	cr_assert_eq(n, 3);
	cr_expect_eq(th[0].tid, 10);
	cr_expect_eq(th[0].wall_ns, 8000);
	cr_expect_eq(th[0].facts.host_ns[HOST_UNKNOWN], 1000);
	cr_expect_eq(th[0].facts.host_ns[HOST_RUNNING], 3000);
	cr_expect_eq(th[0].facts.host_ns[HOST_BLOCKED], 4000);
	cr_expect_eq(th[0].facts.voluntary, 1);
	cr_expect_eq(th[0].facts.ioctls, 1);
	cr_expect_eq(th[0].facts.ioctl_ns, 700);
	cr_expect_eq(th[0].facts.faults, 3);
	cr_expect_eq(th[0].facts.fault_ns, 300);
	cr_expect_str_eq(th[1].name, "helper");
	cr_expect_eq(th[1].facts.ioctls, 0);
	cr_expect_eq(th[1].facts.ioctl_ns, 3500); /* from 5500 to the end: it never returned */
	cr_expect_eq(th[1].open_ioctls, 1);
	cr_expect_eq(th[2].tid, 20);
	expect_sums(threads_of(set));
	analysis_set__free(set);
}

/* However many there are, the largest have rows and nothing is left out of the sums. */
Test(threads, are_bounded)
{
	const struct thread_row *p;
	const size_t many = 5 * THREADS_KEEP;
	struct thread_row shown = {0}, rest;
	struct analysis_set *set;
	size_t n, i;

	begin_script();
	task(7, 7, 1, 1, "first");
	for (i = 0; i < many; i++) {
		task((uint32_t)(100 + i), (uint32_t)(100 + i), 7, i + 1, "each");
		sched_switch(script.now + 10, i ? 0 : 7, i ? 0 : 1, (uint32_t)(100 + i));
		/* the later the longer */
		sched_switch(script.now + 1 + i, (uint32_t)(100 + i), 1, 0);
		SIM_EMIT(&script, 0, TASK_EXIT, task_exit, (uint32_t)(100 + i),
			 .pid = (uint32_t)(100 + i));
	}
	set = end_script();
	p = threads__processes(threads_of(set), &n);
	cr_assert_eq(n, THREADS_KEEP);
	cr_expect_eq(threads__process_count(threads_of(set)), many + 1);
	cr_expect_eq(p[0].pid, 100 + many - 1);
	cr_expect_eq(p[0].facts.host_ns[HOST_RUNNING], many);
	for (i = 0; i < n; i++) {
		cr_assert_eq(p[i].facts.host_ns[HOST_RUNNING], many - i);
		thread_row__add(&shown, &p[i]);
	}
	thread_row__rest(&rest, threads__total(threads_of(set)), &shown);
	cr_expect_eq(rest.threads, many + 1 - n);
	/* 1 + 2 + … of those without a row */
	cr_expect_eq(rest.facts.host_ns[HOST_RUNNING], (many - n) * (many - n + 1) / 2);
	analysis_set__free(set);
}
