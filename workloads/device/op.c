// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/device/op.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "workloads/device/place.h"

static const struct {
	const char *name, *klass;
	size_t plan; /* offset in struct op_backend */
} kinds[] = {
#define X(kind, klass, what) {#kind, klass, offsetof(struct op_backend, kind)},
	OP_KINDS(X)
#undef X
};

size_t dtype__size(enum dtype dtype)
{
	static const size_t sizes[] = {
		[DTYPE_F32] = 4, [DTYPE_BF16] = 2, [DTYPE_S32] = 4, [DTYPE_U8] = 1};

	return sizes[dtype];
}

int64_t tensor__count(const struct tensor *t)
{
	int64_t n = 1;
	unsigned int i;

	for (i = 0; i < t->n_dims; i++)
		n *= t->dims[i];
	return n;
}

struct program *program__new(const struct device_ops *ops, struct device *device)
{
	struct program *p = NULL;
	int err = -ENOTSUP;

	if (!ops->backend) {
		log_error("device '%s' runs no models yet", ops->name);
		goto out;
	}
	p = calloc(1, sizeof(*p));
	err = p ? 0 : -ENOMEM;
	if (err) {
		log_error("cannot make a program: %s", log__err(err));
		goto out;
	}
	p->ops = ops;
	p->device = device;
	err = ops->backend->begin(p);
	if (!err)
		return p;
	log_error("cannot make a program on device '%s': %s", ops->name, log__err(err));
out:
	free(p);
	errno = -err;
	return NULL;
}

static int append_to(void *array, size_t n, void *item)
{
	void **old = *(void ***)array, **items = old;

	if ((n & (n - 1)) == 0) { /* a power of two, or none: full */
		items = reallocarray(old, n ? 2 * n : 1, sizeof(*items));
		if (!items)
			return -ENOMEM;
		*(void ***)array = items;
	}
	items[n] = item;
	return 0;
}

struct tensor *program__tensor(struct program *p, const char *name, enum dtype dtype,
			       enum tensor_role role, unsigned int n_dims, const int64_t *dims)
{
	static struct tensor nowhere; /* what callers hold once memory has run out */
	struct tensor *t = calloc(1, sizeof(*t));

	if (!t || append_to(&p->tensor, p->n_tensors, t)) {
		free(t);
		p->err = p->err ? p->err : -ENOMEM;
		return &nowhere;
	}
	p->n_tensors++;
	t->name = name;
	t->dtype = dtype;
	t->role = role;
	t->n_dims = n_dims;
	memcpy(t->dims, dims, n_dims * sizeof(dims[0]));
	t->first = -1;
	if (role == TENSOR_HOST && !p->err)
		p->err = p->ops->backend->plain(p, t);
	return t;
}

struct tensor *program__like(struct program *p, const char *name, enum dtype dtype,
			     enum tensor_role role, const struct tensor *as)
{
	struct tensor *t = program__tensor(p, name, dtype, role, as->n_dims, as->dims);

	if (t->layout || !as->layout)
		return t;
	t->layout = as->layout;
	t->bytes = as->bytes / dtype__size(as->dtype) * dtype__size(dtype);
	return t;
}

/* The operation uses its tensors: they live from the first use to the last. */
static void touch_all(struct program *p, struct op *op)
{
	struct tensor **t = (struct tensor **)&op->a;
	size_t i;

	for (i = 0; i < OP_TENSORS; i++) {
		if (!t[i])
			continue;
		if (t[i]->first < 0)
			t[i]->first = p->n_ops;
		t[i]->last = p->n_ops;
	}
}

static int plan(struct op *op)
{
	const char *backend = (const char *)op->program->ops->backend;
	int (*fn)(struct op *) = *(int (*const *)(struct op *))(backend + kinds[op->kind].plan);
	int err = fn ? fn(op) : -ENOTSUP;

	if (err == -ENOTSUP)
		log_error("device '%s' cannot run '%s' (%s)", op->program->ops->name, op->name,
			  kinds[op->kind].name);
	else if (err)
		log_error("cannot plan '%s': %s", op->name, log__err(err));
	return err;
}

void program__add(struct program *p, enum op_kind kind, const struct op_args *args, const char *fmt,
		  ...)
{
	struct op *op;
	va_list ap;

	if (p->err)
		return;
	op = calloc(1, sizeof(*op));
	if (!op || append_to(&p->op, p->n_ops, op)) {
		free(op);
		p->err = -ENOMEM;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(op->name, sizeof(op->name), fmt, ap);
	va_end(ap);
	op->kind = kind;
	op->a = *args;
	op->program = p;
	touch_all(p, op);
	p->n_ops++;
	p->err = plan(op);
	if (op->scratch_bytes > p->scratch_bytes)
		p->scratch_bytes = op->scratch_bytes;
}

/* Offsets of all tensors: state one behind the other, the others where others are dead. */
static int place_all(struct program *p)
{
	struct place *places = calloc(p->n_tensors ? p->n_tensors : 1, sizeof(*places));
	size_t i, n = 0, state = 0;
	struct tensor *t;

	if (!places)
		return -ENOMEM;
	for (i = 0; i < p->n_tensors; i++) {
		t = p->tensor[i];
		if (t->role == TENSOR_TEMP && t->first >= 0) {
			places[n++] = (struct place){t->bytes, t->first, t->last, 0, t};
		} else if (t->role != TENSOR_TEMP) {
			t->offset = state;
			state += place__align(t->bytes);
		}
	}
	p->state_bytes = state;
	p->temp_bytes = place__all(places, n);
	for (i = 0; i < n; i++)
		((struct tensor *)places[i].owner)->offset = state + places[i].offset;
	free(places);
	return 0;
}

static int allocate(struct program *p)
{
	size_t bytes = p->state_bytes + p->temp_bytes;
	size_t i;

	p->memory = p->ops->alloc(p->device, bytes);
	p->scratch = p->ops->alloc(p->device, p->scratch_bytes);
	if (!p->memory || !p->scratch) {
		log_error("cannot allocate %zu MiB on device '%s': %s",
			  (bytes + p->scratch_bytes) >> 20, p->ops->name, log__err(errno));
		return -ENOMEM;
	}
	for (i = 0; i < p->n_tensors; i++)
		p->tensor[i]->data = (char *)p->memory + p->tensor[i]->offset;
	return p->ops->backend->clear(p);
}

int program__finish(struct program *p)
{
	size_t i;

	if (!p->err)
		p->err = place_all(p);
	if (!p->err)
		p->err = allocate(p);
	for (i = 0; i < p->n_ops && !p->err; i++)
		if (p->op[i]->bind)
			p->err = p->op[i]->bind(p->op[i]);
	return p->err;
}

static int run(void *arg, void *native)
{
	struct op *op = arg;

	return op->run(op, native);
}

int program__launch(struct program *p, struct device_queue *q, size_t first, size_t last)
{
	struct device_kernel k = {.run = run};
	int err = 0;

	for (; first < last && !err; first++) {
		k.name = p->op[first]->name;
		k.klass = kinds[p->op[first]->kind].klass;
		k.arg = p->op[first];
		err = p->ops->launch(q, &k);
	}
	return err;
}

int program__write(struct program *p, struct tensor *t, const float *from)
{
	return p->ops->backend->write(p, t, from);
}

int program__read(struct program *p, const struct tensor *t, float *to)
{
	return p->ops->backend->read(p, t, to);
}

void program__free(struct program *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->n_ops; i++) {
		if (p->op[i]->unplan)
			p->op[i]->unplan(p->op[i]);
		free(p->op[i]);
	}
	for (i = 0; i < p->n_tensors; i++)
		free(p->tensor[i]);
	p->ops->backend->end(p);
	p->ops->release(p->device, p->memory);
	p->ops->release(p->device, p->scratch);
	free(p->op);
	free(p->tensor);
	free(p);
}
