// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/lib/log.h"

#define EXTENSION    ".xpt"
#define UNDER_WAY    ".part"
#define LEAST_DIGITS 4

struct part {
	struct part *next;
	unsigned int number;
	char *beside; /* NULL, or what it is called as long as an older one has its name */
	int fd;
	struct trace_part *done;
};

/* ---- names ---- */

static void path_of(const struct parts *p, unsigned int number, bool under_way, char *buf,
		    size_t size)
{
	snprintf(buf, size, "%s.%0*u" EXTENSION "%s", p->prefix, LEAST_DIGITS, number,
		 under_way ? UNDER_WAY : "");
}

/* Is @file the name of one of these, complete or not? */
static bool is_part(const struct parts *p, const char *file)
{
	size_t n = strlen(p->name);
	const char *at = file + n;

	if (strncmp(file, p->name, n) != 0 || *at++ != '.')
		return false;
	for (n = 0; isdigit((unsigned char)at[n]); n++)
		;
	at += n;
	return n >= LEAST_DIGITS &&
	       (strcmp(at, EXTENSION) == 0 || strcmp(at, EXTENSION UNDER_WAY) == 0);
}

static int set_names(struct parts *p, const char *path)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	size_t n = strlen(file), ext = strlen(EXTENSION);

	if (n > ext && strcmp(file + n - ext, EXTENSION) == 0)
		n -= ext;
	p->name = strndup(file, n);
	p->prefix = strndup(path, (size_t)(file - path) + n);
	p->folder = slash == path ? strdup("/") : slash ? strndup(path, slash - path) : strdup(".");
	return p->name && p->prefix && p->folder ? 0 : -ENOMEM;
}

/* Call @fn with each file of such a name in @path, until it returns other than 0, which is
 * returned. */
static int each_file(struct parts *p, const char *path,
		     int (*fn)(struct parts *p, int folder, const char *name))
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir)))
		if (is_part(p, e->d_name))
			err = fn(p, dirfd(dir), e->d_name);
	closedir(dir);
	return err;
}

static int refuse(struct parts *p, int folder, const char *name)
{
	(void)folder;
	log_error("'%.*s%s' exists (-f removes all '%s.NNNN" EXTENSION "', -o names others)",
		  (int)(strlen(p->prefix) - strlen(p->name)), p->prefix, name, p->prefix);
	return -EEXIST;
}

static int see(struct parts *p, int folder, const char *name)
{
	(void)folder;
	(void)name;
	p->replaces = true;
	return 0;
}

/* Give a file another name, that nobody has. 0 or -errno. */
static int rename_to_new(int from_folder, const char *from, int to_folder, const char *to)
{
	if (renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* a file system that cannot ask */
	if (faccessat(to_folder, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(from_folder, from, to_folder, to) < 0 ? -errno : 0;
}

int parts__init(struct parts *p, const char *path, bool force, uint64_t keep,
		const struct caller *caller)
{
	int err;

	*p = (struct parts){.keep = keep, .caller = caller};
	p->last = &p->first;
	err = set_names(p, path);
	if (!err && p->name && !*p->name) {
		log_error("'%s' names no file", path);
		return -EINVAL;
	}
	if (!err)
		err = caller__files_as(caller);
	if (err) {
		log_error("cannot make files of '%s': %s", path, log__err(err));
		return err;
	}
	err = each_file(p, p->folder, force ? see : refuse);
	caller__files_as(NULL);
	if (err && err != -EEXIST)
		log_error("cannot make files in '%s': %s", p->folder, log__err(err));
	return err;
}

static void free_part(struct part *part)
{
	if (part->fd >= 0)
		close(part->fd);
	free(part->beside);
	free(part);
}

void parts__free(struct parts *p)
{
	struct part *part;

	while ((part = p->first)) {
		p->first = part->next;
		trace_part__finish(part->done);
		free_part(part);
	}
	if (p->current)
		free_part(p->current);
	free(p->prefix);
	free(p->folder);
	free(p->name);
	free(p->aside);
}

/* ---- files ---- */

/* As long as older files are there: under a name that none of them has. */
static int create_beside(const struct parts *p, struct part *part)
{
	if (asprintf(&part->beside, "%s.XXXXXX", p->prefix) < 0) {
		part->beside = NULL;
		return -ENOMEM;
	}
	part->fd = mkostemp(part->beside, O_CLOEXEC); /* 0600 */
	return part->fd < 0 ? -errno : 0;
}

static int create(const struct parts *p, struct part *part, const char *path)
{
	if (p->replaces)
		return create_beside(p, part);
	part->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return part->fd < 0 ? -errno : 0;
}

int parts__create(struct parts *p)
{
	struct part *part = calloc(1, sizeof(*part));
	char path[4352];
	int err;

	if (!part)
		return -ENOMEM;
	part->fd = -1;
	part->number = p->number + 1;
	path_of(p, part->number, true, path, sizeof(path));
	err = caller__files_as(p->caller);
	if (!err)
		err = create(p, part, path);
	caller__files_as(NULL);
	if (err) {
		log_error("cannot create '%s': %s", path, log__err(err));
		free_part(part);
		return err;
	}
	p->number++;
	p->current = part;
	return part->fd;
}

static int take_name(const struct parts *p, struct part *part)
{
	char path[4352];
	int err;

	path_of(p, part->number, true, path, sizeof(path));
	err = rename_to_new(AT_FDCWD, part->beside, AT_FDCWD, path);
	if (err)
		return err;
	free(part->beside);
	part->beside = NULL;
	return 0;
}

/* ---- those of an older recording ---- */

/* Move @name from @folder to the one that is called @to. */
static int move(int folder, const char *name, const char *to)
{
	int fd = open(to, O_PATH | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = rename_to_new(folder, name, fd, name);
	close(fd);
	return err;
}

static int move_aside(struct parts *p, int folder, const char *name)
{
	return move(folder, name, p->aside);
}

static int move_back(struct parts *p, int folder, const char *name)
{
	return move(folder, name, p->folder);
}

static int take_away(struct parts *p, int folder, const char *name)
{
	(void)p;
	return unlinkat(folder, name, 0) == 0 || errno == ENOENT ? 0 : -errno;
}

static int make_aside(struct parts *p)
{
	if (asprintf(&p->aside, "%s.XXXXXX", p->prefix) < 0) {
		p->aside = NULL;
		return -ENOMEM;
	}
	if (!mkdtemp(p->aside)) { /* 0700 */
		int err = -errno;

		free(p->aside);
		p->aside = NULL;
		return err;
	}
	return 0;
}

/* What was set aside gets @fn, which leaves nothing there. 0 or -errno. */
static int empty_aside(struct parts *p, int (*fn)(struct parts *p, int folder, const char *name))
{
	int err = each_file(p, p->aside, fn);

	if (!err && rmdir(p->aside) < 0)
		err = -errno;
	if (err)
		return err;
	free(p->aside);
	p->aside = NULL;
	return 0;
}

static void put_back(struct parts *p)
{
	int err = p->aside ? empty_aside(p, move_back) : 0;

	if (err)
		log_error("older files of '%s' lie in '%s': %s", p->prefix, p->aside,
			  log__err(err));
}

int parts__set_aside(struct parts *p)
{
	int err;

	if (!p->replaces)
		return 0;
	err = caller__files_as(p->caller);
	if (!err)
		err = make_aside(p);
	if (!err)
		err = each_file(p, p->folder, move_aside);
	if (!err && p->current)
		err = take_name(p, p->current);
	if (err) {
		log_error("cannot replace the files of '%s': %s", p->prefix, log__err(err));
		put_back(p);
	}
	caller__files_as(NULL);
	p->replaces = err != 0;
	return err;
}

int parts__replace(struct parts *p)
{
	int err;

	if (!p->aside)
		return 0;
	err = caller__files_as(p->caller);
	if (!err)
		err = empty_aside(p, take_away);
	caller__files_as(NULL);
	if (err)
		log_error("cannot remove older files of '%s', which lie in '%s': %s", p->prefix,
			  p->aside, log__err(err));
	free(p->aside);
	p->aside = NULL;
	return err;
}

/* ---- their ends ---- */

void parts__ended(struct parts *p, struct part *which, struct trace_part *done)
{
	which->done = done;
	which->next = NULL;
	*p->last = which;
	p->last = &which->next;
	if (p->current == which)
		p->current = NULL;
}

static int give_name(const struct parts *p, unsigned int number)
{
	char from[4352], to[4352];
	int err;

	path_of(p, number, true, from, sizeof(from));
	path_of(p, number, false, to, sizeof(to));
	err = rename_to_new(AT_FDCWD, from, AT_FDCWD, to);
	if (!err)
		return 0;
	log_error("'%s' is complete, but cannot be called '%s': %s", from, to, log__err(err));
	return err;
}

static void remove_old(const struct parts *p, unsigned int number)
{
	char path[4352];

	path_of(p, number, false, path, sizeof(path));
	if (unlink(path) < 0 && errno != ENOENT)
		log_warning("cannot remove '%s': %s", path, log__err(-errno));
}

/* The first of those that have ended. */
static void complete(struct parts *p)
{
	struct part *part = p->first;
	int err = trace_part__finish(part->done), e;

	if (err)
		log_error("cannot write '%s.%0*u" EXTENSION "': %s", p->prefix, LEAST_DIGITS,
			  part->number, log__err(err));
	e = caller__files_as(p->caller);
	if (!e)
		e = give_name(p, part->number);
	p->complete = part->number;
	if (!e && p->keep && part->number > p->keep)
		remove_old(p, part->number - (unsigned int)p->keep);
	caller__files_as(NULL);
	if (!p->err)
		p->err = err ? err : e;
	p->first = part->next;
	if (!p->first)
		p->last = &p->first;
	free_part(part);
}

void parts__look(struct parts *p)
{
	while (p->first && (!p->first->done || trace_part__is_durable(p->first->done)))
		complete(p);
}

/* On a full disk not even its head. */
static bool has_nothing(const struct part *part)
{
	struct stat st;

	return fstat(part->fd, &st) == 0 && st.st_size == 0;
}

int parts__close(struct parts *p)
{
	if (p->current && has_nothing(p->current))
		parts__discard(p, NULL);
	if (p->current)
		parts__ended(p, p->current, NULL);
	while (p->first)
		complete(p);
	return p->err;
}

static void remove_current(struct parts *p)
{
	char path[4352];

	path_of(p, p->current->number, true, path, sizeof(path));
	unlink(p->current->beside ? p->current->beside : path);
}

void parts__discard(struct parts *p, struct part *before)
{
	int err = p->current || p->aside ? caller__files_as(p->caller) : 0;

	if (!err && p->current)
		remove_current(p);
	if (!err)
		put_back(p);
	caller__files_as(NULL);
	if (!p->current)
		return;
	free_part(p->current);
	p->current = before;
	p->number--;
}

const char *parts__names(const struct parts *p, char *buf, size_t size)
{
	unsigned int from = p->keep && p->complete > p->keep ? p->complete - p->keep + 1 : 1;
	char first[4352], last[4352];

	path_of(p, from, false, first, sizeof(first));
	path_of(p, p->complete, false, last, sizeof(last));
	if (!p->complete)
		snprintf(buf, size, "no file");
	else if (from == p->complete)
		snprintf(buf, size, "'%.240s'", last);
	else
		snprintf(buf, size, "'%.240s' to '%.240s'", first, last);
	return buf;
}
