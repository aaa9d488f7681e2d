// SPDX-License-Identifier: BSD-2-Clause
/*
 * Differences are taken in double on the reference, where a step of 1e-6 leaves eight digits; in
 * the device's f32 a step would drown in rounding or in the curvature of 53 normalisations.
 *
 * The network is not smooth: a step may move an input of a relu across 0, or make another
 * element a window's maximum. Then the differences to both sides disagree; the step is made
 * smaller, and if they still disagree the direction is counted as skipped, not as passed.
 */
#include "workloads/models/resnet_verify.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "workloads/data/rng.h"
#include "workloads/models/init.h"

#define STEP	 1e-6
#define STEP_MIN 1e-8
#define KINK	 1e-3 /* of the derivative: what both sides may differ by */
#define SHIFT	 3.0
#define OFF	 0.25 /* share of channels */
#define SKIPS	 8    /* directions that may be skipped in all */

const struct resnet_errors resnet_tolerance_f32 = {1e-5, 2e-4, 2e-4};
const struct resnet_errors resnet_tolerance_bf16 = {2e-2, 0.6, 0.6};

struct verify {
	struct resnet *r;
	struct resnet_reference *f;
	float *images;
	int32_t *labels;
	float *host; /* a parameter's gradient from the device */
	double *device, *direction, *kept;
	struct resnet_check *check;
	bool differences;
};

static size_t largest(const struct resnet *r)
{
	size_t most = 1, n;
	int i;

	for (i = 0; i < r->n_params; i++) {
		n = tensor__count(r->params[i].w);
		most = n > most ? n : most;
	}
	return most;
}

/*
 * Scales and shifts of normalisations away from 1 and 0, which would hide errors; and shifts of
 * about 3 deviations, so that few inputs of a relu are near 0, where rounding alone changes a
 * gradient: some channels are on for nearly all pixels, the others off.
 */
static int shift_norms(struct resnet *r, uint64_t seed)
{
	struct rng rng = rng__of(seed, 1, 0);
	int i, j, n, err = 0;
	float *values;

	for (i = 0; i < 3 * r->n_units && !err; i++) {
		if (i % 3 == 0)
			continue;
		n = r->units[i / 3].channels;
		values = calloc(n, sizeof(*values));
		if (!values)
			return -ENOMEM;
		for (j = 0; j < n; j++) {
			values[j] = rng__uniform(&rng, 0.8, 1.2);
			if (i % 3 == 2)
				values[j] *= rng__f64(&rng) < OFF ? -SHIFT : SHIFT;
		}
		err = program__write(r->program, r->params[i].w, values);
		free(values);
	}
	return err;
}

static int run_device(struct verify *v, uint64_t seed)
{
	struct resnet *r = v->r;
	size_t i, n = tensor__count(r->images);
	float loss = 0;
	double reference;
	int err;

	init__normal(v->images, n, 1, seed, 1 << 20);
	for (i = 0; i < (size_t)r->config.batch; i++)
		v->labels[i] = (i * 7919 + seed) % r->config.classes;
	err = resnet__step(r, v->images, v->labels, &loss);
	if (!err)
		err = r->ops->sync(r->device, r->queue);
	if (err)
		return err;
	reference = resnet_reference__forward(v->f, v->images, v->labels, 0);
	resnet_reference__backward(v->f);
	v->check->seen.loss = fabs(loss - reference) / reference;
	return 0;
}

static double norm(const double *x, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sqrt(sum);
}

/* The loss with the parameter moved by @step along the direction; @unit is the first it changes. */
static double loss_at(struct verify *v, int param, int unit, size_t n, double step)
{
	double *w = resnet_reference__param(v->f, param);
	size_t i;

	for (i = 0; i < n; i++)
		w[i] = v->kept[i] + step * v->direction[i];
	return resnet_reference__forward(v->f, v->images, v->labels, unit);
}

/*
 * The derivative along the direction by central differences, NaN if a kink is in the way. Leaves
 * activations from @unit on moved.
 */
static double difference(struct verify *v, int param, int unit, size_t n, double scale)
{
	double *w = resnet_reference__param(v->f, param);
	double step = STEP, up, down, here, found = NAN;

	memcpy(v->kept, w, n * sizeof(*w));
	here = loss_at(v, param, unit, n, 0);
	while (step >= STEP_MIN && isnan(found)) {
		up = loss_at(v, param, unit, n, step);
		down = loss_at(v, param, unit, n, -step);
		if (fabs(up - 2 * here + down) <= KINK * scale * step)
			found = (up - down) / (2 * step);
		step /= 10;
	}
	memcpy(w, v->kept, n * sizeof(*w));
	return found;
}

/*
 * Half the gradient's own direction, in which errors of scale and sign show, and half a random
 * one, in which any other does.
 */
static void choose_direction(struct verify *v, int param, size_t n)
{
	double length = norm(v->device, n), random;
	size_t i;

	init__normal(v->host, n, 1, 1, param);
	for (i = 0; i < n; i++)
		v->direction[i] = v->host[i];
	random = norm(v->direction, n);
	for (i = 0; i < n; i++)
		v->direction[i] =
			v->direction[i] / random + (length > 0 ? v->device[i] / length : 0);
}

/*
 * What errors are measured by: the length of the gradient. For a normalisation that of scales and
 * shifts together, as a shift may have none: the next normalisation takes it out again.
 */
static double scale_of(const struct verify *v, int param)
{
	int i = param, last = param;
	double sum = 0, one;

	if (param < 3 * v->r->n_units && param % 3) {
		i = param / 3 * 3 + 1;
		last = i + 1;
	}
	for (; i <= last; i++) {
		one = norm(resnet_reference__gradient(v->f, i), tensor__count(v->r->params[i].w));
		sum += one * one;
	}
	return sqrt(sum);
}

static void note_worst(double error, const char *name, double *worst, const char **of)
{
	if (error <= *worst)
		return;
	*worst = error;
	*of = name;
}

static int check_param(struct verify *v, int param)
{
	const double *reference = resnet_reference__gradient(v->f, param);
	const struct resnet_param *p = &v->r->params[param];
	double scale = scale_of(v, param), diff = 0, along = 0, found;
	size_t i, n = tensor__count(p->w);
	int err;

	err = program__read(v->r->program, p->dw, v->host);
	if (err)
		return err;
	resnet_reference__order(v->f, param, v->host, v->device);
	for (i = 0; i < n; i++)
		diff += (v->device[i] - reference[i]) * (v->device[i] - reference[i]);
	if (!(scale > 0) || !isfinite(diff)) {
		log_error("the gradient of '%s' is 0 or not a number", p->name);
		return -EBADMSG;
	}
	note_worst(sqrt(diff) / scale, p->name, &v->check->seen.gradient, &v->check->gradient_of);
	if (!v->differences)
		return 0;
	choose_direction(v, param, n);
	for (i = 0; i < n; i++)
		along += v->device[i] * v->direction[i];
	found = difference(v, param, param / 3, n, scale);
	if (isnan(found))
		v->check->skipped++;
	else
		note_worst(fabs(found - along) / scale, p->name, &v->check->seen.differences,
			   &v->check->differences_of);
	return 0;
}

static int judge(const struct resnet_check *c, const struct resnet_errors *t)
{
	if (!(c->seen.loss <= t->loss))
		log_error("the loss is off by %g of itself (at most %g)", c->seen.loss, t->loss);
	else if (!(c->seen.gradient <= t->gradient))
		log_error("the gradient of '%s' is off by %g of its length (at most %g)",
			  c->gradient_of, c->seen.gradient, t->gradient);
	else if (!(c->seen.differences <= t->differences))
		log_error("the gradient of '%s' is off finite differences by %g (at most %g)",
			  c->differences_of, c->seen.differences, t->differences);
	else if (c->skipped > SKIPS)
		log_error("%d directions could not be checked (at most %d)", c->skipped, SKIPS);
	else
		return 0;
	return -EBADMSG;
}

static int verify(struct verify *v, uint64_t seed)
{
	size_t most = largest(v->r);
	int i, err;

	v->images = calloc(tensor__count(v->r->images), sizeof(*v->images));
	v->labels = calloc(v->r->config.batch, sizeof(*v->labels));
	v->host = calloc(most, sizeof(*v->host));
	v->device = calloc(most, sizeof(*v->device));
	v->direction = calloc(most, sizeof(*v->direction));
	v->kept = calloc(most, sizeof(*v->kept));
	if (!v->images || !v->labels || !v->host || !v->device || !v->direction || !v->kept) {
		log_error("cannot verify: %s", log__err(ENOMEM));
		return -ENOMEM;
	}
	err = run_device(v, seed);
	/* from the last to the first: what a difference moved is computed again by the next */
	for (i = v->r->n_params - 1; i >= 0 && !err; i--)
		err = check_param(v, i);
	return err;
}

int resnet__verify(const struct resnet_config *c, const struct device_ops *ops,
		   struct device *device, struct device_queue *queue, uint64_t seed,
		   const struct resnet_errors *tolerance, bool differences,
		   struct resnet_check *check)
{
	struct resnet_config config = *c;
	struct verify v = {.check = check, .differences = differences};
	int err;

	memset(check, 0, sizeof(*check));
	config.update = false;
	v.r = resnet__new(&config, ops, device, queue, seed);
	if (!v.r)
		return -errno;
	err = shift_norms(v.r, seed);
	if (err)
		goto out;
	v.f = resnet_reference__new(v.r);
	if (!v.f) {
		err = -errno;
		goto out;
	}
	err = verify(&v, seed);
	if (!err)
		err = judge(check, tolerance);
out:
	free(v.images);
	free(v.labels);
	free(v.host);
	free(v.device);
	free(v.direction);
	free(v.kept);
	resnet_reference__free(v.f);
	resnet__free(v.r);
	return err;
}
