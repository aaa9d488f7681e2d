// SPDX-License-Identifier: BSD-2-Clause
/* The reference's gradients against central differences of its forward formulas. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/op_util.h"
#include "workloads/models/reference.h"

TestSuite(reference, .fini = test__free);

/* In double, with steps of 1e-6: truncation and rounding are both near 1e-9. */
#define STEP  1e-6
#define ERROR 1e-7

static double *values(size_t n, unsigned int seed)
{
	return doubles(randoms(n, seed), n);
}

static double *room(size_t n)
{
	return test__alloc(n, sizeof(double));
}

static double dot(const double *a, const double *b, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* @gradient of value(), which reads @x, against differences in each of its @n elements. */
static void check(const char *what, double *x, const double *gradient, size_t n,
		  double (*value)(void *arg), void *arg)
{
	double kept, up, down, scale = sqrt(dot(gradient, gradient, n) / n) + 1e-3;
	size_t i;

	for (i = 0; i < n; i++) {
		kept = x[i];
		x[i] = kept + STEP;
		up = value(arg);
		x[i] = kept - STEP;
		down = value(arg);
		x[i] = kept;
		cr_expect_leq(fabs((up - down) / (2 * STEP) - gradient[i]), ERROR * scale,
			      "%s[%zu]: %g, differences say %g", what, i, gradient[i],
			      (up - down) / (2 * STEP));
	}
}

struct conv {
	struct ref_conv c;
	double *x, *w, *y, *dy;
};

static double conv_value(void *arg)
{
	struct conv *k = arg;

	ref_conv__fwd(&k->c, k->x, k->w, k->y);
	return dot(k->y, k->dy, ref_conv__y(&k->c));
}

Test(reference, convolution)
{
	struct ref_conv shapes[] = {
		{.n = 2, .h = 5, .w = 4, .in = 3, .out = 5, .size = 3, .stride = 2, .pad = 1},
		{.n = 2, .h = 3, .w = 3, .in = 4, .out = 6, .size = 1, .stride = 1, .pad = 0},
	};
	struct conv k;
	double *dx, *dw;
	size_t i;

	for (i = 0; i < 2; i++) {
		k.c = shapes[i];
		ref_conv__init(&k.c);
		k.x = values(ref_conv__x(&k.c), 1);
		k.w = values(ref_conv__w(&k.c), 2);
		k.dy = values(ref_conv__y(&k.c), 3);
		k.y = room(ref_conv__y(&k.c));
		dx = room(ref_conv__x(&k.c));
		dw = room(ref_conv__w(&k.c));
		ref_conv__bwd_data(&k.c, k.dy, k.w, dx);
		ref_conv__bwd_weights(&k.c, k.x, k.dy, dw);
		check("dx", k.x, dx, ref_conv__x(&k.c), conv_value, &k);
		check("dw", k.w, dw, ref_conv__w(&k.c), conv_value, &k);
	}
}

/* By hand: a 2x2 image, window of 2 with padding 1 and stride 2, two channels out. */
Test(reference, convolution_by_hand)
{
	struct ref_conv c = {
		.n = 1, .h = 2, .w = 2, .in = 1, .out = 2, .size = 2, .stride = 2, .pad = 1};
	double x[] = {1, 2, 3, 4}, w[] = {1, 10, 2, 20, 3, 30, 4, 40}, y[8];
	double expected[] = {4, 40, 6, 60, 6, 60, 4, 40};

	ref_conv__init(&c);
	cr_assert_eq(c.oh, 2);
	ref_conv__fwd(&c, x, w, y);
	/* the corner under each window: 1*4, 2*3, 3*2, 4*1 */
	cr_expect_arr_eq(y, expected, sizeof(y));
}

struct norm {
	size_t rows, c;
	double *x, *residual, *gamma, *beta, *mean, *var, *y, *dy;
};

static double norm_value(void *arg)
{
	struct norm *k = arg;

	ref_norm__fwd(k->rows, k->c, k->x, k->residual, true, k->gamma, k->beta, 1e-5, k->mean,
		      k->var, k->y);
	return dot(k->y, k->dy, k->rows * k->c);
}

Test(reference, batch_normalisation)
{
	enum { ROWS = 7, C = 3 };
	struct norm k = {ROWS,
			 C,
			 values(ROWS * C, 1),
			 values(ROWS * C, 2),
			 values(C, 3),
			 values(C, 4),
			 room(C),
			 room(C),
			 room(ROWS * C),
			 values(ROWS * C, 5)};
	double *g = room(ROWS * C), *dx = room(ROWS * C), *dgamma = room(C), *dbeta = room(C);
	size_t i;

	norm_value(&k);
	for (i = 0; i < ROWS * C; i++) /* a kink nearby would make differences meaningless */
		cr_assert(k.y[i] == 0 || k.y[i] > 100 * STEP);
	ref_norm__bwd(ROWS, C, k.x, k.y, true, k.gamma, 1e-5, k.mean, k.var, k.dy, g, dx, dgamma,
		      dbeta);
	check("dx", k.x, dx, ROWS * C, norm_value, &k);
	check("dgamma", k.gamma, dgamma, C, norm_value, &k);
	check("dbeta", k.beta, dbeta, C, norm_value, &k);
	check("dresidual", k.residual, g, ROWS * C, norm_value, &k);
}

struct pool {
	struct ref_conv p;
	double *x, *y, *dy;
	int *index;
};

static double max_value(void *arg)
{
	struct pool *k = arg;

	ref_maxpool__fwd(&k->p, 2, k->x, k->y, k->index);
	return dot(k->y, k->dy, 2 * 2 * 3 * 2);
}

static double avg_value(void *arg)
{
	struct pool *k = arg;

	ref_avgpool__fwd(2, 15, 2, k->x, k->y);
	return dot(k->y, k->dy, 2 * 2);
}

Test(reference, pools)
{
	struct pool k = {.p = {.n = 2, .h = 3, .w = 5, .size = 3, .stride = 2, .pad = 1}};
	double *dx = room(2 * 15 * 2);

	ref_conv__init(&k.p);
	k.x = values(2 * 15 * 2, 1);
	k.y = room(2 * 2 * 3 * 2);
	k.dy = values(2 * 2 * 3 * 2, 2);
	k.index = test__alloc(2 * 2 * 3 * 2, sizeof(int));
	max_value(&k);
	ref_maxpool__bwd(&k.p, 2, k.index, k.dy, dx);
	check("max", k.x, dx, 2 * 15 * 2, max_value, &k);
	ref_avgpool__bwd(2, 15, 2, k.dy, dx);
	check("avg", k.x, dx, 2 * 15 * 2, avg_value, &k);
}

struct linear {
	double *x, *w, *b, *y;
	int32_t *labels;
};

static double linear_value(void *arg)
{
	struct linear *k = arg;

	ref_linear__fwd(3, 4, 5, k->x, k->w, k->b, k->y);
	return ref_cross_entropy(3, 5, k->y, k->labels, NULL);
}

Test(reference, linear_and_cross_entropy)
{
	int32_t labels[] = {4, 0, 2};
	struct linear k = {values(12, 1), values(20, 2), values(5, 3), room(15), labels};
	double *dy = room(15), *dx = room(12), *dw = room(20), *db = room(5);

	linear_value(&k);
	ref_cross_entropy(3, 5, k.y, labels, dy);
	ref_linear__bwd(3, 4, 5, k.x, k.w, dy, dx, dw, db);
	check("dx", k.x, dx, 12, linear_value, &k);
	check("dw", k.w, dw, 20, linear_value, &k);
	check("db", k.b, db, 5, linear_value, &k);
}

Test(reference, cross_entropy_by_hand)
{
	double x[] = {0, 0, 0, 0}, dx[4];
	int32_t label = 2;

	cr_expect_float_eq(ref_cross_entropy(1, 4, x, &label, dx), log(4), 1e-12);
	cr_expect_float_eq(dx[0], 0.25, 1e-12);
	cr_expect_float_eq(dx[2], -0.75, 1e-12);
}

Test(reference, sgd_by_hand)
{
	double w = 1, v = 0, dw = 2;

	ref_sgd(1, &w, &dw, &v, 0.1, 0.5, 0.25);
	cr_expect_float_eq(v, 2.25, 1e-12);
	cr_expect_float_eq(w, 0.775, 1e-12);
	ref_sgd(1, &w, &dw, &v, 0.1, 0.5, 0.25);
	cr_expect_float_eq(v, 0.5 * 2.25 + 2 + 0.25 * 0.775, 1e-12);
}
