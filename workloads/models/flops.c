// SPDX-License-Identifier: BSD-2-Clause
/*
 * Milabench's flops: square matrix products.
 *
 * a is the identity, x normal; a repetition is: wait for the device, read the clock, number times
 * { y = x a; x = y a }, wait, read the clock. Its rate is number * 2 * 2 m n^2 / time. The first
 * repetition counts, too. As a is the identity x must not change, which --verify checks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "workloads/device/op.h"
#include "workloads/models/init.h"
#include "workloads/suite/workload.h"

enum flops_dtype {
	FLOPS_FP32,
	FLOPS_TF32,
	FLOPS_BF16,
	FLOPS_FP16,
	FLOPS_FP8,
};

static const char *const dtypes[] = {"fp32", "tf32", "bf16", "fp16", "fp8", NULL};

struct flops_opts {
	uint64_t m, n, number; /* 0: by size */
	int dtype;
};

static const struct opt opts[] = {
	{
		.name = "m",
		.type = OPT_U64,
		.arg = "ROWS",
		.help = "rows of x",
		.more = "By size: 256, 1024, 8192.",
		OPT_OFFSET(flops_opts, m),
	},
	{
		.name = "n",
		.type = OPT_U64,
		.arg = "COLUMNS",
		.help = "columns of x, and both sides of a",
		.more = "By size: 256, 1024, 8192.",
		OPT_OFFSET(flops_opts, n),
	},
	{
		.name = "number",
		.type = OPT_U64,
		.arg = "COUNT",
		.help = "pairs of products in a repetition",
		.more = "10, as in Milabench for this type.",
		OPT_OFFSET(flops_opts, number),
	},
	{
		.name = "dtype",
		.type = OPT_CHOICE,
		.arg = "TYPE",
		.help = "type of the elements",
		.choices = dtypes,
		.def = "fp32",
		OPT_OFFSET(flops_opts, dtype),
	},
	{0},
};

struct flops {
	const struct device_ops *ops;
	struct device *device;
	struct device_queue *queue;
	struct program *program;
	struct tensor *a, *x, *y;
	int64_t m, n;
	uint64_t number, seed;
};

static int check_dtype(const struct workload_ctx *ctx, int dtype)
{
	if (dtype == FLOPS_FP32)
		return 0;
	log_error("flops: device '%s' has no products of type '%s' (use --dtype=fp32)",
		  ctx->ops->name, dtypes[dtype]);
	return -ENOTSUP;
}

static int build(struct flops *f)
{
	struct program *p = program__new(f->ops, f->device);

	if (!p)
		return -errno;
	f->program = p;
	f->a = program__tensor(p, "a", DTYPE_F32, TENSOR_STATE, 2, (int64_t[]){f->n, f->n});
	f->x = program__tensor(p, "x", DTYPE_F32, TENSOR_STATE, 2, (int64_t[]){f->m, f->n});
	f->y = program__tensor(p, "y", DTYPE_F32, TENSOR_STATE, 2, (int64_t[]){f->m, f->n});
	program__add(p, OP_gemm, &(struct op_args){.x = f->x, .x2 = f->a, .y = f->y}, "y = x a");
	program__add(p, OP_gemm, &(struct op_args){.x = f->y, .x2 = f->a, .y = f->x}, "x = y a");
	return program__finish(p);
}

static int fill(struct flops *f, int (*progress)(const char *fmt, ...))
{
	size_t a = f->n * f->n, x = f->m * f->n;
	float *host = calloc(a > x ? a : x, sizeof(*host));
	int64_t i;
	int err;

	if (!host)
		return -ENOMEM;
	err = progress("filling matrices of %ld x %ld", (long)f->m, (long)f->n);
	if (err) {
		free(host);
		return err;
	}
	for (i = 0; i < f->n; i++)
		host[i * f->n + i] = 1;
	err = program__write(f->program, f->a, host);
	init__normal(host, x, 1, f->seed, 0);
	if (!err)
		err = program__write(f->program, f->x, host);
	free(host);
	return err;
}

static void teardown(void *state)
{
	struct flops *f = state;

	if (!f)
		return;
	program__free(f->program);
	free(f);
}

static void settle(void *values, enum workload_size size)
{
	static const uint64_t sides[] = {256, 1024, 8192};
	struct flops_opts *o = values;

	o->m = o->m ? o->m : sides[size];
	o->n = o->n ? o->n : sides[size];
	o->number = o->number ? o->number : 10;
}

static int setup(void **state, const struct workload_ctx *ctx)
{
	struct flops_opts o = *(const struct flops_opts *)ctx->opts;
	struct flops *f;
	int err;

	settle(&o, ctx->size);
	err = check_dtype(ctx, o.dtype);
	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*state = f;
	f->ops = ctx->ops;
	f->device = ctx->device;
	f->m = (int64_t)o.m;
	f->n = (int64_t)o.n;
	f->number = o.number;
	f->seed = ctx->seed;
	f->queue = f->ops->queue(f->device, "flops");
	if (!f->queue)
		return -errno;
	err = build(f);
	return err ? err : fill(f, ctx->progress);
}

static int step(void *state, struct workload_step *out)
{
	struct flops *f = state;
	uint64_t i;
	int err = 0;

	for (i = 0; i < f->number && !err; i++)
		err = program__launch(f->program, f->queue, 0, f->program->n_ops);
	if (!err)
		err = f->ops->sync(f->device, f->queue);
	out->items = f->number;
	out->flops = (double)f->number * 2 * (2.0 * f->m * f->n * f->n);
	return err;
}

static double rate(const struct workload_step *step, uint64_t ns)
{
	return step->flops / (ns * 1e-9) / 1e12;
}

static int verify(void *state)
{
	struct flops *f = state;
	size_t i, wrong = 0, n = f->m * f->n;
	float *now = calloc(n, sizeof(*now)), *first = calloc(n, sizeof(*first));
	int err = now && first ? 0 : -ENOMEM;

	if (!err)
		err = program__read(f->program, f->x, now);
	if (!err) {
		init__normal(first, n, 1, f->seed, 0);
		for (i = 0; i < n; i++)
			wrong += now[i] != first[i];
	}
	if (wrong) {
		log_error("flops: %zu of %zu elements of x changed by products with the identity",
			  wrong, n);
		err = -EBADMSG;
	}
	free(now);
	free(first);
	return err;
}

const struct workload workload_flops = {
	.name = "flops",
	.summary = "square matrix products, as Milabench's flops",
	.unit = "Tflops",
	.group = "flops",
	.weight = 0,
	.opts = opts,
	.opts_size = sizeof(struct flops_opts),
	.stop = {5, 30, 60},
	.settle = settle,
	.setup = setup,
	.step = step,
	.rate = rate,
	.verify = verify,
	.teardown = teardown,
};
