/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Containers of docker, podman, containerd and cri-o: which control group is one's. Found by the
 * control groups of the processes that run, and names by the runtimes' own files; no daemon is
 * asked.
 */
#ifndef XPUGAP_SOURCE_CONTAINER_H
#define XPUGAP_SOURCE_CONTAINER_H

#include <stddef.h>

#define CONTAINER_ID_MAX 128

/*
 * The control group, as in /proc/PID/cgroup, of the running container that has the name @name, the
 * id, or an id that begins so (from 4 characters on). @root stands before all paths that are
 * read; "" on a real system. 0 or -errno: -ENOENT no process runs in such a one, -EEXIST more
 * than one fits.
 */
int container__find(const char *name, const char *root, char *path, size_t size);

/* The id of the container of that name by the runtimes' files; 0 or -ENOENT. */
int container__id(const char *name, const char *root, char id[CONTAINER_ID_MAX]);

/*
 * The part of a line of /proc/PID/cgroup that is the group of the container whose id begins with
 * @id, with that id copied to @whole. 1: @path is set; 0: the line has none.
 */
int container__match(const char *line, const char *id, char *path, size_t size,
		     char whole[CONTAINER_ID_MAX]);

#endif
