// SPDX-License-Identifier: BSD-2-Clause
/* The network as a program of a device: forward, backward, update. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "workloads/models/init.h"
#include "workloads/models/resnet.h"

/* What forward leaves for backward; the gradients of an output come from at most two readers. */
struct activation {
	struct tensor *x;    /* of the normalisation: the convolution's output */
	struct tensor *y;    /* of the unit */
	struct tensor *read; /* what others read: y, or y pooled */
	struct tensor *mean, *rstd;
	struct tensor *grad[2];
};

struct build {
	struct resnet *r;
	struct program *p;
	struct activation act[RESNET_MAX_UNITS];
	struct tensor *input; /* images in the type that is computed with */
	struct tensor *pool_index;
	struct tensor *features, *logits, *d_logits;
};

static struct tensor *make(const struct build *b, const char *name, enum dtype dtype,
			   enum tensor_role role, int n, int64_t d0, int64_t d1, int64_t d2,
			   int64_t d3)
{
	return program__tensor(b->p, name, dtype, role, n, (int64_t[]){d0, d1, d2, d3});
}

/* A parameter; its gradient and momentum come with the operations that use them. */
static struct resnet_param *add_param(struct build *b, const char *of, const char *what, int n,
				      int64_t d0, int64_t d1, int64_t d2)
{
	struct resnet_param *p = &b->r->params[b->r->n_params++];

	snprintf(p->name, sizeof(p->name), "%s.%s", of, what);
	if (n > 1 && b->r->config.dtype != DTYPE_F32)
		p->copy = make(b, p->name, b->r->config.dtype, TENSOR_STATE, n, d0, d1, d2, d2);
	else
		p->w = make(b, p->name, DTYPE_F32, TENSOR_STATE, n, d0, d1, d2, d2);
	return p;
}

static struct tensor *used(const struct resnet_param *p)
{
	return p->copy ? p->copy : p->w;
}

/* Once the operation that computes with the copy has chosen its layout. */
static void add_master(struct build *b, struct resnet_param *p)
{
	if (p->copy)
		p->w = program__like(b->p, p->name, DTYPE_F32, TENSOR_STATE, p->copy);
}

static struct resnet_param *unit_params(const struct build *b, int u)
{
	return &b->r->params[3 * u];
}

/* ---- forward ---- */

static void conv_forward(struct build *b, int i)
{
	const struct resnet_unit *u = &b->r->units[i];
	const struct resnet_config *c = &b->r->config;
	struct activation *a = &b->act[i];
	struct resnet_param *w = unit_params(b, i);

	a->x = make(b, u->conv, c->dtype, TENSOR_TEMP, 4, c->batch, u->channels, u->side, u->side);
	program__add(b->p, OP_conv_fwd,
		     &(struct op_args){.x = u->in < 0 ? b->input : b->act[u->in].read,
				       .w = used(w),
				       .y = a->x,
				       .window = {u->size, u->stride, u->pad}},
		     "%s.fwd", u->conv);
	add_master(b, w);
}

static void norm_forward(struct build *b, int i)
{
	const struct resnet_unit *u = &b->r->units[i];
	const struct resnet_config *c = &b->r->config;
	struct resnet_param *w = unit_params(b, i);
	struct activation *a = &b->act[i];
	struct op_args args = {
		.x = a->x,
		.y = program__like(b->p, u->norm, c->dtype, TENSOR_TEMP, a->x),
		.residual = u->residual < 0 ? NULL : b->act[u->residual].read,
		.gamma = w[1].w,
		.beta = w[2].w,
		.mean = make(b, u->norm, DTYPE_F32, TENSOR_TEMP, 1, u->channels, 0, 0, 0),
		.rstd = make(b, u->norm, DTYPE_F32, TENSOR_TEMP, 1, u->channels, 0, 0, 0),
		.running_mean = b->r->running_mean[i],
		.running_var = b->r->running_var[i],
		.relu = u->relu,
		.eps = c->eps,
		.momentum = c->momentum,
	};

	program__add(b->p, OP_norm_fwd, &args, "%s.fwd", u->norm);
	a->y = a->read = args.y;
	a->mean = args.mean;
	a->rstd = args.rstd;
}

static const struct window pool_window = {RESNET_POOL_SIZE, RESNET_POOL_STRIDE, RESNET_POOL_PAD};

static void pool_forward(struct build *b)
{
	const struct resnet_unit *u = &b->r->units[0];
	const struct resnet_config *c = &b->r->config;
	int side = b->r->units[1].side_in;
	struct activation *a = &b->act[0];

	a->read = make(b, "maxpool", c->dtype, TENSOR_TEMP, 4, c->batch, u->channels, side, side);
	b->pool_index =
		make(b, "maxpool", DTYPE_U8, TENSOR_TEMP, 4, c->batch, u->channels, side, side);
	program__add(b->p, OP_maxpool_fwd,
		     &(struct op_args){.x = a->y,
				       .y = a->read,
				       .index = b->pool_index,
				       .window = pool_window},
		     "maxpool.fwd");
}

static void head_forward(struct build *b)
{
	const struct resnet_config *c = &b->r->config;
	int last = b->r->n_units - 1, channels = b->r->units[last].channels;
	struct resnet_param *w = unit_params(b, b->r->n_units);

	b->features = make(b, "avgpool", c->dtype, TENSOR_TEMP, 2, c->batch, channels, 0, 0);
	b->logits = make(b, "fc", DTYPE_F32, TENSOR_TEMP, 2, c->batch, c->classes, 0, 0);
	b->d_logits = make(b, "fc", DTYPE_F32, TENSOR_TEMP, 2, c->batch, c->classes, 0, 0);
	program__add(b->p, OP_avgpool_fwd,
		     &(struct op_args){.x = b->act[last].read, .y = b->features}, "avgpool.fwd");
	program__add(b->p, OP_gemm,
		     &(struct op_args){.x = b->features,
				       .x2 = used(&w[0]),
				       .y = b->logits,
				       .bias = w[1].w,
				       .trans_x2 = true},
		     "fc.fwd");
	add_master(b, &w[0]);
	program__add(b->p, OP_cross_entropy,
		     &(struct op_args){.x = b->logits,
				       .labels = b->r->labels,
				       .loss = b->r->loss,
				       .dx = b->d_logits},
		     "cross_entropy");
}

/* ---- backward ---- */

/* The parameter's gradient tensor, kept if nobody consumes it at once. */
static struct tensor *gradient(struct build *b, struct resnet_param *w)
{
	w->dw = program__like(b->p, w->name, DTYPE_F32,
			      b->r->config.update ? TENSOR_TEMP : TENSOR_STATE, w->w);
	return w->dw;
}

/* As soon as the gradient is there, and nothing reads the old weights any more. */
static void update(struct build *b, struct resnet_param *w)
{
	if (!b->r->config.update)
		return;
	w->v = program__like(b->p, w->name, DTYPE_F32, TENSOR_STATE, w->w);
	program__add(b->p, OP_sgd,
		     &(struct op_args){.w = w->w,
				       .dw = w->dw,
				       .v = w->v,
				       .copy = w->copy,
				       .sgd = &b->r->config.sgd},
		     "%s.sgd", w->name);
}

static void add_gradient(struct build *b, int unit, struct tensor *grad)
{
	struct activation *a = &b->act[unit];

	a->grad[a->grad[0] ? 1 : 0] = grad;
}

static void head_backward(struct build *b)
{
	struct resnet_param *w = unit_params(b, b->r->n_units);
	int last = b->r->n_units - 1;
	struct tensor *d_features, *dx;

	d_features = program__like(b->p, "avgpool", b->r->config.dtype, TENSOR_TEMP, b->features);
	program__add(b->p, OP_gemm,
		     &(struct op_args){.x = b->d_logits, .x2 = used(&w[0]), .y = d_features},
		     "fc.bwd_data");
	program__add(b->p, OP_gemm,
		     &(struct op_args){.x = b->d_logits,
				       .x2 = b->features,
				       .y = gradient(b, &w[0]),
				       .trans_x = true},
		     "fc.bwd_weights");
	program__add(b->p, OP_bias_bwd,
		     &(struct op_args){.dy = b->d_logits, .dbias = gradient(b, &w[1])},
		     "fc.bwd_bias");
	update(b, &w[0]);
	update(b, &w[1]);
	dx = program__like(b->p, "avgpool", b->r->config.dtype, TENSOR_TEMP, b->act[last].read);
	program__add(b->p, OP_avgpool_bwd, &(struct op_args){.dy = d_features, .dx = dx},
		     "avgpool.bwd");
	add_gradient(b, last, dx);
}

static void pool_backward(struct build *b)
{
	struct activation *a = &b->act[0];
	struct tensor *dx = program__like(b->p, "maxpool", b->r->config.dtype, TENSOR_TEMP, a->y);

	program__add(b->p, OP_maxpool_bwd,
		     &(struct op_args){.dy = a->grad[0],
				       .dy2 = a->grad[1],
				       .index = b->pool_index,
				       .dx = dx,
				       .window = pool_window},
		     "maxpool.bwd");
	a->grad[0] = dx;
	a->grad[1] = NULL;
}

/* Over the gradients that it reads: of the convolution's output in the first, ... */
static void norm_backward(struct build *b, int i)
{
	const struct resnet_unit *u = &b->r->units[i];
	struct resnet_param *w = unit_params(b, i);
	struct activation *a = &b->act[i];
	struct tensor *d_residual = NULL;

	if (u->residual >= 0) {
		/* ... of the residual in the second */
		d_residual = a->grad[1] ? a->grad[1]
					: program__like(b->p, u->norm, b->r->config.dtype,
							TENSOR_TEMP, a->x);
		add_gradient(b, u->residual, d_residual);
	}
	program__add(b->p, OP_norm_bwd,
		     &(struct op_args){.x = a->x,
				       .y = u->relu && u->residual >= 0 ? a->y : NULL,
				       .gamma = w[1].w,
				       .beta = w[2].w,
				       .mean = a->mean,
				       .rstd = a->rstd,
				       .dy = a->grad[0],
				       .dy2 = a->grad[1],
				       .dx = a->grad[0],
				       .dresidual = d_residual,
				       .dgamma = gradient(b, &w[1]),
				       .dbeta = gradient(b, &w[2]),
				       .relu = u->relu},
		     "%s.bwd", u->norm);
	update(b, &w[1]);
	update(b, &w[2]);
}

static void conv_backward(struct build *b, int i)
{
	const struct resnet_unit *u = &b->r->units[i];
	struct tensor *x = u->in < 0 ? b->input : b->act[u->in].read, *dx;
	struct window window = {u->size, u->stride, u->pad};
	struct resnet_param *w = unit_params(b, i);

	if (u->in >= 0) {
		dx = program__like(b->p, u->conv, b->r->config.dtype, TENSOR_TEMP, x);
		program__add(b->p, OP_conv_bwd_data,
			     &(struct op_args){.dy = b->act[i].grad[0],
					       .w = used(w),
					       .dx = dx,
					       .window = window},
			     "%s.bwd_data", u->conv);
		add_gradient(b, u->in, dx);
	}
	program__add(b->p, OP_conv_bwd_weights,
		     &(struct op_args){.x = x,
				       .dy = b->act[i].grad[0],
				       .dw = gradient(b, w),
				       .window = window},
		     "%s.bwd_weights", u->conv);
	update(b, w);
}

/* ---- the whole ---- */

static void add_params(struct build *b)
{
	struct resnet *r = b->r;
	const struct resnet_unit *u = r->units;
	int i;

	for (i = 0; i < r->n_units; i++, u++) {
		add_param(b, u->conv, "weight", 4, u->channels, u->channels_in, u->size);
		add_param(b, u->norm, "weight", 1, u->channels, 0, 0);
		add_param(b, u->norm, "bias", 1, u->channels, 0, 0);
		r->running_mean[i] =
			make(b, u->norm, DTYPE_F32, TENSOR_STATE, 1, u->channels, 0, 0, 0);
		r->running_var[i] =
			make(b, u->norm, DTYPE_F32, TENSOR_STATE, 1, u->channels, 0, 0, 0);
	}
	add_param(b, "fc", "weight", 2, r->config.classes, u[-1].channels, 0);
	add_param(b, "fc", "bias", 1, r->config.classes, 0, 0);
}

static int build(struct resnet *r)
{
	struct build *b = calloc(1, sizeof(*b));
	const struct resnet_config *c = &r->config;
	int i, err;

	if (!b)
		return -ENOMEM;
	b->r = r;
	b->p = r->program;
	r->images = make(b, "images", DTYPE_F32, TENSOR_HOST, 4, c->batch, 3, c->side, c->side);
	r->labels = make(b, "labels", DTYPE_S32, TENSOR_HOST, 1, c->batch, 0, 0, 0);
	r->loss = make(b, "loss", DTYPE_F32, TENSOR_HOST, 1, 1, 0, 0, 0);
	b->input = r->images;
	add_params(b);
	if (c->dtype != DTYPE_F32) {
		b->input = program__like(b->p, "images", c->dtype, TENSOR_TEMP, r->images);
		program__add(b->p, OP_cast, &(struct op_args){.x = r->images, .y = b->input},
			     "images.cast");
	}
	for (i = 0; i < r->n_units; i++) {
		conv_forward(b, i);
		norm_forward(b, i);
		if (i == 0)
			pool_forward(b);
	}
	head_forward(b);
	head_backward(b);
	for (i = r->n_units - 1; i >= 0; i--) {
		if (i == 0)
			pool_backward(b);
		norm_backward(b, i);
		conv_backward(b, i);
	}
	err = program__finish(b->p);
	free(b);
	return err;
}

/* As torchvision: He's normal (fan out), 1 and 0 for normalisations, uniform for fc. */
static int draw(struct resnet *r, uint64_t seed)
{
	const struct resnet_unit *u;
	struct resnet_param *p;
	double bound;
	float *host;
	size_t n;
	int i, err = 0;

	for (i = 0; i < r->n_params && !err; i++) {
		p = &r->params[i];
		u = &r->units[i / 3];
		n = tensor__count(p->w);
		host = calloc(n, sizeof(*host));
		if (!host)
			return -ENOMEM;
		bound = 1 / sqrt(r->units[r->n_units - 1].channels);
		if (i >= 3 * r->n_units)
			init__uniform(host, n, -bound, bound, seed, i);
		else if (i % 3 == 0)
			init__normal(host, n, sqrt(2.0 / (u->size * u->size * u->channels)), seed,
				     i);
		else
			init__constant(host, n, i % 3 == 1);
		err = program__write(r->program, p->w, host);
		if (!err && p->copy)
			err = program__write(r->program, p->copy, host);
		free(host);
	}
	for (i = 0; i < r->n_units && !err; i++) {
		host = calloc(r->units[i].channels, sizeof(*host));
		if (!host)
			return -ENOMEM;
		init__constant(host, r->units[i].channels, 1);
		err = program__write(r->program, r->running_var[i], host);
		free(host);
	}
	return err;
}

/* Each product and sum of each convolution, three times: forward, and two gradients. */
static double count_flops(const struct resnet *r)
{
	const struct resnet_unit *u = r->units;
	double macs = 0, one;
	int i;

	for (i = 0; i < r->n_units; i++, u++) {
		one = (double)u->side * u->side * u->channels * u->channels_in * u->size * u->size;
		macs += one * (u->in < 0 ? 2 : 3);
	}
	macs += 3.0 * u[-1].channels * r->config.classes;
	return 2 * macs * r->config.batch;
}

struct resnet *resnet__new(const struct resnet_config *c, const struct device_ops *ops,
			   struct device *device, struct device_queue *queue, uint64_t seed)
{
	struct resnet *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	if (!r)
		goto out;
	r->config = *c;
	r->ops = ops;
	r->device = device;
	r->queue = queue;
	r->n_units = resnet__units(c, r->units);
	if (r->n_units < 0) {
		err = r->n_units;
		goto out;
	}
	r->params = calloc(3 * r->n_units + 2, sizeof(*r->params));
	r->running_mean = calloc(r->n_units, sizeof(struct tensor *));
	r->running_var = calloc(r->n_units, sizeof(struct tensor *));
	if (!r->params || !r->running_mean || !r->running_var)
		goto out;
	r->program = program__new(ops, device);
	err = r->program ? build(r) : -errno;
	if (!err)
		err = draw(r, seed);
	if (err)
		goto out;
	r->flops = count_flops(r);
	return r;
out:
	if (err == -ENOMEM)
		log_error("cannot make the network: %s", log__err(err));
	resnet__free(r);
	errno = -err;
	return NULL;
}

int resnet__step(struct resnet *r, const float *images, const int32_t *labels, float *loss)
{
	struct device_copy copies[] = {
		{"images", DEVICE_H2D, r->images->data, images, r->images->bytes},
		{"labels", DEVICE_H2D, r->labels->data, labels, r->config.batch * sizeof(int32_t)},
		{"loss", DEVICE_D2H, loss, r->loss->data, sizeof(*loss)},
	};
	int err;

	err = r->ops->copy(r->queue, &copies[0]);
	if (!err)
		err = r->ops->copy(r->queue, &copies[1]);
	if (!err)
		err = program__launch(r->program, r->queue, 0, r->program->n_ops);
	return err ? err : r->ops->copy(r->queue, &copies[2]);
}

void resnet__free(struct resnet *r)
{
	if (!r)
		return;
	program__free(r->program);
	free(r->params);
	free(r->running_mean);
	free(r->running_var);
	free(r);
}
