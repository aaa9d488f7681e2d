// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/data/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/lib/log.h"

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int is_jpeg(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return visible(d) && dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

static void free_names(struct dirent **names, int n)
{
	int i;

	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static bool is_dir(int dirfd, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN && d->d_type != DT_LNK)
		return d->d_type == DT_DIR;
	return fstatat(dirfd, d->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static int add_file(struct folder *f, size_t *room, const char *class, const char *name, int label)
{
	struct folder_file *files;

	if (f->n == *room) {
		*room = *room ? *room * 2 : 256;
		files = reallocarray(f->files, *room, sizeof(*files));
		if (!files)
			return -ENOMEM;
		f->files = files;
	}
	if (asprintf(&f->files[f->n].path, "%s/%s", class, name) < 0)
		return -ENOMEM;
	f->files[f->n++].label = label;
	return 0;
}

static int add_class(struct folder *f, size_t *room, const char *class, int label)
{
	struct dirent **names = NULL;
	int n, i, err = 0;

	n = scandirat(f->fd, class, &names, is_jpeg, compare_names);
	if (n < 0)
		return -errno;
	for (i = 0; i < n && !err; i++)
		err = add_file(f, room, class, names[i]->d_name, label);
	f->classes += n > 0;
	if (n > 0)
		f->labels = (size_t)label + 1;
	free_names(names, n);
	return err;
}

static int add_classes(struct folder *f, const char *dir)
{
	struct dirent **names = NULL;
	int n, i, label = 0, err = 0;
	size_t room = 0;

	n = scandirat(f->fd, ".", &names, visible, compare_names);
	if (n < 0) {
		err = -errno;
		log_error("cannot list '%s': %s", dir, log__err(err));
		return err;
	}
	for (i = 0; i < n && !err; i++) {
		if (!is_dir(f->fd, names[i]))
			continue;
		err = add_class(f, &room, names[i]->d_name, label++);
		if (err)
			log_error("cannot list '%s/%s': %s", dir, names[i]->d_name, log__err(err));
	}
	free_names(names, n);
	if (!err && f->n == 0) {
		err = -ENODATA;
		log_error(label ? "no JPEG files in the subfolders of '%s'"
				: "no images in '%s': expected a subfolder of JPEG files for each "
				  "class",
			  dir);
	}
	return err;
}

int folder__open(struct folder *f, const char *dir)
{
	int err;

	memset(f, 0, sizeof(*f));
	f->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->fd < 0) {
		err = -errno;
		log_error("cannot open the data folder '%s': %s", dir, log__err(err));
		return err;
	}
	err = add_classes(f, dir);
	if (err)
		folder__close(f);
	return err;
}

void folder__close(struct folder *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		free(f->files[i].path);
	free(f->files);
	if (f->fd >= 0)
		close(f->fd);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}
