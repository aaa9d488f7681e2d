// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/device/device.h"

#include <stdio.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "userspace/lib/opt.h"

#define DEVICE_ROW(name, what) &device_##name,
const struct device_ops *const devices[] = {DEVICE_TABLE(DEVICE_ROW) NULL};
#undef DEVICE_ROW

#define DEVICE_NAME(name, what) #name,
static const char *const names[] = {DEVICE_TABLE(DEVICE_NAME)};
#undef DEVICE_NAME

#define NAME_MAX_LEN 31

static void print_unknown(const char *name)
{
	const char *near = opt__nearest(name, names, sizeof(names) / sizeof(names[0]));
	char here[256] = "";
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		snprintf(here + strlen(here), sizeof(here) - strlen(here), "%s%s", i ? ", " : "",
			 names[i]);
	if (near)
		log_error("no device '%s' (did you mean '%s'?); devices here: %s", name, near,
			  here);
	else
		log_error("no device '%s'; devices here: %s", name, here);
}

const struct device_ops *device__find(const char *spec, const char **rest)
{
	size_t len = strcspn(spec, ":");
	char name[NAME_MAX_LEN + 1];
	size_t i;

	for (i = 0; devices[i]; i++) {
		if (strlen(names[i]) != len || strncmp(names[i], spec, len) != 0)
			continue;
		if (rest)
			*rest = spec[len] ? spec + len + 1 : spec + len;
		return devices[i];
	}
	len = len < NAME_MAX_LEN ? len : NAME_MAX_LEN;
	memcpy(name, spec, len);
	name[len] = '\0';
	print_unknown(name);
	return NULL;
}
