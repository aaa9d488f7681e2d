/* SPDX-License-Identifier: BSD-2-Clause */
/* First values of weights and inputs. */
#ifndef XPUGAP_MODELS_INIT_H
#define XPUGAP_MODELS_INIT_H

#include <stddef.h>
#include <stdint.h>

/* Independent of each other by (seed, stream); the same on every machine but for libm. */
void init__normal(float *x, size_t n, double deviation, uint64_t seed, uint64_t stream);
void init__uniform(float *x, size_t n, double low, double high, uint64_t seed, uint64_t stream);
void init__constant(float *x, size_t n, float value);

#endif
