// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>

#include "workloads/device/op.h"

static int fail(void *arg, void *native)
{
	return -EDOM;
}

Test(device_null, runs_nothing)
{
	const struct device_ops *ops = &device_null;
	struct device_kernel k = {"test", "test", fail, NULL};
	struct device *d = ops->open("");
	uint64_t host, ticks, uncertainty;
	struct device_info info;
	struct device_queue *q;
	struct device_event *e;
	int data = 1, out = 2;

	cr_assert(d);
	q = ops->queue(d, "q");
	cr_assert_eq(ops->launch(q, &k), 0);
	ops->copy(q, &(struct device_copy){"out", DEVICE_D2H, &out, &data, sizeof(out)});
	e = ops->record(q);
	cr_expect_eq(ops->event_sync(e), 0);
	cr_expect_eq(ops->wait(q, e), 0);
	ops->event_release(e);
	cr_expect_eq(ops->sync(d, NULL), 0);
	cr_expect_eq(out, 2);
	ops->info(d, &info);
	cr_expect_not(info.computes);
	cr_expect_eq(ops->clock_pair(d, &host, &ticks, &uncertainty), 0);
	cr_expect_eq(host, ticks);
	ops->close(d);
}

Test(device_null, plans_any_program)
{
	struct device *d = device_null.open("");
	struct program *p = program__new(&device_null, d);
	struct device_queue *q = device_null.queue(d, "q");
	struct tensor *x = program__tensor(p, "x", DTYPE_F32, TENSOR_HOST, 2, (int64_t[]){3, 4});
	struct tensor *y = program__like(p, "y", DTYPE_F32, TENSOR_TEMP, x);
	float data[12] = {1}, back[12] = {5};

	program__add(p, OP_relu_fwd, &(struct op_args){.x = x, .y = y}, "relu");
	cr_assert_eq(program__finish(p), 0);
	cr_expect_eq(program__write(p, x, data), 0);
	cr_expect_eq(program__launch(p, q, 0, p->n_ops), 0);
	cr_expect_eq(program__read(p, y, back), 0);
	cr_expect_eq(back[0], 0);
	program__free(p);
	device_null.close(d);
}

Test(device_null, has_no_parts)
{
	cr_expect_null(device_null.open("0"));
	cr_expect_eq(errno, EINVAL);
	device_null.close(NULL);
	device_null.event_release(NULL);
}
