// SPDX-License-Identifier: BSD-2-Clause
/* Operations of the null device: every tensor is plain, nothing is computed. */
#include <string.h>

#include "workloads/device/op.h"

static const char plain_layout; /* all that layouts are compared by is their address */

static int begin(struct program *p)
{
	return 0;
}

static void end(struct program *p)
{
}

static int plain(struct program *p, struct tensor *t)
{
	t->layout = &plain_layout;
	t->bytes = tensor__count(t) * dtype__size(t->dtype);
	return 0;
}

static int clear(struct program *p)
{
	return 0; /* results are undefined, and pages that nobody touches cost nothing */
}

static int write_tensor(struct program *p, struct tensor *t, const float *from)
{
	return 0;
}

static int read_tensor(struct program *p, const struct tensor *t, float *to)
{
	memset(to, 0, tensor__count(t) * sizeof(*to));
	return 0;
}

static int plan(struct op *op)
{
	struct tensor **t = (struct tensor **)&op->a;
	size_t i;

	for (i = 0; i < OP_TENSORS; i++)
		if (t[i])
			plain(op->program, t[i]);
	return 0;
}

const struct op_backend op_backend_null = {.begin = begin,
					   .end = end,
					   .plain = plain,
					   .clear = clear,
					   .write = write_tensor,
					   .read = read_tensor,
#define X(kind, klass, what) .kind = plan,
					   OP_KINDS(X)
#undef X
};
