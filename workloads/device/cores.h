/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of the host's cores: "0-1", "0,2", or all that this process may use. */
#ifndef XPUGAP_DEVICE_CORES_H
#define XPUGAP_DEVICE_CORES_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#define CORES_MAX 8192

struct cores {
	unsigned long bits[CORES_MAX / (8 * sizeof(unsigned long))];
};

unsigned int cores__count(const struct cores *c);

/* The calling thread's affinity mask; 0 or -errno. */
int cores__usable(struct cores *out);

/*
 * Parse @spec, numbers and ranges with commas between them ("" is all of @usable). 0; -EINVAL
 * where it cannot be understood or names a core twice or a core outside @usable; the reason, with
 * its remedy, is then in @reason.
 */
int cores__parse(const char *spec, const struct cores *usable, struct cores *out, char *reason,
		 size_t size);

/* "0-1,4" into @buf; returns @buf. */
char *cores__format(const struct cores *c, char *buf, size_t size);

/* Restrict the calling thread, and those it will create, to @c; 0 or -errno. */
int cores__enter(const struct cores *c);

/*
 * How many cores' worth of time the cgroups of this process (version 2) may use, rounded up; 0 if
 * there is no limit. @root is where cgroups are mounted, @self the process's /proc/self/cgroup.
 */
unsigned int cores__quota(const char *root, const char *self);

#endif
