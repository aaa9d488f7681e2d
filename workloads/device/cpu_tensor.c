// SPDX-License-Identifier: BSD-2-Clause
/* The cpu device's tensors and programs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/device/cpu_op.h"

/* Channels that oneDNN puts side by side, at most. */
#define MAX_BLOCK 16

int cpu_errno(dnnl_status_t status)
{
	switch (status) {
	case dnnl_success:
		return 0;
	case dnnl_out_of_memory:
		return -ENOMEM;
	case dnnl_unimplemented:
		return -ENOTSUP;
	case dnnl_invalid_arguments:
		return -EINVAL;
	default:
		return -EIO;
	}
}

dnnl_data_type_t cpu_dnnl_type(enum dtype dtype)
{
	static const dnnl_data_type_t types[] = {[DTYPE_F32] = dnnl_f32,
						 [DTYPE_BF16] = dnnl_bf16,
						 [DTYPE_S32] = dnnl_s32,
						 [DTYPE_U8] = dnnl_u8};

	return types[dtype];
}

/* Can own kernels walk images in this layout, and how? */
static void view_images(struct cpu_layout *l)
{
	const dnnl_memory_desc_t *md = &l->md;
	const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
	dnnl_dim_t block = b->inner_nblks ? b->inner_blks[0] : 1;
	dnnl_dim_t c = md->padded_dims[1], h = md->dims[2], w = md->dims[3];
	int i;

	if (md->ndims != 4 || b->inner_nblks > 1 || (b->inner_nblks && b->inner_idxs[0] != 1))
		return;
	for (i = 0; i < 4; i++)
		if (i != 1 && md->padded_dims[i] != md->dims[i])
			return;
	if (h > 1 && b->strides[2] != w * b->strides[3])
		return;
	l->sn = b->strides[0];
	l->sc = b->strides[1];
	l->ss = b->strides[3];
	l->group = block;
	if (!b->inner_nblks && b->strides[1] == 1) /* all channels side by side */
		l->group = c;
	if (l->group == (size_t)c)
		l->sc = 0;
	l->lanes = l->group % CPU_LANES == 0 ? CPU_LANES : 1;
	l->blocks = c / l->lanes;
}

static bool is_plain(const dnnl_memory_desc_t *md)
{
	const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
	dnnl_dim_t stride = 1;
	int i;

	for (i = md->ndims - 1; i >= 0; i--) {
		if (md->dims[i] > 1 && b->strides[i] != stride)
			return false;
		stride *= md->dims[i];
	}
	return b->inner_nblks == 0;
}

const struct cpu_layout *cpu_layout__get(struct cpu_program *p, const dnnl_memory_desc_t *md)
{
	dnnl_memory_desc_t as_f32 = *md;
	struct cpu_layout *l;

	as_f32.data_type = dnnl_f32;
	for (l = p->layouts; l; l = l->next)
		if (p->lib->dnnl.memory_desc_equal(&l->md, &as_f32))
			return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->md = as_f32;
	if (md->format_kind == dnnl_blocked) {
		l->plain = is_plain(md);
		view_images(l);
	}
	l->next = p->layouts;
	p->layouts = l;
	return l;
}

int cpu_tensor__adopt(struct cpu_program *p, struct tensor *t, const dnnl_memory_desc_t *md)
{
	if (t->layout)
		return 0;
	t->layout = cpu_layout__get(p, md);
	if (!t->layout)
		return -ENOMEM;
	t->bytes = p->lib->dnnl.memory_desc_get_size(&cpu_layout(t)->md) / sizeof(float) *
		   dtype__size(t->dtype);
	/* own kernels read and write whole blocks of channels */
	if (t->n_dims == 1)
		t->bytes = (t->dims[0] + MAX_BLOCK - 1) / MAX_BLOCK * MAX_BLOCK *
			   dtype__size(t->dtype);
	return 0;
}

/* A description of @t in plain order, with type f32. */
static int plain_md(const struct cpu_program *p, const struct tensor *t, dnnl_memory_desc_t *md)
{
	dnnl_dims_t dims = {0}, strides = {0};
	dnnl_dim_t stride = 1;
	int i;

	for (i = t->n_dims - 1; i >= 0; i--) {
		dims[i] = t->dims[i];
		strides[i] = stride;
		stride *= t->dims[i];
	}
	return cpu_errno(
		p->lib->dnnl.memory_desc_init_by_strides(md, t->n_dims, dims, dnnl_f32, strides));
}

int cpu_tensor__plain(struct cpu_program *p, struct tensor *t)
{
	dnnl_memory_desc_t md;
	int err;

	if (t->layout)
		return cpu_layout(t)->plain ? 0 : -ENOTSUP;
	err = plain_md(p, t, &md);
	return err ? err : cpu_tensor__adopt(p, t, &md);
}

int cpu_tensor__as(struct tensor *t, const struct tensor *as)
{
	if (!as->layout || (t->layout && t->layout != as->layout))
		return -ENOTSUP;
	if (t->layout)
		return 0;
	t->layout = as->layout;
	t->bytes = as->bytes / dtype__size(as->dtype) * dtype__size(t->dtype);
	return 0;
}

dnnl_memory_desc_t cpu_tensor__md(const struct tensor *t)
{
	dnnl_memory_desc_t md = cpu_layout(t)->md;

	md.data_type = cpu_dnnl_type(t->dtype);
	return md;
}

struct loop {
	void (*fn)(void *arg, size_t first, size_t last);
	void *arg;
	size_t n;
};

static void run_loop(void *arg, unsigned int i, unsigned int threads)
{
	const struct loop *l = arg;
	size_t first, last;

	cpu_share(l->n, i, threads, &first, &last);
	if (first < last)
		l->fn(l->arg, first, last);
}

void cpu_for(const struct cpu_team *team, size_t n, size_t grain,
	     void (*fn)(void *arg, size_t first, size_t last), void *arg)
{
	struct loop l = {fn, arg, n};

	if (n <= grain || team->threads == 1)
		fn(arg, 0, n);
	else
		cpu_team__run(team, run_loop, &l);
}

static int begin(struct program *program)
{
	struct cpu_program *p = calloc(1, sizeof(*p));
	dnnl_status_t s;

	if (!p)
		return -ENOMEM;
	p->team = cpu_device__team(program->device);
	p->lib = p->team->lib;
	/* plans are made for as many threads as the thread that makes them would start */
	p->lib->omp.omp_set_num_threads(p->team->threads);
	s = p->lib->dnnl.engine_create(&p->engine, dnnl_cpu, 0);
	if (!s)
		s = p->lib->dnnl.stream_create(&p->stream, p->engine, dnnl_stream_default_flags);
	program->backend = p;
	return cpu_errno(s);
}

static void end(struct program *program)
{
	struct cpu_program *p = program->backend;
	struct cpu_layout *l;

	while ((l = p->layouts)) {
		p->layouts = l->next;
		free(l);
	}
	if (p->stream)
		p->lib->dnnl.stream_destroy(p->stream);
	if (p->engine)
		p->lib->dnnl.engine_destroy(p->engine);
	free(p);
}

static int plain(struct program *program, struct tensor *t)
{
	return cpu_tensor__plain(program->backend, t);
}

static int clear(struct program *program)
{
	/* all of it: padding must be zero, and no step should meet a fresh page */
	memset(program->memory, 0, program->state_bytes + program->temp_bytes);
	memset(program->scratch, 0, program->scratch_bytes);
	return 0;
}

static int reorder(const struct cpu_program *p, const dnnl_memory_desc_t *from, const void *src,
		   const dnnl_memory_desc_t *to, void *dst)
{
	const __typeof__(p->lib->dnnl) *dnnl = &p->lib->dnnl;
	dnnl_memory_t mem[2] = {NULL, NULL};
	dnnl_primitive_desc_t pd = NULL;
	dnnl_primitive_t prim = NULL;
	dnnl_exec_arg_t args[2];
	dnnl_status_t s;

	s = dnnl->reorder_primitive_desc_create(&pd, from, p->engine, to, p->engine, NULL);
	if (!s)
		s = dnnl->primitive_create(&prim, pd);
	if (!s)
		s = dnnl->memory_create(&mem[0], from, p->engine, (void *)src);
	if (!s)
		s = dnnl->memory_create(&mem[1], to, p->engine, dst);
	if (!s) {
		args[0] = (dnnl_exec_arg_t){DNNL_ARG_FROM, mem[0]};
		args[1] = (dnnl_exec_arg_t){DNNL_ARG_TO, mem[1]};
		s = dnnl->primitive_execute(prim, p->stream, 2, args);
	}
	dnnl->memory_destroy(mem[0]);
	dnnl->memory_destroy(mem[1]);
	dnnl->primitive_destroy(prim);
	dnnl->primitive_desc_destroy(pd);
	return cpu_errno(s);
}

static int write_tensor(struct program *program, struct tensor *t, const float *from)
{
	const struct cpu_simd *simd = cpu_simd__best(CPU_LANES);
	struct cpu_program *p = program->backend;
	size_t n = t->bytes / dtype__size(t->dtype);
	dnnl_memory_desc_t md;
	float *f32;
	int err;

	if (t->dtype != DTYPE_F32 && t->dtype != DTYPE_BF16)
		return -EINVAL;
	f32 = t->dtype == DTYPE_F32 ? t->data : calloc(n, sizeof(*f32));
	if (!f32)
		return -ENOMEM;
	err = plain_md(p, t, &md);
	if (!err)
		err = reorder(p, &md, from, &cpu_layout(t)->md, f32);
	if (t->dtype == DTYPE_F32)
		return err;
	simd->to_bf16(f32, t->data, n);
	free(f32);
	return err;
}

static int read_tensor(struct program *program, const struct tensor *t, float *to)
{
	const struct cpu_simd *simd = cpu_simd__best(CPU_LANES);
	struct cpu_program *p = program->backend;
	size_t n = t->bytes / dtype__size(t->dtype);
	dnnl_memory_desc_t md;
	float *f32;
	int err;

	if (t->dtype != DTYPE_F32 && t->dtype != DTYPE_BF16)
		return -EINVAL;
	f32 = t->dtype == DTYPE_F32 ? t->data : calloc(n, sizeof(*f32));
	if (!f32)
		return -ENOMEM;
	if (t->dtype == DTYPE_BF16)
		simd->from_bf16(t->data, f32, n);
	err = plain_md(p, t, &md);
	if (!err)
		err = reorder(p, &cpu_layout(t)->md, f32, &md, to);
	if (t->dtype == DTYPE_BF16)
		free(f32);
	return err;
}

const struct op_backend op_backend_cpu = {.begin = begin,
					  .end = end,
					  .plain = plain,
					  .clear = clear,
					  .write = write_tensor,
					  .read = read_tensor,
#define X(kind, klass, what) .kind = cpu_op_##kind,
					  OP_KINDS(X)
#undef X
};
