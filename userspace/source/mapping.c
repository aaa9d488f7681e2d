// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/mapping.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "userspace/source/regular.h"

int mapping__parse(struct mapping *m, const char *line)
{
	unsigned long long begin, end, pgoff, inode;
	unsigned int dev_major, dev_minor;
	char perms[5];
	int at = 0;

	*m = (struct mapping){0};
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu%n", &begin, &end, perms, &pgoff, &dev_major,
		   &dev_minor, &inode, &at) != 7 ||
	    !at || end < begin || strlen(perms) != 4)
		return -EINVAL;
	m->addr = begin;
	m->len = end - begin;
	m->pgoff = pgoff;
	m->inode = inode;
	m->dev = dev_major << 20 | (dev_minor & 0xfffff);
	m->prot = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
		  (perms[2] == 'x' ? PROT_EXEC : 0);
	m->flags = perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	m->path = line + at + strspn(line + at, " ");
	if (!*m->path)
		m->path = "//anon"; /* as perf calls it */
	return 0;
}

int mapping__each(pid_t pid, int (*fn)(void *arg, struct mapping *m), void *arg)
{
	char path[64], *line = NULL;
	struct mapping m;
	size_t size = 0;
	int err = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!err && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (mapping__parse(&m, line) == 0 && m.prot & PROT_EXEC)
			err = fn(arg, &m);
	}
	free(line);
	fclose(f);
	return err;
}

/* ---- files ---- */

/* Is the open file the one of the mapping? Then what was not known of it now is. */
static bool is_file(struct mapping *m, int fd)
{
	char build_id[BUILD_ID_HEX];
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (m->inode && st.st_ino != m->inode))
		return false;
	if (build_id__read(fd, build_id) == -ENOMEM)
		return false;
	/* without inode the build id has to prove it */
	if (!m->inode && (!*build_id || strcmp(build_id, m->build_id) != 0))
		return false;
	if (!*m->build_id)
		memcpy(m->build_id, build_id, sizeof(build_id));
	if (!m->inode) {
		m->inode = st.st_ino;
		m->dev = major(st.st_dev) << 20 | (minor(st.st_dev) & 0xfffff);
	}
	return true;
}

/* @fd, which is closed, or why it could not be opened: does it complete @m? */
static bool try_file(struct mapping *m, int fd)
{
	bool found = fd >= 0 && is_file(m, fd);

	if (fd >= 0)
		close(fd);
	return found;
}

void mapping__complete(struct mapping *m, pid_t pid)
{
	if (m->path[0] != '/' || m->path[1] == '/' || (m->inode && *m->build_id))
		return;
	if (try_file(m, regular__open_of(pid, m->path)))
		return;
	/*
	 * We may not look into the process, or it has ended: a file of the same path and build id
	 * or inode in our own file system is the same for all that is made of it.
	 */
	if (try_file(m, regular__open_of(0, m->path)))
		return;
	/* deleted or replaced since: by way of the mapping, which takes CAP_CHECKPOINT_RESTORE */
	try_file(m, regular__open_mapped(pid, m->addr, m->addr + m->len));
}
