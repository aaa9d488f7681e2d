// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/device/cores.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD (8 * sizeof(unsigned long))

static bool has(const struct cores *c, unsigned int core)
{
	return core < CORES_MAX && (c->bits[core / WORD] >> (core % WORD) & 1);
}

static void add(struct cores *c, unsigned int core)
{
	c->bits[core / WORD] |= 1UL << (core % WORD);
}

unsigned int cores__count(const struct cores *c)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < sizeof(c->bits) / sizeof(c->bits[0]); i++)
		n += __builtin_popcountl(c->bits[i]);
	return n;
}

int cores__usable(struct cores *out)
{
	memset(out, 0, sizeof(*out));
	return sched_getaffinity(0, sizeof(out->bits), (cpu_set_t *)out->bits) ? -errno : 0;
}

int cores__enter(const struct cores *c)
{
	return sched_setaffinity(0, sizeof(c->bits), (const cpu_set_t *)c->bits) ? -errno : 0;
}

char *cores__format(const struct cores *c, char *buf, size_t size)
{
	unsigned int core, last;
	size_t at = 0;

	if (size)
		buf[0] = '\0';
	for (core = 0; core < CORES_MAX; core++) {
		if (!has(c, core))
			continue;
		for (last = core; has(c, last + 1); last++)
			;
		if (at < size && last > core)
			at += snprintf(buf + at, size - at, "%s%u-%u", at ? "," : "", core, last);
		else if (at < size)
			at += snprintf(buf + at, size - at, "%s%u", at ? "," : "", core);
		core = last;
	}
	return buf;
}

/* A number at *@s, which is moved behind it, -1 if there is none. */
static long number(const char **s)
{
	char *end;
	long v;

	if (!isdigit((unsigned char)**s))
		return -1;
	errno = 0;
	v = strtol(*s, &end, 10);
	*s = end;
	return errno ? LONG_MAX : v;
}

int cores__parse(const char *spec, const struct cores *usable, struct cores *out, char *reason,
		 size_t size)
{
	const char *s = spec;
	long first, last;
	char all[256];

	if (!*spec) {
		*out = *usable;
		return 0;
	}
	memset(out, 0, sizeof(*out));
	for (;;) {
		first = last = number(&s);
		if (first >= 0 && *s == '-') {
			s++;
			last = number(&s);
		}
		if (first < 0 || last < first || (*s && *s != ',')) {
			snprintf(reason, size,
				 "cores are numbers and ranges with commas between, as in '0-3,6'");
			return -EINVAL;
		}
		for (; first <= last; first++) {
			if (first >= CORES_MAX || !has(usable, first)) {
				snprintf(reason, size,
					 "core %ld is not usable by this process (usable: %s)",
					 first, cores__format(usable, all, sizeof(all)));
				return -EINVAL;
			}
			if (has(out, first)) {
				snprintf(reason, size, "core %ld is named twice", first);
				return -EINVAL;
			}
			add(out, first);
		}
		if (!*s)
			return 0;
		s++;
	}
}

/* The limit in @dir/cpu.max, or 0: no file, "max", or not understood. */
static unsigned int quota_of(const char *dir)
{
	unsigned long quota, period;
	char path[PATH_MAX + 16];
	unsigned int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu.max", dir);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lu %lu", &quota, &period) == 2 && period && quota)
		n = (quota + period - 1) / period;
	fclose(f);
	return n;
}

unsigned int cores__quota(const char *root, const char *self)
{
	unsigned int n, least = 0;
	char dir[PATH_MAX], *slash;
	char line[PATH_MAX];
	size_t top = strlen(root);
	bool found = false;
	FILE *f;

	f = fopen(self, "re");
	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f))
		found = strncmp(line, "0::/", 4) == 0;
	fclose(f);
	if (!found)
		return 0;
	line[strcspn(line, "\n")] = '\0';
	if (snprintf(dir, sizeof(dir), "%s%s", root, line + 3) >= (int)sizeof(dir))
		return 0;
	/* every group above limits, too */
	for (;;) {
		n = quota_of(dir);
		if (n && (!least || n < least))
			least = n;
		slash = strrchr(dir, '/');
		if (!slash || (size_t)(slash - dir) < top)
			return least;
		*slash = '\0';
	}
}
