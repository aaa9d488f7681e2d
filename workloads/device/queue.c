// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/device/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/mark/xpugap_mark.h"
#include "workloads/device/span.h"

/* Launches wait when this many are outstanding, as on the runtimes of accelerators. */
#define RING 1024

enum command_type {
	COMMAND_KERNEL,
	COMMAND_COPY,
	COMMAND_RECORD,
	COMMAND_WAIT,
};

struct command {
	enum command_type type;
	struct device_span span;
	union {
		struct device_kernel kernel;
		struct device_copy copy;
		struct host_event *event;
	};
};

struct host_event {
	pthread_mutex_t lock;
	pthread_cond_t came;
	bool done;
	int err;
	atomic_int refs;
};

struct host_queue {
	uint32_t device;
	uint16_t id;
	char name[16];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;  /* for the executor: a command, or stop */
	pthread_cond_t space; /* for launchers and sync: a command has ended */
	struct command ring[RING];
	uint64_t put, taken, ended; /* commands so far */
	bool executor_sleeps;
	unsigned int sleepers; /* on space */
	bool stop;
	int err; /* the first since the last sync */
	void *native;
	int (*begin)(void *arg, void **native);
	void (*end)(void *native);
	void *arg;
	/* the executor's answer to begin(), for the creator */
	bool started;
	int start_err;
};

static void event_put(struct host_event *e)
{
	if (atomic_fetch_sub(&e->refs, 1) > 1)
		return;
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->came);
	free(e);
}

static void event_set(struct host_event *e, int err)
{
	pthread_mutex_lock(&e->lock);
	e->done = true;
	e->err = err;
	pthread_cond_broadcast(&e->came);
	pthread_mutex_unlock(&e->lock);
	event_put(e);
}

int host_event__sync(struct host_event *e)
{
	int err;

	pthread_mutex_lock(&e->lock);
	while (!e->done)
		pthread_cond_wait(&e->came, &e->lock);
	err = e->err;
	pthread_mutex_unlock(&e->lock);
	return err;
}

void host_event__release(struct host_event *e)
{
	if (e)
		event_put(e);
}

/* Do @c; @err is the queue's error so far, after which work is skipped. Returns an error of @c. */
static int execute(struct host_queue *q, struct command *c, int err)
{
	int ret = 0;

	switch (c->type) {
	case COMMAND_KERNEL:
		if (err)
			break;
		span__begin(&c->span);
		ret = c->kernel.run(c->kernel.arg, q->native);
		span__end(&c->span, 0);
		break;
	case COMMAND_COPY:
		if (err)
			break;
		span__begin(&c->span);
		memcpy(c->copy.dst, c->copy.src, c->copy.bytes);
		span__end(&c->span, c->copy.bytes);
		break;
	case COMMAND_RECORD:
		event_set(c->event, err);
		break;
	case COMMAND_WAIT:
		/* what comes after the wait may use what the other queue failed to make */
		ret = host_event__sync(c->event);
		event_put(c->event);
		break;
	}
	return ret;
}

static int start(struct host_queue *q)
{
	int err;

	pthread_setname_np(pthread_self(), q->name);
	xpugap_role("executor");
	err = q->begin ? q->begin(q->arg, &q->native) : 0;
	pthread_mutex_lock(&q->lock);
	q->started = true;
	q->start_err = err;
	pthread_cond_broadcast(&q->space);
	pthread_mutex_unlock(&q->lock);
	return err;
}

static void *executor(void *arg)
{
	struct host_queue *q = arg;
	struct command c;
	int err;

	if (start(q))
		return NULL;
	pthread_mutex_lock(&q->lock);
	for (;;) {
		while (q->put == q->taken && !q->stop) {
			q->executor_sleeps = true;
			pthread_cond_wait(&q->work, &q->lock);
		}
		q->executor_sleeps = false;
		if (q->put == q->taken)
			break;
		c = q->ring[q->taken++ % RING];
		err = q->err;
		pthread_mutex_unlock(&q->lock);
		err = execute(q, &c, err);
		pthread_mutex_lock(&q->lock);
		if (!q->err)
			q->err = err;
		q->ended++;
		if (q->sleepers)
			pthread_cond_broadcast(&q->space);
	}
	pthread_mutex_unlock(&q->lock);
	if (q->end)
		q->end(q->native);
	return NULL;
}

static void wait_space(struct host_queue *q)
{
	q->sleepers++;
	pthread_cond_wait(&q->space, &q->lock);
	q->sleepers--;
}

static void put(struct host_queue *q, const struct command *c)
{
	pthread_mutex_lock(&q->lock);
	while (q->put - q->taken == RING)
		wait_space(q);
	q->ring[q->put++ % RING] = *c;
	if (q->executor_sleeps)
		pthread_cond_signal(&q->work);
	pthread_mutex_unlock(&q->lock);
}

int host_queue__copy(struct host_queue *q, const struct device_copy *copy)
{
	struct command c = {.type = COMMAND_COPY, .copy = *copy};

	span__launch_copy(&c.span, q->device, q->id, copy);
	put(q, &c);
	return 0;
}

int host_queue__launch(struct host_queue *q, const struct device_kernel *k)
{
	struct command c = {.type = COMMAND_KERNEL, .kernel = *k};

	span__launch_kernel(&c.span, q->device, q->id, k->name);
	put(q, &c);
	return 0;
}

struct host_event *host_queue__record(struct host_queue *q)
{
	struct command c = {.type = COMMAND_RECORD};
	struct host_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->came, NULL);
	atomic_init(&e->refs, 2); /* the caller's and the command's */
	c.event = e;
	put(q, &c);
	return e;
}

int host_queue__wait(struct host_queue *q, struct host_event *e)
{
	struct command c = {.type = COMMAND_WAIT, .event = e};

	atomic_fetch_add(&e->refs, 1);
	put(q, &c);
	return 0;
}

int host_queue__sync(struct host_queue *q)
{
	uint64_t all;
	int err;

	pthread_mutex_lock(&q->lock);
	all = q->put;
	while (q->ended < all)
		wait_space(q);
	err = q->err;
	q->err = 0;
	pthread_mutex_unlock(&q->lock);
	return err;
}

static void destroy(struct host_queue *q)
{
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->work);
	pthread_cond_destroy(&q->space);
	free(q);
}

struct host_queue *host_queue__new(uint32_t device, uint16_t id, const char *name,
				   int (*begin)(void *arg, void **native),
				   void (*end)(void *native), void *arg)
{
	struct host_queue *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return NULL;
	q->device = device;
	q->id = id;
	q->begin = begin;
	q->end = end;
	q->arg = arg;
	snprintf(q->name, sizeof(q->name), "%s", name);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->work, NULL);
	pthread_cond_init(&q->space, NULL);
	err = pthread_create(&q->thread, NULL, executor, q);
	if (!err) {
		pthread_mutex_lock(&q->lock);
		while (!q->started)
			wait_space(q);
		err = -q->start_err;
		pthread_mutex_unlock(&q->lock);
		if (err)
			pthread_join(q->thread, NULL);
	}
	if (err) {
		destroy(q);
		errno = err;
		return NULL;
	}
	return q;
}

int host_queue__free(struct host_queue *q)
{
	int err;

	if (!q)
		return 0;
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_signal(&q->work);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	err = q->err;
	destroy(q);
	return err;
}
