/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XPUGAP_CMD_HELP_H
#define XPUGAP_CMD_HELP_H

#include <stdio.h>

#include "userspace/cmd/cmd.h"

void help__overview(FILE *out);
void help__command(const struct cmd *cmd, FILE *out);
/* Say that @name is no command and which one may be meant. */
void help__unknown(const char *name);

#endif
