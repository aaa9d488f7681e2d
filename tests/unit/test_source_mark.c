// SPDX-License-Identifier: BSD-2-Clause
/* The source 'mark' with a real trace: what programs mark is what a reader finds. */
#include <criterion/criterion.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/mark/xpugap_mark.h"
#include "userspace/source/recorder.h"
#include "userspace/source/source.h"
#include "userspace/trace/records.h"
#include "userspace/trace/trace.h"

#define CHILDREN 8
#define THREADS	 4
#define MARKS	 3000

static void *work(void *arg)
{
	xpugap_role("worker");
	for (uint64_t i = 0; i < MARKS; i++) {
		uint64_t corr = xpugap_correlation(), now = xpugap_now();

		xpugap_range_begin("forward");
		xpugap_launch(1, 0, XPUGAP_KERNEL, "gemm", corr);
		xpugap_span(1, 0, XPUGAP_KERNEL, "gemm", now, xpugap_now(), corr, 0);
		xpugap_range_end("forward");
		if (i % 100 == 0)
			usleep(200);
	}
	return NULL;
}

static int program(const char *address)
{
	pthread_t th[THREADS];

	if (!xpugap_connect(strchr(address, '=') + 1))
		return 1;
	xpugap_device(1, "null");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	return 0;
}

static void sweep(struct source *s, struct trace_writer *w)
{
	uint64_t now = xpugap_now();

	cr_assert_geq(source_mark.poll(s), 0);
	cr_assert_eq(trace_writer__round(w, source_mark.horizon(s, now), false), 0);
}

static void record(struct source *s, struct trace_writer *w)
{
	int left = CHILDREN, status;

	for (int i = 0; i < CHILDREN; i++)
		if (!fork())
			_exit(program(source_mark.env(s)[0]));
	while (left) {
		if (waitpid(-1, &status, WNOHANG) > 0) {
			cr_assert_eq(status, 0);
			left--;
		}
		sweep(s, w);
		usleep(500);
	}
}

struct sums {
	uint64_t types[REC_TYPE_MAX];
	uint64_t corr_launch, corr_span;
	uint64_t lost;
	struct rec_hook_count count; /* of the marks */
	char altered[4][32];	     /* the facts that tell of it, as "key=value" */
	unsigned int naltered;
};

static void take_fact(struct sums *sums, const struct rec *rec)
{
	size_t klen, vlen;
	const char *key = record__text(rec, 0, &klen), *value = record__text(rec, 1, &vlen);

	if (strncmp(key, "mark.", 5) != 0 && strncmp(key, "trace.", 6) != 0)
		return;
	cr_assert_lt(sums->naltered, 4);
	snprintf(sums->altered[sums->naltered++], sizeof(sums->altered[0]), "%.*s=%.*s", (int)klen,
		 key, (int)vlen, value);
}

static void check(int fd, struct sums *sums)
{
	struct trace_reader *r = trace_reader__open_fd(dup(fd), "memory");
	struct trace_event ev;
	uint64_t last = 0;
	int ret;

	cr_assert_not_null(r);
	while ((ret = trace_reader__next(r, &ev)) == 1) {
		cr_assert_geq(ev.rec->time_ns, last);
		last = ev.rec->time_ns;
		sums->types[ev.rec->type]++;
		if (ev.rec->type == REC_META)
			take_fact(sums, ev.rec);
		if (ev.rec->type == REC_HOOK_COUNT &&
		    ((const struct rec_hook_count *)ev.rec)->hook == REC_HOOK_MARK)
			sums->count = *(const struct rec_hook_count *)ev.rec;
		if (ev.rec->type == REC_LAUNCH)
			sums->corr_launch ^= ((const struct rec_launch *)ev.rec)->corr;
		if (ev.rec->type == REC_SPAN)
			sums->corr_span ^= ((const struct rec_span *)ev.rec)->corr;
		if (ev.rec->type == REC_LOST)
			sums->lost += ((const struct rec_lost *)ev.rec)->count;
	}
	cr_assert_eq(ret, 0);
	trace_reader__free(r);
}

Test(mark_source, programs_to_trace, .timeout = 120)
{
	struct trace_writer_opts opts = {.round_ns = 5000000};
	int fd = memfd_create("trace", 0);
	struct trace_writer *w = trace_writer__new(fd, &opts);
	struct trace_writer_stats ws;
	struct source_stats st;
	struct source *s;
	struct sums sums = {0};

	cr_assert_eq(source_mark.open(&s, &(struct source_ctx){.writer = w}), 0);
	cr_assert_eq(source_mark.start(s), 0);
	record(s, w);
	sweep(s, w);
	cr_assert_eq(source_mark.stop(s), 0);
	source_mark.stats(s, &st);
	source_mark.close(s);
	cr_assert_eq(trace_writer__finish(w), 0);
	trace_writer__stats(w, &ws);
	trace_writer__free(w);
	lseek(fd, 0, SEEK_SET);
	check(fd, &sums);
	cr_assert_eq(sums.lost, 0);
	/* but for threads that were off the cpu in the middle of a mark for long */
	cr_assert_leq(ws.clamped, 10, "%lu", ws.clamped);
	cr_assert_eq(sums.types[REC_SPAN], CHILDREN * THREADS * MARKS);
	cr_assert_eq(sums.types[REC_LAUNCH], CHILDREN * THREADS * MARKS);
	cr_assert_eq(sums.corr_launch, sums.corr_span);
	cr_assert_eq(sums.types[REC_RANGE_BEGIN], CHILDREN * THREADS * MARKS);
	cr_assert_eq(sums.types[REC_RANGE_END], CHILDREN * THREADS * MARKS);
	cr_assert_eq(sums.types[REC_ROLE], CHILDREN * THREADS);
	cr_assert_eq(sums.types[REC_DEVICE], CHILDREN);
	cr_assert_eq(sums.types[REC_NAME], 3); /* worker, forward, gemm: once each */
	cr_assert_eq(sums.types[REC_HOOK], 1);
	cr_assert_eq(sums.types[REC_HOOK_COUNT], 1);
	cr_assert_eq(sums.count.records, st.records);
	cr_assert_eq(sums.count.hits, 0); /* nobody counts what programs were about to mark */
	cr_assert_geq(st.records, CHILDREN * THREADS * MARKS * 4);
	close(fd);
}

Test(mark_source, not_asked_for)
{
	const char *const probes[] = {"ioctl", NULL};
	int fd = memfd_create("trace", 0);
	struct trace_writer *w = trace_writer__new(fd, &(struct trace_writer_opts){0});
	struct source *s;

	cr_assert_eq(source_mark.open(&s, &(struct source_ctx){.writer = w, .probes = probes}), 0);
	for (const char *const *e = source_mark.env(s); *e; e++) /* where the library is, no more */
		cr_assert_neq(strncmp(*e, "XPUGAP_MARK=", 12), 0);
	cr_assert_eq(source_mark.start(s), 0);
	cr_assert_eq(source_mark.poll(s), -ENODATA);
	cr_assert_eq(source_mark.stop(s), 0);
	source_mark.close(s);
	trace_writer__free(w);
	close(fd);
}

/* A record that comes long after its time is given a later one; the trace says how many there were.
 */
Test(mark_source, altered_times_are_told, .timeout = 60)
{
	static const char *const probes[] = {"mark", NULL};
	int fd = memfd_create("trace", 0);
	struct recorder_opts opts = {.fd = fd, .probes = probes, .no_priority = true};
	struct rec_hook_count count = {
		.hdr = {.type = REC_HOOK_COUNT, .size = sizeof(count), .time_ns = 1},
		.hook = REC_HOOK_TASK,
	};
	struct recorder *r = recorder__new(&opts);
	uint64_t until;
	struct sums sums = {0};

	cr_assert_not_null(r);
	cr_assert_eq(recorder__start(r), 0);
	until = xpugap_now() + 600000000; /* more than a round */
	while (xpugap_now() < until)
		cr_assert_geq(recorder__poll(r, -1), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(recorder__append(r, &count.hdr), 0);
	cr_assert_eq(recorder__stop(r), 0);
	cr_assert_eq(recorder__finish(r), 0);
	recorder__free(r);
	lseek(fd, 0, SEEK_SET);
	check(fd, &sums);
	cr_assert_eq(sums.naltered, 1);
	cr_assert_str_eq(sums.altered[0], "trace.clamped=3");
	close(fd);
}

static int asked, ends_at;

static bool is_interrupted(void *arg)
{
	(void)arg;
	return ++asked >= ends_at;
}

/*
 * Whoever is asked whether to go on is asked for each hook that is loaded and each that is
 * attached; once it says no, nothing more is done.
 */
Test(recorder, is_interrupted_between_hooks, .timeout = 120)
{
	int fd = memfd_create("trace", 0), err = 0;
	struct recorder_opts opts = {.fd = fd, .no_priority = true, .interrupted = is_interrupted};
	struct recorder *r;
	int loads = 0, i;

	ends_at = INT_MAX;
	r = recorder__new(&opts);
	cr_assert_not_null(r);
	loads = asked;
	cr_assert_eq(recorder__start(r), 0);
	cr_assert_geq(loads, 10);
	cr_assert_geq(asked, 2 * loads);
	recorder__free(r);
	for (i = 1; i <= 2 * loads; i += loads / 2) {
		asked = 0;
		ends_at = i;
		errno = 0;
		r = recorder__new(&opts);
		cr_assert_eq(r == NULL, i <= loads, "at question %d", i);
		err = r ? recorder__start(r) : -errno;
		cr_assert_eq(err, -EINTR, "at question %d: %d", i, err);
		cr_assert_eq(asked, i, "asked %d times, not %d", asked, i);
		recorder__free(r);
	}
	close(fd);
}
