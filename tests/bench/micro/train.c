// SPDX-License-Identifier: BSD-2-Clause
/*
 * train DEVICE BATCH SIDE [bf16]: ResNet-50 without a loader, for comparison with others that
 * speak likewise. For each line "STEPS" on standard input it trains so many steps and answers with
 * the seconds of wall and of CPU time that they took.
 *
 * train DEVICE BATCH SIDE kinds: one step, operation by operation, and the CPU time of each kind.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "workloads/models/init.h"
#include "workloads/models/resnet.h"

struct train {
	const struct device_ops *ops;
	struct device *device;
	struct device_queue *queue;
	struct resnet *net;
	float *images, loss;
	int32_t *labels;
};

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "train: %s failed: %s\n", what, strerror(-err));
	exit(1);
}

static void set_up(struct train *t, char **argv, enum dtype dtype)
{
	struct resnet_config c = resnet50_config;
	const char *rest;
	int i;

	t->ops = device__find(argv[1], &rest);
	t->device = t->ops ? t->ops->open(rest) : NULL;
	t->queue = t->device ? t->ops->queue(t->device, "train") : NULL;
	c.batch = atoi(argv[2]);
	c.side = atoi(argv[3]);
	c.dtype = dtype;
	c.sgd.lr = 0.001f;
	t->net = t->queue ? resnet__new(&c, t->ops, t->device, t->queue, 1) : NULL;
	if (!t->net)
		exit(1);
	t->images = calloc(tensor__count(t->net->images), sizeof(*t->images));
	t->labels = calloc(c.batch, sizeof(*t->labels));
	if (!t->images || !t->labels)
		exit(1);
	init__normal(t->images, tensor__count(t->net->images), 1, 1, 99);
	for (i = 0; i < c.batch; i++)
		t->labels[i] = i % c.classes;
}

static void answer(struct train *t)
{
	double wall, cpu;
	char line[64];
	long i, steps;

	while (fgets(line, sizeof(line), stdin)) {
		steps = strtol(line, NULL, 10);
		wall = seconds(CLOCK_MONOTONIC);
		cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
		for (i = 0; i < steps; i++) {
			check(resnet__step(t->net, t->images, t->labels, &t->loss), "a step");
			check(t->ops->sync(t->device, t->queue), "a step");
		}
		printf("%.6f %.6f\n", seconds(CLOCK_MONOTONIC) - wall,
		       seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
		fflush(stdout);
	}
}

static void print_kinds(struct train *t)
{
	static const char *const names[] = {
#define X(kind, klass, what) #kind,
		OP_KINDS(X)
#undef X
	};
	double sum[OP_KIND_MAX] = {0}, least, one;
	struct program *p = t->net->program;
	size_t i;
	int k;

	check(resnet__step(t->net, t->images, t->labels, &t->loss), "a step");
	check(t->ops->sync(t->device, t->queue), "a step");
	for (i = 0; i < p->n_ops; i++) {
		for (least = 1e9, k = 0; k < 3; k++) {
			one = seconds(CLOCK_PROCESS_CPUTIME_ID);
			check(program__launch(p, t->queue, i, i + 1), p->op[i]->name);
			check(t->ops->sync(t->device, t->queue), p->op[i]->name);
			one = seconds(CLOCK_PROCESS_CPUTIME_ID) - one;
			least = one < least ? one : least;
		}
		sum[p->op[i]->kind] += least;
		if (getenv("VERBOSE"))
			printf("%9.3f ms  %s\n", least * 1e3, p->op[i]->name);
	}
	for (k = 0; k < OP_KIND_MAX; k++)
		if (sum[k] > 0)
			printf("%9.3f ms  %s\n", sum[k] * 1e3, names[k]);
}

int main(int argc, char **argv)
{
	static struct train t;
	const char *how = argc == 5 ? argv[4] : "";

	if (argc < 4 || argc > 5) {
		fprintf(stderr, "usage: train DEVICE BATCH SIDE [bf16 | kinds]\n");
		return 2;
	}
	set_up(&t, argv, strcmp(how, "bf16") == 0 ? DTYPE_BF16 : DTYPE_F32);
	if (strcmp(how, "kinds") == 0)
		print_kinds(&t);
	else
		answer(&t);
	resnet__free(t.net);
	t.ops->close(t.device);
	free(t.images);
	free(t.labels);
	return 0;
}
