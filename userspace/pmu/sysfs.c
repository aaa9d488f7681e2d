// SPDX-License-Identifier: BSD-2-Clause
/* Units that describe themselves in sysfs. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/lib/opt.h"
#include "userspace/pmu/event.h"
#include "userspace/pmu/format.h"

#define PATH_SIZE 512
#define TEXT_SIZE 256

/* The first line of a file, without its end. 0 or -errno. */
static int read_line(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	int err = 0;

	if (!f)
		return -errno;
	if (!fgets(text, (int)size, f))
		err = -ENODATA;
	else
		text[strcspn(text, "\n")] = '\0';
	fclose(f);
	return err;
}

static bool is_plain(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) < PMU_NAME_MAX;
}

struct unit {
	const char *root, *name;
};

static int find_format(void *arg, const char *name, struct pmu_format *f)
{
	const struct unit *u = arg;
	char path[PATH_SIZE], text[TEXT_SIZE];

	if (!is_plain(name))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%s/format/%s", u->root, u->name, name);
	if (read_line(path, text, sizeof(text)) || pmu_format__parse(f, text))
		return -ENOENT;
	return 0;
}

/* What stands in events/NAME and its fellows; false: there is no such event. */
static bool find_named(struct pmu_event *e, const struct unit *u, const char *event, char *terms)
{
	char path[PATH_SIZE], text[TEXT_SIZE];
	double scale;

	if (!is_plain(event))
		return false;
	snprintf(path, sizeof(path), "%s/%s/events/%s", u->root, u->name, event);
	if (read_line(path, terms, TEXT_SIZE))
		return false;
	snprintf(path, sizeof(path), "%s/%s/events/%s.unit", u->root, u->name, event);
	if (read_line(path, text, sizeof(text)) == 0)
		snprintf(e->unit, sizeof(e->unit), "%.15s", text);
	snprintf(path, sizeof(path), "%s/%s/events/%s.scale", u->root, u->name, event);
	if (read_line(path, text, sizeof(text)) == 0 && opt__parse_f64(text, &scale) == 0)
		e->scale = scale;
	return true;
}

static int find_type(const struct unit *u, uint32_t *type)
{
	char path[PATH_SIZE], text[TEXT_SIZE];
	uint64_t v;
	int err;

	snprintf(path, sizeof(path), "%s/%s/type", u->root, u->name);
	err = read_line(path, text, sizeof(text));
	if (err)
		return -ENOENT;
	if (opt__parse_u64(text, &v) || v > UINT32_MAX)
		return -EINVAL;
	*type = (uint32_t)v;
	return 0;
}

static int find_in(struct pmu_event *e, const struct unit *u, char *event, char *why, size_t size)
{
	uint64_t configs[PMU_CONFIGS] = {0};
	char terms[TEXT_SIZE];
	int err = find_type(u, &e->attr.type);

	if (err) {
		snprintf(why, size, "there is no unit '%s' in " PMU_SYSFS, u->name);
		return err;
	}
	if (!find_named(e, u, event, terms))
		snprintf(terms, sizeof(terms), "%s", event);
	err = pmu_terms__pack(terms, find_format, (void *)u, configs, why, size);
	e->attr.config = configs[0];
	e->attr.config1 = configs[1];
	e->attr.config2 = configs[2];
	return err;
}

int pmu_sysfs__find(struct pmu_event *e, const char *root, const char *name, char *why, size_t size)
{
	size_t n = strcspn(name, "/"), len = strlen(name);
	char *copy, *event;
	struct unit u = {.root = root};
	int err = -EINVAL;

	if (!name[n])
		return -ENOENT;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	u.name = copy;
	copy[n] = '\0';
	event = copy + n + 1;
	if (!is_plain(copy) || len < n + 3 || strcspn(event, "/") != len - n - 2) {
		snprintf(why, size, "'%s' is not understood, expected UNIT/EVENT/", name);
	} else {
		event[len - n - 2] = '\0';
		err = find_in(e, &u, event, why, size);
	}
	free(copy);
	e->by = "sysfs";
	return err;
}

static bool is_event(const char *name)
{
	const char *dot = strrchr(name, '.');

	return *name != '.' &&
	       !(dot && (strcmp(dot, ".unit") == 0 || strcmp(dot, ".scale") == 0 ||
			 strcmp(dot, ".snapshot") == 0 || strcmp(dot, ".per-pkg") == 0));
}

static int each_event(const char *root, const char *unit, int (*each)(void *arg, const char *name),
		      void *arg)
{
	char path[PATH_SIZE], name[PATH_SIZE];
	struct dirent *d;
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s/events", root, unit);
	dir = opendir(path);
	while (dir && !ret && (d = readdir(dir))) {
		if (!is_event(d->d_name))
			continue;
		if (snprintf(name, sizeof(name), "%s/%s/", unit, d->d_name) < PMU_NAME_MAX)
			ret = each(arg, name);
	}
	if (dir)
		closedir(dir);
	return ret;
}

int pmu_sysfs__each(const char *root, int (*each)(void *arg, const char *name), void *arg)
{
	DIR *dir = opendir(root);
	struct dirent *d;
	int ret = 0;

	while (dir && !ret && (d = readdir(dir)))
		if (*d->d_name != '.')
			ret = each_event(root, d->d_name, each, arg);
	if (dir)
		closedir(dir);
	return ret;
}

bool pmu_sysfs__is_shared(const char *root, uint32_t type)
{
	DIR *dir = opendir(root);
	char path[PATH_SIZE];
	bool shared = false;
	struct dirent *d;
	uint32_t its;

	while (dir && !shared && (d = readdir(dir))) {
		const struct unit u = {root, d->d_name};

		if (*d->d_name == '.' || find_type(&u, &its) || its != type)
			continue;
		snprintf(path, sizeof(path), "%s/%s/cpumask", root, d->d_name);
		shared = access(path, F_OK) == 0;
	}
	if (dir)
		closedir(dir);
	return shared;
}
