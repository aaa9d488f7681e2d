// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/cmd.h"

#include <string.h>

const struct cmd *const cmds[] = {
#define X(name, why) &cmd_##name,
	CMD_TABLE(X)
#undef X
		NULL,
};

const struct cmd *cmd__find(const char *name)
{
	const struct cmd *const *c;

	for (c = cmds; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}
