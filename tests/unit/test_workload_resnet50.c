// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/op_util.h"
#include "workloads/models/init.h"
#include "workloads/models/resnet_verify.h"

TestSuite(resnet50, .fini = test__free);

/* ---- first values ---- */

Test(resnet50, normal_and_uniform_moments)
{
	enum { N = 100001 };
	float *x = zeros(N), *again = zeros(N);
	double sum = 0, square = 0, within = 0, low = 1, high = 0;
	int i;

	init__normal(x, N, 2, 7, 0);
	for (i = 0; i < N; i++) {
		sum += x[i];
		square += x[i] * x[i];
		within += fabs(x[i]) < 2;
	}
	/* five standard errors of each */
	cr_expect_float_eq(sum / N, 0, 5 * 2 / sqrt(N));
	cr_expect_float_eq(square / N, 4, 5 * 4 * sqrt(2.0 / N));
	cr_expect_float_eq(within / N, 0.682689, 5 * 0.47 / sqrt(N));
	init__normal(again, N, 2, 7, 0);
	cr_expect_eq(memcmp(x, again, N * sizeof(*x)), 0);
	init__normal(again, N, 2, 7, 1);
	cr_expect_neq(x[0], again[0]);
	init__uniform(x, N, 0.25, 0.5, 7, 0);
	for (i = 0; i < N; i++) {
		low = x[i] < low ? x[i] : low;
		high = x[i] > high ? x[i] : high;
	}
	cr_expect(low >= 0.25 && low < 0.2501);
	cr_expect(high < 0.5 && high > 0.4999);
}

/* ---- ResNet ---- */

/* Parameters, and products of one image's forward pass. */
static void count(const struct resnet_config *c, double *params, double *macs)
{
	static struct resnet_unit u[RESNET_MAX_UNITS];
	int i, n = resnet__units(c, u);
	double w;

	cr_assert_gt(n, 0);
	*params = *macs = 0;
	for (i = 0; i < n; i++) {
		w = (double)u[i].channels * u[i].channels_in * u[i].size * u[i].size;
		*params += w + 2 * u[i].channels;
		*macs += w * u[i].side * u[i].side;
	}
	*params += (u[n - 1].channels + 1.0) * c->classes;
	*macs += (double)u[n - 1].channels * c->classes;
}

/* torchvision's documentation: 25557032, 44549160 parameters; 4.09, 7.80 G products. */
Test(resnet50, sizes_are_torchvisions)
{
	struct resnet_config c = resnet50_config;
	static struct resnet_unit u[RESNET_MAX_UNITS];
	double params, macs;

	count(&c, &params, &macs);
	cr_expect_eq(params, 25557032);
	cr_expect_float_eq(macs / 1e9, 4.089, 0.001);
	cr_expect_eq(resnet__units(&c, u), 53);
	cr_expect_str_eq(u[0].conv, "conv1");
	cr_expect_str_eq(u[52].conv, "layer4.2.conv3");
	cr_expect_eq(u[52].side, 7);
	c.blocks[2] = 23;
	count(&c, &params, &macs);
	cr_expect_eq(params, 44549160);
	cr_expect_float_eq(macs / 1e9, 7.801, 0.001);
	c.blocks[2] = 1000;
	cr_expect_eq(resnet__units(&c, u), -EINVAL);
}

/* One block in each stage, narrow: all kinds of layers there are. */
static struct resnet_config small_net(void)
{
	struct resnet_config c = resnet50_config;
	int i;

	for (i = 0; i < RESNET_STAGES; i++)
		c.blocks[i] = i == 1 ? 2 : 1;
	c.width = 8;
	c.classes = 10;
	c.batch = 6;
	c.side = 40; /* sides of 20, 10, 5, 3, 2: odd ones, too */
	return c;
}

static void verify_on(const char *spec, enum dtype dtype, const struct resnet_errors *t)
{
	struct bench_device b = bench__open(spec);
	struct resnet_config c = small_net();
	struct resnet_check check;

	c.dtype = dtype;
	cr_expect_eq(resnet__verify(&c, b.ops, b.device, b.queue, 3, t, dtype == DTYPE_F32, &check),
		     0, "%s", spec);
	cr_expect_gt(check.seen.gradient, 0);
	bench__close(&b);
}

Test(resnet50, gradients)
{
	verify_on("cpu", DTYPE_F32, &resnet_tolerance_f32);
	verify_on("cpu:0", DTYPE_F32, &resnet_tolerance_f32);
	verify_on("cpu", DTYPE_BF16, &resnet_tolerance_bf16);
}

Test(resnet50, verification_finds_what_is_wrong)
{
	struct resnet_errors too_strict = {1, 1e-9, 1};
	struct bench_device b = bench__open("cpu");
	struct bench_device null = bench__open("null");
	struct resnet_config c = small_net();
	struct resnet_check check;

	cr_expect_eq(resnet__verify(&c, b.ops, b.device, b.queue, 3, &too_strict, false, &check),
		     -EBADMSG);
	cr_expect_eq(resnet__verify(&c, null.ops, null.device, null.queue, 3, &resnet_tolerance_f32,
				    false, &check),
		     -EBADMSG);
	bench__close(&b);
	bench__close(&null);
}

static void inputs(const struct resnet *r, float **images, int32_t **labels)
{
	int i;

	*images = zeros(tensor__count(r->images));
	*labels = test__alloc(r->config.batch, sizeof(**labels));
	init__normal(*images, tensor__count(r->images), 1, 5, 99);
	for (i = 0; i < r->config.batch; i++)
		(*labels)[i] = (i * 3 + 1) % r->config.classes;
}

static float one_step(struct bench_device *b, struct resnet *r, const float *images,
		      const int32_t *labels)
{
	float loss = NAN;

	cr_assert_eq(resnet__step(r, images, labels, &loss), 0);
	cr_assert_eq(b->ops->sync(b->device, b->queue), 0);
	return loss;
}

/* Three steps with momentum and decay; the reference is independent of device and op layer. */
Test(resnet50, three_steps_as_the_reference)
{
	struct bench_device b = bench__open("cpu");
	struct resnet_config c = small_net();
	struct resnet_reference *f;
	double expected, *order;
	float *images, *w, loss;
	int32_t *labels;
	struct resnet *r;
	int i;

	c.sgd = (struct sgd_params){.lr = 0.01f, .momentum = 0.9f, .weight_decay = 1e-3f};
	r = resnet__new(&c, b.ops, b.device, b.queue, 11);
	cr_assert(r);
	f = resnet_reference__new(r);
	cr_assert(f);
	inputs(r, &images, &labels);
	for (i = 0; i < 3; i++) {
		expected = resnet_reference__forward(f, images, labels, 0);
		resnet_reference__backward(f);
		resnet_reference__update(f);
		loss = one_step(&b, r, images, labels);
		cr_expect_float_eq(loss, expected, 1e-5 * expected);
	}
	for (i = 0; i < r->n_params; i++) {
		size_t j, n = tensor__count(r->params[i].w);

		w = zeros(n);
		order = test__alloc(n, sizeof(*order));
		cr_assert_eq(program__read(r->program, r->params[i].w, w), 0);
		resnet_reference__order(f, i, w, order);
		for (j = 0; j < n; j++)
			w[j] = order[j];
		cr_expect_leq(relative_error(w, resnet_reference__param(f, i), n), 1e-4, "%s: %g",
			      r->params[i].name,
			      relative_error(w, resnet_reference__param(f, i), n));
	}
	resnet_reference__free(f);
	resnet__free(r);
	bench__close(&b);
}

static void losses(const char *spec, enum dtype dtype, float *loss, int n)
{
	struct bench_device b = bench__open(spec);
	struct resnet_config c = small_net();
	int32_t *labels;
	struct resnet *r;
	float *images;
	int i;

	c.dtype = dtype;
	c.sgd.lr = 0.02f;
	r = resnet__new(&c, b.ops, b.device, b.queue, 11);
	cr_assert(r);
	inputs(r, &images, &labels);
	for (i = 0; i < n; i++)
		loss[i] = one_step(&b, r, images, labels);
	resnet__free(r);
	bench__close(&b);
}

Test(resnet50, losses_fall_alike_with_any_number_of_threads_and_type)
{
	float one[12], all[12], bf16[12];

	losses("cpu:0", DTYPE_F32, one, 12);
	losses("cpu", DTYPE_F32, all, 12);
	losses("cpu", DTYPE_BF16, bf16, 12);
	/* the first is the same function of the same numbers */
	cr_expect_float_eq(one[0], all[0], 1e-5 * one[0]);
	cr_expect_float_eq(one[0], bf16[0], 0.05 * one[0]);
	cr_expect_lt(one[11], 0.5 * one[0]);
	cr_expect_lt(all[11], 0.5 * all[0]);
	cr_expect_lt(bf16[11], 0.5 * bf16[0]);
}

/* ---- PyTorch: the formulas of tests/data/torch/make.py ---- */

static float spread(size_t i, int seed)
{
	uint64_t x = (i * 40503 + (uint64_t)seed * 30011 + 12345) % 65536;

	return (float)((double)((x * x + 7 * i) % 65521) / 65521 * 2 - 1);
}

static int seed_of(const char *name)
{
	int i, sum = 0;

	for (i = 0; name[i]; i++)
		sum += (i + 1) * name[i];
	return sum % 997;
}

static void write_first_values(struct resnet *r)
{
	const struct tensor *t;
	size_t j, n, fan_in;
	float *w, by;
	int i;

	for (i = 0; i < r->n_params; i++) {
		t = r->params[i].w;
		n = tensor__count(t);
		w = zeros(n);
		by = 0.125f;
		fan_in = n / (size_t)t->dims[0];
		if (t->n_dims == 4)
			by = (float)sqrt(6.0 / (double)fan_in);
		else if (t->n_dims == 2)
			by = 0.25f;
		for (j = 0; j < n; j++)
			w[j] = spread(j, seed_of(r->params[i].name)) * by +
			       (t->n_dims == 1 && strstr(r->params[i].name, ".weight") ? 1 : 0);
		cr_assert_eq(program__write(r->program, r->params[i].w, w), 0);
	}
}

/* @t against a line's three numbers, of which the first is the length. */
static void same_digest(struct resnet *r, const struct tensor *t, const char *what,
			const double *expected, double most)
{
	size_t i, n = tensor__count(t);
	float *x = zeros(n);
	double got[3] = {0};

	cr_assert_eq(program__read(r->program, t, x), 0);
	for (i = 0; i < n; i++) {
		got[0] += (double)x[i] * x[i];
		got[1] += (double)x[i] * spread(i, 1001);
		got[2] += (double)x[i] * spread(i, 1002);
	}
	got[0] = sqrt(got[0]);
	for (i = 0; i < 3; i++)
		cr_expect_leq(fabs(got[i] - expected[i]), most * expected[0],
			      "%s: number %zu is %g, not %g", what, i, got[i], expected[i]);
}

static const struct resnet_param *param(const struct resnet *r, const char *name)
{
	int i;

	for (i = 0; i < r->n_params; i++)
		if (strcmp(r->params[i].name, name) == 0)
			return &r->params[i];
	cr_assert_fail("no parameter '%s'", name);
	return NULL;
}

static const struct tensor *running(const struct resnet *r, const char *name)
{
	size_t len = strrchr(name, '.') - name;
	int i;

	for (i = 0; i < r->n_units; i++)
		if (strlen(r->units[i].norm) == len && strncmp(r->units[i].norm, name, len) == 0)
			return strstr(name, "mean") ? r->running_mean[i] : r->running_var[i];
	cr_assert_fail("no buffer '%s'", name);
	return NULL;
}

/* Lines of the file that begin with @kind, but for losses. */
static void compare_lines(struct resnet *r, const char *kind, double most)
{
	FILE *f = fopen("tests/data/torch/resnet.txt", "re");
	char line[256], what[32], name[64];
	const struct tensor *t;
	double expected[3];
	int found = 0;

	cr_assert(f, "tests run in the top folder");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%31s %63s %lf %lf %lf", what, name, &expected[0], &expected[1],
			   &expected[2]) != 5 ||
		    strcmp(what, kind) != 0)
			continue;
		if (strcmp(kind, "buffer") == 0)
			t = running(r, name);
		else
			t = kind[0] == 'g' ? param(r, name)->dw : param(r, name)->w;
		same_digest(r, t, name, expected, most);
		found++;
	}
	fclose(f);
	cr_expect_eq(found, strcmp(kind, "buffer") == 0 ? 2 * r->n_units : r->n_params);
}

static double torch_loss(int step)
{
	FILE *f = fopen("tests/data/torch/resnet.txt", "re");
	double loss = NAN, value;
	char line[256];
	int i;

	cr_assert(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "loss %d %lf", &i, &value) == 2 && i == step)
			loss = value;
	fclose(f);
	return loss;
}

/* @update: three steps with it, or one without, whose gradients are compared. */
static void as_torch(bool update)
{
	struct bench_device b = bench__open("cpu");
	struct resnet_config c = small_net();
	int32_t labels[6];
	struct resnet *r;
	float *images, loss;
	size_t i, n;
	int step;

	c.update = update;
	c.sgd = (struct sgd_params){.lr = 0.01f, .momentum = 0.9f, .weight_decay = 1e-3f};
	r = resnet__new(&c, b.ops, b.device, b.queue, 1);
	cr_assert(r);
	write_first_values(r);
	n = tensor__count(r->images);
	images = zeros(n);
	for (i = 0; i < n; i++)
		images[i] = 2 * spread(i, 2001);
	for (i = 0; i < 6; i++)
		labels[i] = (i * 3 + 1) % c.classes;
	for (step = 0; step < (update ? 3 : 1); step++) {
		loss = one_step(&b, r, images, labels);
		cr_expect_float_eq(loss, torch_loss(step), 2e-5, "loss %d: %g", step, loss);
	}
	if (update) {
		compare_lines(r, "parameter", 1e-5);
		compare_lines(r, "buffer", 1e-5);
	} else {
		compare_lines(r, "gradient", 1e-4);
	}
	resnet__free(r);
	bench__close(&b);
}

Test(resnet50, gradients_are_pytorchs)
{
	as_torch(false);
}

Test(resnet50, three_steps_are_pytorchs)
{
	as_torch(true);
}
