/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ResNet with bottleneck blocks (He, Zhang, Ren, Sun: Deep Residual Learning for Image
 * Recognition, 2015; table 1), version 1.5: the stride of a stage is in its 3x3 convolution.
 * Names, order and initial values of parameters are torchvision's.
 */
#ifndef XPUGAP_MODELS_RESNET_H
#define XPUGAP_MODELS_RESNET_H

#include "workloads/device/op.h"

#define RESNET_STAGES	 4
#define RESNET_MAX_UNITS 160 /* convolutions of ResNet-152, rounded up */
#define RESNET_IMAGE	 (-1)

struct resnet_config {
	int blocks[RESNET_STAGES]; /* 3, 4, 6, 3 */
	int width;		   /* channels of the first convolution: 64 */
	int classes;		   /* 1000 */
	int batch;
	int side;	     /* of the images, in pixels */
	enum dtype dtype;    /* of activations, and of the weights that are computed with */
	bool update;	     /* let the optimizer change a layer as soon as its gradient is there */
	float eps, momentum; /* of batch normalisation: 1e-5, 0.1 */
	struct sgd_params sgd;
};

extern const struct resnet_config resnet50_config;

/* A convolution and the batch normalisation behind it, perhaps with a residual and a relu. */
struct resnet_unit {
	char conv[32], norm[32]; /* "layer1.0.conv1", "layer1.0.bn1" */
	int in;			 /* the unit whose output it reads, or RESNET_IMAGE */
	int residual;		 /* the unit whose output is added, or -1 */
	bool relu;
	int channels_in, channels; /* of x and y */
	int side_in, side;	   /* of their images */
	int size, stride, pad;
};

/* Where the output of unit 0 is read, it has passed a 3x3 max-pool of stride 2. */
#define RESNET_POOL_SIZE   3
#define RESNET_POOL_STRIDE 2
#define RESNET_POOL_PAD	   1

/*
 * The units in order; the output of the last goes to an average over pixels and to "fc". Returns
 * their number, or -EINVAL, printed: images too small or too many blocks.
 */
int resnet__units(const struct resnet_config *c, struct resnet_unit *units);

/* A parameter and what belongs to it. */
struct resnet_param {
	char name[48];	     /* "layer1.0.conv1.weight" */
	struct tensor *w;    /* f32 */
	struct tensor *copy; /* of w in the type that is computed with; NULL: w itself */
	struct tensor *dw, *v;
};

struct resnet {
	struct resnet_config config;
	const struct device_ops *ops;
	struct device *device;
	struct device_queue *queue;
	struct program *program;
	struct resnet_unit units[RESNET_MAX_UNITS];
	int n_units;
	struct resnet_param *params; /* weight, gamma, beta of each unit; weight, bias of fc */
	int n_params;
	struct tensor *images;			     /* f32 [n][3][side][side], TENSOR_HOST */
	struct tensor *labels;			     /* s32 [n], TENSOR_HOST */
	struct tensor *loss;			     /* f32 [1], TENSOR_HOST: mean over the batch */
	struct tensor **running_mean, **running_var; /* of each unit */
	double flops; /* of a step: products and sums of convolutions and fc */
};

/*
 * The network as a program of @device, with parameters as torchvision would draw them (He's
 * normal, fan out) from @seed. NULL with errno, printed.
 */
struct resnet *resnet__new(const struct resnet_config *c, const struct device_ops *ops,
			   struct device *device, struct device_queue *queue, uint64_t seed);

/*
 * Put one step into the queue: copies of the batch, forward, backward and, where asked for, the
 * update; then a copy of the loss to *@loss. The memory must live until the queue is there.
 */
int resnet__step(struct resnet *r, const float *images, const int32_t *labels, float *loss);

void resnet__free(struct resnet *r);

/*
 * The same network in double on the host, by reference.h, with the parameters of @r.
 */
struct resnet_reference;

struct resnet_reference *resnet_reference__new(struct resnet *r);
/* Parameter @i of resnet.params: values and gradient, in the reference's order. */
double *resnet_reference__param(struct resnet_reference *f, int i);
const double *resnet_reference__gradient(const struct resnet_reference *f, int i);
/* What the device has (@from: tensor @i's elements in plain order) in that order. */
void resnet_reference__order(const struct resnet_reference *f, int i, const float *from,
			     double *to);
/* Forward from unit @from on, whose inputs have not changed since the last call; the loss. */
double resnet_reference__forward(struct resnet_reference *f, const float *images,
				 const int32_t *labels, int from);
/* All gradients, after a forward pass. */
void resnet_reference__backward(struct resnet_reference *f);
void resnet_reference__update(struct resnet_reference *f);
void resnet_reference__free(struct resnet_reference *f);

#endif
