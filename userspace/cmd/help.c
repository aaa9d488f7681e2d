// SPDX-License-Identifier: BSD-2-Clause
/* xpugap help: what the commands do, as text, as manual pages, and as shell completion. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/help.h"
#include "userspace/lib/log.h"
#include "userspace/lib/wrap.h"

#define MAX_COMMANDS 64

struct help_opts {
	bool man;
	const char *completion;
};

static const struct opt help_rows[] = {
	{"man", 0, OPT_FLAG, NULL, "print the manual page", OPT_OFFSET(help_opts, man),
	 .more = "It is written in mdoc, which man(1) and mandoc(1) read. Without a command, the "
		 "page is that of xpugap itself."},
	{"completion", 0, OPT_STR, "SHELL", "print programmable completion for SHELL: bash",
	 OPT_OFFSET(help_opts, completion)},
	{NULL},
};

void help__overview(FILE *out)
{
	const struct cmd *const *c;

	fputs("usage: xpugap COMMAND [OPTION...] [OPERAND...]\n\ncommands:\n", out);
	for (c = cmds; *c; c++) {
		fprintf(out, "  %-12s", (*c)->name);
		wrap__words(out, 14, (*c)->summary);
	}
	fputs("\n'xpugap COMMAND --help' tells more; 'xpugap --version' the version.\n", out);
}

void help__command(const struct cmd *cmd, FILE *out)
{
	const struct cmd_example *e;

	fprintf(out, "usage: xpugap %s [OPTION...]%s%s\n\n", cmd->name, *cmd->operands ? " " : "",
		cmd->operands);
	wrap__paragraphs(out, cmd->description);
	fputs("\noptions:\n", out);
	opts__help(cmd->opts, out);
	fputs("  -h, --help                print this\n", out);
	for (e = cmd->examples; e && e->text; e++) {
		fputs(e == cmd->examples ? "\nexamples:\n  " : "  ", out);
		wrap__words(out, 2, e->text);
		fprintf(out, "      %s\n", e->line);
	}
	fprintf(out, "\n'man xpugap-%s' tells more.\n", cmd->name);
}

void help__unknown(const char *name)
{
	const char *names[MAX_COMMANDS], *near;
	size_t n = 0;

	for (; n < MAX_COMMANDS && cmds[n]; n++)
		names[n] = cmds[n]->name;
	near = opt__nearest(name, names, n);
	if (near)
		log_error("unknown command '%s', did you mean '%s'?", name, near);
	else
		log_error("unknown command '%s' (see 'xpugap help')", name);
}

static int completion(const char *shell)
{
	static const char *const shells[] = {"bash"};
	const char *near;

	if (strcmp(shell, "bash") == 0) {
		help__completion_bash(stdout);
		return EXIT_OK;
	}
	near = opt__nearest(shell, shells, 1);
	log_error("help: no completion for '%s'%s", shell,
		  near ? ", did you mean 'bash'?" : " (known: bash)");
	return EXIT_USAGE;
}

static int run(const void *opts, int argc, char **argv)
{
	const struct help_opts *o = opts;
	const struct cmd *cmd = NULL;

	if (argc > 1 || (argc && o->completion)) {
		log_error("help: '%s' is one operand too many (see 'xpugap help --help')",
			  argv[argc - 1]);
		return EXIT_USAGE;
	}
	if (o->completion)
		return completion(o->completion);
	if (argc) {
		cmd = cmd__find(argv[0]);
		if (!cmd) {
			help__unknown(argv[0]);
			return EXIT_USAGE;
		}
	}
	if (o->man)
		help__man(cmd, stdout);
	else if (cmd)
		help__command(cmd, stdout);
	else
		help__overview(stdout);
	return EXIT_OK;
}

static const struct cmd_example examples[] = {
	{"The options of run", "xpugap help run"},
	{"Completion for this shell", "source <(xpugap help --completion bash)"},
	{NULL},
};

const struct cmd cmd_help = {
	.name = "help",
	.summary = "what the commands do",
	.operands = "[COMMAND]",
	.description = "Without COMMAND, lists the commands. With it, prints what it does and its "
		       "options, as 'xpugap COMMAND --help' does.",
	.opts = help_rows,
	.opts_size = sizeof(struct help_opts),
	.examples = examples,
	.run = run,
};
