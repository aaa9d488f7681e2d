// SPDX-License-Identifier: BSD-2-Clause
/* One lane, for layouts that keep fewer than eight channels side by side. */
#define SIMD_NAME  cpu_simd_scalar
#define SIMD_LANES 1
#include "workloads/device/cpu_simd_body.h"
