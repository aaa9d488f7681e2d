// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAX_DEPTH 64 /* of groups in groups, as the hooks look */

/* ---- what is mounted ---- */

/* Blanks and the like stand as \040 in the kernel's tables. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

int cgroup_mount__parse(struct cgroup_mount *m, const char *line)
{
	const char *rest = strstr(line, " - ");
	char type[16];

	*m = (struct cgroup_mount){0};
	if (!rest || sscanf(line, "%*d %*d %u:%u %4095s %4095s", &m->major, &m->minor, m->root,
			    m->path) != 4)
		return -EINVAL;
	if (sscanf(rest, " - %15s %*s %255s", type, m->options) != 2)
		return -EINVAL;
	unescape(m->root);
	unescape(m->path);
	m->version = strcmp(type, "cgroup2") == 0 ? 2 : strcmp(type, "cgroup") == 0 ? 1 : 0;
	return m->version != 0;
}

/* Is @word one of the @n characters of @list, which commas separate? */
static bool has_word(const char *list, const char *word, size_t n)
{
	for (;; list++) {
		size_t len = strcspn(list, ",\n");

		if (len == n && strncmp(list, word, n) == 0)
			return true;
		list += len;
		if (*list != ',')
			return false;
	}
}

int cgroup__match(const char *line, const char *options)
{
	const char *names = strchr(line, ':'), *end = names ? strchr(names + 1, ':') : NULL;
	size_t len;

	if (!end || end == names + 1)
		return -ENOENT;
	for (names++; names < end; names += len + 1) {
		len = strcspn(names, ",:");
		if (!has_word(options, names, len))
			return -ENOENT;
	}
	return atoi(line);
}

static int hierarchy_of(const struct cgroup_mount *m)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char *line = NULL;
	size_t size = 0;
	int n = -ENOENT;

	if (!f)
		return -errno;
	while (n < 0 && getline(&line, &size, f) > 0)
		n = cgroup__match(line, m->options);
	free(line);
	fclose(f);
	return n;
}

/* Call @fn with each mounted hierarchy until it returns other than 0, which is returned. */
static int each_mount(int (*fn)(void *arg, const struct cgroup_mount *m), void *arg)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct cgroup_mount *m = malloc(sizeof(*m));
	char *line = NULL;
	size_t size = 0;
	int ret = f && m ? 0 : -ENOMEM;

	while (!ret && getline(&line, &size, f) > 0)
		if (cgroup_mount__parse(m, line) == 1)
			ret = fn(arg, m);
	free(line);
	free(m);
	if (f)
		fclose(f);
	return ret;
}

/* ---- finding one ---- */

struct search {
	struct cgroup_ref *g;
	const char *path; /* what is asked for */
	unsigned int version;
	struct stat st;
};

static int take(struct search *s, const struct cgroup_mount *m)
{
	int n = m->version == 2 ? 0 : hierarchy_of(m);

	if (n < 0)
		return n;
	s->g->hierarchy = (uint32_t)n;
	s->g->id = s->st.st_ino;
	return 1;
}

/* Does the directory lie in this hierarchy? */
static int by_device(void *arg, const struct cgroup_mount *m)
{
	struct search *s = arg;

	if (major(s->st.st_dev) != m->major || minor(s->st.st_dev) != m->minor)
		return 0;
	return take(s, m);
}

/* Has this hierarchy such a group? */
static int by_name(void *arg, const struct cgroup_mount *m)
{
	struct search *s = arg;
	const char *rest = s->path;
	size_t n = strlen(m->root);

	if (m->version != s->version)
		return 0;
	while (*rest == '/')
		rest++;
	/* what is mounted may be a part of the hierarchy, in a container */
	if (n > 1 && strncmp(s->path, m->root, n) == 0 && (!s->path[n] || s->path[n] == '/'))
		rest = s->path + n;
	if (snprintf(s->g->path, sizeof(s->g->path), "%s/%s", m->path, rest) >=
	    (int)sizeof(s->g->path))
		return -ENAMETOOLONG;
	if (stat(s->g->path, &s->st) || !S_ISDIR(s->st.st_mode))
		return 0;
	/* a path may lead out of the hierarchy */
	return by_device(s, m);
}

/* Has it a part "." or ".."? A group has no such name. */
static bool climbs(const char *path)
{
	size_t n;

	for (; *path; path += n + (path[n] == '/')) {
		n = strcspn(path, "/");
		if ((n == 1 || n == 2) && strspn(path, ".") >= n)
			return true;
	}
	return false;
}

int cgroup__find(struct cgroup_ref *g, const char *path)
{
	struct search s = {.g = g, .path = path};
	bool exists = path[0] == '/' && stat(path, &s.st) == 0;
	int ret;

	*g = (struct cgroup_ref){0};
	if (!*path || (!exists && climbs(path)))
		return -ENOENT;
	if (exists && S_ISDIR(s.st.st_mode)) {
		if (!realpath(path, g->path))
			return -errno;
		ret = each_mount(by_device, &s);
		if (ret)
			return ret == 1 ? 0 : ret;
	}
	for (s.version = 2; s.version; s.version--) {
		ret = each_mount(by_name, &s);
		if (ret)
			return ret == 1 ? 0 : ret;
	}
	return exists ? -ENOTDIR : -ENOENT;
}

/* ---- who is in it ---- */

static int each_line(int dir, const char *name, int (*fn)(void *arg, pid_t tid), void *arg)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC), err = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[32];

	if (!f) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && fgets(line, sizeof(line), f))
		if (atoi(line) > 0) /* 0: of a PID namespace that we do not see */
			err = fn(arg, atoi(line));
	fclose(f);
	return err;
}

static int each_below(int dir, int depth, int (*fn)(void *arg, pid_t tid), void *arg)
{
	int copy, err, fd;
	struct dirent *d;
	DIR *list;

	err = each_line(dir, "cgroup.threads", fn, arg);
	if (err == -ENOENT)
		err = each_line(dir, "tasks", fn, arg); /* version 1 */
	if (err || depth == MAX_DEPTH)
		return err == -ENOENT || err == -ENODEV ? 0 : err; /* the group has just gone */
	copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	list = copy < 0 ? NULL : fdopendir(copy);
	if (!list) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		return err;
	}
	while (!err && (d = readdir(list))) {
		if (d->d_name[0] == '.' || d->d_type != DT_DIR)
			continue;
		fd = openat(dir, d->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		err = each_below(fd, depth + 1, fn, arg);
		close(fd);
	}
	closedir(list);
	return err;
}

int cgroup__each(const struct cgroup_ref *g, int (*fn)(void *arg, pid_t tid), void *arg)
{
	int err, fd = open(g->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	err = each_below(fd, 0, fn, arg);
	close(fd);
	return err;
}
