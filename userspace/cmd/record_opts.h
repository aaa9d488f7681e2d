/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of xpugap record. */
#ifndef XPUGAP_CMD_RECORD_OPTS_H
#define XPUGAP_CMD_RECORD_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/cmd/record_parts.h"
#include "userspace/cmd/record_target.h"
#include "userspace/lib/opt.h"

struct record_opts {
	const char *output;
	bool force;
	struct opt_list probes;
	struct opt_list require;
	uint64_t memory;
	uint64_t max_duration_ns;
	uint64_t max_size;
	struct record_parts_opts parts;
	bool as_root;
	bool wait_tree;
	bool quiet;
	bool sync;
	bool priority;
	uint64_t level;
	bool btf;
	bool python;
	const char *source;
	bool pace;
	struct record_target_opts target;
};

extern const struct opt record_rows[];

/*
 * Are they such as can be, for a program if @program, with these names of probes? Otherwise says
 * what is wrong.
 */
bool record_opts__check(const struct record_opts *o, bool program, const char *const *probes,
			const char *const *require);

#endif
