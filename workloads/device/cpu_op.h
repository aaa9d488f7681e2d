/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of the cpu device: layouts of its tensors, and oneDNN primitives over them. */
#ifndef XPUGAP_DEVICE_CPU_OP_H
#define XPUGAP_DEVICE_CPU_OP_H

#include "workloads/device/cpu.h"
#include "workloads/device/cpu_simd.h"
#include "workloads/device/op.h"

/* How the elements of a tensor lie in memory, whatever their type; each kept once. */
struct cpu_layout {
	struct cpu_layout *next;
	dnnl_memory_desc_t md; /* with type f32 */
	bool plain;
	/*
	 * Of images: channel c of image i, pixel j is at i * sn + c / group * sc +
	 * c % group / lanes * lanes + j * ss + c % lanes. No lanes: own kernels cannot read it.
	 */
	unsigned int lanes;
	size_t blocks; /* channels, padded, / lanes */
	size_t group, sn, sc, ss;
};

struct cpu_program {
	const struct cpu_team *team;
	const struct cpu_lib *lib;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	struct cpu_layout *layouts;
};

static inline struct cpu_program *cpu_program(const struct op *op)
{
	return op->program->backend;
}

static inline const struct cpu_layout *cpu_layout(const struct tensor *t)
{
	return t->layout;
}

int cpu_errno(dnnl_status_t status);

/* The layout of @md; NULL when out of memory. */
const struct cpu_layout *cpu_layout__get(struct cpu_program *p, const dnnl_memory_desc_t *md);
/* Give @t this layout if it has none. */
int cpu_tensor__adopt(struct cpu_program *p, struct tensor *t, const dnnl_memory_desc_t *md);
int cpu_tensor__plain(struct cpu_program *p, struct tensor *t);
/* Give @t the layout of @as if it has none; -ENOTSUP if it has another. */
int cpu_tensor__as(struct tensor *t, const struct tensor *as);
/* @t as oneDNN sees it, with its own type. */
dnnl_memory_desc_t cpu_tensor__md(const struct tensor *t);
dnnl_data_type_t cpu_dnnl_type(enum dtype dtype);

/* Where the plane of channel block @block of image @image begins, in elements. */
static inline size_t cpu_layout__plane(const struct cpu_layout *l, size_t image, size_t block)
{
	size_t per_group = l->group / l->lanes;

	return image * l->sn + block / per_group * l->sc + block % per_group * l->lanes;
}

static inline void *cpu_at(const struct tensor *t, size_t element)
{
	return t ? (char *)t->data + element * dtype__size(t->dtype) : NULL;
}

/*
 * A plan that runs one oneDNN primitive. Tensors whose layout or type is not what the primitive
 * wants pass through buffers in the program's scratch.
 */
struct cpu_primitive;

struct cpu_primitive_arg {
	int id;	  /* DNNL_ARG_… */
	int what; /* dnnl_query_…_md */
	bool output;
	struct tensor *t; /* takes the primitive's layout if it has none */
};

/* Take over @pd as the plan of @op. */
int cpu_primitive__plan(struct op *op, dnnl_primitive_desc_t pd,
			const struct cpu_primitive_arg *args, unsigned int n);

/* Call @fn over shares of 0..@n on the team, each at least @grain: one thread if it is short. */
void cpu_for(const struct cpu_team *team, size_t n, size_t grain,
	     void (*fn)(void *arg, size_t first, size_t last), void *arg);

/* Copy @n elements between f32 and bf16, or between alike types, on the team. */
void cpu_cast(const struct cpu_team *team, void *to, enum dtype to_type, const void *from,
	      enum dtype from_type, size_t n);

/* Plan functions: cpu_conv.c, cpu_norm.c, … */
#define X(kind, klass, what) int cpu_op_##kind(struct op *op);
OP_KINDS(X)
#undef X

#endif
