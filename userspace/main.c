// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/help.h"
#include "userspace/lib/caller.h"
#include "userspace/lib/log.h"

static int run_command(const struct cmd *cmd, int argc, char **argv)
{
	int first, status;
	void *values;

	values = calloc(1, cmd->opts_size + 1);
	if (!values) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	if (cmd->runs_program)
		first = opts__parse(cmd->opts, values, cmd->name, argc, argv);
	else
		first = opts__parse_mixed(cmd->opts, values, cmd->name, argc, argv);
	if (first == OPTS_HELP) {
		help__command(cmd, stdout);
		status = EXIT_OK;
	} else if (first < 0) {
		status = EXIT_USAGE;
	} else {
		status = cmd->run(values, argc - first, argv + first);
	}
	if (status < 0)
		status = EXIT_FAILED;
	opts__free(cmd->opts, values);
	free(values);
	return status;
}

/* Results that did not reach their reader are a failure. */
static int flush(int status)
{
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK) {
		log_error("cannot write the output");
		return EXIT_FAILED;
	}
	return status;
}

/*
 * What is opened must not come to stand where standard input, output or error were closed: it
 * would get what is meant for them. In their place stands what can neither be read nor written.
 */
static int fill_standard_files(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	const struct cmd *cmd;

	if (fill_standard_files())
		return EXIT_FAILED;
	caller__wait_for_children();
	if (argc < 2) {
		help__overview(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help__overview(stdout);
		return flush(EXIT_OK);
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("xpugap " XPUGAP_VERSION);
		return flush(EXIT_OK);
	}
	cmd = cmd__find(argv[1]);
	if (!cmd) {
		help__unknown(argv[1]);
		return EXIT_USAGE;
	}
	return flush(run_command(cmd, argc - 1, argv + 1));
}
