// SPDX-License-Identifier: BSD-2-Clause
/*
 * ResNet-50 trained on JPEG files, as Milabench's resnet50.
 *
 * A step: copy the batch to the device, forward, backward, update, copy the loss back. While the
 * device computes, the host takes the next batch from the loader; the first is taken before the
 * first step. So a step's time includes what the loader was late, as in Milabench.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "workloads/data/fakeimagenet.h"
#include "workloads/data/loader.h"
#include "workloads/models/resnet_verify.h"
#include "workloads/suite/workload.h"

static const char *const precisions[] = {"fp32", "bf16", NULL};

struct resnet50_opts {
	uint64_t batch, side, images, workers, prefetch;
	int precision, kind;
	double lr, momentum, weight_decay;
	const char *data;
};

static const struct opt opts[] = {
	{.name = "batch-size",
	 .type = OPT_U64,
	 .arg = "IMAGES",
	 .help = "images in a step",
	 .more = "By size: 4, 16, 256.",
	 OPT_OFFSET(resnet50_opts, batch)},
	{.name = "image-size",
	 .type = OPT_U64,
	 .arg = "PIXELS",
	 .help = "side of the images that are trained on",
	 .more = "By size: 32, 64, 224. At least 32.",
	 OPT_OFFSET(resnet50_opts, side)},
	{.name = "precision",
	 .type = OPT_CHOICE,
	 .arg = "TYPE",
	 .help = "type of weights and activations",
	 .more = "bf16 keeps a master copy of the weights in fp32. Where the processor has no "
		 "arithmetic for it, numbers are stored as bf16 and computed with in fp32.",
	 .choices = precisions,
	 .def = "fp32",
	 OPT_OFFSET(resnet50_opts, precision)},
	{.name = "lr",
	 .type = OPT_F64,
	 .arg = "RATE",
	 .help = "learning rate",
	 .more = "By size: 0.001, 0.001, 0.1. The first two let the loss fall in a run that is too "
		 "short for a warm-up.",
	 OPT_OFFSET(resnet50_opts, lr)},
	{.name = "momentum",
	 .type = OPT_F64,
	 .arg = "FACTOR",
	 .help = "momentum of the optimizer",
	 .def = "0.9",
	 OPT_OFFSET(resnet50_opts, momentum)},
	{.name = "weight-decay",
	 .type = OPT_F64,
	 .arg = "FACTOR",
	 .help = "weight decay of the optimizer",
	 .def = "1e-4",
	 OPT_OFFSET(resnet50_opts, weight_decay)},
	{.name = "data",
	 .type = OPT_STR,
	 .arg = "DIR",
	 .help = "train on this folder",
	 .more = "It has one subfolder of JPEG files for each class, at most 1000. By default "
		 "images are made: see --images.",
	 .complete = OPT_COMPLETE_DIR,
	 OPT_OFFSET(resnet50_opts, data)},
	{.name = "images",
	 .type = OPT_U64,
	 .arg = "COUNT",
	 .help = "how many different images are made to train on",
	 .more = "They are kept and found again. By size: 32, 32, 30720. Few, so that a short "
		 "run sees each often enough to learn something.",
	 OPT_OFFSET(resnet50_opts, images)},
	{.name = "workers",
	 .type = OPT_U64,
	 .arg = "COUNT",
	 .help = "workers that load images",
	 .more = "With 0 the thread that trains does it between steps. Milabench has 8.",
	 .def = "2",
	 OPT_OFFSET(resnet50_opts, workers)},
	{.name = "kind",
	 .type = OPT_CHOICE,
	 .arg = "KIND",
	 .help = "what workers are",
	 .choices = loader_kinds,
	 .def = "threads",
	 OPT_OFFSET(resnet50_opts, kind)},
	{.name = "prefetch",
	 .type = OPT_U64,
	 .arg = "BATCHES",
	 .help = "batches that are loaded ahead",
	 .def = "2",
	 OPT_OFFSET(resnet50_opts, prefetch)},
	{0},
};

struct resnet50 {
	const struct device_ops *ops;
	struct device *device;
	struct device_queue *queue;
	struct resnet *net;
	struct loader *loader;
	struct loader_batch batch; /* of the next step */
	bool has_batch;
	uint64_t seed;
	float loss;
};

static void settle(void *values, enum workload_size size)
{
	static const uint64_t batches[] = {4, 16, 256}, sides[] = {32, 64, 224};
	static const uint64_t images[] = {32, 32, FAKEIMAGENET_FULL};
	static const double rates[] = {0.001, 0.001, 0.1};
	struct resnet50_opts *o = values;

	o->batch = o->batch ? o->batch : batches[size];
	o->side = o->side ? o->side : sides[size];
	o->images = o->images ? o->images : images[size];
	if (o->images < o->batch && !o->data)
		o->images = o->batch;
	o->lr = o->lr > 0 ? o->lr : rates[size];
}

static int check(const struct resnet50_opts *o)
{
	if (o->side < 32 || o->side > 4096)
		log_error("resnet50: image size %lu is not in 32..4096", (unsigned long)o->side);
	else if (o->batch < 2 || o->batch > 65536)
		log_error("resnet50: batch size %lu is not in 2..65536 (normalisation needs two)",
			  (unsigned long)o->batch);
	else if (o->workers > 1024 || o->prefetch < 1 || o->prefetch > 1024)
		log_error("resnet50: at most 1024 workers, and 1 to 1024 batches of prefetch");
	else
		return 0;
	return -EINVAL;
}

static int open_loader(struct resnet50 *s, const struct resnet50_opts *o,
		       const struct workload_ctx *ctx)
{
	struct loader_opts l = {
		.dir = o->data,
		.batch = o->batch,
		.side = o->side,
		.workers = o->workers,
		.kind = o->kind,
		.prefetch = o->prefetch,
		.shuffle = true,
		.drop_last = true,
		.layout = LOADER_NCHW,
		.seed = ctx->seed,
	};
	struct loader_stats stats;
	char made[PATH_MAX];
	int err;

	if (!o->data) {
		err = fakeimagenet__ensure(ctx->data_dir, o->images, ctx->progress, made,
					   sizeof(made));
		if (err)
			return err;
		l.dir = made;
	}
	s->loader = loader__new(&l);
	if (!s->loader)
		return -errno;
	loader__stats(s->loader, &stats);
	if (loader__batches(s->loader) == 0) {
		log_error("'%s' has %lu images, fewer than a batch of %u", l.dir,
			  (unsigned long)stats.files, l.batch);
		return -EINVAL;
	}
	if (stats.labels > (uint64_t)resnet50_config.classes) {
		log_error(
			"'%s' has %lu classes, more than %d (each subfolder counts, but for empty "
			"ones at the end)",
			l.dir, (unsigned long)stats.labels, resnet50_config.classes);
		return -EINVAL;
	}
	return 0;
}

static int next_batch(struct resnet50 *s)
{
	int ret = loader__next(s->loader, &s->batch);

	s->has_batch = ret > 0;
	return ret < 0 ? ret : ret == 0 ? -ENODATA : 0; /* epochs have no end */
}

static int build(struct resnet50 *s, const struct resnet50_opts *o, const struct workload_ctx *ctx)
{
	struct resnet_config c = resnet50_config;
	struct device_info info;
	int err;

	ctx->ops->info(ctx->device, &info);
	c.batch = o->batch;
	c.side = o->side;
	c.sgd = (struct sgd_params){.lr = o->lr,
				    .momentum = o->momentum,
				    .weight_decay = o->weight_decay};
	if (o->precision == 1) {
		c.dtype = DTYPE_BF16;
		if (!info.bf16)
			log_info("resnet50: device '%s' has no bf16 arithmetic: emulated (stored "
				 "as bf16, computed in fp32)",
				 ctx->ops->name);
	}
	err = ctx->progress("building ResNet-50 for %d images of %d x %d", c.batch, c.side, c.side);
	if (err)
		return err;
	s->net = resnet__new(&c, s->ops, s->device, s->queue, ctx->seed);
	return s->net ? 0 : -errno;
}

static int setup(void **state, const struct workload_ctx *ctx)
{
	struct resnet50_opts o = *(const struct resnet50_opts *)ctx->opts;
	struct resnet50 *s;
	int err;

	settle(&o, ctx->size);
	err = check(&o);
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*state = s;
	s->ops = ctx->ops;
	s->device = ctx->device;
	s->seed = ctx->seed;
	/* first: worker processes are forked before the device has threads */
	err = open_loader(s, &o, ctx);
	if (err)
		return err;
	s->queue = s->ops->queue(s->device, "resnet50");
	if (!s->queue)
		return -errno;
	err = build(s, &o, ctx);
	return err ? err : next_batch(s);
}

static int step(void *state, struct workload_step *out)
{
	struct resnet50 *s = state;
	struct loader_batch now = s->batch;
	int err, failed;

	err = resnet__step(s->net, now.images, now.labels, &s->loss);
	s->has_batch = false;
	if (!err)
		err = next_batch(s);
	failed = s->ops->sync(s->device, s->queue);
	loader__release(s->loader, &now);
	out->items = now.n;
	out->flops = s->net->flops;
	out->bytes = s->net->images->bytes + now.n * sizeof(now.labels[0]) + sizeof(s->loss);
	out->loss = s->loss;
	out->has_loss = true;
	return err ? err : failed;
}

/*
 * All layers at once at the real width against the reference; and a narrower network of the same
 * layers against finite differences, of which each costs two forward passes in double.
 */
static int verify(void *state)
{
	struct resnet50 *s = state;
	struct resnet_config c = resnet50_config;
	bool f32 = s->net->config.dtype == DTYPE_F32;
	const struct resnet_errors *t = f32 ? &resnet_tolerance_f32 : &resnet_tolerance_bf16;
	struct resnet_check whole, narrow;
	int err;

	c.dtype = s->net->config.dtype;
	c.batch = 8;
	c.side = 32;
	err = resnet__verify(&c, s->ops, s->device, s->queue, s->seed, t, false, &whole);
	if (err)
		return err;
	c.width = 8;
	c.classes = 10;
	err = resnet__verify(&c, s->ops, s->device, s->queue, s->seed, t, f32, &narrow);
	if (!err && f32)
		log_info("resnet50: gradients of all %d parameters within %.1e of a reference in "
			 "double and %.1e of finite differences",
			 s->net->n_params, fmax(whole.seen.gradient, narrow.seen.gradient),
			 narrow.seen.differences);
	else if (!err)
		log_info("resnet50: gradients of all %d parameters within %.2f of a reference in "
			 "double",
			 s->net->n_params, fmax(whole.seen.gradient, narrow.seen.gradient));
	return err;
}

static void teardown(void *state)
{
	struct resnet50 *s = state;

	if (!s)
		return;
	if (s->queue)
		s->ops->sync(s->device, s->queue);
	if (s->has_batch)
		loader__release(s->loader, &s->batch);
	loader__free(s->loader);
	resnet__free(s->net);
	free(s);
}

const struct workload workload_resnet50 = {
	.name = "resnet50",
	.summary = "ResNet-50 trained on JPEG files",
	.unit = "items/s",
	.group = "vision",
	.weight = 1,
	.opts = opts,
	.opts_size = sizeof(struct resnet50_opts),
	.stop = {5, 60, 60},
	.settle = settle,
	.setup = setup,
	.step = step,
	.verify = verify,
	.teardown = teardown,
};
