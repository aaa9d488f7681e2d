/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of workloads as they are typed behind `xpugap run` and `xpugap workload`. */
#ifndef XPUGAP_SUITE_OPTIONS_H
#define XPUGAP_SUITE_OPTIONS_H

#include <jansson.h>

#include "workloads/suite/workload.h"

/* The option rows of all workloads, one for each name: opt.others of an OPT_OTHER row. */
size_t workload__all_options(const struct opt **rows, size_t max);

/*
 * Values of @w's options in new memory: defaults, then those of @typed ("name=value" for all
 * workloads, "WORKLOAD.name=value" for one) that @w knows, settled for @size. NULL with errno,
 * printed.
 */
void *workload__options(const struct workload *w, const struct opt_list *typed,
			enum workload_size size);
void workload__free_options(const struct workload *w, void *values);

/*
 * What was typed as an argument for `xpugap workload`: "--name=value" or "--flag", to be freed;
 * NULL where it is not meant for @w (or there is no memory).
 */
char *workload__argument(const struct workload *w, const char *typed);

/* Does each of @typed mean an option of one of @n workloads? 0 or -EINVAL, printed. */
int workload__check_options(const struct workload *const *w, size_t n,
			    const struct opt_list *typed);

/* The values as a JSON object: numbers, strings, booleans; times in ns, sizes in bytes. */
json_t *workload__options_json(const struct workload *w, const void *values);

#endif
