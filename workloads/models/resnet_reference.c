// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "workloads/models/reference.h"
#include "workloads/models/resnet.h"

struct ref_unit {
	struct ref_conv conv;
	size_t rows;   /* n * h * w of the output */
	double *x, *y; /* the convolution's output, the unit's */
	double *mean, *var;
	double *dy; /* of the unit's output (of unit 0: before the pool) */
};

struct ref_param {
	size_t n;
	double *w, *dw, *v;
};

struct resnet_reference {
	const struct resnet *r;
	struct ref_unit *units;
	struct ref_param *params;
	struct ref_conv pool;
	double *images, *pooled, *d_pooled;
	int *pool_index;
	int32_t *labels;
	double *features, *d_features, *logits, *d_logits;
	double *g, *dx; /* working room of the largest unit */
	void **all;	/* what to free */
	size_t n_all;
	bool failed;
};

static void *room(struct resnet_reference *f, size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size), **all;

	all = p ? reallocarray(f->all, f->n_all + 1, sizeof(*all)) : NULL;
	if (!all) {
		free(p);
		f->failed = true;
		return NULL;
	}
	f->all = all;
	f->all[f->n_all++] = p;
	return p;
}

static double *reals(struct resnet_reference *f, size_t n)
{
	return room(f, n, sizeof(double));
}

static void init_unit(struct resnet_reference *f, int i)
{
	const struct resnet_unit *u = &f->r->units[i];
	struct ref_unit *k = &f->units[i];

	k->conv = (struct ref_conv){
		.n = f->r->config.batch,
		.h = u->side_in,
		.w = u->side_in,
		.in = u->channels_in,
		.out = u->channels,
		.size = u->size,
		.stride = u->stride,
		.pad = u->pad,
	};
	ref_conv__init(&k->conv);
	k->rows = (size_t)k->conv.n * k->conv.oh * k->conv.ow;
	k->x = reals(f, ref_conv__y(&k->conv));
	k->y = reals(f, ref_conv__y(&k->conv));
	k->dy = reals(f, ref_conv__y(&k->conv));
	k->mean = reals(f, u->channels);
	k->var = reals(f, u->channels);
}

static void init_rest(struct resnet_reference *f)
{
	const struct resnet_config *c = &f->r->config;
	const struct resnet_unit *u = f->r->units;
	size_t features = (size_t)c->batch * u[f->r->n_units - 1].channels;
	size_t pooled = (size_t)c->batch * u[1].side_in * u[1].side_in * u[0].channels;
	size_t most = 0, n;
	int i;

	for (i = 0; i < f->r->n_units; i++) {
		n = ref_conv__y(&f->units[i].conv);
		most = n > most ? n : most;
		n = ref_conv__x(&f->units[i].conv);
		most = n > most ? n : most;
	}
	f->g = reals(f, most);
	f->dx = reals(f, most);
	f->pool = (struct ref_conv){
		.n = c->batch,
		.h = u[0].side,
		.w = u[0].side,
		.size = RESNET_POOL_SIZE,
		.stride = RESNET_POOL_STRIDE,
		.pad = RESNET_POOL_PAD,
	};
	ref_conv__init(&f->pool);
	f->images = reals(f, ref_conv__x(&f->units[0].conv));
	f->pooled = reals(f, pooled);
	f->d_pooled = reals(f, pooled);
	f->pool_index = room(f, pooled, sizeof(int));
	f->labels = room(f, c->batch, sizeof(int32_t));
	f->features = reals(f, features);
	f->d_features = reals(f, features);
	f->logits = reals(f, (size_t)c->batch * c->classes);
	f->d_logits = reals(f, (size_t)c->batch * c->classes);
}

void resnet_reference__order(const struct resnet_reference *f, int i, const float *from, double *to)
{
	size_t j;

	if (i < 3 * f->r->n_units && i % 3 == 0) {
		ref_weights__from(&f->units[i / 3].conv, from, to);
		return;
	}
	for (j = 0; j < f->params[i].n; j++)
		to[j] = from[j];
}

static int init_param(struct resnet_reference *f, int i)
{
	struct resnet *r = (struct resnet *)f->r;
	struct ref_param *p = &f->params[i];
	float *host;
	int err;

	p->n = tensor__count(r->params[i].w);
	p->w = reals(f, p->n);
	p->dw = reals(f, p->n);
	p->v = reals(f, p->n);
	host = calloc(p->n, sizeof(*host));
	if (f->failed || !host) {
		free(host);
		return -ENOMEM;
	}
	err = program__read(r->program, r->params[i].w, host);
	if (!err)
		resnet_reference__order(f, i, host, p->w);
	free(host);
	return err;
}

struct resnet_reference *resnet_reference__new(struct resnet *r)
{
	struct resnet_reference *f = calloc(1, sizeof(*f));
	int i, err = f ? 0 : -ENOMEM;

	if (f) {
		f->r = r;
		f->units = room(f, r->n_units, sizeof(*f->units));
		f->params = room(f, r->n_params, sizeof(*f->params));
		for (i = 0; i < r->n_units && !f->failed; i++)
			init_unit(f, i);
		if (!f->failed)
			init_rest(f);
		err = f->failed ? -ENOMEM : 0;
		for (i = 0; i < r->n_params && !err; i++)
			err = init_param(f, i);
	}
	if (!err)
		return f;
	log_error("cannot make the reference network: %s", log__err(err));
	resnet_reference__free(f);
	errno = -err;
	return NULL;
}

double *resnet_reference__param(struct resnet_reference *f, int i)
{
	return f->params[i].w;
}

const double *resnet_reference__gradient(const struct resnet_reference *f, int i)
{
	return f->params[i].dw;
}

/* What readers of unit @i's output read. */
static double *output(struct resnet_reference *f, int i)
{
	if (i < 0)
		return f->images;
	return i == 0 ? f->pooled : f->units[i].y;
}

static double *d_output(struct resnet_reference *f, int i)
{
	return i == 0 ? f->d_pooled : f->units[i].dy;
}

double resnet_reference__forward(struct resnet_reference *f, const float *images,
				 const int32_t *labels, int from)
{
	const struct resnet_config *c = &f->r->config;
	int i, n = f->r->n_units;
	const struct resnet_unit *u = f->r->units;
	const struct ref_unit *last = &f->units[n - 1];
	struct ref_param *p;

	if (from == 0) {
		ref_image__from(c->batch, 3, c->side, c->side, images, f->images);
		memcpy(f->labels, labels, c->batch * sizeof(*labels));
	}
	for (i = from; i < n; i++) {
		p = &f->params[3 * i];
		ref_conv__fwd(&f->units[i].conv, output(f, u[i].in), p[0].w, f->units[i].x);
		ref_norm__fwd(f->units[i].rows, u[i].channels, f->units[i].x,
			      u[i].residual < 0 ? NULL : output(f, u[i].residual), u[i].relu,
			      p[1].w, p[2].w, c->eps, f->units[i].mean, f->units[i].var,
			      f->units[i].y);
		if (i == 0)
			ref_maxpool__fwd(&f->pool, u[0].channels, f->units[0].y, f->pooled,
					 f->pool_index);
	}
	p = &f->params[3 * n];
	ref_avgpool__fwd(c->batch, last->conv.oh * last->conv.ow, u[n - 1].channels, last->y,
			 f->features);
	ref_linear__fwd(c->batch, u[n - 1].channels, c->classes, f->features, p[0].w, p[1].w,
			f->logits);
	return ref_cross_entropy(c->batch, c->classes, f->logits, f->labels, f->d_logits);
}

static void add(double *to, const double *x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] += x[i];
}

static void backward_unit(struct resnet_reference *f, int i)
{
	const struct resnet_unit *u = &f->r->units[i];
	struct ref_param *p = &f->params[3 * i];
	struct ref_unit *k = &f->units[i];
	size_t size = ref_conv__y(&k->conv);
	double *dx = f->dx;

	if (i == 0) {
		ref_maxpool__bwd(&f->pool, u->channels, f->pool_index, f->d_pooled, k->dy);
	}
	ref_norm__bwd(k->rows, u->channels, k->x, k->y, u->relu, p[1].w, f->r->config.eps, k->mean,
		      k->var, k->dy, f->g, dx, p[1].dw, p[2].dw);
	if (u->residual >= 0)
		add(d_output(f, u->residual), f->g, size);
	ref_conv__bwd_weights(&k->conv, output(f, u->in), dx, p[0].dw);
	if (u->in < 0)
		return;
	ref_conv__bwd_data(&k->conv, dx, p[0].w, f->g);
	size = ref_conv__x(&k->conv);
	add(d_output(f, u->in), f->g, size);
}

void resnet_reference__backward(struct resnet_reference *f)
{
	const struct resnet_config *c = &f->r->config;
	int i, n = f->r->n_units;
	struct ref_unit *last = &f->units[n - 1];
	struct ref_param *p = &f->params[3 * n];

	for (i = 0; i < n; i++)
		memset(f->units[i].dy, 0, ref_conv__y(&f->units[i].conv) * sizeof(double));
	memset(f->d_pooled, 0,
	       (size_t)c->batch * f->pool.oh * f->pool.ow * f->r->units[0].channels *
		       sizeof(double));
	ref_linear__bwd(c->batch, f->r->units[n - 1].channels, c->classes, f->features, p[0].w,
			f->d_logits, f->d_features, p[0].dw, p[1].dw);
	ref_avgpool__bwd(c->batch, last->conv.oh * last->conv.ow, f->r->units[n - 1].channels,
			 f->d_features, last->dy);
	for (i = n - 1; i >= 0; i--)
		backward_unit(f, i);
}

void resnet_reference__update(struct resnet_reference *f)
{
	const struct sgd_params *s = &f->r->config.sgd;
	int i;

	for (i = 0; i < f->r->n_params; i++)
		ref_sgd(f->params[i].n, f->params[i].w, f->params[i].dw, f->params[i].v, s->lr,
			s->momentum, s->weight_decay);
}

void resnet_reference__free(struct resnet_reference *f)
{
	if (!f)
		return;
	while (f->n_all)
		free(f->all[--f->n_all]);
	free(f->all);
	free(f);
}
