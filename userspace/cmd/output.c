// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/lib/log.h"

static int open_stdout(struct output *o)
{
	if (isatty(STDOUT_FILENO)) {
		log_error("a trace is not for the terminal: redirect standard output or name a "
			  "file with -o");
		return -ENOTTY;
	}
	o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	o->stream = true;
	return o->fd < 0 ? -errno : 0;
}

/* A pipe is opened when its reader comes: who does not want to wait may end us by a signal. */
static int open_stream(struct output *o)
{
	sigset_t none, old;
	int err;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &old);
	o->stream = true;
	o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
	err = o->fd < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* Replaced, not cut: who reads the old one keeps it; and not before there is something better. */
static int create_beside(struct output *o)
{
	if (asprintf(&o->beside, "%s.XXXXXX", o->path) < 0) {
		o->beside = NULL;
		return -ENOMEM;
	}
	o->fd = mkostemp(o->beside, O_CLOEXEC); /* 0600 */
	return o->fd < 0 ? -errno : 0;
}

static int create(struct output *o, bool force)
{
	struct stat st;

	if (stat(o->path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		return open_stream(o);
	}
	if (force && lstat(o->path, &st) == 0 && !S_ISDIR(st.st_mode))
		return create_beside(o);
	o->fd = open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return o->fd < 0 ? -errno : 0;
}

int output__open(struct output *o, const char *path, bool force, const struct caller *caller)
{
	int err;

	*o = (struct output){.path = path, .fd = -1, .caller = caller};
	if (strcmp(path, "-") == 0) {
		err = open_stdout(o);
		if (err && err != -ENOTTY)
			log_error("cannot write to standard output: %s", log__err(err));
		return err;
	}
	err = caller ? caller__files_as(caller) : 0;
	if (!err)
		err = create(o, force);
	caller__files_as(NULL);
	if (err == -EEXIST)
		log_error("'%s' exists (-f replaces it, -o names another)", path);
	else if (err)
		log_error("cannot create '%s': %s", path, log__err(err));
	return err;
}

int output__replace(struct output *o)
{
	int err;

	if (!o->beside)
		return 0;
	err = o->caller ? caller__files_as(o->caller) : 0;
	if (!err && rename(o->beside, o->path) < 0)
		err = -errno;
	caller__files_as(NULL);
	if (err) {
		log_error("'%s' cannot be replaced, the trace is in '%s': %s", o->path, o->beside,
			  log__err(err));
		return err;
	}
	free(o->beside);
	o->beside = NULL;
	return 0;
}

/* Is the file where it was made? Others may have removed it, or replaced it by theirs. */
static bool is_there(const struct output *o)
{
	struct stat ours, there;

	return fstat(o->fd, &ours) == 0 && lstat(o->beside ? o->beside : o->path, &there) == 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

int output__close(struct output *o)
{
	int err = 0;

	if (o->fd >= 0 && !o->stream && !is_there(o)) {
		log_error("'%s' was removed or replaced while it was written: the trace is lost",
			  o->path);
		err = -ENOENT;
	}
	if (o->fd >= 0 && close(o->fd) < 0) {
		err = -errno;
		log_error("cannot write '%s': %s", o->path, log__err(err));
	}
	o->fd = -1;
	free(o->beside);
	o->beside = NULL;
	return err;
}

void output__discard(struct output *o)
{
	/* only the file that was created here, not what may have taken its name since */
	if (o->fd >= 0 && !o->stream && is_there(o))
		unlink(o->beside ? o->beside : o->path);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	free(o->beside);
	o->beside = NULL;
}
