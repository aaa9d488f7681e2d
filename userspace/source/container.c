// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/container.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/source/regular.h"

#define MIN_PREFIX 4
#define HEX_LEN	   64 /* of an id that a runtime made up */

/* ---- ids in control groups ---- */

/* What runtimes put before an id in a directory's name, with systemd as keeper of groups. */
static const char *const prefixes[] = {"docker-", "libpod-", "crio-", "cri-containerd-",
				       "nerdctl-"};

/* "libpod-conmon-ID.scope" is the runtime's watchman, not the container. */
static bool split(const char *name, size_t len, const char **id, size_t *id_len)
{
	size_t i, n;

	if (len > 6 && strncmp(name + len - 6, ".scope", 6) == 0)
		len -= 6;
	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		n = strlen(prefixes[i]);
		if (len > n && strncmp(name, prefixes[i], n) == 0) {
			name += n;
			len -= n;
			break;
		}
	}
	*id = name;
	*id_len = len;
	return len > 0 && len < CONTAINER_ID_MAX && strncmp(name, "conmon-", 7) != 0;
}

static bool is_hex(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!isxdigit((unsigned char)s[i]))
			return false;
	return n == HEX_LEN;
}

/* Groups that containers are in and that are none. */
static bool is_parent(const char *part, size_t len)
{
	static const char *const names[] = {"docker",	 "libpod_parent", "kubepods", "besteffort",
					    "burstable", "guaranteed",	  "lxc",      "init.scope"};
	size_t i;

	if (len > 6 && strncmp(part + len - 6, ".slice", 6) == 0)
		return true;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && strncmp(part, names[i], len) == 0)
			return true;
	return false;
}

/* Groups that a container has within itself. */
static bool is_inside(const char *rest)
{
	return strncmp(rest, "/init.scope", 11) == 0 || strncmp(rest, "/container", 10) == 0;
}

/*
 * A made-up id may be cut, as runtimes show it, and is known wherever it stands. One that a person
 * gave is whole, and is the name of the last group, @rest being what follows.
 */
static bool fits(const char *s, size_t len, const char *id, const char *rest)
{
	size_t n = strlen(id);

	if (is_hex(s, len))
		return n >= MIN_PREFIX && n <= len && strncmp(s, id, n) == 0;
	return len == n && strncmp(s, id, n) == 0 && (*rest != '/' || is_inside(rest));
}

int container__match(const char *line, const char *id, char *path, size_t size,
		     char whole[CONTAINER_ID_MAX])
{
	const char *at = strchr(line, ':'), *begin, *part;
	size_t len, part_len;

	at = at ? strchr(at + 1, ':') : NULL;
	if (!at)
		return 0;
	begin = at + 1;
	for (at = begin; *at == '/'; at += len) {
		at++;
		len = strcspn(at, "/\n");
		if (is_parent(at, len) || !split(at, len, &part, &part_len) ||
		    !fits(part, part_len, id, at + len))
			continue;
		snprintf(whole, CONTAINER_ID_MAX, "%.*s", (int)part_len, part);
		return snprintf(path, size, "%.*s", (int)(at + len - begin), begin) < (int)size;
	}
	return 0;
}

/* ---- names ---- */

static bool text_is(const json_t *object, const char *key, const char *want)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && strcmp(text[0] == '/' ? text + 1 : text, want) == 0;
}

static json_t *load(const char *path)
{
	int fd = regular__open(path); /* its owner may have put anything there */
	json_t *json = fd < 0 ? NULL : json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);

	if (fd >= 0)
		close(fd);
	return json;
}

/* Call @fits for @base/ENTRY/@file of each entry; that one's name is the id. */
static int search_dirs(const char *base, const char *file, const char *name,
		       bool (*is_it)(const json_t *config, const char *name),
		       char id[CONTAINER_ID_MAX])
{
	DIR *dir = opendir(base);
	int err = -ENOENT;
	char path[PATH_MAX];
	struct dirent *d;
	json_t *config;

	while (dir && err && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || strlen(d->d_name) >= CONTAINER_ID_MAX)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s/%s", base, d->d_name, file) >=
		    (int)sizeof(path))
			continue;
		config = load(path);
		if (config && is_it(config, name)) {
			snprintf(id, CONTAINER_ID_MAX, "%s", d->d_name);
			err = 0;
		}
		json_decref(config);
	}
	if (dir)
		closedir(dir);
	return err;
}

static bool docker_is(const json_t *config, const char *name)
{
	return text_is(config, "Name", name);
}

/* What kubernetes and nerdctl write on a container when they make it. */
static bool oci_is(const json_t *config, const char *name)
{
	static const char *const keys[] = {"io.kubernetes.cri.container-name",
					   "io.kubernetes.container.name",
					   "io.kubernetes.cri-o.Name", "nerdctl/name"};
	const json_t *notes = json_object_get(config, "annotations");
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (text_is(notes, keys[i], name))
			return true;
	return false;
}

/* podman keeps one list: [{"id": ..., "names": [...]}, ...] */
static int search_podman(const char *path, const char *name, char id[CONTAINER_ID_MAX])
{
	json_t *list = load(path), *one, *text;
	size_t i, j;
	int err = -ENOENT;

	json_array_foreach(list, i, one)
	{
		const char *it = json_string_value(json_object_get(one, "id"));

		json_array_foreach(json_object_get(one, "names"), j, text)
		{
			if (!it || !json_is_string(text) ||
			    strcmp(json_string_value(text), name) != 0)
				continue;
			snprintf(id, CONTAINER_ID_MAX, "%s", it);
			err = 0;
		}
	}
	json_decref(list);
	return err;
}

/* containerd: RUN/NAMESPACE/ID/config.json */
static int search_containerd(const char *run, const char *name, char id[CONTAINER_ID_MAX])
{
	DIR *dir = opendir(run);
	int err = -ENOENT;
	char path[PATH_MAX];
	struct dirent *d;

	while (dir && err && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", run, d->d_name) < (int)sizeof(path))
			err = search_dirs(path, "config.json", name, oci_is, id);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* Those who run podman without being root keep its list at home. */
static int search_homes(const char *root, const char *name, char id[CONTAINER_ID_MAX])
{
	const char *list = ".local/share/containers/storage/overlay-containers/containers.json";
	char path[PATH_MAX];
	struct dirent *d;
	int err = -ENOENT;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/root/%s", root, list);
	if (search_podman(path, name, id) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/home", root);
	dir = opendir(path);
	while (dir && err && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/home/%s/%s", root, d->d_name, list) <
		    (int)sizeof(path))
			err = search_podman(path, name, id);
	}
	if (dir)
		closedir(dir);
	return err;
}

int container__id(const char *name, const char *root, char id[CONTAINER_ID_MAX])
{
	const char *storage = "containers/storage/overlay-containers";
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/var/lib/docker/containers", root);
	if (search_dirs(path, "config.v2.json", name, docker_is, id) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/var/lib/%s/containers.json", root, storage);
	if (search_podman(path, name, id) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/run/%s", root, storage);
	if (search_dirs(path, "userdata/config.json", name, oci_is, id) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/run/containerd/io.containerd.runtime.v2.task", root);
	if (search_containerd(path, name, id) == 0)
		return 0;
	return search_homes(root, name, id);
}

/* ---- the group ---- */

struct search {
	const char *id;
	char whole[CONTAINER_ID_MAX]; /* "": none so far */
	bool ambiguous;
	bool best; /* found in version 2's hierarchy, which is preferred */
	char *path;
	size_t size;
};

static void look_at_line(struct search *s, const char *line)
{
	char whole[CONTAINER_ID_MAX], path[PATH_MAX];
	bool best = strncmp(line, "0::", 3) == 0;

	if (!container__match(line, s->id, path, sizeof(path), whole))
		return;
	if (*s->whole && strcmp(s->whole, whole) != 0)
		s->ambiguous = true;
	if (*s->whole && (s->best || !best))
		return;
	snprintf(s->whole, sizeof(s->whole), "%s", whole);
	snprintf(s->path, s->size, "%s", path);
	s->best = best;
}

static void look_at_process(struct search *s, const char *root, const char *pid)
{
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/%s/cgroup", root, pid);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0)
		look_at_line(s, line);
	free(line);
	if (f)
		fclose(f);
}

int container__find(const char *name, const char *root, char *path, size_t size)
{
	char id[CONTAINER_ID_MAX], proc[PATH_MAX];
	struct search s = {.path = path, .size = size};
	struct dirent *d;
	DIR *dir;

	s.id = container__id(name, root, id) == 0 ? id : name;
	if (!*s.id || strchr(s.id, '/'))
		return -ENOENT;
	snprintf(proc, sizeof(proc), "%s/proc", root);
	dir = opendir(proc);
	if (!dir)
		return -errno;
	while ((d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			look_at_process(&s, root, d->d_name);
	closedir(dir);
	if (s.ambiguous)
		return -EEXIST;
	return *s.whole ? 0 : -ENOENT;
}
