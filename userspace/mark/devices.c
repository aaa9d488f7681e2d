// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/mark/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEVICES 64

/*
 * Entries are added and never changed while @n counts them, so that sending needs no lock; a
 * child of fork inherits them. A device that is named anew has a further entry. One beyond the
 * last is still sent once by its own process, if that is attached.
 */
static struct {
	uint32_t device;
	char name[120];
} devices[MAX_DEVICES];
static unsigned int ndevices;

/* Is @name, as far as there is room for it, what @device is called now? */
static bool known(uint32_t device, const char *name, unsigned int n)
{
	for (unsigned int i = n; i-- > 0;)
		if (devices[i].device == device)
			return !strncmp(devices[i].name, name, sizeof(devices[i].name) - 1);
	return false;
}

void mark_devices__remember(uint32_t device, const char *name)
{
	unsigned int n;
	int saved = errno;

	if (!mark__lock())
		goto out;
	n = ndevices;
	if (n < MAX_DEVICES && !known(device, name, n)) {
		devices[n].device = device;
		snprintf(devices[n].name, sizeof(devices[n].name), "%s", name);
		__atomic_store_n(&ndevices, n + 1, __ATOMIC_RELEASE);
	}
	mark__unlock();
out:
	errno = saved;
}

void mark_devices__send(struct mark_thread *t)
{
	unsigned int n = __atomic_load_n(&ndevices, __ATOMIC_ACQUIRE);

	for (unsigned int i = 0; i < n; i++)
		mark__emit_device(t, devices[i].device, devices[i].name);
}
