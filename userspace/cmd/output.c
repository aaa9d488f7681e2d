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

void output__exchange(struct output *o)
{
	if (!o->beside || o->exchanged || (o->caller && caller__files_as(o->caller)))
		return;
	o->exchanged = renameat2(AT_FDCWD, o->beside, AT_FDCWD, o->path, RENAME_EXCHANGE) == 0;
	caller__files_as(NULL);
}

static int remove_other(struct output *o)
{
	if (!o->exchanged)
		return rename(o->beside, o->path) < 0 ? -errno : 0;
	return unlink(o->beside) < 0 && errno != ENOENT ? -errno : 0;
}

int output__replace(struct output *o)
{
	int err;

	if (!o->beside)
		return 0;
	err = o->caller ? caller__files_as(o->caller) : 0;
	if (!err)
		err = remove_other(o);
	caller__files_as(NULL);
	if (err) {
		log_error("'%s' cannot be replaced, the %s is in '%s': %s", o->path,
			  o->exchanged ? "older trace" : "trace", o->beside, log__err(err));
		return err;
	}
	free(o->beside);
	o->beside = NULL;
	o->exchanged = false;
	return 0;
}

/* Where the file lies that output__open() created. */
static const char *place_of(const struct output *o)
{
	return o->beside && !o->exchanged ? o->beside : o->path;
}

/* Is the file where it was made? Others may have removed it, or replaced it by theirs. */
static bool is_there(const struct output *o)
{
	struct stat ours, there;

	return fstat(o->fd, &ours) == 0 && lstat(place_of(o), &there) == 0 &&
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

/* The file that was there takes the place of ours, unless that is somebody else's by now. */
static void put_back(struct output *o)
{
	int err = is_there(o) ? 0 : -EEXIST;

	if (!err && rename(o->beside, o->path) < 0)
		err = -errno;
	if (err)
		log_error("what '%s' was lies in '%s': %s", o->path, o->beside, log__err(err));
}

static void take_away(struct output *o)
{
	int err = o->caller ? caller__files_as(o->caller) : 0;

	if (err)
		log_error("cannot remove '%s': %s", place_of(o), log__err(err));
	else if (o->exchanged)
		put_back(o);
	else if (is_there(o)) /* not what may have taken its name since */
		unlink(place_of(o));
	caller__files_as(NULL);
}

void output__discard(struct output *o)
{
	if (o->fd >= 0 && !o->stream)
		take_away(o);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	free(o->beside);
	o->beside = NULL;
	o->exchanged = false;
}
