// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "workloads/device/cpu_op.h"

/* The layout of an image tensor like @x's, but with height and width of @y. */
static int adopt_resized(struct cpu_program *p, const struct tensor *x, struct tensor *y)
{
	dnnl_memory_desc_t md = cpu_layout(x)->md;
	dnnl_blocking_desc_t *b = &md.format_desc.blocking;
	dnnl_dim_t c = md.padded_dims[1];
	int i;

	for (i = 2; i < 4; i++)
		md.dims[i] = md.padded_dims[i] = y->dims[i];
	b->strides[3] = cpu_layout(x)->ss;
	b->strides[2] = y->dims[3] * b->strides[3];
	if (cpu_layout(x)->group < (size_t)c)
		b->strides[1] = y->dims[2] * b->strides[2];
	b->strides[0] = c * y->dims[2] * y->dims[3];
	return cpu_tensor__adopt(p, y, &md);
}

static struct cpu_pool shape(const struct op *op, const struct tensor *x, const struct tensor *y)
{
	return (struct cpu_pool){
		.h = x->dims[2],
		.w = x->dims[3],
		.oh = y->dims[2],
		.ow = y->dims[3],
		.size = op->a.window.size,
		.stride = op->a.window.stride,
		.pad = op->a.window.pad,
		.x_sn = cpu_layout(x)->sn,
		.x_ss = cpu_layout(x)->ss,
		.y_sn = cpu_layout(y)->sn,
		.y_ss = cpu_layout(y)->ss,
		.n = 1,
		.bf16 = x->dtype == DTYPE_BF16,
	};
}

static void max_fwd_share(void *arg, size_t first, size_t last)
{
	const struct op *op = arg;
	const struct cpu_layout *lx = cpu_layout(op->a.x), *ly = cpu_layout(op->a.y);
	const struct cpu_simd *simd = cpu_simd__best(lx->lanes);
	struct cpu_pool pool = shape(op, op->a.x, op->a.y);
	size_t i, to;

	for (i = first; i < last; i++) {
		to = cpu_layout__plane(ly, i / ly->blocks, i % ly->blocks);
		simd->maxpool(&pool,
			      cpu_at(op->a.x,
				     cpu_layout__plane(lx, i / lx->blocks, i % lx->blocks)),
			      cpu_at(op->a.y, to), cpu_at(op->a.index, to));
	}
}

static void max_bwd_share(void *arg, size_t first, size_t last)
{
	const struct op *op = arg;
	const struct cpu_layout *lx = cpu_layout(op->a.dx), *ly = cpu_layout(op->a.dy);
	const struct cpu_simd *simd = cpu_simd__best(lx->lanes);
	struct cpu_pool pool = shape(op, op->a.dx, op->a.dy);
	size_t i, from;

	for (i = first; i < last; i++) {
		from = cpu_layout__plane(ly, i / ly->blocks, i % ly->blocks);
		simd->maxpool_bwd(&pool, cpu_at(op->a.index, from), cpu_at(op->a.dy, from),
				  cpu_at(op->a.dy2, from),
				  cpu_at(op->a.dx,
					 cpu_layout__plane(lx, i / lx->blocks, i % lx->blocks)));
	}
}

static struct cpu_plane image(const struct tensor *x)
{
	const struct cpu_layout *l = cpu_layout(x);

	return (struct cpu_plane){.n = 1,
				  .sn = l->sn,
				  .s = x->dims[2] * x->dims[3],
				  .ss = l->ss,
				  .bf16 = x->dtype == DTYPE_BF16};
}

/* Of a block's lanes, those that are channels and not padding, in bytes. */
static size_t real_bytes(const struct tensor *x, size_t channel, unsigned int lanes)
{
	size_t left = x->dims[1] > (int64_t)channel ? x->dims[1] - channel : 0;

	return (left < lanes ? left : lanes) * dtype__size(x->dtype);
}

static void avg_fwd_share(void *arg, size_t first, size_t last)
{
	const struct op *op = arg;
	const struct cpu_layout *l = cpu_layout(op->a.x);
	const struct cpu_simd *simd = cpu_simd__best(l->lanes);
	struct cpu_plane plane = image(op->a.x);
	float lanes[CPU_LANES];
	size_t i, n, c;

	for (i = first; i < last; i++) {
		n = i / l->blocks;
		c = i % l->blocks * l->lanes;
		simd->avgpool(&plane, cpu_at(op->a.x, cpu_layout__plane(l, n, i % l->blocks)),
			      lanes, 0);
		memcpy(cpu_at(op->a.y, n * op->a.x->dims[1] + c), lanes,
		       real_bytes(op->a.x, c, l->lanes));
	}
}

static void avg_bwd_share(void *arg, size_t first, size_t last)
{
	const struct op *op = arg;
	const struct cpu_layout *l = cpu_layout(op->a.dx);
	const struct cpu_simd *simd = cpu_simd__best(l->lanes);
	struct cpu_plane plane = image(op->a.dx);
	float lanes[CPU_LANES];
	size_t i, n, c;

	for (i = first; i < last; i++) {
		n = i / l->blocks;
		c = i % l->blocks * l->lanes;
		memset(lanes, 0, sizeof(lanes));
		memcpy(lanes, cpu_at(op->a.dy, n * op->a.dx->dims[1] + c),
		       real_bytes(op->a.dx, c, l->lanes));
		simd->avgpool_bwd(&plane, lanes, 0,
				  cpu_at(op->a.dx, cpu_layout__plane(l, n, i % l->blocks)));
	}
}

static int run_max_fwd(struct op *op, void *native)
{
	cpu_for(native, op->a.x->dims[0] * cpu_layout(op->a.x)->blocks, 1, max_fwd_share, op);
	return 0;
}

static int run_max_bwd(struct op *op, void *native)
{
	cpu_for(native, op->a.dx->dims[0] * cpu_layout(op->a.dx)->blocks, 1, max_bwd_share, op);
	return 0;
}

static int run_avg_fwd(struct op *op, void *native)
{
	cpu_for(native, op->a.x->dims[0] * cpu_layout(op->a.x)->blocks, 16, avg_fwd_share, op);
	return 0;
}

static int run_avg_bwd(struct op *op, void *native)
{
	cpu_for(native, op->a.dx->dims[0] * cpu_layout(op->a.dx)->blocks, 16, avg_bwd_share, op);
	return 0;
}

static int readable(const struct tensor *t)
{
	return t->layout && cpu_layout(t)->lanes ? 0 : -ENOTSUP;
}

int cpu_op_maxpool_fwd(struct op *op)
{
	int err = readable(op->a.x);

	if (op->a.window.size > 15 || op->a.index->dtype != DTYPE_U8)
		return -EINVAL;
	op->run = run_max_fwd;
	if (!err)
		err = adopt_resized(cpu_program(op), op->a.x, op->a.y);
	if (!err)
		err = readable(op->a.y);
	return err ? err : cpu_tensor__as(op->a.index, op->a.y);
}

int cpu_op_maxpool_bwd(struct op *op)
{
	int err = readable(op->a.dx);

	op->run = run_max_bwd;
	if (!err)
		err = cpu_tensor__as(op->a.dy, op->a.index);
	if (!err && op->a.dy2)
		err = cpu_tensor__as(op->a.dy2, op->a.index);
	return err;
}

int cpu_op_avgpool_fwd(struct op *op)
{
	int err = readable(op->a.x);

	op->run = run_avg_fwd;
	return err ? err : cpu_tensor__plain(cpu_program(op), op->a.y);
}

int cpu_op_avgpool_bwd(struct op *op)
{
	int err = readable(op->a.dx);

	op->run = run_avg_bwd;
	return err ? err : cpu_tensor__plain(cpu_program(op), op->a.dy);
}
