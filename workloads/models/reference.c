// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/models/reference.h"

#include <math.h>
#include <string.h>

/* The compiler may use vectors: the order of sums within a vector of channels is not changed. */
#define HOT __attribute__((optimize("O3")))

void ref_conv__init(struct ref_conv *c)
{
	c->oh = (c->h + 2 * c->pad - c->size) / c->stride + 1;
	c->ow = (c->w + 2 * c->pad - c->size) / c->stride + 1;
}

size_t ref_conv__x(const struct ref_conv *c)
{
	return (size_t)c->n * c->h * c->w * c->in;
}

size_t ref_conv__y(const struct ref_conv *c)
{
	return (size_t)c->n * c->oh * c->ow * c->out;
}

size_t ref_conv__w(const struct ref_conv *c)
{
	return (size_t)c->size * c->size * c->in * c->out;
}

/* The pixel under element (@ky, @kx) of the window at output (@i, @oy, @ox), or -1: padding. */
static long pixel(const struct ref_conv *c, int i, int oy, int ox, int ky, int kx)
{
	int y = oy * c->stride + ky - c->pad, x = ox * c->stride + kx - c->pad;

	return y < 0 || x < 0 || y >= c->h || x >= c->w ? -1 : ((long)i * c->h + y) * c->w + x;
}

/* y[o] += x[i] w[i][o] */
HOT static void forward(int in, int out, const double *restrict x, const double *restrict w,
			double *restrict y)
{
	int i, o;

	for (i = 0; i < in; i++, w += out)
		for (o = 0; o < out; o++)
			y[o] += x[i] * w[o];
}

/* dx[i] += w[i][o] dy[o] */
HOT static void back_data(int in, int out, const double *restrict dy, const double *restrict w,
			  double *restrict dx)
{
	double sum[4];
	int i, o;

	for (i = 0; i < in; i++, w += out) {
		memset(sum, 0, sizeof(sum));
		for (o = 0; o + 4 <= out; o += 4) {
			sum[0] += w[o] * dy[o];
			sum[1] += w[o + 1] * dy[o + 1];
			sum[2] += w[o + 2] * dy[o + 2];
			sum[3] += w[o + 3] * dy[o + 3];
		}
		for (; o < out; o++)
			sum[0] += w[o] * dy[o];
		dx[i] += sum[0] + sum[1] + sum[2] + sum[3];
	}
}

/* dw[i][o] += x[i] dy[o] */
HOT static void back_weights(int in, int out, const double *restrict x, const double *restrict dy,
			     double *restrict dw)
{
	int i, o;

	for (i = 0; i < in; i++, dw += out)
		for (o = 0; o < out; o++)
			dw[o] += x[i] * dy[o];
}

enum direction {
	FORWARD,
	BACK_DATA,
	BACK_WEIGHTS,
};

/* All pairs of an output pixel and an element of its window. */
static void convolve(const struct ref_conv *c, double *x, double *w, double *y,
		     enum direction direction)
{
	int i, oy, ox, ky, kx;
	double *wk, *xp;
	long p;

	for (i = 0; i < c->n; i++)
		for (oy = 0; oy < c->oh; oy++)
			for (ox = 0; ox < c->ow; ox++, y += c->out)
				for (ky = 0; ky < c->size; ky++)
					for (kx = 0; kx < c->size; kx++) {
						p = pixel(c, i, oy, ox, ky, kx);
						if (p < 0)
							continue;
						xp = x + p * c->in;
						wk = w +
						     ((size_t)ky * c->size + kx) * c->in * c->out;
						if (direction == FORWARD)
							forward(c->in, c->out, xp, wk, y);
						else if (direction == BACK_DATA)
							back_data(c->in, c->out, y, wk, xp);
						else
							back_weights(c->in, c->out, xp, y, wk);
					}
}

void ref_conv__fwd(const struct ref_conv *c, const double *x, const double *w, double *y)
{
	memset(y, 0, ref_conv__y(c) * sizeof(*y));
	convolve(c, (double *)x, (double *)w, y, FORWARD);
}

void ref_conv__bwd_data(const struct ref_conv *c, const double *dy, const double *w, double *dx)
{
	memset(dx, 0, ref_conv__x(c) * sizeof(*dx));
	convolve(c, dx, (double *)w, (double *)dy, BACK_DATA);
}

void ref_conv__bwd_weights(const struct ref_conv *c, const double *x, const double *dy, double *dw)
{
	memset(dw, 0, ref_conv__w(c) * sizeof(*dw));
	convolve(c, (double *)x, dw, (double *)dy, BACK_WEIGHTS);
}

void ref_norm__fwd(size_t rows, size_t c, const double *x, const double *residual, bool relu,
		   const double *gamma, const double *beta, double eps, double *mean, double *var,
		   double *y)
{
	size_t i, j;
	double v;

	memset(mean, 0, c * sizeof(*mean));
	memset(var, 0, c * sizeof(*var));
	for (i = 0; i < rows; i++)
		for (j = 0; j < c; j++)
			mean[j] += x[i * c + j] / rows;
	for (i = 0; i < rows; i++)
		for (j = 0; j < c; j++)
			var[j] += (x[i * c + j] - mean[j]) * (x[i * c + j] - mean[j]) / rows;
	for (i = 0; i < rows; i++)
		for (j = 0; j < c; j++) {
			v = (x[i * c + j] - mean[j]) / sqrt(var[j] + eps) * gamma[j] + beta[j];
			v += residual ? residual[i * c + j] : 0;
			y[i * c + j] = relu && v < 0 ? 0 : v;
		}
}

void ref_norm__bwd(size_t rows, size_t c, const double *x, const double *y, bool relu,
		   const double *gamma, double eps, const double *mean, const double *var,
		   const double *dy, double *g, double *dx, double *dgamma, double *dbeta)
{
	double xn, rstd;
	size_t i, j, at;

	memset(dgamma, 0, c * sizeof(*dgamma));
	memset(dbeta, 0, c * sizeof(*dbeta));
	for (i = 0; i < rows; i++)
		for (j = 0; j < c; j++) {
			at = i * c + j;
			g[at] = relu && y[at] <= 0 ? 0 : dy[at];
			dbeta[j] += g[at];
			dgamma[j] += g[at] * (x[at] - mean[j]) / sqrt(var[j] + eps);
		}
	for (i = 0; i < rows; i++)
		for (j = 0; j < c; j++) {
			at = i * c + j;
			rstd = 1 / sqrt(var[j] + eps);
			xn = (x[at] - mean[j]) * rstd;
			dx[at] =
				gamma[j] * rstd * (g[at] - dbeta[j] / rows - xn * dgamma[j] / rows);
		}
}

void ref_maxpool__fwd(const struct ref_conv *p, int c, const double *x, double *y, int *index)
{
	int i, oy, ox, k, j, best;
	long at;

	for (i = 0; i < p->n; i++)
		for (oy = 0; oy < p->oh; oy++)
			for (ox = 0; ox < p->ow; ox++)
				for (j = 0; j < c; j++) {
					best = -1;
					for (k = 0; k < p->size * p->size; k++) {
						at = pixel(p, i, oy, ox, k / p->size, k % p->size);
						if (at < 0 || (best >= 0 && x[at * c + j] <= *y))
							continue;
						*y = x[at * c + j];
						best = at;
					}
					*index++ = best;
					y++;
				}
}

void ref_maxpool__bwd(const struct ref_conv *p, int c, const int *index, const double *dy,
		      double *dx)
{
	size_t i, n = (size_t)p->n * p->oh * p->ow * c;

	memset(dx, 0, (size_t)p->n * p->h * p->w * c * sizeof(*dx));
	for (i = 0; i < n; i++)
		dx[(size_t)index[i] * c + i % c] += dy[i];
}

void ref_avgpool__fwd(int n, int pixels, int c, const double *x, double *y)
{
	int i, p, j;

	memset(y, 0, (size_t)n * c * sizeof(*y));
	for (i = 0; i < n; i++)
		for (p = 0; p < pixels; p++)
			for (j = 0; j < c; j++)
				y[(size_t)i * c + j] += *x++ / pixels;
}

void ref_avgpool__bwd(int n, int pixels, int c, const double *dy, double *dx)
{
	int i, p, j;

	for (i = 0; i < n; i++)
		for (p = 0; p < pixels; p++)
			for (j = 0; j < c; j++)
				*dx++ = dy[(size_t)i * c + j] / pixels;
}

void ref_linear__fwd(int n, int in, int out, const double *x, const double *w, const double *b,
		     double *y)
{
	int i, j, k;

	for (i = 0; i < n; i++)
		for (j = 0; j < out; j++) {
			y[(size_t)i * out + j] = b[j];
			for (k = 0; k < in; k++)
				y[(size_t)i * out + j] +=
					x[(size_t)i * in + k] * w[(size_t)j * in + k];
		}
}

void ref_linear__bwd(int n, int in, int out, const double *x, const double *w, const double *dy,
		     double *dx, double *dw, double *db)
{
	int i, j, k;
	double g;

	if (dx)
		memset(dx, 0, (size_t)n * in * sizeof(*dx));
	if (dw)
		memset(dw, 0, (size_t)out * in * sizeof(*dw));
	if (db)
		memset(db, 0, out * sizeof(*db));
	for (i = 0; i < n; i++)
		for (j = 0; j < out; j++) {
			g = dy[(size_t)i * out + j];
			if (db)
				db[j] += g;
			for (k = 0; k < in; k++) {
				if (dx)
					dx[(size_t)i * in + k] += g * w[(size_t)j * in + k];
				if (dw)
					dw[(size_t)j * in + k] += g * x[(size_t)i * in + k];
			}
		}
}

double ref_cross_entropy(int n, int classes, const double *x, const int32_t *labels, double *dx)
{
	double most, sum, loss = 0;
	int i, j;

	for (i = 0; i < n; i++, x += classes) {
		most = x[0];
		sum = 0;
		for (j = 1; j < classes; j++)
			most = fmax(most, x[j]);
		for (j = 0; j < classes; j++)
			sum += exp(x[j] - most);
		loss += (log(sum) - (x[labels[i]] - most)) / n;
		for (j = 0; j < classes && dx; j++)
			*dx++ = (exp(x[j] - most) / sum - (j == labels[i])) / n;
	}
	return loss;
}

void ref_sgd(size_t n, double *w, const double *dw, double *v, double lr, double momentum,
	     double decay)
{
	size_t i;

	for (i = 0; i < n; i++) {
		v[i] = momentum * v[i] + (dw[i] + decay * w[i]);
		w[i] -= lr * v[i];
	}
}

void ref_image__from(int n, int c, int h, int w, const float *nchw, double *nhwc)
{
	size_t i, j, p, pixels = (size_t)h * w;

	for (i = 0; i < (size_t)n; i++)
		for (p = 0; p < pixels; p++)
			for (j = 0; j < (size_t)c; j++)
				*nhwc++ = nchw[(i * c + j) * pixels + p];
}

void ref_image__to(int n, int c, int h, int w, const double *nhwc, float *nchw)
{
	size_t i, j, p, pixels = (size_t)h * w;

	for (i = 0; i < (size_t)n; i++)
		for (p = 0; p < pixels; p++)
			for (j = 0; j < (size_t)c; j++)
				nchw[(i * c + j) * pixels + p] = *nhwc++;
}

void ref_weights__from(const struct ref_conv *c, const float *oihw, double *w)
{
	size_t k, i, o, taps = (size_t)c->size * c->size;

	for (k = 0; k < taps; k++)
		for (i = 0; i < (size_t)c->in; i++)
			for (o = 0; o < (size_t)c->out; o++)
				*w++ = oihw[(o * c->in + i) * taps + k];
}
