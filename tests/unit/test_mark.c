// SPDX-License-Identifier: BSD-2-Clause
/* Marks from a program's threads and processes to the hub: every one arrives, or is counted. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/mark/abi.h"
#include "userspace/mark/hash.h"
#include "userspace/mark/xpugap_mark.h"
#include "userspace/source/mark_hub.h"

/* What came out of the hub. */
struct got {
	uint64_t types[REC_TYPE_MAX];
	uint64_t lost;
	uint64_t last_ns;
	uint64_t backwards;
	struct {
		uint32_t tid;
		uint64_t count; /* of steps */
		uint64_t next;	/* number of the step that must come next */
		uint64_t wrong;
	} thread[4096];
	unsigned int nthreads;
	char name[64]; /* of the last NAME record */
};

static int collect(void *arg, const struct rec *rec)
{
	struct got *g = arg;
	unsigned int i;

	g->types[rec->type]++;
	if (rec->type == REC_LOST) {
		g->lost += ((const struct rec_lost *)rec)->count;
		return 0;
	}
	g->backwards += rec->time_ns < g->last_ns;
	g->last_ns = rec->time_ns;
	if (rec->type == REC_NAME)
		snprintf(g->name, sizeof(g->name), "%.*s",
			 (int)((const struct rec_name *)rec)->name_len,
			 (const char *)((const struct rec_name *)rec + 1));
	if (rec->type != REC_MARK_STEP)
		return 0;
	for (i = 0; i < g->nthreads && g->thread[i].tid != rec->tid; i++)
		;
	cr_assert_lt(i, 4096);
	if (i == g->nthreads)
		g->thread[g->nthreads++].tid = rec->tid;
	g->thread[i].wrong += ((const struct rec_mark_step *)rec)->step != g->thread[i].next++;
	g->thread[i].count++;
	return 0;
}

static struct mark_hub *start(const struct mark_hub_opts *opts)
{
	struct mark_hub *h = mark_hub__new(opts);

	cr_assert_not_null(h);
	cr_assert(xpugap_connect(mark_hub__address(h)));
	return h;
}

static void drain(struct mark_hub *h, struct got *g)
{
	while (mark_hub__poll(h, collect, g) > 0)
		;
}

/* Fork; the child's value is its exit status. */
static void in_child(int (*fn)(void *arg), void *arg, struct mark_hub *h, struct got *g)
{
	int status;
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (!pid)
		_exit(fn(arg));
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (h)
			mark_hub__poll(h, collect, g);
		usleep(1000);
	}
	cr_assert_eq(status, 0, "child: %x", status);
}

static int steps(void *arg)
{
	for (uint64_t i = 0; i < *(uint64_t *)arg; i++)
		xpugap_step(i, 1);
	return 0;
}

static void *steps_thread(void *arg)
{
	steps(arg);
	return NULL;
}

/* Vectors of the xxHash specification and of the reference implementation. */
Test(mark, hash)
{
	cr_assert_eq(mark_hash("", 0), 0xEF46DB3751D8E999ULL);
	cr_assert_eq(mark_hash("a", 1), 0xD24EC4F1A98C6E5BULL);
	cr_assert_eq(mark_hash("abc", 3), 0x44BC2CF5AD770999ULL);
	cr_assert_eq(mark_hash("Nobody inspects the spammish repetition", 39),
		     0xFBCEA83C8A378BF1ULL);
}

Test(mark, every_kind)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){});
	uint64_t now = xpugap_now();
	static struct got g;

	errno = 4711;
	xpugap_step(0, 0);
	xpugap_step_end(5);
	xpugap_unit_begin(7, "request");
	xpugap_unit_handover(7);
	xpugap_unit_end(7, 1);
	xpugap_range_begin("outer");
	xpugap_range_end("outer");
	xpugap_device(3, "cpu:0-1");
	xpugap_launch(3, 0, XPUGAP_KERNEL, "gemm", xpugap_correlation());
	xpugap_span(3, 0, XPUGAP_H2D, "copy", now - 10, now, 1, 4096);
	xpugap_role("loader");
	xpugap_counter("loss", 0.5);
	xpugap_counter(NULL, 0.5);
	cr_assert_eq(errno, 4711);
	cr_assert_eq(mark_hub__poll(h, collect, &g), 19);
	cr_assert_eq(g.types[REC_MARK_STEP], 2);
	cr_assert_eq(g.types[REC_UNIT_BEGIN], 1);
	cr_assert_eq(g.types[REC_UNIT_HANDOVER], 1);
	cr_assert_eq(g.types[REC_UNIT_END], 1);
	cr_assert_eq(g.types[REC_RANGE_BEGIN], 1);
	cr_assert_eq(g.types[REC_RANGE_END], 1);
	cr_assert_eq(g.types[REC_DEVICE], 1);
	cr_assert_eq(g.types[REC_LAUNCH], 1);
	cr_assert_eq(g.types[REC_SPAN], 1);
	cr_assert_eq(g.types[REC_ROLE], 1);
	cr_assert_eq(g.types[REC_COUNTER], 2);
	cr_assert_eq(g.types[REC_NAME], 6);
	cr_assert_eq(g.thread[0].tid, (uint32_t)getpid());
	cr_assert_str_eq(g.name, "loss");
	cr_assert_eq(g.backwards, 0);
	mark_hub__free(h);
}

Test(mark, nobody_records)
{
	cr_assert_not(xpugap_recording());
	xpugap_step(1, 1);
	xpugap_range_begin("x");
	cr_assert_eq(xpugap_correlation(), 1);
	cr_assert_not(xpugap_connect("@xpugap-0-nobody"));
	cr_assert_not(xpugap_connect("nonsense"));
	cr_assert_not(xpugap_connect(NULL));
}

/* Small rings make every kind of wrap happen: 32-byte and 72-byte records and odd names. */
Test(mark, wrap)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){.ring_bytes = MARK_RING_BYTES_MIN});
	static struct got g;
	char name[200];

	for (uint64_t i = 0; i < 20000; i++) {
		xpugap_step(i, 1);
		if (i % 3 == 0)
			xpugap_span(0, 0, XPUGAP_KERNEL, "k", 1, 2, 3, 4);
		memset(name, 'a' + (int)(i % 26), i % 199);
		name[i % 199] = '\0';
		xpugap_counter(name, 1);
		if (i % 16 == 0)
			drain(h, &g);
	}
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP], 20000);
	cr_assert_eq(g.types[REC_SPAN], 6667);
	cr_assert_eq(g.types[REC_COUNTER], 20000);
	cr_assert_eq(g.thread[0].wrong, 0);
	cr_assert_eq(g.lost, 0);
	cr_assert_eq(g.backwards, 0);
	mark_hub__free(h);
}

Test(mark, threads_exact)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){});
	static struct got g;
	pthread_t th[32];
	uint64_t n = 20000;
	unsigned int sum = 0;

	for (int i = 0; i < 32; i++)
		pthread_create(&th[i], NULL, steps_thread, &n);
	for (int i = 0; i < 32; i++) {
		while (pthread_tryjoin_np(th[i], NULL) == EBUSY)
			mark_hub__poll(h, collect, &g);
	}
	drain(h, &g);
	cr_assert_eq(g.nthreads, 32, "%u lost %lu got %lu", g.nthreads, g.lost,
		     g.types[REC_MARK_STEP]);
	cr_assert_eq(g.types[REC_MARK_STEP] + g.lost, 32 * n);
	if (!g.lost)
		for (unsigned int i = 0; i < g.nthreads; i++)
			sum += g.thread[i].count == n && !g.thread[i].wrong;
	cr_assert(g.lost || sum == 32);
	mark_hub__free(h);
}

/* More threads at once than a region has rings, and many more one after the other. */
Test(mark, more_threads_than_rings)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){.slots = 4, .ring_bytes = 1 << 16});
	static struct got g;
	pthread_t th[32];
	uint64_t n = 100;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 32; i++)
			pthread_create(&th[i], NULL, steps_thread, &n);
		for (int i = 0; i < 32; i++)
			pthread_join(th[i], NULL);
		drain(h, &g);
	}
	cr_assert_eq(g.lost, 0);
	cr_assert_eq(g.types[REC_MARK_STEP], 32 * 20 * n);
	cr_assert_eq(g.nthreads, 32 * 20);
	mark_hub__free(h);
}

/* Beyond the last region marks are lost, and all of them are counted. */
static void *steps_and_wait(void *arg)
{
	uint64_t n = 10;
	steps(&n);
	pthread_barrier_wait(arg);
	return NULL;
}

Test(mark, no_ring_left)
{
	struct mark_hub *h =
		start(&(struct mark_hub_opts){.slots = 1, .ring_bytes = MARK_RING_BYTES_MIN});
	static struct got g;
	enum { N = MARK_REGIONS_MAX + 10 };
	pthread_barrier_t barrier;
	pthread_t th[N];

	pthread_barrier_init(&barrier, NULL, N + 1);
	for (int i = 0; i < N; i++)
		pthread_create(&th[i], NULL, steps_and_wait, &barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < N; i++)
		pthread_join(th[i], NULL);
	drain(h, &g);
	/* this thread has a ring too since start() */
	cr_assert_eq(g.types[REC_MARK_STEP], (MARK_REGIONS_MAX - 1) * 10);
	cr_assert_eq(g.lost, (N - MARK_REGIONS_MAX + 1) * 10);
	mark_hub__free(h);
}

Test(mark, full_ring_counts_exactly)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){.ring_bytes = MARK_RING_BYTES_MIN});
	static struct got g;
	uint64_t n = 1000000;

	steps(&n);
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP], MARK_RING_BYTES_MIN / sizeof(struct rec_mark_step));
	cr_assert_eq(g.lost, n - g.types[REC_MARK_STEP]);
	n = 10;
	steps(&n);
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP],
		     MARK_RING_BYTES_MIN / sizeof(struct rec_mark_step) + 10);
	mark_hub__free(h);
}

/* ---- processes ---- */

static int close_all_and_step(void *arg)
{
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	steps(arg);
	return 0;
}

Test(mark, close_fds)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){});
	static struct got g;
	uint64_t n = 5000;

	steps(&n);
	in_child(close_all_and_step, &n, h, &g);
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP], 2 * n);
	cr_assert_eq(g.nthreads, 2);
	cr_assert_eq(g.thread[0].wrong + g.thread[1].wrong, 0);
	mark_hub__free(h);
}

static int fork_tree(void *arg)
{
	uint64_t n = 100;

	steps(&n);
	if (*(int *)arg) {
		--*(int *)arg;
		in_child(fork_tree, arg, NULL, NULL);
	}
	return 0;
}

/* Each child marks in a ring of its own, ten deep, while other threads of the parent mark on. */
Test(mark, fork_deep)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){});
	static struct got g;
	int depth = 10;
	uint64_t n = 20000;
	pthread_t th[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&th[i], NULL, steps_thread, &n);
	in_child(fork_tree, &depth, h, &g);
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
	drain(h, &g);
	cr_assert_eq(g.lost, 0);
	cr_assert_eq(g.types[REC_MARK_STEP], 11 * 100 + 4 * n);
	cr_assert_eq(g.nthreads, 15);
	for (unsigned int i = 0; i < g.nthreads; i++)
		cr_assert_eq(g.thread[i].wrong, 0);
	mark_hub__free(h);
}

/* A fork that runs no handlers of pthread_atfork(). */
Test(mark, raw_fork)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){});
	static struct got g;
	uint64_t n = 100;
	int status;
	pid_t pid;

	steps(&n);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		steps(&n);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	cr_assert_eq(status, 0);
	steps(&n);
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP], 3 * n);
	cr_assert_eq(g.nthreads, 2);
	cr_assert_eq(g.thread[0].count + g.thread[1].count, 3 * n);
	mark_hub__free(h);
}

/* Processes that live for one mark each: all arrive, no descriptor stays. */
Test(mark, thousand_processes, .timeout = 120)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){});
	struct mark_hub_stats st;
	static struct got g;
	uint64_t n = 1;
	int before = dup(0), after;

	close(before);
	for (int i = 0; i < 1000; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(steps(&n));
		if (i % 16 == 15)
			mark_hub__poll(h, collect, &g);
	}
	while (wait(NULL) > 0)
		mark_hub__poll(h, collect, &g);
	drain(h, &g);
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP], 1000);
	cr_assert_eq(g.nthreads, 1000);
	cr_assert_eq(g.lost, 0);
	mark_hub__stats(h, &st);
	cr_assert_leq(st.alive, 1);
	mark_hub__free(h);
	after = dup(0);
	cr_assert_leq(after, before);
}

/* More processes at the same time than the recorder may have files open, at first. */
Test(mark, few_descriptors, .timeout = 120)
{
	struct mark_hub *h = mark_hub__new(&(struct mark_hub_opts){});
	static struct got g;
	struct rlimit rl;
	uint64_t n = 10;
	int go[2], status;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	if (rl.rlim_max < 1024)
		cr_skip_test("the hard limit of open files is too low");
	rl.rlim_cur = 160;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	cr_assert_eq(pipe(go), 0);
	for (int i = 0; i < 200; i++) {
		if (!fork()) {
			close(go[1]);
			xpugap_connect(mark_hub__address(h));
			steps(&n);
			_exit(read(go[0], &status, 1) != 0);
		}
		mark_hub__poll(h, collect, &g);
	}
	while (g.nthreads < 200) /* or the test's time is over */
		mark_hub__poll(h, collect, &g);
	close(go[1]);
	while (wait(&status) > 0)
		cr_assert_eq(status, 0);
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP], 200 * n);
	cr_assert_eq(g.lost, 0);
	mark_hub__free(h);
}

/* A process that marked and was killed before the recorder looked even once. */
static int mark_and_die(void *arg)
{
	steps(arg);
	return 0;
}

Test(mark, dead_before_seen)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){});
	static struct got g;
	uint64_t n = 5000;

	in_child(mark_and_die, &n, NULL, NULL);
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP], n);
	mark_hub__free(h);
}

/* ---- the recorder's end ---- */

/* kB of shared memory that this process has mapped and touched. */
static uint64_t resident(void)
{
	char line[128];
	unsigned long kb = 0;
	FILE *f = fopen("/proc/self/status", "re");

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f) && sscanf(line, "RssShmem: %lu", &kb) != 1)
		;
	fclose(f);
	return kb;
}

Test(mark, recorder_stops)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){});
	static struct got g;
	uint64_t n = 10;
	uint64_t before, many = 20000;

	steps(&n);
	before = resident();
	drain(h, &g);
	steps(&many);
	drain(h, &g);
	cr_assert_geq(resident(), before + many * sizeof(struct rec_mark_step) / 1024 - 64);
	g = (struct got){0};
	steps(&n);
	mark_hub__stop(h);
	steps(&n);
	cr_assert_not(xpugap_recording());
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP], n);
	mark_hub__free(h);
	cr_assert_leq(resident(), before); /* the memory of the rings is given back */
	/* and another begins */
	h = start(&(struct mark_hub_opts){});
	steps(&n);
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP], 2 * n);
	mark_hub__free(h);
}

Test(mark, recorder_killed)
{
	int out[2], go[2];
	char address[128] = "";
	uint64_t n = 100000;
	struct timespec ts = {.tv_sec = 1, .tv_nsec = 100000000};
	pid_t pid;

	cr_assert_eq(pipe(out) | pipe(go), 0);
	pid = fork();
	if (!pid) {
		struct mark_hub *h =
			mark_hub__new(&(struct mark_hub_opts){.ring_bytes = MARK_RING_BYTES_MIN});

		if (!h || write(out[1], mark_hub__address(h), strlen(mark_hub__address(h))) < 1)
			_exit(1);
		for (;;)
			pause();
	}
	cr_assert_gt(read(out[0], address, sizeof(address) - 1), 0);
	cr_assert(xpugap_connect(address));
	steps(&n);
	cr_assert(xpugap_recording()); /* alive, if silent */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	nanosleep(&ts, NULL);
	steps(&n);
	cr_assert_not(xpugap_recording());
}

/* A signal handler's marks in the midst of marks: recorded or counted. */
static volatile sig_atomic_t signals;
static void on_signal(int sig)
{
	xpugap_counter("signals", ++signals);
}

static void *bother(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
		sched_yield();
	}
	return NULL;
}

Test(mark, signal_handlers)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){.ring_bytes = 1 << 24});
	struct sigaction sa = {.sa_handler = on_signal};
	static struct got g;
	pthread_t self = pthread_self(), th;
	uint64_t n = 0;

	sigaction(SIGUSR1, &sa, NULL);
	pthread_create(&th, NULL, bother, &self);
	while (pthread_tryjoin_np(th, NULL) == EBUSY && n < 300000)
		xpugap_step(n++, 1);
	pthread_join(th, NULL);
	drain(h, &g);
	cr_assert_eq(g.types[REC_MARK_STEP], n);
	cr_assert_eq(g.types[REC_COUNTER] + g.lost, (uint64_t)signals);
	cr_assert_eq(g.backwards, 0);
	mark_hub__free(h);
}

static void *correlations(void *arg)
{
	uint64_t *v = arg;

	for (int i = 0; i < 10000; i++)
		v[i] = xpugap_correlation();
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

Test(mark, correlations_unique)
{
	struct mark_hub *h = start(&(struct mark_hub_opts){});
	uint64_t *v =
		mmap(NULL, 5 * 80000, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static struct got g;
	pthread_t th[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&th[i], NULL, correlations, v + 10000 * i);
	for (int i = 0; i < 3; i++)
		pthread_join(th[i], NULL);
	correlations(v + 30000);
	if (!fork()) {
		correlations(v + 40000);
		_exit(0);
	}
	wait(NULL);
	qsort(v, 50000, sizeof(*v), compare);
	for (int i = 1; i < 50000; i++)
		cr_assert_neq(v[i], v[i - 1]);
	cr_assert_neq(v[0], 0);
	drain(h, &g);
	mark_hub__free(h);
}
