/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands: one row in table.h, one file, one man page, one test, all of the same name. */
#ifndef XPUGAP_CMD_CMD_H
#define XPUGAP_CMD_CMD_H

#include "userspace/lib/opt.h"

enum exit_status {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

struct cmd_example {
	const char *text; /* what it does, one sentence; NULL ends the list */
	const char *line; /* the command line */
};

struct cmd {
	const char *name;
	const char *summary;  /* one phrase for the list of commands */
	const char *operands; /* after [OPTIONS] in the usage line: "-- CMD [ARG...]" or "" */
	/* the operands are a program and its arguments: the first of them ends our options */
	bool runs_program;
	/* for man page and --help: paragraphs separated by an empty line; no need to wrap them,
	 * but a line that begins with a space stays as it is */
	const char *description;
	const struct opt *opts;
	size_t opts_size; /* of the struct that the rows fill */
	const struct cmd_example *examples;
	const char *exit_status; /* more about exit codes for the man page, or NULL */
	const char *see_also;	 /* "trace(5)", or NULL */
	/* operands are argv[0..argc); returns an exit status, or -errno for EXIT_FAILED */
	int (*run)(const void *opts, int argc, char **argv);
};

#define CMD_DECLARE(name, Name) extern const struct cmd cmd_##name;
#include "userspace/cmd/table.h"
CMD_TABLE(CMD_DECLARE)
#undef CMD_DECLARE

/* NULL-terminated, in the order of the table. */
extern const struct cmd *const cmds[];
const struct cmd *cmd__find(const char *name);

#endif
