// SPDX-License-Identifier: BSD-2-Clause
/*
 * Batch normalisation. Both passes over a block of channels run one after the other on the same
 * thread, so that the second finds in its cache what the first has read. Where there are fewer
 * blocks than threads, images are divided, too, and the passes are separated by a barrier.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/device/cpu_op.h"

struct norm {
	const struct op *op;
	const struct cpu_layout *l;
	const struct cpu_simd *simd;
	const struct cpu_team *team;
	size_t images, chunks;
	double count;	 /* elements of a channel */
	double *partial; /* [block][chunk][2][CPU_LANES] */
	bool bf16;
};

struct unit {
	size_t block, chunk;
	struct cpu_plane plane; /* of its images */
	size_t at;		/* its first element */
	double *sums;		/* two for each lane */
};

static struct unit unit(const struct norm *n, size_t i, double *own)
{
	struct unit u = {.block = i / n->chunks, .chunk = i % n->chunks};
	size_t first, last;

	cpu_share(n->images, u.chunk, n->chunks, &first, &last);
	u.plane = (struct cpu_plane){.n = last - first,
				     .sn = n->l->sn,
				     .s = n->l->md.dims[2] * n->l->md.dims[3],
				     .ss = n->l->ss,
				     .bf16 = n->bf16};
	u.at = cpu_layout__plane(n->l, first, u.block);
	u.sums = n->chunks == 1 ? own : n->partial + i * 2 * CPU_LANES;
	return u;
}

/* The sums of all chunks of the unit's block. */
static void total(const struct norm *n, const struct unit *u, double *out)
{
	const double *p = n->partial + u->block * n->chunks * 2 * CPU_LANES;
	size_t i, j;

	if (n->chunks == 1) {
		memcpy(out, u->sums, 2 * CPU_LANES * sizeof(*out));
		return;
	}
	memset(out, 0, 2 * CPU_LANES * sizeof(*out));
	for (i = 0; i < n->chunks; i++)
		for (j = 0; j < 2 * CPU_LANES; j++)
			out[j] += *p++;
}

static float *channel(const struct tensor *t, size_t c)
{
	return (float *)t->data + c;
}

/* y = x scale + offset; forward and backward must get the same numbers. */
static void affine(const struct norm *n, size_t c, float *scale, float *offset)
{
	const struct op_args *a = &n->op->a;
	unsigned int l;

	for (l = 0; l < n->l->lanes; l++) {
		scale[l] = *channel(a->gamma, c + l) * *channel(a->rstd, c + l);
		offset[l] = *channel(a->beta, c + l) - *channel(a->mean, c + l) * scale[l];
	}
}

/* ---- forward ---- */

/* What variances are computed around: a value of the channel itself, against cancellation. */
static void shifts(const struct norm *n, const struct unit *u, float *shift)
{
	size_t at = cpu_layout__plane(n->l, 0, u->block);

	if (n->bf16)
		n->simd->from_bf16(cpu_at(n->op->a.x, at), shift, n->l->lanes);
	else
		memcpy(shift, cpu_at(n->op->a.x, at), n->l->lanes * sizeof(*shift));
}

static void fwd_sums(const struct norm *n, const struct unit *u)
{
	float shift[CPU_LANES];

	shifts(n, u, shift);
	n->simd->sums(&u->plane, cpu_at(n->op->a.x, u->at), shift, u->sums, u->sums + CPU_LANES);
}

static void statistics(const struct norm *n, const struct unit *u)
{
	const struct op_args *a = &n->op->a;
	double sums[2 * CPU_LANES], mean, var, unbiased;
	size_t c = u->block * n->l->lanes;
	float shift[CPU_LANES];
	unsigned int l;

	shifts(n, u, shift);
	total(n, u, sums);
	unbiased = n->count > 1 ? n->count / (n->count - 1) : 1;
	for (l = 0; l < n->l->lanes; l++, c++) {
		mean = sums[l] / n->count;
		var = fmax(sums[CPU_LANES + l] / n->count - mean * mean, 0);
		mean += shift[l];
		*channel(a->mean, c) = mean;
		*channel(a->rstd, c) = 1 / sqrt(var + a->eps);
		*channel(a->running_mean, c) += a->momentum * (mean - *channel(a->running_mean, c));
		*channel(a->running_var, c) +=
			a->momentum * (var * unbiased - *channel(a->running_var, c));
	}
}

static void fwd_apply(const struct norm *n, const struct unit *u)
{
	const struct op_args *a = &n->op->a;
	float scale[CPU_LANES], offset[CPU_LANES];

	affine(n, u->block * n->l->lanes, scale, offset);
	n->simd->norm(&u->plane, cpu_at(a->x, u->at), cpu_at(a->residual, u->at),
		      cpu_at(a->y, u->at), scale, offset, a->relu);
}

/* ---- backward ---- */

static void bwd_fill(const struct norm *n, const struct unit *u, struct cpu_norm_bwd *b)
{
	const struct op_args *a = &n->op->a;
	size_t c = u->block * n->l->lanes;

	memset(b, 0, sizeof(*b));
	b->x = cpu_at(a->x, u->at);
	b->y = cpu_at(a->y, u->at);
	b->dy = cpu_at(a->dy, u->at);
	b->dy2 = cpu_at(a->dy2, u->at);
	b->g = cpu_at(a->dresidual, u->at);
	b->dx = cpu_at(a->dx, u->at);
	b->relu = a->relu;
	affine(n, c, b->scale, b->offset);
	memcpy(b->mean, channel(a->mean, c), n->l->lanes * sizeof(float));
	memcpy(b->rstd, channel(a->rstd, c), n->l->lanes * sizeof(float));
}

static void bwd_sums(const struct norm *n, const struct unit *u)
{
	struct cpu_norm_bwd b;

	bwd_fill(n, u, &b);
	n->simd->norm_bwd_sums(&u->plane, &b);
	memcpy(u->sums, b.sum_g, sizeof(b.sum_g));
	memcpy(u->sums + CPU_LANES, b.sum_gx, sizeof(b.sum_gx));
}

static void bwd_gradients(const struct norm *n, const struct unit *u)
{
	double sums[2 * CPU_LANES];
	size_t c = u->block * n->l->lanes;
	unsigned int l;

	total(n, u, sums);
	for (l = 0; l < n->l->lanes; l++, c++) {
		*channel(n->op->a.dbeta, c) = sums[l];
		*channel(n->op->a.dgamma, c) = sums[CPU_LANES + l];
	}
}

static void bwd_apply(const struct norm *n, const struct unit *u)
{
	double sums[2 * CPU_LANES], mean_gx;
	struct cpu_norm_bwd b;
	unsigned int l;

	bwd_fill(n, u, &b);
	total(n, u, sums);
	for (l = 0; l < n->l->lanes; l++) {
		mean_gx = sums[CPU_LANES + l] / n->count;
		b.kg[l] = b.scale[l];
		b.kx[l] = -b.kg[l] * b.rstd[l] * mean_gx;
		b.k1[l] = -b.kg[l] * sums[l] / n->count + b.kg[l] * b.rstd[l] * mean_gx * b.mean[l];
	}
	n->simd->norm_bwd_dx(&u->plane, &b);
}

/* ---- both ---- */

struct pass {
	void (*sums)(const struct norm *n, const struct unit *u);
	void (*finish)(const struct norm *n, const struct unit *u); /* once for each block */
	void (*apply)(const struct norm *n, const struct unit *u);
	struct norm n;
};

static void share(void *arg, unsigned int thread, unsigned int threads)
{
	const struct pass *p = arg;
	const struct norm *n = &p->n;
	double own[2 * CPU_LANES];
	size_t i, first, last;
	struct unit u;

	cpu_share(n->l->blocks * n->chunks, thread, threads, &first, &last);
	for (i = first; i < last; i++) {
		u = unit(n, i, own);
		memset(u.sums, 0, sizeof(own));
		p->sums(n, &u);
		if (n->chunks > 1)
			continue;
		p->finish(n, &u);
		p->apply(n, &u);
	}
	if (n->chunks == 1)
		return;
	cpu_team__barrier(n->team);
	cpu_share(n->l->blocks, thread, threads, &first, &last);
	for (i = first; i < last; i++) {
		u = (struct unit){.block = i};
		p->finish(n, &u);
	}
	cpu_team__barrier(n->team);
	cpu_share(n->l->blocks * n->chunks, thread, threads, &first, &last);
	for (i = first; i < last; i++) {
		u = unit(n, i, own);
		p->apply(n, &u);
	}
}

static void init(struct norm *n, const struct op *op)
{
	const struct tensor *x = op->a.x;
	size_t threads = cpu_program(op)->team->threads;

	*n = (struct norm){
		.op = op,
		.l = cpu_layout(x),
		.simd = cpu_simd__best(cpu_layout(x)->lanes),
		.team = cpu_program(op)->team,
		.images = x->dims[0],
		.chunks = 1,
		.count = (double)x->dims[0] * x->dims[2] * x->dims[3],
		.bf16 = x->dtype == DTYPE_BF16,
	};
	/* blocks alone divide the work evenly if there are many, or as many for each thread */
	if (n->l->blocks < 4 * threads && n->l->blocks % threads)
		n->chunks = n->images < threads ? n->images : threads;
	n->partial = op->program->scratch;
}

static int run(struct op *op, struct pass *p)
{
	init(&p->n, op);
	cpu_team__run(p->n.team, share, p);
	return 0;
}

static int run_fwd(struct op *op, void *native)
{
	struct pass p = {.sums = fwd_sums, .finish = statistics, .apply = fwd_apply};

	return run(op, &p);
}

static int run_bwd(struct op *op, void *native)
{
	struct pass p = {.sums = bwd_sums, .finish = bwd_gradients, .apply = bwd_apply};

	return run(op, &p);
}

/* @images take the layout of x, @vectors are plain. */
static int plan(struct op *op, struct tensor *const *images, size_t n_images,
		struct tensor *const *vectors, size_t n_vectors)
{
	struct cpu_program *p = cpu_program(op);
	struct norm norm;
	size_t i;
	int err = 0;

	if (!op->a.x->layout || !cpu_layout(op->a.x)->lanes)
		return -ENOTSUP;
	for (i = 0; i < n_images && !err; i++)
		if (images[i])
			err = images[i]->dtype == op->a.x->dtype
				      ? cpu_tensor__as(images[i], op->a.x)
				      : -EINVAL;
	for (i = 0; i < n_vectors && !err; i++)
		err = vectors[i]->dtype == DTYPE_F32 ? cpu_tensor__plain(p, vectors[i]) : -EINVAL;
	if (err)
		return err;
	init(&norm, op);
	if (norm.chunks > 1)
		op->scratch_bytes = norm.l->blocks * norm.chunks * 2 * CPU_LANES * sizeof(double);
	return 0;
}

int cpu_op_norm_fwd(struct op *op)
{
	struct op_args *a = &op->a;
	struct tensor *images[] = {a->y, a->residual};
	struct tensor *vectors[] = {a->gamma, a->beta,	       a->mean,
				    a->rstd,  a->running_mean, a->running_var};

	op->run = run_fwd;
	return plan(op, images, 2, vectors, 6);
}

int cpu_op_norm_bwd(struct op *op)
{
	struct op_args *a = &op->a;
	struct tensor *images[] = {a->y, a->dy, a->dy2, a->dx, a->dresidual};
	struct tensor *vectors[] = {a->gamma, a->beta, a->mean, a->rstd, a->dgamma, a->dbeta};

	if (a->dx == a->dresidual)
		return -EINVAL;
	op->run = run_bwd;
	return plan(op, images, 5, vectors, 6);
}
