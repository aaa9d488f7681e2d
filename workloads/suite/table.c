// SPDX-License-Identifier: BSD-2-Clause
/* The table alone, so that a test program can bring its own. */
#include "workloads/suite/workload.h"

#define WORKLOAD_ROW(name, what) &workload_##name,
const struct workload *const workloads[] = {WORKLOAD_TABLE(WORKLOAD_ROW) NULL};
#undef WORKLOAD_ROW
