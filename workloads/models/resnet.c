// SPDX-License-Identifier: BSD-2-Clause
/* The shape of the network: which convolution reads what. */
#include "workloads/models/resnet.h"

#include <errno.h>
#include <stdio.h>

#include "userspace/lib/log.h"

#define EXPANSION 4 /* a block's output has so many times the channels of its 3x3 */

const struct resnet_config resnet50_config = {
	.blocks = {3, 4, 6, 3},
	.width = 64,
	.classes = 1000,
	.batch = 256,
	.side = 224,
	.dtype = DTYPE_F32,
	.update = true,
	.eps = 1e-5f,
	.momentum = 0.1f,
	.sgd = {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 1e-4f},
};

static int windowed(int side, int size, int stride, int pad)
{
	return (side + 2 * pad - size) / stride + 1;
}

struct builder {
	struct resnet_unit *units;
	int n;
};

/* Append a unit that reads what unit @in gives: @channels_in of @side_in. Returns its index. */
static int append(struct builder *b, int in, int channels_in, int side_in, int channels, int size,
		  int stride)
{
	struct resnet_unit *u = &b->units[b->n];

	*u = (struct resnet_unit){
		.in = in,
		.residual = -1,
		.relu = true,
		.channels_in = channels_in,
		.channels = channels,
		.side_in = side_in,
		.size = size,
		.stride = stride,
		.pad = size / 2,
	};
	u->side = windowed(side_in, size, stride, u->pad);
	return b->n++;
}

static void name(struct resnet_unit *u, int stage, int block, const char *conv, const char *norm)
{
	snprintf(u->conv, sizeof(u->conv), "layer%d.%d.%s", stage + 1, block, conv);
	snprintf(u->norm, sizeof(u->norm), "layer%d.%d.%s", stage + 1, block, norm);
}

/* A bottleneck block on unit @x, whose output has @channels of @side. Returns its last unit. */
static int append_block(struct builder *b, int stage, int block, int x, int channels, int side,
			int width)
{
	int stride = stage > 0 && block == 0 ? 2 : 1;
	int first, second, last, shortcut = x, small;

	first = append(b, x, channels, side, width, 1, 1);
	name(&b->units[first], stage, block, "conv1", "bn1");
	second = append(b, first, width, side, width, 3, stride);
	name(&b->units[second], stage, block, "conv2", "bn2");
	small = b->units[second].side;
	if (block == 0) {
		shortcut = append(b, x, channels, side, width * EXPANSION, 1, stride);
		name(&b->units[shortcut], stage, block, "downsample.0", "downsample.1");
		b->units[shortcut].relu = false;
	}
	last = append(b, second, width, small, width * EXPANSION, 1, 1);
	name(&b->units[last], stage, block, "conv3", "bn3");
	b->units[last].residual = shortcut;
	return last;
}

int resnet__units(const struct resnet_config *c, struct resnet_unit *units)
{
	int stage, block, x, channels = c->width, side, width = c->width, all = 1;
	struct builder b = {units, 0};

	for (stage = 0; stage < RESNET_STAGES; stage++)
		all += 3 * c->blocks[stage] + 1;
	if (all > RESNET_MAX_UNITS) {
		log_error("a ResNet of %d convolutions has more than %d", all, RESNET_MAX_UNITS);
		return -EINVAL;
	}
	x = append(&b, RESNET_IMAGE, 3, c->side, width, 7, 2);
	snprintf(units[x].conv, sizeof(units[x].conv), "conv1");
	snprintf(units[x].norm, sizeof(units[x].norm), "bn1");
	side = windowed(units[x].side, RESNET_POOL_SIZE, RESNET_POOL_STRIDE, RESNET_POOL_PAD);
	for (stage = 0; stage < RESNET_STAGES; stage++, width *= 2)
		for (block = 0; block < c->blocks[stage]; block++) {
			x = append_block(&b, stage, block, x, channels, side, width);
			channels = units[x].channels;
			side = units[x].side;
		}
	return b.n;
}
