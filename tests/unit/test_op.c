// SPDX-License-Identifier: BSD-2-Clause
/* Every operation of the cpu device against the reference, with odd shapes, types and threads. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/op_util.h"
#include "workloads/models/reference.h"

TestSuite(op, .fini = test__free);

/*
 * Errors allowed, relative to the result's norm. f32: sums of a few thousand products. bf16:
 * inputs are bf16 numbers already, arithmetic is f32; results are rounded, by up to 2^-9 each,
 * once or, where an intermediate result is stored, twice.
 */
#define F32_ERROR  1e-6
#define BF16_ERROR 3e-3

static const char *const specs[] = {"cpu:0", "cpu"};

/* What bf16 keeps of x, to nearest even. */
static void round_to_bf16(float *x, size_t n)
{
	uint32_t u;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&u, &x[i], 4);
		u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
		memcpy(&x[i], &u, 4);
	}
}

static float *inputs(size_t n, unsigned int seed, enum dtype dtype)
{
	float *x = randoms(n, seed);

	if (dtype == DTYPE_BF16)
		round_to_bf16(x, n);
	return x;
}

struct io {
	struct tensor *t;
	const float *data;
};

static void write_all(struct bench_device *b, void *arg)
{
	struct io *io;

	for (io = arg; io->t; io++)
		cr_assert_eq(program__write(b->program, io->t, io->data), 0);
}

static struct tensor *tensor(struct bench_device *b, enum dtype dtype, unsigned int n, int64_t d0,
			     int64_t d1, int64_t d2, int64_t d3)
{
	return program__tensor(b->program, "t", dtype, TENSOR_STATE, n,
			       (int64_t[]){d0, d1, d2, d3});
}

static struct tensor *vector(struct bench_device *b, int64_t n)
{
	return tensor(b, DTYPE_F32, 1, n, 0, 0, 0);
}

static void same(struct bench_device *b, struct tensor *t, const double *expected, enum dtype dtype,
		 const char *what)
{
	size_t n = tensor__count(t);
	float *got = zeros(n);
	double error;

	cr_assert_eq(program__read(b->program, t, got), 0);
	error = relative_error(got, expected, n);
	cr_expect_leq(error, dtype == DTYPE_BF16 ? BF16_ERROR : F32_ERROR, "%s: error %g", what,
		      error);
}

/* The same for an image: @expected is [n][h][w][c]. */
static void same_image(struct bench_device *b, struct tensor *t, const double *expected,
		       enum dtype dtype, const char *what)
{
	float *nchw = zeros(tensor__count(t));

	ref_image__to(t->dims[0], t->dims[1], t->dims[2], t->dims[3], expected, nchw);
	same(b, t, doubles(nchw, tensor__count(t)), dtype, what);
}

static double *image(const float *nchw, int n, int c, int h, int w)
{
	double *d = doubles(nchw, (size_t)n * c * h * w);

	ref_image__from(n, c, h, w, nchw, d);
	return d;
}

static void for_all(void (*one)(const char *spec, enum dtype dtype))
{
	size_t i;

	for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		one(specs[i], DTYPE_F32);
		one(specs[i], DTYPE_BF16);
	}
}

/* ---- convolutions ---- */

static const struct ref_conv convs[] = {
	{.n = 2, .h = 9, .w = 7, .in = 3, .out = 16, .size = 7, .stride = 2, .pad = 3},
	{.n = 3, .h = 8, .w = 8, .in = 16, .out = 32, .size = 1, .stride = 1, .pad = 0},
	{.n = 3, .h = 7, .w = 7, .in = 16, .out = 24, .size = 1, .stride = 2, .pad = 0},
	{.n = 2, .h = 6, .w = 5, .in = 32, .out = 16, .size = 3, .stride = 1, .pad = 1},
	{.n = 2, .h = 8, .w = 8, .in = 16, .out = 16, .size = 3, .stride = 2, .pad = 1},
	{.n = 4, .h = 1, .w = 1, .in = 64, .out = 64, .size = 3, .stride = 1, .pad = 1},
	{.n = 2, .h = 5, .w = 5, .in = 13, .out = 11, .size = 3, .stride = 1, .pad = 1},
};

struct conv_tensors {
	struct tensor *x, *w, *y, *dy, *dx, *dw;
};

static struct conv_tensors conv_program(struct bench_device *b, const struct ref_conv *c,
					enum dtype dtype)
{
	struct window window = {c->size, c->stride, c->pad};
	struct conv_tensors t;

	t.x = program__tensor(b->program, "x", dtype, TENSOR_HOST, 4,
			      (int64_t[]){c->n, c->in, c->h, c->w});
	t.w = tensor(b, dtype, 4, c->out, c->in, c->size, c->size);
	t.y = tensor(b, dtype, 4, c->n, c->out, c->oh, c->ow);
	program__add(b->program, OP_conv_fwd,
		     &(struct op_args){.x = t.x, .w = t.w, .y = t.y, .window = window}, "fwd");
	t.dy = program__like(b->program, "dy", dtype, TENSOR_STATE, t.y);
	t.dx = program__like(b->program, "dx", dtype, TENSOR_STATE, t.x);
	t.dw = program__like(b->program, "dw", DTYPE_F32, TENSOR_STATE, t.w);
	program__add(b->program, OP_conv_bwd_data,
		     &(struct op_args){.dy = t.dy, .w = t.w, .dx = t.dx, .window = window}, "dx");
	program__add(b->program, OP_conv_bwd_weights,
		     &(struct op_args){.x = t.x, .dy = t.dy, .dw = t.dw, .window = window}, "dw");
	return t;
}

static void conv_case(const char *spec, struct ref_conv c, enum dtype dtype)
{
	struct bench_device b = bench__open(spec);
	double *rx, *rw, *rdy, *y, *dx, *dw, *dw_got;
	size_t nx, ny, nw, i;
	float *x, *w, *dy, *got;
	struct conv_tensors t;

	ref_conv__init(&c);
	nx = ref_conv__x(&c);
	ny = ref_conv__y(&c);
	nw = ref_conv__w(&c);
	x = inputs(nx, 1, dtype);
	w = inputs(nw, 2, dtype);
	dy = inputs(ny, 3, dtype);
	rx = image(x, c.n, c.in, c.h, c.w);
	rdy = image(dy, c.n, c.out, c.oh, c.ow);
	rw = test__alloc(nw, sizeof(*rw));
	ref_weights__from(&c, w, rw);
	y = test__alloc(ny, sizeof(*y));
	dx = test__alloc(nx, sizeof(*dx));
	dw = test__alloc(nw, sizeof(*dw));
	ref_conv__fwd(&c, rx, rw, y);
	ref_conv__bwd_data(&c, rdy, rw, dx);
	ref_conv__bwd_weights(&c, rx, rdy, dw);

	t = conv_program(&b, &c, dtype);
	bench__run(&b, write_all, (struct io[]){{t.x, x}, {t.w, w}, {t.dy, dy}, {0}});
	same_image(&b, t.y, y, dtype, "y");
	same_image(&b, t.dx, dx, dtype, "dx");
	got = zeros(nw);
	dw_got = test__alloc(nw, sizeof(*dw_got));
	cr_assert_eq(program__read(b.program, t.dw, got), 0);
	ref_weights__from(&c, got, dw_got);
	for (i = 0; i < nw; i++)
		got[i] = dw_got[i];
	cr_expect_leq(relative_error(got, dw, nw), F32_ERROR, "dw: error %g",
		      relative_error(got, dw, nw));
	bench__close(&b);
}

static void conv_cases(const char *spec, enum dtype dtype)
{
	size_t i;

	for (i = 0; i < sizeof(convs) / sizeof(convs[0]); i++)
		conv_case(spec, convs[i], dtype);
}

Test(op, convolutions)
{
	for_all(conv_cases);
}

/* ---- batch normalisation ---- */

enum {
	NORM_N = 3,
	NORM_C = 40, /* 5 blocks of 8: divided unevenly, so by images, too */
	NORM_H = 5,
	NORM_W = 4,
	NORM_ROWS = NORM_N * NORM_H * NORM_W,
	NORM_ALL = NORM_ROWS * NORM_C,
};

#define NORM_EPS 1e-5

struct norm_case {
	bool relu, residual, second;
};

struct norm_tensors {
	struct tensor *x, *y, *residual, *gamma, *beta, *mean, *rstd, *running_mean, *running_var;
	struct tensor *dy, *dy2, *dgamma, *dbeta;
};

/* x comes from a convolution with an identity as its weights, so that its layout is oneDNN's. */
static struct tensor *identity(struct bench_device *b, struct tensor *in, struct tensor *w)
{
	struct tensor *x = tensor(b, in->dtype, 4, NORM_N, NORM_C, NORM_H, NORM_W);

	program__add(b->program, OP_conv_fwd,
		     &(struct op_args){.x = in, .w = w, .y = x, .window = {1, 1, 0}}, "identity");
	return x;
}

static struct norm_tensors norm_program(struct bench_device *b, struct norm_case k,
					struct tensor *x)
{
	enum dtype d = x->dtype;
	struct norm_tensors t = {
		.x = x,
		.gamma = vector(b, NORM_C),
		.beta = vector(b, NORM_C),
		.mean = vector(b, NORM_C),
		.rstd = vector(b, NORM_C),
		.running_mean = vector(b, NORM_C),
		.running_var = vector(b, NORM_C),
		.dgamma = vector(b, NORM_C),
		.dbeta = vector(b, NORM_C),
		.y = program__like(b->program, "y", d, TENSOR_STATE, x),
		.dy = program__like(b->program, "dy", d, TENSOR_STATE, x),
	};

	if (k.residual)
		t.residual = program__like(b->program, "residual", d, TENSOR_STATE, x);
	if (k.second || k.residual)
		t.dy2 = program__like(b->program, "dy2", d, TENSOR_STATE, x);
	program__add(b->program, OP_norm_fwd,
		     &(struct op_args){.x = x,
				       .y = t.y,
				       .residual = t.residual,
				       .gamma = t.gamma,
				       .beta = t.beta,
				       .mean = t.mean,
				       .rstd = t.rstd,
				       .running_mean = t.running_mean,
				       .running_var = t.running_var,
				       .relu = k.relu,
				       .eps = NORM_EPS,
				       .momentum = 0.25},
		     "fwd");
	/* dx over dy, the residual's gradient over dy2, as models have it */
	program__add(b->program, OP_norm_bwd,
		     &(struct op_args){.x = x,
				       .y = k.residual ? t.y : NULL,
				       .gamma = t.gamma,
				       .beta = t.beta,
				       .mean = t.mean,
				       .rstd = t.rstd,
				       .dgamma = t.dgamma,
				       .dbeta = t.dbeta,
				       .dy = t.dy,
				       .dy2 = k.second ? t.dy2 : NULL,
				       .dx = t.dy,
				       .dresidual = k.residual ? t.dy2 : NULL,
				       .relu = k.relu},
		     "bwd");
	return t;
}

static void norm_case(const char *spec, enum dtype dtype, struct norm_case k)
{
	struct bench_device b = bench__open(spec);
	float *x = inputs(NORM_ALL, 1, dtype), *res = inputs(NORM_ALL, 2, dtype);
	float *dy = inputs(NORM_ALL, 3, dtype), *dy2 = inputs(NORM_ALL, 4, dtype);
	float *gamma = randoms(NORM_C, 5), *beta = randoms(NORM_C, 6);
	float *unit = zeros(NORM_C * NORM_C);
	double *rx, *rres, *y, *rdy, *g, *dx, *mean, *var, *dgamma, *dbeta, *running, *rdy2;
	struct tensor *in, *w;
	struct norm_tensors t;
	int i;

	for (i = 0; i < NORM_C; i++)
		unit[i * NORM_C + i] = 1;
	for (i = 0; i < NORM_ALL; i++) /* a mean far from 0, for the variance's sake */
		x[i] += 20 * (float)(i / (NORM_H * NORM_W) % NORM_C) / NORM_C;
	if (dtype == DTYPE_BF16)
		round_to_bf16(x, NORM_ALL);
	rx = image(x, NORM_N, NORM_C, NORM_H, NORM_W);
	rres = image(res, NORM_N, NORM_C, NORM_H, NORM_W);
	rdy = image(dy, NORM_N, NORM_C, NORM_H, NORM_W);
	rdy2 = image(dy2, NORM_N, NORM_C, NORM_H, NORM_W);
	y = test__alloc(NORM_ALL, sizeof(*y));
	g = test__alloc(NORM_ALL, sizeof(*y));
	dx = test__alloc(NORM_ALL, sizeof(*y));
	mean = test__alloc(NORM_C, sizeof(*y));
	var = test__alloc(NORM_C, sizeof(*y));
	dgamma = test__alloc(NORM_C, sizeof(*y));
	dbeta = test__alloc(NORM_C, sizeof(*y));
	running = test__alloc(NORM_C, sizeof(*y));
	ref_norm__fwd(NORM_ROWS, NORM_C, rx, k.residual ? rres : NULL, k.relu,
		      doubles(gamma, NORM_C), doubles(beta, NORM_C), NORM_EPS, mean, var, y);
	for (i = 0; i < NORM_ALL && k.second; i++)
		rdy[i] += rdy2[i];
	ref_norm__bwd(NORM_ROWS, NORM_C, rx, y, k.relu, doubles(gamma, NORM_C), NORM_EPS, mean, var,
		      rdy, g, dx, dgamma, dbeta);

	in = program__tensor(b.program, "in", dtype, TENSOR_HOST, 4,
			     (int64_t[]){NORM_N, NORM_C, NORM_H, NORM_W});
	w = tensor(&b, dtype, 4, NORM_C, NORM_C, 1, 1);
	t = norm_program(&b, k, identity(&b, in, w));
	bench__run(&b, write_all,
		   (struct io[]){{in, x},
				 {w, unit},
				 {t.gamma, gamma},
				 {t.beta, beta},
				 {t.dy, dy},
				 {t.dy2 ? t.dy2 : t.dy, t.dy2 ? dy2 : dy},
				 {t.residual, res},
				 {0}});
	same_image(&b, t.y, y, dtype, "y");
	same(&b, t.mean, mean, DTYPE_F32, "mean");
	for (i = 0; i < NORM_C; i++)
		running[i] = 0.25 * mean[i];
	same(&b, t.running_mean, running, DTYPE_F32, "running mean");
	for (i = 0; i < NORM_C; i++)
		running[i] = 0.25 * var[i] * NORM_ROWS / (NORM_ROWS - 1);
	same(&b, t.running_var, running, DTYPE_F32, "running variance");
	same_image(&b, t.dy, dx, dtype, "dx");
	if (k.residual)
		same_image(&b, t.dy2, g, dtype, "dresidual");
	same(&b, t.dgamma, dgamma, dtype, "dgamma");
	same(&b, t.dbeta, dbeta, dtype, "dbeta");
	bench__close(&b);
}

static void norm_cases(const char *spec, enum dtype dtype)
{
	int i;

	for (i = 0; i < 8; i++)
		norm_case(spec, dtype, (struct norm_case){i & 1, i & 2, i & 4});
}

Test(op, batch_normalisation)
{
	for_all(norm_cases);
}

/* ---- pools ---- */

static void pool_case(const char *spec, enum dtype dtype)
{
	/* the shape of normalisation's test, whose identity gives x oneDNN's layout */
	struct ref_conv p = {
		.n = NORM_N, .h = NORM_H, .w = NORM_W, .size = 3, .stride = 2, .pad = 1};
	struct bench_device b = bench__open(spec);
	struct tensor *in, *w, *x, *y, *index, *dy, *dy2, *dx, *avg, *davg, *dx_avg;
	float *data = inputs(NORM_ALL, 1, dtype), *unit = zeros(NORM_C * NORM_C);
	double *ry, *rdx, *ravg, *rdx_avg, *rdy, *rdy2;
	float *fdy, *fdy2, *fdavg;
	size_t n, i;
	int *ri;

	ref_conv__init(&p);
	n = (size_t)p.n * p.oh * p.ow * NORM_C;
	for (i = 0; i < NORM_C; i++)
		unit[i * NORM_C + i] = 1;
	fdy = inputs(n, 2, dtype);
	fdy2 = inputs(n, 3, dtype);
	fdavg = inputs(NORM_N * NORM_C, 4, dtype);
	rdy = image(fdy, p.n, NORM_C, p.oh, p.ow);
	rdy2 = image(fdy2, p.n, NORM_C, p.oh, p.ow);
	ry = test__alloc(n, sizeof(*ry));
	ri = test__alloc(n, sizeof(*ri));
	rdx = test__alloc(NORM_ALL, sizeof(*ry));
	rdx_avg = test__alloc(NORM_ALL, sizeof(*ry));
	ravg = test__alloc(NORM_N * NORM_C, sizeof(*ry));
	ref_maxpool__fwd(&p, NORM_C, image(data, p.n, NORM_C, p.h, p.w), ry, ri);
	for (i = 0; i < n; i++)
		rdy[i] += rdy2[i];
	ref_maxpool__bwd(&p, NORM_C, ri, rdy, rdx);
	ref_avgpool__fwd(p.n, p.h * p.w, NORM_C, image(data, p.n, NORM_C, p.h, p.w), ravg);
	ref_avgpool__bwd(p.n, p.h * p.w, NORM_C, doubles(fdavg, NORM_N * NORM_C), rdx_avg);

	in = program__tensor(b.program, "in", dtype, TENSOR_HOST, 4,
			     (int64_t[]){NORM_N, NORM_C, NORM_H, NORM_W});
	w = tensor(&b, dtype, 4, NORM_C, NORM_C, 1, 1);
	x = identity(&b, in, w);
	y = tensor(&b, dtype, 4, p.n, NORM_C, p.oh, p.ow);
	index = tensor(&b, DTYPE_U8, 4, p.n, NORM_C, p.oh, p.ow);
	program__add(b.program, OP_maxpool_fwd,
		     &(struct op_args){.x = x, .y = y, .index = index, .window = {3, 2, 1}}, "max");
	dy = program__like(b.program, "dy", dtype, TENSOR_STATE, y);
	dy2 = program__like(b.program, "dy2", dtype, TENSOR_STATE, y);
	dx = program__like(b.program, "dx", dtype, TENSOR_STATE, x);
	program__add(b.program, OP_maxpool_bwd,
		     &(struct op_args){
			     .dy = dy, .dy2 = dy2, .index = index, .dx = dx, .window = {3, 2, 1}},
		     "max bwd");
	avg = tensor(&b, dtype, 2, NORM_N, NORM_C, 0, 0);
	program__add(b.program, OP_avgpool_fwd, &(struct op_args){.x = x, .y = avg}, "avg");
	davg = program__like(b.program, "davg", dtype, TENSOR_STATE, avg);
	dx_avg = program__like(b.program, "dx", dtype, TENSOR_STATE, x);
	program__add(b.program, OP_avgpool_bwd, &(struct op_args){.dy = davg, .dx = dx_avg},
		     "avg bwd");
	bench__run(
		&b, write_all,
		(struct io[]){{in, data}, {w, unit}, {dy, fdy}, {dy2, fdy2}, {davg, fdavg}, {0}});
	same_image(&b, y, ry, DTYPE_F32, "max");
	same_image(&b, dx, rdx, dtype, "max dx");
	same(&b, avg, ravg, dtype, "avg");
	same_image(&b, dx_avg, rdx_avg, dtype, "avg dx");
	bench__close(&b);
}

Test(op, pools)
{
	for_all(pool_case);
}

/* ---- matrices, loss, optimizer ---- */

static void linear_case(const char *spec, enum dtype dtype)
{
	enum { N = 5, IN = 37, OUT = 50 };
	struct bench_device b = bench__open(spec);
	struct tensor *x = tensor(&b, dtype, 2, N, IN, 0, 0);
	struct tensor *w = tensor(&b, dtype, 2, OUT, IN, 0, 0);
	struct tensor *bias = vector(&b, OUT);
	struct tensor *y = tensor(&b, DTYPE_F32, 2, N, OUT, 0, 0);
	struct tensor *dy = tensor(&b, DTYPE_F32, 2, N, OUT, 0, 0);
	struct tensor *dx = tensor(&b, dtype, 2, N, IN, 0, 0);
	struct tensor *dw = tensor(&b, DTYPE_F32, 2, OUT, IN, 0, 0);
	struct tensor *db = vector(&b, OUT);
	float *fx = inputs(N * IN, 1, dtype), *fw = inputs(OUT * IN, 2, dtype);
	float *fb = randoms(OUT, 3), *fdy = randoms(N * OUT, 4);
	double *ry = test__alloc(N * OUT, sizeof(*ry)), *rdx = test__alloc(N * IN, sizeof(*ry));
	double *rdw = test__alloc(OUT * IN, sizeof(*ry)), *rdb = test__alloc(OUT, sizeof(*ry));

	ref_linear__fwd(N, IN, OUT, doubles(fx, N * IN), doubles(fw, OUT * IN), doubles(fb, OUT),
			ry);
	ref_linear__bwd(N, IN, OUT, doubles(fx, N * IN), doubles(fw, OUT * IN),
			doubles(fdy, N * OUT), rdx, rdw, rdb);
	program__add(b.program, OP_gemm,
		     &(struct op_args){.x = x, .x2 = w, .y = y, .bias = bias, .trans_x2 = true},
		     "fwd");
	program__add(b.program, OP_gemm, &(struct op_args){.x = dy, .x2 = w, .y = dx}, "dx");
	program__add(b.program, OP_gemm,
		     &(struct op_args){.x = dy, .x2 = x, .y = dw, .trans_x = true}, "dw");
	program__add(b.program, OP_bias_bwd, &(struct op_args){.dy = dy, .dbias = db}, "db");
	bench__run(&b, write_all, (struct io[]){{x, fx}, {w, fw}, {bias, fb}, {dy, fdy}, {0}});
	same(&b, y, ry, DTYPE_F32, "y");
	same(&b, dx, rdx, dtype, "dx");
	same(&b, dw, rdw, DTYPE_F32, "dw");
	same(&b, db, rdb, DTYPE_F32, "db");
	bench__close(&b);
}

Test(op, linear)
{
	for_all(linear_case);
}

struct loss_case {
	struct tensor *x, *labels;
	const float *fx;
	const int32_t *fl;
};

static void write_loss(struct bench_device *b, void *arg)
{
	struct loss_case *k = arg;
	struct device_copy c = {"labels", DEVICE_H2D, k->labels->data, k->fl,
				tensor__count(k->labels) * sizeof(int32_t)};

	cr_assert_eq(program__write(b->program, k->x, k->fx), 0);
	cr_assert_eq(b->ops->copy(b->queue, &c), 0);
}

Test(op, cross_entropy)
{
	enum { N = 6, CLASSES = 11 };
	struct bench_device b = bench__open("cpu");
	struct tensor *x = tensor(&b, DTYPE_F32, 2, N, CLASSES, 0, 0);
	struct tensor *labels =
		program__tensor(b.program, "labels", DTYPE_S32, TENSOR_HOST, 1, (int64_t[]){N});
	struct tensor *loss = vector(&b, 1), *dx = tensor(&b, DTYPE_F32, 2, N, CLASSES, 0, 0);
	int32_t fl[N] = {0, 10, 3, 3, 7, 1};
	float *fx = randoms(N * CLASSES, 1);
	struct loss_case k = {x, labels, fx, fl};
	double *rdx = test__alloc(N * CLASSES, sizeof(*rdx)), rloss;
	int i;

	for (i = 0; i < CLASSES; i++)
		fx[i] += 300; /* whose exponentials overflow */
	rloss = ref_cross_entropy(N, CLASSES, doubles(fx, N * CLASSES), fl, rdx);
	program__add(b.program, OP_cross_entropy,
		     &(struct op_args){.x = x, .labels = labels, .loss = loss, .dx = dx}, "loss");
	bench__run(&b, write_loss, &k);
	same(&b, loss, &rloss, DTYPE_F32, "loss");
	same(&b, dx, rdx, DTYPE_F32, "dx");

	fl[4] = CLASSES;
	write_loss(&b, &k);
	cr_assert_eq(program__launch(b.program, b.queue, 0, 1), 0);
	cr_expect_eq(b.ops->sync(b.device, b.queue), -ERANGE, "a label beyond the classes");
	bench__close(&b);
}

Test(op, sgd_three_steps)
{
	enum { N = 10007 }; /* no multiple of anything */
	struct sgd_params params = {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 1e-2f};
	struct bench_device b = bench__open("cpu");
	struct tensor *w = vector(&b, N), *dw = vector(&b, N), *v = vector(&b, N);
	struct tensor *copy = tensor(&b, DTYPE_BF16, 1, N, 0, 0, 0);
	float *fw = randoms(N, 1), *fdw = randoms(N, 2), *kept = zeros(N);
	double *rw = doubles(fw, N), *rv = test__alloc(N, sizeof(*rv));
	int i;

	program__add(b.program, OP_sgd,
		     &(struct op_args){.w = w, .dw = dw, .v = v, .copy = copy, .sgd = &params},
		     "sgd");
	bench__run(&b, write_all, (struct io[]){{w, fw}, {dw, fdw}, {0}});
	for (i = 0; i < 2; i++) {
		params.lr /= 2;
		cr_assert_eq(program__launch(b.program, b.queue, 0, 1), 0);
		cr_assert_eq(b.ops->sync(b.device, b.queue), 0);
	}
	for (i = 0; i < 3; i++)
		ref_sgd(N, rw, doubles(fdw, N), rv, 0.1f / (1 << i), 0.9f, 1e-2f);
	same(&b, w, rw, DTYPE_F32, "w");
	same(&b, v, rv, DTYPE_F32, "v");
	cr_assert_eq(program__read(b.program, w, kept), 0);
	round_to_bf16(kept, N);
	same(&b, copy, doubles(kept, N), DTYPE_F32, "copy: rounded to nearest even");
	bench__close(&b);
}

static void elementwise_case(const char *spec, enum dtype dtype)
{
	enum { N = 9001 };
	struct bench_device b = bench__open(spec);
	struct tensor *x = tensor(&b, dtype, 1, N, 0, 0, 0), *x2 = tensor(&b, dtype, 1, N, 0, 0, 0);
	struct tensor *sum = tensor(&b, dtype, 1, N, 0, 0, 0);
	struct tensor *y = tensor(&b, dtype, 1, N, 0, 0, 0), *dx = tensor(&b, dtype, 1, N, 0, 0, 0);
	struct tensor *f32 = tensor(&b, DTYPE_F32, 1, N, 0, 0, 0);
	float *fx = inputs(N, 1, dtype), *fx2 = inputs(N, 2, dtype);
	double *rsum = doubles(fx, N), *ry = doubles(fx, N), *rdx = doubles(fx2, N);
	int i;

	for (i = 0; i < N; i++) {
		rsum[i] += fx2[i];
		ry[i] = fx[i] > 0 ? fx[i] : 0;
		rdx[i] = fx[i] > 0 ? fx2[i] : 0;
	}
	program__add(b.program, OP_add, &(struct op_args){.x = x, .x2 = x2, .y = sum}, "add");
	program__add(b.program, OP_relu_fwd, &(struct op_args){.x = x, .y = y}, "relu");
	program__add(b.program, OP_relu_bwd, &(struct op_args){.dy = x2, .y = y, .dx = dx}, "dx");
	program__add(b.program, OP_cast, &(struct op_args){.x = x, .y = f32}, "cast");
	bench__run(&b, write_all, (struct io[]){{x, fx}, {x2, fx2}, {0}});
	same(&b, sum, rsum, dtype, "sum");
	same(&b, y, ry, DTYPE_F32, "relu");
	same(&b, dx, rdx, DTYPE_F32, "relu's gradient");
	same(&b, f32, doubles(fx, N), DTYPE_F32, "cast");
	bench__close(&b);
}

Test(op, elementwise)
{
	for_all(elementwise_case);
}

Test(op, impossible_programs_are_refused)
{
	struct bench_device b = bench__open("cpu");
	struct tensor *x = tensor(&b, DTYPE_F32, 2, 3, 4, 0, 0);
	struct tensor *y = tensor(&b, DTYPE_F32, 2, 3, 5, 0, 0);

	program__add(b.program, OP_gemm, &(struct op_args){.x = x, .x2 = x, .y = y}, "shapes");
	program__add(b.program, OP_relu_fwd, &(struct op_args){.x = x, .y = x}, "after");
	cr_expect_eq(program__finish(b.program), -EINVAL);
	cr_expect_eq(b.program->n_ops, 1, "nothing is appended behind an error");
	bench__close(&b);
}
