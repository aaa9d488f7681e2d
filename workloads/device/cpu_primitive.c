// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/device/cpu_op.h"
#include "workloads/device/place.h"

#define MAX_ARGS 4
#define NOWHERE	 ((size_t)-1)

/*
 * A tensor on its way into the primitive (outputs: out of it):
 * bf16 tensor -> f32 in its layout -> the primitive's layout. Either step may be absent.
 */
struct arg {
	struct cpu_primitive_arg a;
	dnnl_memory_desc_t want;
	size_t cast_at, reorder_at; /* buffers in the scratch, or NOWHERE */
	dnnl_primitive_t reorder;
	dnnl_memory_t tensor; /* f32 or native, in the tensor's layout */
	dnnl_memory_t wanted; /* as the primitive wants it; may be the same as tensor */
};

struct cpu_primitive {
	dnnl_primitive_t primitive;
	struct arg args[MAX_ARGS];
	unsigned int n;
	dnnl_memory_desc_t scratch_md;
	size_t scratch_at;
	dnnl_memory_t scratch;
};

static size_t reserve(struct op *op, size_t bytes)
{
	size_t at = op->scratch_bytes;

	op->scratch_bytes += place__align(bytes);
	return at;
}

static int plan_arg(struct op *op, struct arg *arg)
{
	struct cpu_program *p = cpu_program(op);
	const __typeof__(p->lib->dnnl) *dnnl = &p->lib->dnnl;
	struct tensor *t = arg->a.t;
	dnnl_memory_desc_t have, want = arg->want;
	dnnl_primitive_desc_t pd;
	dnnl_status_t s;
	int err;

	err = cpu_tensor__adopt(p, t, &want);
	if (err)
		return err;
	have = cpu_tensor__md(t);
	if (have.data_type != want.data_type) {
		arg->cast_at = reserve(op, t->bytes / dtype__size(t->dtype) * sizeof(float));
		have.data_type = want.data_type;
	}
	if (dnnl->memory_desc_equal(&have, &want))
		return 0;
	arg->reorder_at = reserve(op, dnnl->memory_desc_get_size(&want));
	s = dnnl->reorder_primitive_desc_create(&pd, arg->a.output ? &want : &have, p->engine,
						arg->a.output ? &have : &want, p->engine, NULL);
	if (s)
		return cpu_errno(s);
	s = dnnl->primitive_create(&arg->reorder, pd);
	dnnl->primitive_desc_destroy(pd);
	return cpu_errno(s);
}

static int bind_arg(struct op *op, struct arg *arg)
{
	struct cpu_program *p = cpu_program(op);
	char *scratch = op->program->scratch;
	dnnl_memory_desc_t have = cpu_tensor__md(arg->a.t);
	dnnl_status_t s;

	have.data_type = arg->want.data_type;
	s = p->lib->dnnl.memory_create(&arg->tensor, &have, p->engine,
				       arg->cast_at == NOWHERE ? arg->a.t->data
							       : scratch + arg->cast_at);
	arg->wanted = arg->tensor;
	if (!s && arg->reorder)
		s = p->lib->dnnl.memory_create(&arg->wanted, &arg->want, p->engine,
					       scratch + arg->reorder_at);
	return cpu_errno(s);
}

static int bind(struct op *op)
{
	struct cpu_program *p = cpu_program(op);
	struct cpu_primitive *plan = op->plan;
	unsigned int i;
	int err;

	err = cpu_errno(
		p->lib->dnnl.memory_create(&plan->scratch, &plan->scratch_md, p->engine,
					   (char *)op->program->scratch + plan->scratch_at));
	for (i = 0; i < plan->n && !err; i++)
		err = bind_arg(op, &plan->args[i]);
	return err;
}

static void cast(const struct op *op, const struct arg *arg)
{
	void *f32 = (char *)op->program->scratch + arg->cast_at;
	const struct tensor *t = arg->a.t;
	size_t n = t->bytes / dtype__size(t->dtype);

	if (arg->a.output)
		cpu_cast(cpu_program(op)->team, t->data, t->dtype, f32, DTYPE_F32, n);
	else
		cpu_cast(cpu_program(op)->team, f32, DTYPE_F32, t->data, t->dtype, n);
}

static dnnl_status_t reorder(const struct cpu_program *p, const struct arg *arg)
{
	dnnl_exec_arg_t args[2] = {
		{DNNL_ARG_FROM, arg->a.output ? arg->wanted : arg->tensor},
		{DNNL_ARG_TO, arg->a.output ? arg->tensor : arg->wanted},
	};

	return p->lib->dnnl.primitive_execute(arg->reorder, p->stream, 2, args);
}

static int run(struct op *op, void *native)
{
	const struct cpu_program *p = cpu_program(op);
	const struct cpu_primitive *plan = op->plan;
	dnnl_exec_arg_t args[MAX_ARGS + 1];
	const struct arg *a;
	dnnl_status_t s = dnnl_success;
	unsigned int i;

	for (i = 0; i < plan->n && !s; i++) {
		a = &plan->args[i];
		args[i] = (dnnl_exec_arg_t){a->a.id, a->wanted};
		if (a->a.output)
			continue;
		if (a->cast_at != NOWHERE)
			cast(op, a);
		if (a->reorder)
			s = reorder(p, a);
	}
	args[i] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, plan->scratch};
	if (!s)
		s = p->lib->dnnl.primitive_execute(plan->primitive, p->stream, i + 1, args);
	for (i = 0; i < plan->n && !s; i++) {
		a = &plan->args[i];
		if (!a->a.output)
			continue;
		if (a->reorder)
			s = reorder(p, a);
		if (a->cast_at != NOWHERE)
			cast(op, a);
	}
	return cpu_errno(s);
}

static void unplan(struct op *op)
{
	const __typeof__(cpu_program(op)->lib->dnnl) *dnnl = &cpu_program(op)->lib->dnnl;
	struct cpu_primitive *plan = op->plan;
	unsigned int i;

	for (i = 0; i < plan->n; i++) {
		if (plan->args[i].wanted != plan->args[i].tensor)
			dnnl->memory_destroy(plan->args[i].wanted);
		dnnl->memory_destroy(plan->args[i].tensor);
		dnnl->primitive_destroy(plan->args[i].reorder);
	}
	dnnl->memory_destroy(plan->scratch);
	dnnl->primitive_destroy(plan->primitive);
	free(plan);
}

int cpu_primitive__plan(struct op *op, dnnl_primitive_desc_t pd,
			const struct cpu_primitive_arg *args, unsigned int n)
{
	const __typeof__(cpu_program(op)->lib->dnnl) *dnnl = &cpu_program(op)->lib->dnnl;
	struct cpu_primitive *plan = calloc(1, sizeof(*plan));
	unsigned int i;
	int err;

	if (!plan) {
		dnnl->primitive_desc_destroy(pd);
		return -ENOMEM;
	}
	op->plan = plan;
	op->unplan = unplan;
	op->bind = bind;
	op->run = run;
	err = cpu_errno(dnnl->primitive_create(&plan->primitive, pd));
	plan->scratch_md = *dnnl->primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
	plan->scratch_at = reserve(op, dnnl->memory_desc_get_size(&plan->scratch_md));
	for (i = 0; i < n && !err; i++) {
		plan->args[i] =
			(struct arg){.a = args[i], .cast_at = NOWHERE, .reorder_at = NOWHERE};
		plan->args[i].want = *dnnl->primitive_desc_query_md(pd, args[i].what, 0);
		plan->n = i + 1;
		err = plan_arg(op, &plan->args[i]);
	}
	dnnl->primitive_desc_destroy(pd);
	return err;
}
