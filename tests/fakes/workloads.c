// SPDX-License-Identifier: BSD-2-Clause
/*
 * Workloads that misbehave, in a table of their own: linked with the program in place of the real
 * table (build/tests/fakes/xpugap), so that nothing of the real program knows of them.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "workloads/suite/workload.h"

struct fake_opts {
	uint64_t sleep_ns;
	uint64_t items;
	const char *say;
	bool loud;
};

static const struct opt rows[] = {
	{"sleep", 0, OPT_TIME, "TIME", "how long a step takes", OPT_OFFSET(fake_opts, sleep_ns),
	 .def = "1ms"},
	{"items", 0, OPT_U64, "N", "of a step", OPT_OFFSET(fake_opts, items), .def = "8"},
	{"say", 0, OPT_STR, "TEXT", "said in setup", OPT_OFFSET(fake_opts, say)},
	{"loud", 0, OPT_FLAG, NULL, "say it on standard error", OPT_OFFSET(fake_opts, loud)},
	{0},
};

struct fake {
	const struct fake_opts *opts;
	uint64_t steps;
};

static int set_up(void **state, const struct workload_ctx *ctx)
{
	struct fake *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->opts = ctx->opts;
	*state = f;
	ctx->progress("getting ready");
	if (f->opts->say)
		fprintf(f->opts->loud ? stderr : stdout, "%s\n", f->opts->say);
	fflush(stdout);
	return 0;
}

static int steady_step(void *state, struct workload_step *out)
{
	struct fake *f = state;
	struct timespec t = {.tv_sec = (time_t)(f->opts->sleep_ns / 1000000000),
			     .tv_nsec = (long)(f->opts->sleep_ns % 1000000000)};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
	out->items = f->opts->items;
	out->loss = 8.0 / (double)(1 + f->steps++);
	out->has_loss = true;
	return 0;
}

static void tear_down(void *state)
{
	free(state);
}

static int fail_setup(void **state, const struct workload_ctx *ctx)
{
	fprintf(stderr, "there is no such thing\n");
	return -ENOENT;
}

static int fail_step(void *state, struct workload_step *out)
{
	struct fake *f = state;

	steady_step(state, out);
	return f->steps == 3 ? -EIO : 0;
}

static int hang_step(void *state, struct workload_step *out)
{
	struct fake *f = state;

	steady_step(state, out);
	while (f->steps == 3)
		pause();
	return 0;
}

/* Neither SIGTERM nor the end of its parent's patience moves it, and it has a child like it. */
static int stubborn_step(void *state, struct workload_step *out)
{
	signal(SIGTERM, SIG_IGN);
	if (((struct fake *)state)->steps == 2 && fork() == 0)
		for (;;)
			pause();
	return hang_step(state, out);
}

static int crash_step(void *state, struct workload_step *out)
{
	struct fake *f = state;

	steady_step(state, out);
	if (f->steps == 3) {
		fprintf(stderr, "about to crash\n");
		signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit of it */
		raise(SIGSEGV);
	}
	return 0;
}

static int nan_step(void *state, struct workload_step *out)
{
	struct fake *f = state;

	steady_step(state, out);
	if (f->steps == 3)
		out->loss = NAN;
	return 0;
}

/* Results of the real kind, and a process of another session that stays. */
static int daemon_step(void *state, struct workload_step *out)
{
	struct fake *f = state;

	if (f->steps == 1 && fork() == 0) {
		setsid();
		if (fork() == 0)
			for (;;)
				pause();
		_exit(0);
	}
	return steady_step(state, out);
}

/* Half a line, a line of a megabyte, bytes that are no text, garbage among the data. */
static int chatty_step(void *state, struct workload_step *out)
{
	static const char garbage[] = "{\"rate\": oops\n";
	struct fake *f = state;
	const char *fd = getenv("DATA_FD");
	size_t i;

	if (f->steps == 1) {
		for (i = 0; i < 1000000; i++)
			putchar('x');
		printf("\nbinary \xff\xfe\n");
	}
	if (f->steps == 2 && fd && write(atoi(fd), garbage, sizeof(garbage) - 1) < 0)
		return -errno;
	if (f->steps == 3)
		printf("no end");
	fflush(stdout);
	return steady_step(state, out);
}

static int wrong(void *state)
{
	return -EBADMSG;
}

static int right(void *state)
{
	return 0;
}

#define FAKE(NAME, SETUP, STEP, VERIFY)                                                            \
	static const struct workload workload_##NAME = {                                           \
		.name = #NAME,                                                                     \
		.summary = "fake",                                                                 \
		.unit = "items/s",                                                                 \
		.group = "fakes",                                                                  \
		.weight = 1,                                                                       \
		.opts = rows,                                                                      \
		.opts_size = sizeof(struct fake_opts),                                             \
		.stop = {5, 20, 1000},                                                             \
		.setup = SETUP,                                                                    \
		.step = STEP,                                                                      \
		.verify = VERIFY,                                                                  \
		.teardown = tear_down,                                                             \
	};

FAKE(steady, set_up, steady_step, right)
FAKE(failing, fail_setup, steady_step, NULL)
FAKE(stumbling, set_up, fail_step, NULL)
FAKE(hanging, set_up, hang_step, NULL)
FAKE(stubborn, set_up, stubborn_step, NULL)
FAKE(crashing, set_up, crash_step, NULL)
FAKE(nan, set_up, nan_step, NULL)
FAKE(lasting, set_up, daemon_step, NULL)
FAKE(chatty, set_up, chatty_step, NULL)
FAKE(wrong, set_up, steady_step, wrong)

const struct workload *const workloads[] = {
	&workload_steady,
	&workload_failing,
	&workload_stumbling,
	&workload_hanging,
	&workload_stubborn,
	&workload_crashing,
	&workload_nan,
	&workload_lasting,
	&workload_chatty,
	&workload_wrong,
	NULL,
};
