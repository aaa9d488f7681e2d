// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>

#include "tests/unit/op_util.h"
#include "workloads/suite/workload.h"

TestSuite(flops, .fini = test__free);

static int quiet(const char *fmt, ...)
{
	(void)fmt;
	return 0;
}

static struct workload_ctx context(struct bench_device *b, const struct workload *w, void *opts)
{
	opts__defaults(w->opts, opts);
	return (struct workload_ctx){.ops = b->ops,
				     .device = b->device,
				     .size = WORKLOAD_TINY,
				     .seed = 1,
				     .opts = opts,
				     .data_dir = "/nonexistent",
				     .progress = quiet};
}

Test(flops, counts_and_checks)
{
	const struct workload *w = workload__find("flops");
	struct bench_device b = bench__open("cpu");
	void *opts = test__alloc(1, w->opts_size);
	struct workload_ctx ctx = context(&b, w, opts);
	struct workload_step out = {0};
	void *state = NULL;
	int i;

	cr_assert_eq(opts__set(w->opts, opts, "test", "m", "33"), 0);
	cr_assert_eq(opts__set(w->opts, opts, "test", "n", "70"), 0);
	cr_assert_eq(opts__set(w->opts, opts, "test", "number", "3"), 0);
	cr_assert_eq(w->setup(&state, &ctx), 0);
	for (i = 0; i < 3; i++)
		cr_assert_eq(w->step(state, &out), 0);
	cr_expect_eq(out.items, 3);
	cr_expect_eq(out.flops, 3 * 2 * 2.0 * 33 * 70 * 70);
	cr_expect_float_eq(w->rate(&out, 1000000), 3 * 4.0 * 33 * 70 * 70 / 1e-3 / 1e12, 1e-12);
	cr_expect_eq(w->verify(state), 0);
	w->teardown(state);
	w->teardown(NULL);

	state = NULL;
	cr_assert_eq(opts__set(w->opts, opts, "test", "dtype", "bf16"), 0);
	cr_expect_eq(w->setup(&state, &ctx), -ENOTSUP);
	w->teardown(state);
	bench__close(&b);
}

Test(flops, work_on_null_is_found_out)
{
	const struct workload *w = workload__find("flops");
	struct bench_device b = bench__open("null");
	void *opts = test__alloc(1, w->opts_size), *state = NULL;
	struct workload_ctx ctx = context(&b, w, opts);
	struct workload_step out = {0};

	cr_assert_eq(w->setup(&state, &ctx), 0);
	cr_assert_eq(w->step(state, &out), 0);
	cr_expect_eq(w->verify(state), -EBADMSG, "nothing was computed");
	w->teardown(state);
	bench__close(&b);
}
