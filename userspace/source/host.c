// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/host.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/machine.h"

struct facts {
	struct trace_writer *w;
	uint64_t now;
	int err;
};

static void put(struct facts *f, const char *key, const char *value)
{
	if (!f->err && *value)
		f->err = trace_writer__meta(f->w, f->now, key, value);
}

static void put_number(struct facts *f, const char *key, unsigned long long v)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", v);
	put(f, key, text);
}

/* The first line of a file of the kernel's. */
static void put_file(struct facts *f, const char *key, const char *path)
{
	FILE *in = fopen(path, "re");
	char line[256];

	if (!in)
		return;
	if (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		put(f, key, line);
	}
	fclose(in);
}

int host__write(struct trace_writer *w)
{
	struct facts f = {.w = w};
	struct utsname u;
	char cpu[128];
	long pages;

	f.now = hostclock__now();
	put(&f, "recorder.version", XPUGAP_VERSION);
	put_number(&f, "recorder.pid", getpid());
	if (uname(&u) == 0) {
		put(&f, "host.name", u.nodename);
		put(&f, "host.kernel", u.release);
		put(&f, "host.build", u.version);
		put(&f, "host.arch", u.machine);
	}
	put_file(&f, "host.boot_id", "/proc/sys/kernel/random/boot_id");
	machine__cpu_name(cpu, sizeof(cpu));
	if (*cpu)
		put(&f, "host.cpu", cpu);
	put_number(&f, "host.cpus", sysconf(_SC_NPROCESSORS_ONLN));
	put_file(&f, "host.cpu_mask", "/sys/devices/system/cpu/online");
	put_number(&f, "host.page_bytes", sysconf(_SC_PAGESIZE));
	pages = sysconf(_SC_PHYS_PAGES);
	if (pages > 0)
		put_number(&f, "host.memory_bytes",
			   (unsigned long long)pages * sysconf(_SC_PAGESIZE));
	put_file(&f, "host.clocksource",
		 "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	put_file(&f, "host.hypervisor", "/sys/hypervisor/type");
	return f.err;
}
