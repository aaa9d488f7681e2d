// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

static int create(struct output *o, bool force)
{
	struct stat st;

	if (stat(o->path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		return open_stream(o);
	}
	/* replaced, not cut: who reads the old one keeps it */
	if (force && unlink(o->path) < 0 && errno != ENOENT)
		return -errno;
	o->fd = open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return o->fd < 0 ? -errno : 0;
}

int output__open(struct output *o, const char *path, bool force, const struct caller *caller)
{
	int err;

	*o = (struct output){.path = path, .fd = -1};
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

int output__close(struct output *o)
{
	int err = 0;

	if (o->fd >= 0 && close(o->fd) < 0) {
		err = -errno;
		log_error("cannot write '%s': %s", o->path, log__err(err));
	}
	o->fd = -1;
	return err;
}

void output__discard(struct output *o)
{
	struct stat ours, there;

	/* only the file that was created here, not what may have taken its name since */
	if (o->fd >= 0 && !o->stream && fstat(o->fd, &ours) == 0 && lstat(o->path, &there) == 0 &&
	    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		unlink(o->path);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}
