// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Open what @place, a descriptor that was opened with O_PATH, stands for. Closes that. */
static int reopen(int place)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		fd = -errno;
	close(place);
	return fd;
}

/* What is known of @place without asking anybody. 0 or -errno. */
static int look_at(int place, struct statx *st)
{
	if (statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, st))
		return -errno;
	return S_ISREG(st->stx_mode) ? 0 : -EINVAL;
}

int regular__open(const char *path)
{
	int place = open(path, O_PATH | O_CLOEXEC), err;
	struct statx st;

	if (place < 0)
		return -errno;
	err = look_at(place, &st);
	if (!err)
		return reopen(place);
	close(place);
	return err;
}

/* ---- without waiting ---- */

static bool waits(const char *type)
{
	static const char *const types[] = {"nfs", "nfs4", "cifs", "smb3", "ceph", "afs", "lustre"};
	size_t i;

	if (strncmp(type, "fuse", 4) == 0)
		return true;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* The type that a line of mountinfo has, if it is about mount @id. */
static bool find_type(const char *line, uint64_t id, char type[32])
{
	unsigned long long mount;
	const char *dash = strstr(line, " - ");

	return sscanf(line, "%llu", &mount) == 1 && mount == id && dash &&
	       sscanf(dash + 3, "%31s", type) == 1;
}

/* Is what @st is about on a file system that may let us wait, as @pid's mounts tell? */
static bool is_remote(pid_t pid, const struct statx *st)
{
	char path[64], type[32] = "", *line = NULL;
	size_t size = 0;
	FILE *f;

	if (st->stx_dev_major || !(st->stx_mask & STATX_MNT_ID))
		return false; /* a disk; or a kernel before 5.8, which cannot tell */
	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/mountinfo");
	f = fopen(path, "re");
	while (f && !*type && getline(&line, &size, f) > 0)
		find_type(line, st->stx_mnt_id, type);
	free(line);
	if (f)
		fclose(f);
	return !*type || waits(type);
}

/* Open @place, if that is fine; closes it. */
static int open_local(int place, pid_t pid)
{
	struct statx st;
	int err = look_at(place, &st);

	if (!err && is_remote(pid, &st))
		err = -EREMOTE;
	if (!err)
		return reopen(place);
	close(place);
	return err;
}

/* Find @path below @root without asking a file system for names, or as near to that as it goes. */
static int find_cached(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_CACHED};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd < 0 && errno == EINVAL) { /* before 5.12 */
		how.resolve = RESOLVE_IN_ROOT;
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	}
	if (fd < 0 && errno == ENOSYS) /* before 5.6 */
		fd = openat(root, path + strspn(path, "/"), O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

int regular__open_of(pid_t pid, const char *path)
{
	char root[64] = "/";
	int dir, place;

	if (pid)
		snprintf(root, sizeof(root), "/proc/%d/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	place = find_cached(dir, path);
	close(dir);
	return place < 0 ? place : open_local(place, pid);
}

int regular__open_mapped(pid_t pid, uint64_t begin, uint64_t end)
{
	char path[96];
	int place;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)begin,
		 (unsigned long long)end);
	place = open(path, O_PATH | O_CLOEXEC);
	return place < 0 ? -errno : open_local(place, pid);
}
