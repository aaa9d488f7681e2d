/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XPUGAP_CMD_HELP_H
#define XPUGAP_CMD_HELP_H

#include <stdio.h>

#include "userspace/cmd/cmd.h"

void help__overview(FILE *out);
void help__command(const struct cmd *cmd, FILE *out);
/* Say that @name is no command and which one may be meant. */
void help__unknown(const char *name);

/* The manual page, in mdoc(7), of @cmd, or of the whole program where it is NULL. */
void help__man(const struct cmd *cmd, FILE *out);

/* Programmable completion for bash. */
void help__completion_bash(FILE *out);

#endif
