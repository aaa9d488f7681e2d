/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XPUGAP_MODELS_RESNET_VERIFY_H
#define XPUGAP_MODELS_RESNET_VERIFY_H

#include "workloads/models/resnet.h"

/* Errors: what was seen at worst, and what is tolerated. */
struct resnet_errors {
	double loss;	    /* |device - reference| / reference */
	double gradient;    /* |device - reference| of a parameter, by the gradient's length */
	double differences; /* |device along d - central difference along d|, likewise */
};

struct resnet_check {
	struct resnet_errors seen;
	const char *gradient_of, *differences_of;
	int skipped; /* directions in which a relu or a maximum changed sides */
};

/*
 * In f32 rounding leaves 2e-5, through all layers. In bf16 it is chaos: 2^-9 at each of 107
 * places where images are stored, each of which the next ones amplify, so that gradients of the
 * first layers are off by a third of their length here; that much can be said of a whole network
 * only. The tests check each operation in bf16 to the last rounding.
 */
extern const struct resnet_errors resnet_tolerance_f32, resnet_tolerance_bf16;

/*
 * Compare one step of @c on @device (random images, no update) with the reference, parameter by
 * parameter: the loss; the whole gradient; and, with @differences, the gradient along a direction
 * with central differences of the reference's forward pass. 0; -EBADMSG where an error is not
 * tolerated, printed; or another error.
 */
int resnet__verify(const struct resnet_config *c, const struct device_ops *ops,
		   struct device *device, struct device_queue *queue, uint64_t seed,
		   const struct resnet_errors *tolerance, bool differences,
		   struct resnet_check *check);

#endif
