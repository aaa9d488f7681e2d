// SPDX-License-Identifier: BSD-2-Clause
/* Programs on perf's events: one event on each cpu that is on. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userspace/source/hooks_priv.h"

#define NSEC	       1000000000ULL
#define TICK_NS	       10000000ULL
#define MAX_STACK_FILE "/proc/sys/kernel/perf_event_max_stack"

enum perf_hook_period {
	EACH,	 /* every event: and those of period 1 are never throttled */
	AT_HZ,	 /* so often a second as samples are asked for, which the kernel sees to */
	BY_TIME, /* the same of a clock, whose unit is the nanosecond */
	TICK,	 /* every TICK_NS of one */
};

static const struct perf_hook {
	const char *program;
	uint32_t type;
	uint64_t config;
	enum perf_hook_period period;
} perf_hooks[] = {
	{"fault_minor", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, EACH},
	{"fault_major", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, EACH},
	{"sample_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, AT_HZ},
	{"pmu_tick", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, TICK},
	{"sample_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, BY_TIME},
};

static const struct perf_hook *find(const char *program)
{
	size_t i;

	for (i = 0; i < sizeof(perf_hooks) / sizeof(perf_hooks[0]); i++)
		if (strcmp(perf_hooks[i].program, program) == 0)
			return &perf_hooks[i];
	return NULL;
}

static int open_event(const struct hooks *h, const struct perf_hook *p, unsigned int cpu)
{
	uint32_t hz = h->opts.args.sample_hz ? h->opts.args.sample_hz : SAMPLE_HZ;
	struct perf_event_attr attr = {
		.type = p->type,
		.size = sizeof(attr),
		.config = p->config,
		.sample_period = 1,
	};
	int fd;

	if (p->period == BY_TIME)
		attr.sample_period = NSEC / hz;
	if (p->period == TICK)
		attr.sample_period = TICK_NS;
	if (p->period == AT_HZ) {
		attr.freq = 1;
		attr.sample_freq = hz;
	}
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int perf_hooks__try_cycles(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

uint32_t perf_hooks__max_frames(uint32_t most)
{
	FILE *f = fopen(MAX_STACK_FILE, "re");
	unsigned int n = most;

	if (f && fscanf(f, "%u", &n) != 1)
		n = most;
	if (f)
		fclose(f);
	return n < most ? n : most;
}

static int attach_on(struct hooks *h, struct family *f, struct bpf_program *prog,
		     const struct perf_hook *p, unsigned int cpu)
{
	struct bpf_link *link;
	int err, fd = open_event(h, p, cpu);

	if (fd == -ENODEV)
		return 0; /* the cpu has just been taken off */
	if (fd == -EACCES || fd == -EPERM) {
		kernel_facts__perf_lack(&h->facts, h->perf_why, sizeof(h->perf_why));
		f->lack = h->perf_why;
	}
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
			err = attach_on(h, f, prog, p, cpu);
	return err;
}
