// SPDX-License-Identifier: BSD-2-Clause
/*
 * How much slower a program becomes when it is recorded: one run of a workload of which every
 * other block of steps is recorded, so that a machine that others use changes both alike.
 *
 *	overhead SECONDS HALF_WIDTH STEPS TRACE -- CMD...
 *
 * CMD reports its steps on DATA_FD. Blocks of STEPS traced (T) and plain (P) steps follow each
 * other as T P P T T P P T ...; each neighbouring T and P are a pair, whose ratio of mean step
 * times counts. Steps during which hooks are attached or detached count for neither. Steps on a
 * shared machine are at times half as long again for reasons of others: the ratio is estimated by
 * Hodges and Lehmann, which such pairs hardly move; the mean, which they do, is printed beside it.
 * Ends when the 95 % confidence interval is no wider than +-HALF_WIDTH (a fraction), or after
 * SECONDS. Marks are not part of it: a mark's cost is measured by itself.
 *
 * Prints: ratio, low, high; mean ratio, low, high; pairs, records, lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/lib/stats.h"
#include "userspace/source/recorder.h"
#include "workloads/suite/voir.h"

#define WARM_UP	  10 /* steps before the first block */
#define PAIRS_MIN 20

struct bench {
	FILE *data; /* what CMD reports */
	pid_t pid;
	const char *trace;
	struct recorder *recorder; /* NULL in a plain block */
	struct series log_ratios;
	uint64_t records, lost;
	unsigned int block; /* steps in one */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static int start_program(struct bench *b, char **argv)
{
	int fds[2];
	char text[16];

	if (pipe(fds))
		return -errno;
	b->pid = fork();
	if (b->pid < 0)
		return -errno;
	if (b->pid == 0) {
		close(fds[0]);
		snprintf(text, sizeof(text), "%d", fds[1]);
		setenv("DATA_FD", text, 1);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	close(fds[1]);
	fcntl(fds[0], F_SETFD, FD_CLOEXEC);
	b->data = fdopen(fds[0], "r");
	if (!b->data)
		return -errno;
	/* poll() must see what is there, so nothing may wait in a buffer */
	return setvbuf(b->data, NULL, _IONBF, 0) ? -errno : 0;
}

/* Wait for the next line, recording meanwhile. 0 or -errno. */
static int wait_line(struct bench *b)
{
	struct pollfd p = {.fd = fileno(b->data), .events = POLLIN};
	int n;

	for (;;) {
		n = poll(&p, 1, b->recorder ? 0 : -1);
		if (n)
			return n < 0 ? -errno : 0;
		n = recorder__poll(b->recorder, p.fd);
		if (n < 0)
			return n;
	}
}

/* The time that the next step took, in seconds per item. */
static int next_step(struct bench *b, double *s)
{
	struct voir_record v;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int err = 0;
	bool got = false;

	while (!err && !got) {
		err = wait_line(b);
		if (err)
			break;
		len = getline(&line, &size, b->data);
		if (len < 0) {
			err = -ENODATA;
			break;
		}
		voir__parse(line, (size_t)len, &v);
		got = v.has_rate && v.rate > 0;
		if (got)
			*s = 1 / v.rate;
		voir__clear(&v);
	}
	free(line);
	return err;
}

static int begin_tracing(struct bench *b)
{
	struct recorder_opts o = {
		.fd = open(b->trace, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
	int err;

	if (o.fd < 0)
		return -errno;
	b->recorder = recorder__new(&o);
	if (!b->recorder)
		return -errno;
	err = recorder__start(b->recorder);
	return err ? err : recorder__add(b->recorder, b->pid);
}

static int end_tracing(struct bench *b)
{
	struct recorder_stats s;
	int err = recorder__stop(b->recorder);

	if (!err)
		err = recorder__finish(b->recorder);
	recorder__stats(b->recorder, &s);
	b->records += s.records;
	b->lost += s.lost;
	recorder__free(b->recorder);
	b->recorder = NULL;
	return err;
}

/* Steps that began before now are thrown away: those reported, and the one in progress. */
static int skip_steps(struct bench *b)
{
	struct pollfd p = {.fd = fileno(b->data), .events = POLLIN};
	char *line = NULL;
	size_t size = 0;
	double s;
	int err = 0;

	while (!err && poll(&p, 1, 0) > 0)
		if (getline(&line, &size, b->data) < 0)
			err = -ENODATA;
	free(line);
	return err ? err : next_step(b, &s);
}

/* Mean time per item over a block. */
static int run_block(struct bench *b, bool traced, double *mean)
{
	double s, sum = 0;
	unsigned int i;
	int err = 0;

	if (traced != !!b->recorder)
		err = traced ? begin_tracing(b) : end_tracing(b);
	if (!err)
		err = skip_steps(b);
	for (i = 0; !err && i < b->block; i++) {
		err = next_step(b, &s);
		sum += s;
	}
	*mean = sum / b->block;
	return err;
}

static int warm_up(struct bench *b)
{
	double s;
	int err = 0, i;

	for (i = 0; !err && i < WARM_UP; i++)
		err = next_step(b, &s);
	return err;
}

static bool is_sure(const struct series *r, double wanted)
{
	struct estimate e;

	return r->n >= PAIRS_MIN && r->n % PAIRS_MIN == 0 &&
	       stats__hodges_lehmann(r->v, r->n, &e) == 0 && (e.high - e.low) / 2 <= wanted;
}

static void print_ratio(const struct estimate *e)
{
	printf("%.5f %.5f %.5f ", exp(e->value), exp(e->low), exp(e->high));
}

static int measure(struct bench *b, double seconds, double wanted)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	struct series *r = &b->log_ratios;
	double traced, plain;
	struct estimate e;
	bool t = true;
	int err = warm_up(b);

	for (; !err && now_ns() < end && !is_sure(r, wanted); t = !t) {
		err = run_block(b, t, t ? &traced : &plain);
		if (!err)
			err = run_block(b, !t, t ? &plain : &traced);
		if (!err)
			err = series__push(r, log(traced / plain));
	}
	if (!err)
		err = stats__hodges_lehmann(r->v, r->n, &e);
	if (err)
		return err;
	print_ratio(&e);
	stats__student(r->v, r->n, &e);
	print_ratio(&e);
	printf("%zu %llu %llu\n", r->n, (unsigned long long)b->records,
	       (unsigned long long)b->lost);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = {0};
	int err;

	if (argc < 7 || strcmp(argv[5], "--") != 0 || atoi(argv[3]) < 1) {
		fprintf(stderr, "usage: overhead SECONDS HALF_WIDTH STEPS TRACE -- CMD...\n");
		return 2;
	}
	b.block = (unsigned int)atoi(argv[3]);
	b.trace = argv[4];
	err = start_program(&b, argv + 6);
	if (!err)
		err = measure(&b, atof(argv[1]), atof(argv[2]));
	if (err)
		log_error("cannot measure '%s': %s", argv[6], log__err(err));
	if (b.recorder)
		end_tracing(&b);
	if (b.pid > 0) {
		kill(b.pid, SIGTERM);
		waitpid(b.pid, NULL, 0);
	}
	series__free(&b.log_ratios);
	if (b.data)
		fclose(b.data);
	return err ? 1 : 0;
}
