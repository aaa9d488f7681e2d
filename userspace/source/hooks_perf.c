// SPDX-License-Identifier: BSD-2-Clause
/* Programs on perf's software events: one event on each cpu that is on. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userspace/source/hooks_priv.h"

static const struct perf_hook {
	const char *program;
	uint64_t config;
} perf_hooks[] = {
	{"fault_minor", PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"fault_major", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
};

static const struct perf_hook *find(const char *program)
{
	size_t i;

	for (i = 0; i < sizeof(perf_hooks) / sizeof(perf_hooks[0]); i++)
		if (strcmp(perf_hooks[i].program, program) == 0)
			return &perf_hooks[i];
	return NULL;
}

static int open_event(const struct perf_hook *p, unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = p->config,
		.sample_period = 1, /* each: and events of period 1 are never throttled */
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int attach_on(struct family *f, struct bpf_program *prog, const struct perf_hook *p,
		     unsigned int cpu)
{
	struct bpf_link *link;
	int err, fd = open_event(p, cpu);

	if (fd == -ENODEV)
		return 0; /* the cpu has just been taken off */
	if (fd < 0)
		return fd;
	link = bpf_program__attach_perf_event(prog, fd); /* which then owns the event */
	if (link)
		return family__keep(f, link);
	err = -errno;
	close(fd);
	return err;
}

int perf_hooks__attach(struct hooks *h, struct family *f, struct bpf_program *prog)
{
	const struct perf_hook *p = find(bpf_program__name(prog));
	unsigned int cpu;
	int err = p ? 0 : -ENOENT;

	for (cpu = 0; !err && cpu < h->ncpus; cpu++)
		if (cpu_mask__has(&h->facts.online, cpu))
			err = attach_on(f, prog, p, cpu);
	return err;
}
