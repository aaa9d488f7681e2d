// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/probe.h"

#include <errno.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "userspace/lib/opt.h"

const struct probe probe_table[] = {
#define X(name, HOOK, on, what) {#name, REC_HOOK_##HOOK, on, what},
	PROBE_TABLE(X)
#undef X
		{0},
};

const struct probe *probe__find(const char *name)
{
	const struct probe *p;

	for (p = probe_table; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

static void complain(const char *name)
{
	const char *names[sizeof(probe_table) / sizeof(probe_table[0])], *near;
	size_t n = 0;

	for (; probe_table[n].name; n++)
		names[n] = probe_table[n].name;
	near = opt__nearest(name, names, n);
	if (near)
		log_error("unknown probe '%s', did you mean '%s'?", name, near);
	else
		log_error("unknown probe '%s' (see 'xpugap list probes')", name);
}

int probe__check(const char *const *names)
{
	for (; names && *names; names++) {
		if (!probe__find(*names)) {
			complain(*names);
			return -EINVAL;
		}
	}
	return 0;
}

bool probe__wanted(const char *const *names, const char *name)
{
	const struct probe *p = probe__find(name);

	if (!names)
		return p && p->on;
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return p != NULL;
	return false;
}

int probe__check_required(const char *const *names, const char *const *probes)
{
	int err = probe__check(names);

	for (; !err && names && *names; names++) {
		if (probe__wanted(probes, *names) || probe__find(*names)->hook == REC_HOOK_TASK)
			continue;
		log_error("probe '%s' is required, but not among those to be recorded (-e)",
			  *names);
		err = -EINVAL;
	}
	return err;
}

bool probe__wants(const char *const *names, enum rec_hook_id hook)
{
	const struct probe *p;

	if (!names) {
		for (p = probe_table; p->name; p++)
			if (p->hook == hook && p->on)
				return true;
		return false;
	}
	for (; *names; names++) {
		p = probe__find(*names);
		if (p && p->hook == hook)
			return true;
	}
	return false;
}
