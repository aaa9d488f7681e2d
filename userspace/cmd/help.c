// SPDX-License-Identifier: BSD-2-Clause
/* xpugap help: what the commands do, as text, as man pages, and as shell completion. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/help.h"
#include "userspace/lib/log.h"

void help__overview(FILE *out)
{
	const struct cmd *const *c;

	fputs("usage: xpugap COMMAND [OPTIONS] ...\n\ncommands:\n", out);
	for (c = cmds; *c; c++)
		fprintf(out, "  %-12s%s\n", (*c)->name, (*c)->summary);
	fputs("\n'xpugap COMMAND --help' tells more; 'xpugap --version' the version.\n", out);
}

void help__command(const struct cmd *cmd, FILE *out)
{
	const struct cmd_example *e;

	fprintf(out, "usage: xpugap %s%s%s%s\n\n%s\n", cmd->name, cmd->opts ? " [OPTIONS]" : "",
		*cmd->operands ? " " : "", cmd->operands, cmd->description);
	if (cmd->opts) {
		fputs("\noptions:\n", out);
		opts__help(cmd->opts, out);
	}
	for (e = cmd->examples; e && e->text; e++)
		fprintf(out, "%s  %s:\n      %s\n", e == cmd->examples ? "\nexamples:\n" : "",
			e->text, e->line);
}

void help__unknown(const char *name)
{
	const char *names[64], *near;
	size_t n = 0;

	for (; n < 64 && cmds[n]; n++)
		names[n] = cmds[n]->name;
	near = opt__nearest(name, names, n);
	if (near)
		log_error("unknown command '%s', did you mean '%s'?", name, near);
	else
		log_error("unknown command '%s' (see 'xpugap help')", name);
}

static int run(const void *opts, int argc, char **argv)
{
	const struct cmd *cmd;

	if (argc == 0) {
		help__overview(stdout);
		return EXIT_OK;
	}
	cmd = cmd__find(argv[0]);
	if (!cmd) {
		help__unknown(argv[0]);
		return EXIT_USAGE;
	}
	help__command(cmd, stdout);
	return EXIT_OK;
}

const struct cmd cmd_help = {
	.name = "help",
	.summary = "what the commands do",
	.operands = "[COMMAND]",
	.description = "Without COMMAND, lists the commands. With it, prints its options.",
	.run = run,
};
