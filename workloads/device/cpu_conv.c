// SPDX-License-Identifier: BSD-2-Clause
/* Convolutions by oneDNN, which also chooses the layouts of images and weights. */
#include <errno.h>
#include <string.h>

#include "workloads/device/cpu_op.h"

static dnnl_memory_desc_t any(const struct tensor *t, dnnl_data_type_t type)
{
	dnnl_memory_desc_t md = {
		.ndims = t->n_dims,
		.data_type = type,
		.format_kind = dnnl_format_kind_any,
	};

	memcpy(md.dims, t->dims, t->n_dims * sizeof(md.dims[0]));
	memcpy(md.padded_dims, t->dims, t->n_dims * sizeof(md.dims[0]));
	return md;
}

struct shape {
	dnnl_memory_desc_t x, w, y;
	dnnl_dims_t strides, pads;
};

static void init_shape(struct shape *s, const struct window *window, const struct tensor *x,
		       const struct tensor *w, const struct tensor *y, dnnl_data_type_t type,
		       dnnl_data_type_t w_type)
{
	int i;

	s->x = any(x, type);
	s->w = any(w, w_type);
	s->y = any(y, type);
	for (i = 0; i < 2; i++) {
		s->strides[i] = window->stride;
		s->pads[i] = window->pad;
	}
}

static dnnl_status_t create(const struct cpu_program *p, const void *desc,
			    dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
	dnnl_primitive_attr_t attr;
	dnnl_status_t s;

	s = p->lib->dnnl.primitive_attr_create(&attr);
	if (s)
		return s;
	s = p->lib->dnnl.primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
	if (!s)
		s = p->lib->dnnl.primitive_desc_create(pd, desc, attr, p->engine, hint);
	p->lib->dnnl.primitive_attr_destroy(attr);
	return s;
}

static dnnl_status_t forward(const struct cpu_program *p, const struct shape *s,
			     dnnl_primitive_desc_t *pd)
{
	dnnl_convolution_desc_t desc;
	dnnl_status_t status;

	status = p->lib->dnnl.convolution_forward_desc_init(&desc, dnnl_forward_training,
							    dnnl_convolution_auto, &s->x, &s->w,
							    NULL, &s->y, s->strides, s->pads,
							    s->pads);
	return status ? status : create(p, &desc, NULL, pd);
}

static dnnl_status_t backward_data(const struct cpu_program *p, const struct shape *s,
				   dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
	dnnl_convolution_desc_t desc;
	dnnl_status_t status;

	status = p->lib->dnnl.convolution_backward_data_desc_init(&desc, dnnl_convolution_auto,
								  &s->x, &s->w, &s->y, s->strides,
								  s->pads, s->pads);
	return status ? status : create(p, &desc, hint, pd);
}

static dnnl_status_t backward_weights(const struct cpu_program *p, const struct shape *s,
				      dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
	dnnl_convolution_desc_t desc;
	dnnl_status_t status;

	status = p->lib->dnnl.convolution_backward_weights_desc_init(&desc, dnnl_convolution_auto,
								     &s->x, &s->w, NULL, &s->y,
								     s->strides, s->pads, s->pads);
	return status ? status : create(p, &desc, hint, pd);
}

/* The description for operation @kind, in the tensors' own type. */
static dnnl_status_t describe(const struct cpu_program *p, enum op_kind kind, const struct shape *s,
			      dnnl_primitive_desc_t *pd)
{
	dnnl_primitive_desc_t hint = NULL;
	dnnl_status_t status;

	if (kind == OP_conv_fwd)
		return forward(p, s, pd);
	status = forward(p, s, &hint);
	if (status)
		return status;
	if (kind == OP_conv_bwd_data)
		status = backward_data(p, s, hint, pd);
	else
		status = backward_weights(p, s, hint, pd);
	p->lib->dnnl.primitive_desc_destroy(hint);
	return status;
}

static int plan(struct op *op, const struct tensor *x, const struct tensor *w,
		const struct tensor *y, const struct cpu_primitive_arg *args)
{
	const struct cpu_program *p = cpu_program(op);
	dnnl_primitive_desc_t pd;
	struct shape shape;
	dnnl_status_t s = dnnl_unimplemented;

	if (x->dtype == DTYPE_BF16) { /* natively, where this processor and oneDNN can */
		init_shape(&shape, &op->a.window, x, w, y, dnnl_bf16, cpu_dnnl_type(w->dtype));
		s = describe(p, op->kind, &shape, &pd);
	}
	if (s == dnnl_unimplemented) {
		init_shape(&shape, &op->a.window, x, w, y, dnnl_f32, dnnl_f32);
		s = describe(p, op->kind, &shape, &pd);
	}
	return s ? cpu_errno(s) : cpu_primitive__plan(op, pd, args, 3);
}

int cpu_op_conv_fwd(struct op *op)
{
	const struct cpu_primitive_arg args[] = {
		{DNNL_ARG_SRC, dnnl_query_src_md, false, op->a.x},
		{DNNL_ARG_WEIGHTS, dnnl_query_weights_md, false, op->a.w},
		{DNNL_ARG_DST, dnnl_query_dst_md, true, op->a.y},
	};

	return plan(op, op->a.x, op->a.w, op->a.y, args);
}

int cpu_op_conv_bwd_data(struct op *op)
{
	const struct cpu_primitive_arg args[] = {
		{DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, false, op->a.dy},
		{DNNL_ARG_WEIGHTS, dnnl_query_weights_md, false, op->a.w},
		{DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, true, op->a.dx},
	};

	return plan(op, op->a.dx, op->a.w, op->a.dy, args);
}

int cpu_op_conv_bwd_weights(struct op *op)
{
	const struct cpu_primitive_arg args[] = {
		{DNNL_ARG_SRC, dnnl_query_src_md, false, op->a.x},
		{DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, false, op->a.dy},
		{DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md, true, op->a.dw},
	};

	return plan(op, op->a.x, op->a.dw, op->a.dy, args);
}
