// SPDX-License-Identifier: BSD-2-Clause
/* Operations on tensors as arrays, whatever their layout: element by element, or row by row. */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "workloads/device/cpu_op.h"

/* Arrays are divided at multiples of this: whole lines of every cache, and enough work. */
#define BLOCK 4096

struct cast {
	void *to;
	const void *from;
	size_t n, size; /* of an element, where types are alike; 0 otherwise */
	bool to_bf16;
};

static size_t blocks(size_t n)
{
	return (n + BLOCK - 1) / BLOCK;
}

/* From blocks to elements: the first one, and how many until @last or the end. */
static size_t elements(size_t *first, size_t last, size_t n)
{
	*first *= BLOCK;
	return (last * BLOCK < n ? last * BLOCK : n) - *first;
}

static size_t stored(const struct tensor *t)
{
	return t->bytes / dtype__size(t->dtype);
}

/* Give @others the layout of @t, which is plain if nothing has decided yet. */
static int alike(struct op *op, struct tensor *t, struct tensor *const *others, size_t n)
{
	int err = t->layout ? 0 : cpu_tensor__plain(cpu_program(op), t);
	size_t i;

	for (i = 0; i < n && !err; i++)
		if (others[i])
			err = cpu_tensor__as(others[i], t);
	return err;
}

static void cast_share(void *arg, size_t first, size_t last)
{
	const struct cpu_simd *simd = cpu_simd__best(CPU_LANES);
	const struct cast *c = arg;
	size_t n = elements(&first, last, c->n);

	if (c->size)
		memcpy((char *)c->to + first * c->size, (const char *)c->from + first * c->size,
		       n * c->size);
	else if (c->to_bf16)
		simd->to_bf16((const float *)c->from + first, (uint16_t *)c->to + first, n);
	else
		simd->from_bf16((const uint16_t *)c->from + first, (float *)c->to + first, n);
}

void cpu_cast(const struct cpu_team *team, void *to, enum dtype to_type, const void *from,
	      enum dtype from_type, size_t n)
{
	struct cast c = {to, from, n, to_type == from_type ? dtype__size(to_type) : 0,
			 to_type == DTYPE_BF16};

	cpu_for(team, blocks(n), 2, cast_share, &c);
}

static int run_cast(struct op *op, void *native)
{
	const struct tensor *x = op->a.x, *y = op->a.y;

	cpu_cast(native, y->data, y->dtype, x->data, x->dtype, stored(x));
	return 0;
}

static bool is_real(const struct tensor *t)
{
	return t->dtype == DTYPE_F32 || t->dtype == DTYPE_BF16;
}

int cpu_op_cast(struct op *op)
{
	if (op->a.x->dtype != op->a.y->dtype && (!is_real(op->a.x) || !is_real(op->a.y)))
		return -ENOTSUP;
	op->run = run_cast;
	return alike(op, op->a.x, &op->a.y, 1);
}

static void relu_share(void *arg, size_t first, size_t last)
{
	const struct op_args *a = arg;
	size_t n = elements(&first, last, stored(a->x));

	cpu_simd__best(CPU_LANES)->relu(cpu_at(a->x, first), cpu_at(a->y, first), n,
					a->x->dtype == DTYPE_BF16);
}

static int run_relu(struct op *op, void *native)
{
	cpu_for(native, blocks(stored(op->a.x)), 2, relu_share, &op->a);
	return 0;
}

int cpu_op_relu_fwd(struct op *op)
{
	if (!is_real(op->a.x) || op->a.x->dtype != op->a.y->dtype)
		return -EINVAL;
	op->run = run_relu;
	return alike(op, op->a.x, &op->a.y, 1);
}

static void relu_bwd_share(void *arg, size_t first, size_t last)
{
	const struct op_args *a = arg;
	size_t n = elements(&first, last, stored(a->y));

	cpu_simd__best(CPU_LANES)->relu_bwd(cpu_at(a->dy, first), cpu_at(a->y, first),
					    cpu_at(a->dx, first), n, a->y->dtype == DTYPE_BF16);
}

static int run_relu_bwd(struct op *op, void *native)
{
	cpu_for(native, blocks(stored(op->a.y)), 2, relu_bwd_share, &op->a);
	return 0;
}

int cpu_op_relu_bwd(struct op *op)
{
	struct op_args *a = &op->a;

	if (!is_real(a->y) || a->dy->dtype != a->y->dtype || a->dx->dtype != a->y->dtype)
		return -EINVAL;
	op->run = run_relu_bwd;
	return alike(op, a->y, (struct tensor *[]){a->dy, a->dx}, 2);
}

static void add_share(void *arg, size_t first, size_t last)
{
	const struct op_args *a = arg;
	size_t n = elements(&first, last, stored(a->x));

	cpu_simd__best(CPU_LANES)->add(cpu_at(a->x, first), cpu_at(a->x2, first),
				       cpu_at(a->y, first), n, a->x->dtype == DTYPE_BF16);
}

static int run_add(struct op *op, void *native)
{
	cpu_for(native, blocks(stored(op->a.x)), 2, add_share, &op->a);
	return 0;
}

int cpu_op_add(struct op *op)
{
	struct op_args *a = &op->a;

	if (!is_real(a->x) || a->x2->dtype != a->x->dtype || a->y->dtype != a->x->dtype)
		return -EINVAL;
	op->run = run_add;
	return alike(op, a->x, (struct tensor *[]){a->x2, a->y}, 2);
}

static void sgd_share(void *arg, size_t first, size_t last)
{
	const struct op_args *a = arg;
	const struct sgd_params *p = a->sgd;
	size_t n = elements(&first, last, stored(a->w));

	cpu_simd__best(CPU_LANES)->sgd(cpu_at(a->w, first), cpu_at(a->dw, first),
				       cpu_at(a->v, first), cpu_at(a->copy, first), n, p->lr,
				       p->momentum, p->weight_decay);
}

static int run_sgd(struct op *op, void *native)
{
	cpu_for(native, blocks(stored(op->a.w)), 2, sgd_share, &op->a);
	return 0;
}

int cpu_op_sgd(struct op *op)
{
	struct op_args *a = &op->a;

	if (a->w->dtype != DTYPE_F32 || a->dw->dtype != DTYPE_F32 || a->v->dtype != DTYPE_F32 ||
	    (a->copy && a->copy->dtype != DTYPE_BF16) || !a->sgd)
		return -EINVAL;
	op->run = run_sgd;
	return alike(op, a->w, (struct tensor *[]){a->dw, a->v, a->copy}, 3);
}

static void bias_bwd_share(void *arg, size_t first, size_t last)
{
	const struct op_args *a = arg;
	size_t i, j, columns = a->dy->dims[1];
	double sum;

	for (j = first; j < last; j++) {
		sum = 0;
		for (i = 0; i < (size_t)a->dy->dims[0]; i++)
			sum += ((const float *)a->dy->data)[i * columns + j];
		((float *)a->dbias->data)[j] = sum;
	}
}

static int run_bias_bwd(struct op *op, void *native)
{
	cpu_for(native, op->a.dy->dims[1], 64, bias_bwd_share, &op->a);
	return 0;
}

int cpu_op_bias_bwd(struct op *op)
{
	int err;

	if (op->a.dy->dtype != DTYPE_F32 || op->a.dbias->dtype != DTYPE_F32)
		return -EINVAL;
	op->run = run_bias_bwd;
	err = cpu_tensor__plain(cpu_program(op), op->a.dy);
	return err ? err : cpu_tensor__plain(cpu_program(op), op->a.dbias);
}

struct loss {
	const struct op_args *a;
	double *row; /* the loss of each */
	atomic_bool bad_label;
};

/* The loss of one row and, if @dx, (softmax - one-hot) / rows. */
static double loss_row(const float *x, size_t classes, size_t label, size_t rows, float *dx)
{
	float most = x[0];
	double sum = 0;
	size_t j;

	for (j = 1; j < classes; j++)
		most = x[j] > most ? x[j] : most;
	for (j = 0; j < classes; j++)
		sum += expf(x[j] - most);
	for (j = 0; j < classes && dx; j++)
		dx[j] = expf(x[j] - most) / sum / rows;
	if (dx)
		dx[label] -= 1.0 / rows;
	return log(sum) - (x[label] - most);
}

static void loss_share(void *arg, size_t first, size_t last)
{
	struct loss *l = arg;
	const struct tensor *x = l->a->x;
	size_t i, rows = x->dims[0], classes = x->dims[1];
	int32_t label;

	for (i = first; i < last; i++) {
		label = ((const int32_t *)l->a->labels->data)[i];
		if (label < 0 || (size_t)label >= classes) {
			l->bad_label = true;
			continue;
		}
		l->row[i] = loss_row(cpu_at(x, i * classes), classes, label, rows,
				     cpu_at(l->a->dx, i * classes));
	}
}

static int run_loss(struct op *op, void *native)
{
	struct loss l = {.a = &op->a, .row = op->program->scratch};
	size_t i, rows = op->a.x->dims[0];
	double sum = 0;

	cpu_for(native, rows, 1, loss_share, &l);
	if (l.bad_label)
		return -ERANGE;
	for (i = 0; i < rows; i++)
		sum += l.row[i];
	*(float *)op->a.loss->data = sum / rows;
	return 0;
}

int cpu_op_cross_entropy(struct op *op)
{
	struct op_args *a = &op->a;
	struct tensor *all[] = {a->x, a->labels, a->loss, a->dx};
	int i, err = 0;

	if (a->x->dtype != DTYPE_F32 || a->labels->dtype != DTYPE_S32 ||
	    a->loss->dtype != DTYPE_F32 || (a->dx && a->dx->dtype != DTYPE_F32))
		return -EINVAL;
	op->run = run_loss;
	op->scratch_bytes = a->x->dims[0] * sizeof(double);
	for (i = 0; i < 4 && !err; i++)
		if (all[i])
			err = cpu_tensor__plain(cpu_program(op), all[i]);
	return err;
}
