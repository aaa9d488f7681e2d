// SPDX-License-Identifier: BSD-2-Clause
/* Matrix products by OpenBLAS, each thread of the team a part of the result. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "workloads/device/cpu_op.h"
#include "workloads/device/place.h"

/* Parts begin at multiples of this, so that vectors of the result are not divided. */
#define GRAIN 16

struct gemm {
	const struct op *op;
	int m, n, k;
	const float *x, *x2;
	float *y; /* the tensor, or scratch if that is bf16 */
};

static void part(void *arg, unsigned int thread, unsigned int threads)
{
	const struct gemm *g = arg;
	const struct op_args *a = &g->op->a;
	const __typeof__(cpu_program(g->op)->lib->blas) *blas = &cpu_program(g->op)->lib->blas;
	bool by_rows = g->m > g->n;
	size_t all = by_rows ? g->m : g->n, first, last;
	const float *x = g->x, *x2 = g->x2;
	int m = g->m, n = g->n, i;
	float *y = g->y;

	cpu_share((all + GRAIN - 1) / GRAIN, thread, threads, &first, &last);
	first *= GRAIN;
	last = last * GRAIN < all ? last * GRAIN : all;
	if (first >= last)
		return;
	if (by_rows) {
		m = last - first;
		x += a->trans_x ? first : first * g->k;
		y += first * g->n;
	} else {
		n = last - first;
		x2 += a->trans_x2 ? first * g->k : first;
		y += first;
	}
	for (i = 0; i < m && a->bias; i++)
		memcpy(y + (size_t)i * g->n, (float *)a->bias->data + (by_rows ? 0 : first),
		       n * sizeof(*y));
	blas->cblas_sgemm(CPU_BLAS_ROW_MAJOR, a->trans_x ? CPU_BLAS_TRANS : CPU_BLAS_NO_TRANS,
			  a->trans_x2 ? CPU_BLAS_TRANS : CPU_BLAS_NO_TRANS, m, n, g->k, 1, x,
			  a->trans_x ? g->m : g->k, x2, a->trans_x2 ? g->k : g->n, a->bias ? 1 : 0,
			  y, g->n);
}

/* Where @t is, or will be, in f32; *@at goes behind the buffer it takes in the scratch. */
static void *as_f32(const struct op *op, const struct tensor *t, size_t *at)
{
	size_t here = *at;

	if (t->dtype == DTYPE_F32)
		return t->data;
	*at += place__align(tensor__count(t) * sizeof(float));
	return (char *)op->program->scratch + here;
}

static int run(struct op *op, void *native)
{
	const struct op_args *a = &op->a;
	struct gemm g = {.op = op, .m = a->y->dims[0], .n = a->y->dims[1]};
	size_t at = 0;
	void *x, *x2;

	g.k = a->x->dims[a->trans_x ? 0 : 1];
	g.x = x = as_f32(op, a->x, &at);
	g.x2 = x2 = as_f32(op, a->x2, &at);
	g.y = as_f32(op, a->y, &at);
	if (x != a->x->data)
		cpu_cast(native, x, DTYPE_F32, a->x->data, DTYPE_BF16, tensor__count(a->x));
	if (x2 != a->x2->data)
		cpu_cast(native, x2, DTYPE_F32, a->x2->data, DTYPE_BF16, tensor__count(a->x2));
	cpu_team__run(native, part, &g);
	if (g.y != a->y->data)
		cpu_cast(native, a->y->data, DTYPE_BF16, g.y, DTYPE_F32, tensor__count(a->y));
	return 0;
}

int cpu_op_gemm(struct op *op)
{
	const struct op_args *a = &op->a;
	struct tensor *all[] = {a->x, a->x2, a->y, a->bias};
	int64_t k = a->x->dims[a->trans_x ? 0 : 1];
	size_t i;
	int err;

	if (a->x->n_dims != 2 || a->x2->n_dims != 2 || a->y->n_dims != 2 ||
	    a->x->dims[a->trans_x ? 1 : 0] != a->y->dims[0] ||
	    a->x2->dims[a->trans_x2 ? 0 : 1] != a->y->dims[1] ||
	    a->x2->dims[a->trans_x2 ? 1 : 0] != k ||
	    (a->bias && (a->bias->dims[0] != a->y->dims[1] || a->bias->dtype != DTYPE_F32)))
		return -EINVAL;
	if (a->y->dims[0] > INT_MAX || a->y->dims[1] > INT_MAX || k > INT_MAX)
		return -ENOTSUP; /* OpenBLAS counts in int */
	for (i = 0; i < 4; i++) {
		err = all[i] ? cpu_tensor__plain(cpu_program(op), all[i]) : 0;
		if (err)
			return err;
		if (all[i] && all[i]->dtype == DTYPE_BF16)
			op->scratch_bytes += place__align(tensor__count(all[i]) * sizeof(float));
	}
	op->run = run;
	return 0;
}
