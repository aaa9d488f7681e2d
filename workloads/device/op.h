/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations on tensors: what models are made of, and what a device's backend fills in.
 *
 * A program is a list of operations with fixed shapes, appended in the order in which they run.
 * As an operation is appended the backend plans it: it picks the kernel, and the memory layout of
 * every tensor that has none yet. program__finish() then places the tensors in memory once; each
 * program__launch() puts the operations into a queue, one device kernel each.
 *
 * Errors stick: after the first, appending does nothing and program__finish() returns it, so that
 * a model is written without a check behind every line.
 */
#ifndef XPUGAP_DEVICE_OP_H
#define XPUGAP_DEVICE_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/device/device.h"

enum dtype {
	DTYPE_F32,
	DTYPE_BF16, /* stored so; arithmetic and sums in f32, rounded to nearest even */
	DTYPE_S32,
	DTYPE_U8,
};
size_t dtype__size(enum dtype dtype);

enum tensor_role {
	TENSOR_TEMP,  /* shares memory with others that do not live at the same time */
	TENSOR_STATE, /* keeps its contents between launches; zero at first */
	TENSOR_HOST,  /* state that the host copies to or from: plain layout, row by row */
};

/*
 * Dimensions are [n][channels][height][width] for images, [out][in][height][width] for the
 * weights of convolutions, [rows][columns] for matrices.
 */
struct tensor {
	const char *name;
	enum dtype dtype;
	enum tensor_role role;
	unsigned int n_dims;
	int64_t dims[4];
	const void *layout; /* the backend's; NULL until an operation decides */
	size_t bytes;	    /* with padding, once there is a layout */
	void *data;	    /* device memory, once the program is finished */
	/* kept by the program: the operations that use it first and last, place in its memory */
	int first, last;
	size_t offset;
};

/* X(kind, class of the kernel, what it computes) */
#define OP_KINDS(X)                                                                                \
	X(conv_fwd, "conv", "y = x * w")                                                           \
	X(conv_bwd_data, "conv", "dx of a convolution")                                            \
	X(conv_bwd_weights, "conv", "dw of a convolution")                                         \
	X(norm_fwd, "norm", "batch normalisation in training, residual and relu")                  \
	X(norm_bwd, "norm", "its gradients")                                                       \
	X(relu_fwd, "elementwise", "y = max(x, 0)")                                                \
	X(relu_bwd, "elementwise", "dx = dy where y > 0")                                          \
	X(add, "elementwise", "y = a + b")                                                         \
	X(cast, "elementwise", "y = x in another type")                                            \
	X(maxpool_fwd, "pool", "largest of a window")                                              \
	X(maxpool_bwd, "pool", "its gradient")                                                     \
	X(avgpool_fwd, "pool", "mean of an image's channels")                                      \
	X(avgpool_bwd, "pool", "its gradient")                                                     \
	X(gemm, "gemm", "c = a b + bias")                                                          \
	X(bias_bwd, "gemm", "sum of rows")                                                         \
	X(cross_entropy, "loss", "mean of softmax cross-entropy, and its gradient")                \
	X(sgd, "optimizer", "stochastic gradient descent with momentum")

enum op_kind {
#define X(kind, klass, what) OP_##kind,
	OP_KINDS(X)
#undef X
		OP_KIND_MAX
};

struct window {
	int64_t size, stride, pad; /* square, padded alike on all sides */
};

/*
 * What an operation works on; which members count is said by kind. d… is the gradient of ….
 *
 * conv_fwd          x, w → y
 * conv_bwd_data     dy, w → dx
 * conv_bwd_weights  x, dy → dw
 * norm_fwd          m, s = mean and biased variance of x over n, height and width; mean = m,
 *                   rstd = 1 / sqrt(s + eps); y = (x - m) rstd gamma + beta [+ residual], then
 *                   relu if asked; running_mean += momentum (m - running_mean), running_var
 *                   alike with s count / (count - 1)
 * norm_bwd          g = dy [+ dy2], 0 where relu gave 0; dbeta = sum g; dgamma = sum g x^;
 *                   dx = gamma rstd (g - mean(g) - x^ mean(g x^)); [dresidual = g], where x^ is
 *                   the normalised x. dx and dresidual may be dy and dy2, but not the same one.
 *                   y is needed with relu and a residual only.
 * relu_fwd, cast    x → y
 * relu_bwd          dy, y → dx
 * add               x, x2 → y
 * maxpool_fwd       x → y, index (u8, shaped as y: which element of the window was largest)
 * maxpool_bwd       dy [+ dy2], index → dx
 * avgpool_fwd, bwd  x → y [n][channels]; dy → dx
 * gemm              y [m][n] = x x2 [+ bias [n]], x and x2 transposed where asked; plain layouts
 * bias_bwd          dy [m][n] → dbias [n]
 * cross_entropy     x [n][classes], labels (s32 [n], below classes) → loss (f32 [1]) [, dx]
 * sgd               v = momentum v + (dw + weight_decay w); w = w - lr v; [copy = w, in its type]
 *
 * The vectors of normalisations are f32 with an element for each channel.
 */
struct op_args {
	struct tensor *x, *x2, *y, *w, *bias, *residual, *index, *labels, *loss;
	struct tensor *gamma, *beta, *mean, *rstd, *running_mean, *running_var;
	struct tensor *dx, *dy, *dy2, *dw, *dbias, *dresidual, *dgamma, *dbeta;
	struct tensor *v, *copy;
	/* no tensors from here on */
	struct window window; /* of pools; of convolutions, whose size is that of the weights */
	float eps, momentum;
	bool relu, trans_x, trans_x2;
	const struct sgd_params *sgd; /* read when it runs: change it while the queue is idle */
};
#define OP_TENSORS (offsetof(struct op_args, window) / sizeof(struct tensor *))

struct sgd_params {
	float lr, momentum, weight_decay;
};

struct program;

struct op {
	enum op_kind kind;
	char name[48];
	struct op_args a;
	/* the backend's, set by its plan function */
	struct program *program;
	void *plan;
	size_t scratch_bytes;			 /* of the program's scratch, shared by all */
	int (*bind)(struct op *op);		 /* memory is placed; may be NULL */
	int (*run)(struct op *op, void *native); /* as device_kernel.run */
	void (*unplan)(struct op *op);		 /* may be NULL */
};

/*
 * What a backend fills in.
 *  begin, end:  its own state of a program; layouts live until the end
 *  plain:       give @t the plain layout
 *  clear:       zero what a program allocated
 *  write, read: all elements of @t from or to host memory, plain and f32; the device is idle
 *  a function per kind: plan @op and give its tensors without a layout one; -ENOTSUP if this
 *               backend cannot, printed
 */
struct op_backend {
	int (*begin)(struct program *p);
	void (*end)(struct program *p);
	int (*plain)(struct program *p, struct tensor *t);
	int (*clear)(struct program *p);
	int (*write)(struct program *p, struct tensor *t, const float *from);
	int (*read)(struct program *p, const struct tensor *t, float *to);
#define X(kind, klass, what) int (*kind)(struct op * op);
	OP_KINDS(X)
#undef X
};

struct program {
	const struct device_ops *ops;
	struct device *device;
	void *backend; /* its state */
	int err;       /* the first one */
	struct op **op;
	size_t n_ops, n_tensors;
	struct tensor **tensor;
	void *memory;  /* of all tensors */
	void *scratch; /* of the operation that runs */
	size_t state_bytes, temp_bytes, scratch_bytes;
};

/* A program for an open device. NULL with errno, printed. */
struct program *program__new(const struct device_ops *ops, struct device *device);

/* A tensor of @n_dims dimensions; never NULL. @name must outlive the program. */
struct tensor *program__tensor(struct program *p, const char *name, enum dtype dtype,
			       enum tensor_role role, unsigned int n_dims, const int64_t *dims);
/* One with the dimensions and the layout of @as, which must have one. */
struct tensor *program__like(struct program *p, const char *name, enum dtype dtype,
			     enum tensor_role role, const struct tensor *as);

/* Append an operation, named by printf's rules. */
void program__add(struct program *p, enum op_kind kind, const struct op_args *args, const char *fmt,
		  ...) __attribute__((format(printf, 4, 5)));

/* Place and allocate all tensors. 0 or the first error, printed. */
int program__finish(struct program *p);

/* Put operations @first..@last (not included) into @q; 0 or -errno. */
int program__launch(struct program *p, struct device_queue *q, size_t first, size_t last);

/* All elements in plain order as f32. The program is finished and its queue idle. */
int program__write(struct program *p, struct tensor *t, const float *from);
int program__read(struct program *p, const struct tensor *t, float *to);

int64_t tensor__count(const struct tensor *t);

void program__free(struct program *p);

extern const struct op_backend op_backend_cpu, op_backend_null;

#endif
