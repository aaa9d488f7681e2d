// SPDX-License-Identifier: BSD-2-Clause
/* Queues, events, copies, errors and core sets. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workloads/device/cpu.h"
#include "workloads/device/device.h"

static struct device *open_device(const char *spec, const struct device_ops **ops)
{
	const char *rest;
	struct device *d;

	*ops = device__find(spec, &rest);
	cr_assert(*ops);
	d = (*ops)->open(rest);
	cr_assert(d);
	return d;
}

static void launch(const struct device_ops *ops, struct device_queue *q,
		   int (*run)(void *arg, void *native), void *arg)
{
	struct device_kernel k = {"test", "test", run, arg};

	cr_assert_eq(ops->launch(q, &k), 0);
}

Test(device_cpu, names)
{
	const char *rest;

	cr_expect_eq(device__find("cpu", &rest), &device_cpu);
	cr_expect_str_eq(rest, "");
	cr_expect_eq(device__find("cpu:0-1", &rest), &device_cpu);
	cr_expect_str_eq(rest, "0-1");
	cr_expect_eq(device__find("null", NULL), &device_null);
	cr_expect_null(device__find("cpuu", NULL));
	cr_expect_null(device__find("", NULL));
	cr_expect_null(device__find(":0", NULL));
	cr_expect_null(device__find("a name that is far longer than any device's", NULL));
}

Test(device_cpu, refuses_bad_specs)
{
	static const char *const bad[] = {"x", "0,", "8191", "0-", "0,0"};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		cr_expect_null(device_cpu.open(bad[i]), "%s", bad[i]);
		cr_expect_eq(errno, EINVAL, "%s", bad[i]);
	}
}

Test(device_cpu, info)
{
	const struct device_ops *ops;
	struct device *d = open_device("cpu:0", &ops);
	uint64_t host, ticks, uncertainty;
	struct device_info info;
	char reason[128];

	cr_expect_eq(ops->probe(reason, sizeof(reason)), 0);
	ops->info(d, &info);
	cr_expect_eq(info.units, 1);
	cr_expect(info.computes);
	cr_expect(strstr(info.runtime, "oneDNN 2."), "%s", info.runtime);
	cr_expect(strstr(info.runtime, "OpenBLAS 0."), "%s", info.runtime);
	cr_expect_eq(info.memory_bytes, (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE));
	cr_expect_eq(ops->clock_pair(d, &host, &ticks, &uncertainty), 0);
	cr_expect_eq(host, ticks);
	ops->close(d);
}

struct order {
	int next[5000];
	int n;
};

struct place_in_order {
	struct order *order;
	int value;
};

static int note(void *arg, void *native)
{
	struct place_in_order *p = arg;

	p->order->next[p->order->n++] = p->value;
	return 0;
}

Test(device_cpu, a_queue_keeps_order_beyond_its_capacity)
{
	static struct place_in_order p[5000];
	const struct device_ops *ops;
	struct device *d = open_device("cpu", &ops);
	struct device_queue *q = ops->queue(d, "q");
	static struct order order;
	int i;

	for (i = 0; i < 5000; i++) {
		p[i] = (struct place_in_order){&order, i};
		launch(ops, q, note, &p[i]);
	}
	cr_assert_eq(ops->sync(d, q), 0);
	cr_assert_eq(order.n, 5000);
	for (i = 0; i < 5000; i++)
		cr_assert_eq(order.next[i], i);
	ops->close(d);
}

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool open;
	atomic_int passed;
};

static int pass(void *arg, void *native)
{
	struct gate *g = arg;

	pthread_mutex_lock(&g->lock);
	while (!g->open)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
	g->passed++;
	return 0;
}

static void open_gate(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

static int count(void *arg, void *native)
{
	(*(atomic_int *)arg)++;
	return 0;
}

Test(device_cpu, queues_run_at_once_and_events_join_them)
{
	struct gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
	const struct device_ops *ops;
	struct device *d = open_device("cpu", &ops);
	struct device_queue *a = ops->queue(d, "a"), *b = ops->queue(d, "b");
	atomic_int free_runs = 0, joined = 0;
	struct device_event *gate_passed, *free_done;

	launch(ops, a, pass, &g);
	gate_passed = ops->record(a);
	/* b is not held up by a ... */
	launch(ops, b, count, &free_runs);
	free_done = ops->record(b);
	cr_assert_eq(ops->event_sync(free_done), 0);
	cr_expect_eq(free_runs, 1);
	cr_expect_eq(g.passed, 0);
	/* ... unless it asks to be */
	cr_assert_eq(ops->wait(b, gate_passed), 0);
	ops->event_release(gate_passed);
	launch(ops, b, count, &joined);
	usleep(20000);
	cr_expect_eq(joined, 0);
	open_gate(&g);
	cr_assert_eq(ops->sync(d, NULL), 0);
	cr_expect_eq(joined, 1);
	cr_expect_eq(g.passed, 1);
	ops->event_release(free_done);
	ops->close(d);
}

static int fail(void *arg, void *native)
{
	return *(int *)arg;
}

Test(device_cpu, the_first_error_stops_a_queue_until_sync)
{
	int first = -EDOM, second = -EILSEQ;
	const struct device_ops *ops;
	struct device *d = open_device("cpu", &ops);
	struct device_queue *q = ops->queue(d, "q"), *other = ops->queue(d, "other");
	atomic_int runs = 0;
	struct device_event *e;

	launch(ops, q, fail, &first);
	launch(ops, q, fail, &second);
	launch(ops, q, count, &runs);
	e = ops->record(q);
	cr_expect_eq(ops->event_sync(e), -EDOM);
	/* what depends on failed work fails */
	cr_assert_eq(ops->wait(other, e), 0);
	launch(ops, other, count, &runs);
	cr_expect_eq(ops->sync(d, other), -EDOM);
	ops->event_release(e);
	cr_expect_eq(ops->sync(d, q), -EDOM);
	cr_expect_eq(runs, 0);
	launch(ops, q, count, &runs);
	cr_expect_eq(ops->sync(d, NULL), 0);
	cr_expect_eq(runs, 1);
	ops->close(d);
}

Test(device_cpu, copies)
{
	enum { N = 5000000 };
	const struct device_ops *ops;
	struct device *d = open_device("cpu", &ops);
	struct device_queue *q = ops->queue(d, "q");
	unsigned char *in = malloc(N), *out = calloc(1, N);
	void *a = ops->alloc(d, N), *b = ops->alloc(d, N);
	int i;

	for (i = 0; i < N; i++)
		in[i] = i * 7 + i / 251;
	cr_assert(a && b);
	cr_expect_eq((uintptr_t)a % 64, 0);
	ops->copy(q, &(struct device_copy){"in", DEVICE_H2D, a, in, N});
	ops->copy(q, &(struct device_copy){"across", DEVICE_D2D, b, a, N});
	ops->copy(q, &(struct device_copy){"out", DEVICE_D2H, out, b, N});
	cr_assert_eq(ops->sync(d, q), 0);
	cr_expect_eq(memcmp(in, out, N), 0);
	ops->release(d, a);
	ops->release(d, b);
	ops->close(d);
	free(in);
	free(out);
}

struct where {
	cpu_set_t executor;
	cpu_set_t team[64];
	int cpu[64];
	unsigned int threads;
};

static void note_where(void *arg, unsigned int i, unsigned int n)
{
	struct where *w = arg;

	sched_getaffinity(0, sizeof(w->team[i]), &w->team[i]);
	w->cpu[i] = sched_getcpu();
	if (i == 0)
		w->threads = n;
}

static int look(void *arg, void *native)
{
	struct where *w = arg;

	sched_getaffinity(0, sizeof(w->executor), &w->executor);
	cpu_team__run(native, note_where, w);
	return 0;
}

Test(device_cpu, executor_and_team_stay_on_the_core_set)
{
	const struct device_ops *ops;
	struct where w = {0};
	struct device_queue *q;
	cpu_set_t one, mine;
	struct device *d;
	char spec[32];
	int core;

	cr_assert_eq(sched_getaffinity(0, sizeof(mine), &mine), 0);
	for (core = CPU_SETSIZE - 1; !CPU_ISSET(core, &mine); core--)
		;
	snprintf(spec, sizeof(spec), "cpu:%d", core);
	d = open_device(spec, &ops);
	q = ops->queue(d, "q");
	launch(ops, q, look, &w);
	cr_assert_eq(ops->sync(d, q), 0);
	CPU_ZERO(&one);
	CPU_SET(core, &one);
	cr_expect(CPU_EQUAL(&w.executor, &one));
	cr_expect_eq(w.threads, 1);
	cr_expect_eq(w.cpu[0], core);
	ops->close(d);
	cr_assert_eq(sched_getaffinity(0, sizeof(one), &one), 0);
	cr_expect(CPU_EQUAL(&one, &mine), "the caller keeps its own cores");

	d = open_device("cpu", &ops);
	q = ops->queue(d, "q");
	launch(ops, q, look, &w);
	cr_assert_eq(ops->sync(d, q), 0);
	cr_expect_leq(w.threads, (unsigned int)CPU_COUNT(&mine));
	for (core = 0; core < (int)w.threads && core < 64; core++)
		cr_expect(CPU_EQUAL(&w.team[core], &mine));
	ops->close(d);
}

Test(device_cpu, closing_nothing)
{
	device_cpu.close(NULL);
	device_cpu.event_release(NULL);
}
