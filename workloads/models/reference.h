/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations of models written for clearness, in double: what devices are checked against.
 *
 * Images are [n][h][w][c], weights of convolutions [kh][kw][in][out], matrices [rows][columns].
 * Outputs are overwritten. Gradients follow from the forward formulas by hand; the tests check
 * them against finite differences.
 */
#ifndef XPUGAP_MODELS_REFERENCE_H
#define XPUGAP_MODELS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ref_conv {
	int n, h, w, in, out;  /* of x; h and w are those of the image */
	int size, stride, pad; /* of the window, square */
	int oh, ow;	       /* of y: ref_conv__init() */
};

void ref_conv__init(struct ref_conv *c);
size_t ref_conv__x(const struct ref_conv *c); /* elements of x, y and the weights */
size_t ref_conv__y(const struct ref_conv *c);
size_t ref_conv__w(const struct ref_conv *c);

void ref_conv__fwd(const struct ref_conv *c, const double *x, const double *w, double *y);
void ref_conv__bwd_data(const struct ref_conv *c, const double *dy, const double *w, double *dx);
void ref_conv__bwd_weights(const struct ref_conv *c, const double *x, const double *dy, double *dw);

/*
 * Batch normalisation over @rows vectors of @c channels; biased variance. @residual may be NULL.
 * bwd: @g = dy, 0 where relu gave 0 (which is also the residual's gradient).
 */
void ref_norm__fwd(size_t rows, size_t c, const double *x, const double *residual, bool relu,
		   const double *gamma, const double *beta, double eps, double *mean, double *var,
		   double *y);
void ref_norm__bwd(size_t rows, size_t c, const double *x, const double *y, bool relu,
		   const double *gamma, double eps, const double *mean, const double *var,
		   const double *dy, double *g, double *dx, double *dgamma, double *dbeta);

/* Pools use the members of struct ref_conv but in and out; both are @c channels. */
void ref_maxpool__fwd(const struct ref_conv *p, int c, const double *x, double *y, int *index);
void ref_maxpool__bwd(const struct ref_conv *p, int c, const int *index, const double *dy,
		      double *dx);
void ref_avgpool__fwd(int n, int pixels, int c, const double *x, double *y);
void ref_avgpool__bwd(int n, int pixels, int c, const double *dy, double *dx);

/* y[n][out] = x[n][in] w[out][in]^T + b; any gradient may be NULL */
void ref_linear__fwd(int n, int in, int out, const double *x, const double *w, const double *b,
		     double *y);
void ref_linear__bwd(int n, int in, int out, const double *x, const double *w, const double *dy,
		     double *dx, double *dw, double *db);

/* Mean cross-entropy of softmax(x); @dx may be NULL. */
double ref_cross_entropy(int n, int classes, const double *x, const int32_t *labels, double *dx);

/* v = momentum v + (dw + decay w); w -= lr v */
void ref_sgd(size_t n, double *w, const double *dw, double *v, double lr, double momentum,
	     double decay);

/* Between the orders of devices ([n][c][h][w], [out][in][kh][kw]) and these. */
void ref_image__from(int n, int c, int h, int w, const float *nchw, double *nhwc);
void ref_image__to(int n, int c, int h, int w, const double *nhwc, float *nchw);
void ref_weights__from(const struct ref_conv *c, const float *oihw, double *w);

#endif
