/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starting a target so that nothing of it is missed: the child exists, as the right user and with
 * the right environment, but has not yet become the program; sources are attached to it; then it
 * is let go.
 */
#ifndef XPUGAP_SOURCE_LAUNCH_H
#define XPUGAP_SOURCE_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "userspace/lib/caller.h"

struct launch;

struct launch_opts {
	char *const *argv;	     /* NULL-terminated; argv[0] is searched in PATH */
	const char *const *env;	     /* "NAME=value" added to ours, NULL-terminated; or NULL */
	const struct caller *caller; /* whom it runs as; NULL: as we are */
	const char *dir;	     /* working directory; NULL: ours */
	int out_fd, err_fd;	     /* its standard output and error; -1: ours */
	const sigset_t *mask;	     /* signals that it has blocked; NULL: ours */
	bool group;		     /* a process group of its own: no Ctrl-C from the terminal */
};

/*
 * Fork the child and wait until it is ready to become the program. NULL with errno, after
 * printing why (no such program, no rights to become the caller, ...): an unknown or
 * unexecutable program is found out here, before anything is attached.
 */
struct launch *launch__new(const struct launch_opts *opts);
pid_t launch__pid(const struct launch *l);

/* Let the child become the program. 0, or -errno after printing why it could not. */
int launch__exec(struct launch *l);

/* Ends a child that was not let go; one that was lives on. */
void launch__free(struct launch *l);

/*
 * Say how a process ended, from the status of waitpid(): "exited with status 3",
 * "was killed by SIGSEGV (core dumped)"; returns @buf.
 */
char *launch__describe(int status, char *buf, size_t size);

/* The same as an exit status, as a shell has it: what it exited with, or 128 + the signal. */
int launch__exit_status(int status);

#endif
