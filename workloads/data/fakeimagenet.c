// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/data/fakeimagenet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "workloads/data/jpeg.h"
#include "workloads/data/rng.h"

#define VERSION	 1 /* of what is made; another one is not taken for this */
#define QUALITY	 75
#define MANIFEST "manifest.json"
#define MAX_JOBS 16

struct maker {
	int fd; /* of the folder */
	const char *path;
	uint64_t count;
	uint32_t *sizes; /* of the files; 0: to be made */
	_Atomic uint64_t next, made;
	_Atomic int err;
};

static void file_name(uint64_t index, char name[64])
{
	snprintf(name, 64, "%03u/%" PRIu64 ".jpeg", (unsigned int)(index % FAKEIMAGENET_CLASSES),
		 index);
}

/* ---- one file ---- */

static int write_all(int fd, const uint8_t *data, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Under another name first, so that a file with its right name is whole. */
static int write_file(const struct maker *m, uint64_t index, const uint8_t *data, size_t len)
{
	char name[64], temp[72];
	int fd, err;

	file_name(index, name);
	snprintf(temp, sizeof(temp), "%s.part", name);
	fd = openat(m->fd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	err = write_all(fd, data, len);
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(m->fd, temp, m->fd, name) < 0)
		err = -errno;
	if (err)
		unlinkat(m->fd, temp, 0);
	return err;
}

static void fill_pixels(uint8_t *rgb, size_t n, uint64_t seed)
{
	struct rng r = rng__of(seed, 0, 0);
	uint64_t word;
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		word = rng__u64(&r);
		memcpy(rgb + i, &word, 8);
	}
}

static int make_file(struct maker *m, uint64_t index, uint8_t *rgb)
{
	size_t pixels = (size_t)FAKEIMAGENET_SIDE * FAKEIMAGENET_SIDE, len;
	uint8_t *data;
	int err;

	fill_pixels(rgb, pixels * 3, index);
	err = jpeg__encode(rgb, FAKEIMAGENET_SIDE, FAKEIMAGENET_SIDE, QUALITY, &data, &len);
	if (err)
		return err;
	err = write_file(m, index, data, len);
	m->sizes[index] = (uint32_t)len;
	free(data);
	return err;
}

/* ---- what is there already ---- */

/* Sizes from the manifest of a finished set, or NULL where there is none that fits. */
static json_t *load_manifest(const struct maker *m)
{
	int fd = openat(m->fd, MANIFEST, O_RDONLY | O_CLOEXEC);
	json_t *root, *sizes = NULL;
	json_int_t version = 0;

	if (fd < 0)
		return NULL;
	root = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
	close(fd);
	if (root && json_unpack(root, "{s:I, s:o}", "version", &version, "sizes", &sizes) == 0 &&
	    version == VERSION && json_array_size(sizes) == m->count)
		json_incref(sizes);
	else
		sizes = NULL;
	json_decref(root);
	return sizes;
}

/* Fill m->sizes with the files that are whole; returns how many are not. */
static uint64_t find_missing(struct maker *m, const json_t *sizes)
{
	uint64_t i, missing = 0;
	struct stat st;
	char name[64];
	json_int_t size;

	for (i = 0; i < m->count; i++) {
		file_name(i, name);
		m->sizes[i] = 0;
		if (fstatat(m->fd, name, &st, 0) == 0 && S_ISREG(st.st_mode)) {
			size = sizes ? json_integer_value(json_array_get(sizes, i)) : st.st_size;
			if (size == st.st_size && size <= UINT32_MAX)
				m->sizes[i] = (uint32_t)size;
		}
		missing += m->sizes[i] == 0;
	}
	return missing;
}

static int write_manifest(const struct maker *m)
{
	json_t *sizes = json_array(), *root;
	uint64_t i;
	int fd = -1, err = 0;

	for (i = 0; i < m->count; i++)
		json_array_append_new(sizes, json_integer(m->sizes[i]));
	root = json_pack("{s:i, s:s, s:I, s:i, s:i, s:i, s:o}", "version", VERSION, "name",
			 "FakeImageNet", "count", (json_int_t)m->count, "side", FAKEIMAGENET_SIDE,
			 "classes", FAKEIMAGENET_CLASSES, "quality", QUALITY, "sizes", sizes);
	if (!root)
		return -ENOMEM;
	fd = openat(m->fd, MANIFEST ".part", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || json_dumpfd(root, fd, JSON_COMPACT) != 0)
		err = errno ? -errno : -EIO;
	if (fd >= 0 && close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(m->fd, MANIFEST ".part", m->fd, MANIFEST) < 0)
		err = -errno;
	if (err)
		unlinkat(m->fd, MANIFEST ".part", 0);
	json_decref(root);
	return err;
}

/* ---- all files ---- */

static void *make_files(void *arg)
{
	struct maker *m = arg;
	uint8_t *rgb = malloc((size_t)FAKEIMAGENET_SIDE * FAKEIMAGENET_SIDE * 3);
	int err = rgb ? 0 : -ENOMEM;
	uint64_t i;

	while (!err && !m->err) {
		i = atomic_fetch_add(&m->next, 1);
		if (i >= m->count)
			break;
		if (m->sizes[i])
			continue;
		err = make_file(m, i, rgb);
		atomic_fetch_add(&m->made, 1);
	}
	if (err)
		m->err = err;
	free(rgb);
	return NULL;
}

static unsigned int count_jobs(void)
{
	cpu_set_t set;
	int n = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	return n > MAX_JOBS ? MAX_JOBS : (unsigned int)n;
}

static int make_folders(const struct maker *m)
{
	uint64_t i, n = m->count < FAKEIMAGENET_CLASSES ? m->count : FAKEIMAGENET_CLASSES;
	char name[16];

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%03u", (unsigned int)i);
		if (mkdirat(m->fd, name, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int make_missing(struct maker *m, uint64_t missing, int (*progress)(const char *, ...))
{
	pthread_t threads[MAX_JOBS];
	unsigned int jobs = count_jobs(), started = 0;
	struct timespec tick = {.tv_nsec = 50000000};
	int err = make_folders(m);

	for (; !err && started < jobs; started++)
		if (pthread_create(&threads[started], NULL, make_files, m))
			break;
	if (!err && started == 0)
		make_files(m);
	while (started && progress && m->made < missing && !m->err) {
		err = progress("FakeImageNet: made %" PRIu64 " of %" PRIu64 " images",
			       (uint64_t)m->made, missing);
		if (err) /* each thread ends after its image */
			m->err = err;
		nanosleep(&tick, NULL);
	}
	while (started)
		pthread_join(threads[--started], NULL);
	return err ?: m->err ?: write_manifest(m);
}

static int ensure_locked(struct maker *m, int (*progress)(const char *, ...))
{
	json_t *sizes = load_manifest(m);
	uint64_t missing = find_missing(m, sizes);
	int err = 0;

	if (sizes && missing)
		log_warning("%" PRIu64 " of %" PRIu64 " files of '%s' are missing or damaged and "
			    "are made again",
			    missing, m->count, m->path);
	if (missing || !sizes)
		err = make_missing(m, missing, progress);
	json_decref(sizes);
	return err;
}

static int make_path(const char *path)
{
	char copy[strlen(path) + 1], *p;

	strcpy(copy, path);
	for (p = copy + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(copy, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

int fakeimagenet__ensure(const char *root, uint64_t count, int (*progress)(const char *, ...),
			 char *path, size_t size)
{
	struct maker m = {.fd = -1, .path = path, .count = count};
	int err = 0;

	if ((size_t)snprintf(path, size, "%s/fakeimagenet-%" PRIu64, root, count) >= size) {
		log_error("the path '%s' is too long", root);
		return -ENAMETOOLONG;
	}
	m.sizes = calloc(count, sizeof(*m.sizes));
	err = m.sizes ? make_path(path) : -ENOMEM;
	if (!err) {
		m.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (m.fd < 0 || flock(m.fd, LOCK_EX) < 0)
			err = -errno;
	}
	if (!err)
		err = ensure_locked(&m, progress);
	if (err && err != -EINTR)
		log_error("cannot make the images in '%s': %s%s", path, log__err(err),
			  err == -ENOSPC || err == -EACCES || err == -EPERM || err == -EROFS
				  ? " (--data-dir names another place)"
				  : "");
	if (m.fd >= 0)
		close(m.fd);
	free(m.sizes);
	return err;
}
