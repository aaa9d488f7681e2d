// SPDX-License-Identifier: BSD-2-Clause
/* Lines of /proc and of control groups, whose names anybody chooses. */
#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/source/cgroup.h"
#include "userspace/source/container.h"
#include "userspace/source/mapping.h"
#include "userspace/source/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cgroup_mount mount;
	static char path[PATH_MAX];
	char *text = malloc(size + 1), whole[CONTAINER_ID_MAX];
	struct proc_stat st;
	struct mapping m;

	memcpy(text, data, size);
	text[size] = '\0';
	if (proc_stat__parse(text, &st) == 0)
		assert(strlen(st.comm) < sizeof(st.comm));
	if (mapping__parse(&m, text) == 0)
		assert(m.path && *m.path && m.addr + m.len >= m.addr);
	if (cgroup_mount__parse(&mount, text) == 1)
		assert(strlen(mount.path) < sizeof(mount.path));
	cgroup__match(text, "rw,cpu,cpuacct");
	if (container__match(text, "0123", path, sizeof(path), whole) == 1)
		assert(strncmp(whole, "0123", 4) == 0 && strlen(path) <= size);
	free(text);
	return 0;
}
