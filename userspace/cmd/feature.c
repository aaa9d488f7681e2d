// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/feature.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "userspace/lib/column.h"
#include "userspace/lib/log.h"
#include "userspace/lib/text.h"

#define CGROUP2_MAGIC 0x63677270

static void set(struct feature_result *r, enum feature_state state, const char *remedy,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void set(struct feature_result *r, enum feature_state state, const char *remedy,
		const char *fmt, ...)
{
	va_list args;

	r->state = state;
	snprintf(r->remedy, sizeof(r->remedy), "%s", remedy);
	va_start(args, fmt);
	vsnprintf(r->found, sizeof(r->found), fmt, args);
	va_end(args);
}

/* The first line of a file of the kernel's; false: it cannot be read. */
static bool read_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(line, size, f) != NULL;
	fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

static void probe_kernel(const struct kernel_facts *k, struct feature_result *r)
{
	struct utsname u;

	if (uname(&u) < 0)
		set(r, FEATURE_MISSING, "", "%s", log__err(errno));
	else
		set(r, FEATURE_OK, "", "%s %s", u.release, u.machine);
}

static void probe_btf(const struct kernel_facts *k, struct feature_result *r)
{
	struct stat st;
	char size[32];

	if (!k->btf)
		set(r, FEATURE_MISSING, "use a kernel built with CONFIG_DEBUG_INFO_BTF", "none");
	else if (stat("/sys/kernel/btf/vmlinux", &st) == 0)
		set(r, FEATURE_OK, "", "/sys/kernel/btf/vmlinux, %s",
		    format__bytes(size, sizeof(size), st.st_size));
	else
		set(r, FEATURE_OK, "", "found");
}

static void probe_jit(const struct kernel_facts *k, struct feature_result *r)
{
	char line[32];

	if (!read_line("/proc/sys/net/core/bpf_jit_enable", line, sizeof(line)))
		set(r, FEATURE_OK, "", "its setting cannot be read here");
	else if (line[0] == '0')
		set(r, FEATURE_LIMITED, "sysctl net.core.bpf_jit_enable=1", "off");
	else
		set(r, FEATURE_OK, "", "on");
}

/* With the path of this very program, as a shell takes it. */
static const char *setcap_line(char *buf, size_t size)
{
	char path[256];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n < 0 ? 0 : n] = '\0';
	/* one that is cut short, or that a shell would take otherwise, is nobody's */
	if (n < 0 || n == sizeof(path) - 1 || !text__is_shell_word(path))
		strcpy(path, "xpugap");
	snprintf(buf, size, "run it by sudo, or: setcap cap_bpf,cap_perfmon,cap_sys_nice+ep %s",
		 path);
	return buf;
}

static void probe_capabilities(const struct kernel_facts *k, struct feature_result *r)
{
	char text[96], line[sizeof(r->remedy)];
	static const char modules[] =
		"run it by sudo: what modules trace (job) needs CAP_SYS_ADMIN";

	if (k->cap_sys_admin) {
		set(r, FEATURE_OK, "", "CAP_SYS_ADMIN (user %u)", geteuid());
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s", k->cap_bpf ? "CAP_BPF " : "",
		 k->cap_perfmon ? "CAP_PERFMON " : "", k->cap_sys_nice ? "CAP_SYS_NICE " : "");
	if (k->cap_bpf && k->cap_perfmon)
		set(r, FEATURE_LIMITED, modules, "%s(user %u)", text, geteuid());
	else
		set(r, FEATURE_MISSING, setcap_line(line, sizeof(line)), "%s(user %u)",
		    *text ? text : "none ", geteuid());
}

static void probe_unprivileged_bpf(const struct kernel_facts *k, struct feature_result *r)
{
	char line[32];

	if (!read_line("/proc/sys/kernel/unprivileged_bpf_disabled", line, sizeof(line)))
		set(r, FEATURE_MISSING, "use a kernel built with CONFIG_BPF_SYSCALL",
		    "this kernel has no BPF, or /proc is not mounted");
	else
		set(r, FEATURE_OK, "", "%s%s", line,
		    line[0] == '0' ? "" : " (as it should be: hooks need rights anyway)");
}

/* Tried: whether CAP_PERFMON is enough above level 2 differs from kernel to kernel. */
static int try_perf_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	int cpu = sched_getcpu(), fd;

	/* one on a cpu, which sees all who run there, as hooks need it */
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu < 0 ? 0 : cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void probe_perf_event_paranoid(const struct kernel_facts *k, struct feature_result *r)
{
	int level = k->perf_paranoid, err = try_perf_event();
	char lack[sizeof(r->remedy)];

	if (level == PERF_UNKNOWN) {
		set(r, FEATURE_MISSING, "use a kernel built with CONFIG_PERF_EVENTS",
		    "no performance events");
		return;
	}
	if (!err) {
		set(r, FEATURE_OK, "", "%d%s", level,
		    level > 0 ? k->cap_sys_admin ? " (CAP_SYS_ADMIN)" : " (CAP_PERFMON)" : "");
		return;
	}
	kernel_facts__perf_lack(k, lack, sizeof(lack));
	if (err != -EACCES && err != -EPERM)
		snprintf(lack, sizeof(lack), "the kernel refuses them: %s", log__err(err));
	else if (!k->cap_perfmon)
		snprintf(lack, sizeof(lack), "sysctl kernel.perf_event_paranoid=0%s",
			 level > 2 ? ", or 2 and CAP_PERFMON" : ", or CAP_PERFMON");
	set(r, FEATURE_LIMITED, lack, "%d", level);
}

#define UNLOCK "boot with lockdown=integrity, or without secure boot"

static void probe_lockdown(const struct kernel_facts *k, struct feature_result *r)
{
	if (kernel_facts__hides_memory(k))
		set(r, FEATURE_MISSING, UNLOCK, "%s", k->lockdown);
	else
		set(r, FEATURE_OK, "", "%s", k->lockdown);
}

static void probe_memlock(const struct kernel_facts *k, struct feature_result *r)
{
	struct rlimit l;
	char size[32];

	if (getrlimit(RLIMIT_MEMLOCK, &l) < 0)
		set(r, FEATURE_LIMITED, "", "%s", log__err(errno));
	else if (l.rlim_cur == RLIM_INFINITY)
		set(r, FEATURE_OK, "", "unlimited");
	else
		set(r, FEATURE_OK, "", "%s", format__bytes(size, sizeof(size), l.rlim_cur));
}

static void probe_tracefs(const struct kernel_facts *k, struct feature_result *r)
{
	if (*k->tracefs)
		set(r, FEATURE_OK, "", "%s", k->tracefs);
	else if (access("/sys/kernel/tracing", F_OK) < 0)
		set(r, FEATURE_LIMITED, "use a kernel built with CONFIG_TRACING", "none");
	else if (kernel_facts__hides_memory(k))
		set(r, FEATURE_LIMITED, UNLOCK, "locked down");
	else
		set(r, FEATURE_LIMITED, kernel__tracefs_remedy(), "not mounted, or not readable");
}

static void probe_bpf_stats(const struct kernel_facts *k, struct feature_result *r)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd >= 0) {
		close(fd);
		set(r, FEATURE_OK, "", "can be switched on (they are off: they cost)");
	} else {
		set(r, FEATURE_LIMITED,
		    "needs CAP_SYS_ADMIN; the hooks' own measurement does without", "%s",
		    log__err(errno));
	}
}

static void probe_kallsyms(const struct kernel_facts *k, struct feature_result *r)
{
#if defined(__x86_64__)
	static const char *const names[] = {"__preempt_count", "pcpu_hot"};
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[256], name[160] = "";
	const char *found = NULL;
	size_t i;

	while (!found && f && fgets(line, sizeof(line), f))
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (sscanf(line, "%*s %*c %159s", name) == 1 && !strcmp(name, names[i]))
				found = names[i];
	if (f)
		fclose(f);
	if (found)
		set(r, FEATURE_OK, "", "%s", found);
	else
		set(r, FEATURE_LIMITED, "use a kernel built with CONFIG_KALLSYMS_ALL",
		    "not listed: interrupts are counted by more hooks");
#else
	set(r, FEATURE_OK, "", "not needed on this architecture");
#endif
}

static void probe_clock(const struct kernel_facts *k, struct feature_result *r)
{
	struct timespec a, b, t;
	char line[64];
	double ns;
	int i;

	if (!read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", line,
		       sizeof(line)))
		snprintf(line, sizeof(line), "unknown source");
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (i = 0; i < 1000; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	clock_gettime(CLOCK_MONOTONIC, &b);
	ns = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / 1001;
	if (ns > 200)
		set(r, FEATURE_LIMITED,
		    "a slow clock makes every hook dear: see "
		    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
		    "%s, %.0f ns a reading", line, ns);
	else
		set(r, FEATURE_OK, "", "%s, %.0f ns a reading", line, ns);
}

static void probe_cgroup(const struct kernel_facts *k, struct feature_result *r)
{
	struct statfs fs;

	if (statfs("/sys/fs/cgroup", &fs) < 0)
		set(r, FEATURE_LIMITED, "", "not mounted");
	else if (fs.f_type == CGROUP2_MAGIC)
		set(r, FEATURE_OK, "", "v2");
	else if (statfs("/sys/fs/cgroup/unified", &fs) == 0 && fs.f_type == CGROUP2_MAGIC)
		set(r, FEATURE_OK, "", "hybrid: v1 with v2 in /sys/fs/cgroup/unified");
	else
		set(r, FEATURE_LIMITED, "records hold the id of the v2 hierarchy only", "v1");
}

static void probe_cpus(const struct kernel_facts *k, struct feature_result *r)
{
	set(r, FEATURE_OK, "", "%u online, numbers below %u", k->cpus_online, k->cpus_possible);
}

static void probe_perf(const struct kernel_facts *k, struct feature_result *r)
{
	const char *dirs = getenv("PATH"), *end;
	char path[4096];

	for (; dirs && *dirs; dirs = *end ? end + 1 : NULL) {
		end = strchrnul(dirs, ':');
		snprintf(path, sizeof(path), "%.*s/perf", (int)(end - dirs), dirs);
		if (access(path, X_OK) == 0) {
			set(r, FEATURE_OK, "", "%.100s", path);
			return;
		}
	}
	set(r, FEATURE_LIMITED, "install it (Debian: linux-perf) to run 'make bench'",
	    "not in PATH");
}

const struct feature features[] = {
#define X(name, what, why) {#name, what, why, probe_##name},
	FEATURE_TABLE(X)
#undef X
		{0},
};
