// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/machine.h"

#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CPUS 8192

static void read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");

	*buf = '\0';
	if (!f)
		return;
	if (fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
}

/* The value behind the first line that begins with @name, quotes taken off. */
static void read_field(const char *path, const char *name, char separator, char *buf, size_t size)
{
	size_t len = strlen(name);
	char line[512], *value;
	FILE *f = fopen(path, "re");

	*buf = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		value = strncmp(line, name, len) == 0 ? strchr(line + len, separator) : NULL;
		if (!value)
			continue;
		value += 1 + strspn(value + 1, " \t\"");
		value[strcspn(value, "\"\n")] = '\0';
		snprintf(buf, size, "%s", value);
		break;
	}
	if (f)
		fclose(f);
}

static unsigned int count_paths(const char *pattern)
{
	unsigned int n = 0;
	glob_t g;

	if (glob(pattern, 0, NULL, &g) == 0)
		n = (unsigned int)g.gl_pathc;
	globfree(&g);
	return n;
}

/* Different values of a file of all cpus' topology, each at most 4095 characters. */
static unsigned int count_values(const char *pattern)
{
	char line[4096];
	char **seen;
	unsigned int n = 0, i;
	size_t k;
	glob_t g;

	if (glob(pattern, 0, NULL, &g) != 0)
		return 0;
	seen = calloc(g.gl_pathc, sizeof(*seen));
	for (k = 0; seen && k < g.gl_pathc; k++) {
		read_line(g.gl_pathv[k], line, sizeof(line));
		for (i = 0; i < n && strcmp(seen[i], line) != 0; i++)
			;
		if (i == n) {
			seen[n] = strdup(line);
			if (!seen[n])
				break;
			n++;
		}
	}
	globfree(&g);
	for (i = 0; i < n; i++)
		free(seen[i]);
	free(seen);
	return n;
}

static unsigned int count_allowed(void)
{
	size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
	cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
	unsigned int n = 0;

	if (set && sched_getaffinity(0, size, set) == 0)
		n = (unsigned int)CPU_COUNT_S(size, set);
	CPU_FREE(set);
	return n;
}

#define SYS_CPU "/sys/devices/system/cpu/"

void machine__cpu_name(char *buf, size_t size)
{
	*buf = '\0';
	read_field("/proc/cpuinfo", "model name", ':', buf, size);
	if (!*buf) /* arm64 names no model */
		read_field("/proc/cpuinfo", "CPU implementer", ':', buf, size);
}

void machine__get(struct machine *m)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	memset(m, 0, sizeof(*m));
	machine__cpu_name(m->cpu, sizeof(m->cpu));
	m->cpus = cpus > 0 ? (unsigned int)cpus : 0;
	m->allowed = count_allowed();
	m->cores = count_values(SYS_CPU "cpu[0-9]*/topology/thread_siblings_list");
	m->sockets = count_values(SYS_CPU "cpu[0-9]*/topology/physical_package_id");
	m->nodes = count_paths("/sys/devices/system/node/node[0-9]*");
	m->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
	read_field("/etc/os-release", "PRETTY_NAME", '=', m->distro, sizeof(m->distro));
	read_line(SYS_CPU "cpu0/cpufreq/scaling_governor", m->governor, sizeof(m->governor));
	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  m->clocksource, sizeof(m->clocksource));
	uname(&m->kernel);
}
