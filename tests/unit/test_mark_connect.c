// SPDX-License-Identifier: BSD-2-Clause
/* One process and several recorders, one after another; and what must not count as a lost mark. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "userspace/mark/abi.h"
#include "userspace/mark/hash.h"
#include "userspace/mark/xpugap_mark.h"
#include "userspace/source/mark_hub.h"

struct got {
	uint64_t steps, counters, names, lost;
	uint64_t unnamed; /* counters whose name was not told before */
	uint64_t ids[64];
	uint64_t devices;
	char device[3][32]; /* names of the last ones */
};

static bool is_named(const struct got *g, uint64_t id)
{
	for (uint64_t i = 0; i < g->names; i++)
		if (g->ids[i] == id)
			return true;
	return false;
}

static int collect(void *arg, const struct rec *rec)
{
	const struct rec_device *d = (const struct rec_device *)rec;
	struct got *g = arg;

	switch (rec->type) {
	case REC_LOST:
		g->lost += ((const struct rec_lost *)rec)->count;
		break;
	case REC_NAME:
		cr_assert_lt(g->names, 64);
		g->ids[g->names++] = ((const struct rec_name *)rec)->id;
		break;
	case REC_COUNTER:
		g->counters++;
		g->unnamed += !is_named(g, ((const struct rec_counter *)rec)->name);
		break;
	case REC_DEVICE:
		snprintf(g->device[g->devices++ % 3], sizeof(g->device[0]), "%u=%.*s", d->device,
			 (int)d->name_len, (const char *)(d + 1));
		break;
	case REC_MARK_STEP:
		g->steps++;
		break;
	}
	return 0;
}

static void drain(struct mark_hub *h, struct got *g)
{
	while (mark_hub__poll(h, collect, g) > 0)
		;
}

static void mark_some(void)
{
	xpugap_step(0, 1);
	xpugap_counter("loss", 0.5);
	xpugap_counter("rate", 0.5);
}

/* Each recorder is told all names and devices, whatever the one before was told. */
Test(mark_connect, each_recorder_gets_names)
{
	static struct got got[3];

	xpugap_device(7, "early");
	for (int i = 0; i < 3; i++) {
		struct mark_hub *h = mark_hub__new(&(struct mark_hub_opts){});

		cr_assert(xpugap_connect(mark_hub__address(h)), "recorder %d", i);
		mark_some();
		mark_some();
		/* the thread learns of the end by its next mark, or by connecting */
		mark_hub__stop(h);
		if (i == 0)
			mark_some();
		drain(h, &got[i]);
		cr_assert_eq(got[i].steps, 2);
		cr_assert_eq(got[i].counters, 4);
		cr_assert_eq(got[i].names, 2, "recorder %d: %lu names", i, got[i].names);
		cr_assert_eq(got[i].unnamed, 0);
		cr_assert_eq(got[i].devices, 1);
		cr_assert_str_eq(got[i].device[0], "7=early");
		cr_assert_eq(got[i].lost, 0);
		mark_hub__free(h);
	}
}

/* Named while nobody records, one of them anew; the last name is the last told. */
Test(mark_connect, devices_named_before)
{
	struct mark_hub *h = mark_hub__new(&(struct mark_hub_opts){});
	static struct got g;

	xpugap_device(1, "one");
	xpugap_device(2, "two");
	xpugap_device(2, "two");
	xpugap_device(1, "uno");
	cr_assert_not(xpugap_recording());
	cr_assert(xpugap_connect(mark_hub__address(h)));
	drain(h, &g);
	cr_assert_eq(g.devices, 3);
	cr_assert_str_eq(g.device[0], "1=one");
	cr_assert_str_eq(g.device[1], "2=two");
	cr_assert_str_eq(g.device[2], "1=uno");
	mark_hub__free(h);
}

/* ---- a killed recorder ---- */

static pid_t start_mute(char *address, size_t size)
{
	int out[2];
	pid_t pid;

	cr_assert_eq(pipe(out), 0);
	pid = fork();
	if (!pid) {
		struct mark_hub *h =
			mark_hub__new(&(struct mark_hub_opts){.ring_bytes = MARK_RING_BYTES_MIN});
		const char *a = mark_hub__address(h);

		if (write(out[1], a, strlen(a) + 1) < 1)
			_exit(1);
		for (;;)
			pause();
	}
	cr_assert_gt(read(out[0], address, size), 0);
	close(out[0]);
	close(out[1]);
	return pid;
}

struct other {
	pthread_barrier_t barrier;
	bool recorded;
};

/* A thread that had a ring of the recorder that is killed. */
static void *mark_twice(void *arg)
{
	struct other *o = arg;

	mark_some();
	pthread_barrier_wait(&o->barrier);
	pthread_barrier_wait(&o->barrier); /* killed, found out, another recorder connected */
	o->recorded = xpugap_recording();
	mark_some();
	return NULL;
}

Test(mark_connect, after_a_killed_recorder, .timeout = 60)
{
	struct timespec ts = {.tv_sec = 1, .tv_nsec = 100000000};
	struct other o = {0};
	static struct got g;
	char address[128];
	struct mark_hub *h;
	pthread_t th;
	pid_t pid;

	pid = start_mute(address, sizeof(address));
	cr_assert(xpugap_connect(address));
	pthread_barrier_init(&o.barrier, NULL, 2);
	pthread_create(&th, NULL, mark_twice, &o);
	pthread_barrier_wait(&o.barrier);
	for (int i = 0; i < 2000; i++)
		mark_some();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	nanosleep(&ts, NULL);
	for (int i = 0; i < 2000; i++)
		mark_some();
	cr_assert_not(xpugap_recording());
	h = mark_hub__new(&(struct mark_hub_opts){});
	cr_assert(xpugap_connect(mark_hub__address(h)));
	mark_some();
	pthread_barrier_wait(&o.barrier);
	pthread_join(th, NULL);
	cr_assert(o.recorded);
	drain(h, &g);
	cr_assert_eq(g.steps, 2);
	cr_assert_eq(g.counters, 4);
	cr_assert_eq(g.unnamed, 0);
	cr_assert_eq(g.lost, 0);
	mark_hub__free(h);
}

/* Its rings are neither full nor closed: who connects is told by nothing but that. */
Test(mark_connect, to_another_after_a_killed_recorder, .timeout = 60)
{
	static struct got g;
	char address[128];
	struct mark_hub *h;
	pid_t pid = start_mute(address, sizeof(address));

	cr_assert(xpugap_connect(address));
	mark_some();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	h = mark_hub__new(&(struct mark_hub_opts){});
	cr_assert(xpugap_connect(mark_hub__address(h)));
	mark_some();
	drain(h, &g);
	cr_assert_eq(g.steps, 1);
	cr_assert_eq(g.lost, 0);
	mark_hub__free(h);
}

/* ---- no marks ---- */

static void *ask_only(void *arg)
{
	for (int i = 0; i < 100; i++) {
		cr_assert_neq(xpugap_correlation(), 0);
		cr_assert_neq(xpugap_now(), 0);
	}
	cr_assert(xpugap_recording());
	if (arg)
		xpugap_step(0, 1);
	return NULL;
}

/* The only ring is ours: others get correlations, and lose their marks only. */
Test(mark_connect, correlations_are_no_marks)
{
	enum { N = MARK_REGIONS_MAX };
	struct mark_hub *h = mark_hub__new(
		&(struct mark_hub_opts){.slots = 1, .ring_bytes = MARK_RING_BYTES_MIN});
	struct rlimit rl, none;
	static struct got g;
	pthread_t th;
	int mark = 1;

	cr_assert(xpugap_connect(mark_hub__address(h)));
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	none = rl;
	none.rlim_cur = 0; /* no further region can be made */
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	pthread_create(&th, NULL, ask_only, NULL);
	pthread_join(th, NULL);
	pthread_create(&th, NULL, ask_only, &mark);
	pthread_join(th, NULL);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	drain(h, &g);
	cr_assert_eq(g.steps, 0);
	cr_assert_eq(g.lost, 1);
	mark_hub__free(h);
}

/* Attaching fails for a while: what asks is not counted, what marks is, a device is kept. */
Test(mark_connect, attaching_fails)
{
	struct timespec ts = {.tv_nsec = 20000000};
	struct mark_hub *h = mark_hub__new(&(struct mark_hub_opts){});
	struct rlimit rl, none;
	static struct got g;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	none = rl;
	none.rlim_cur = 0;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_assert_not(xpugap_connect(mark_hub__address(h)));
	for (int i = 0; i < 10; i++) {
		xpugap_now();
		xpugap_recording();
		xpugap_correlation();
	}
	xpugap_device(5, "five");
	xpugap_step(0, 0);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	nanosleep(&ts, NULL);
	xpugap_step(0, 0);
	drain(h, &g);
	cr_assert_eq(g.steps, 1);
	cr_assert_eq(g.lost, 1, "%lu", g.lost);
	cr_assert_eq(g.devices, 1);
	cr_assert_str_eq(g.device[0], "5=five");
	mark_hub__free(h);
}
