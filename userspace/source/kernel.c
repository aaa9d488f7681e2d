// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/kernel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/vfs.h>
#include <unistd.h>

#define WORD_BITS (8 * sizeof(unsigned long))

static int parse_cpu(const char **s, unsigned long *cpu)
{
	char *end;

	if (**s < '0' || **s > '9')
		return -EINVAL;
	*cpu = strtoul(*s, &end, 10);
	*s = end;
	return *cpu < CPU_MASK_MAX ? 0 : -ERANGE;
}

int cpu_mask__parse(struct cpu_mask *m, const char *text)
{
	unsigned long first, last;
	int err;

	*m = (struct cpu_mask){0};
	while (*text && *text != '\n') {
		err = parse_cpu(&text, &first);
		if (err)
			return err;
		last = first;
		if (*text == '-') {
			text++;
			err = parse_cpu(&text, &last);
			if (err)
				return err;
		}
		if (last < first || (*text && *text != ',' && *text != '\n'))
			return -EINVAL;
		for (; first <= last; first++) {
			m->n += !cpu_mask__has(m, first);
			m->bits[first / WORD_BITS] |= 1UL << (first % WORD_BITS);
		}
		if (last + 1 > m->last)
			m->last = last + 1;
		if (*text == ',')
			text++;
	}
	return m->n ? 0 : -EINVAL;
}

bool cpu_mask__has(const struct cpu_mask *m, unsigned int cpu)
{
	return cpu < CPU_MASK_MAX && (m->bits[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1);
}

static void read_cpus(const char *name, struct cpu_mask *m)
{
	char path[64], text[4096];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", name);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	if (cpu_mask__parse(m, text)) { /* no sysfs: all that are configured */
		snprintf(text, sizeof(text), "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
		cpu_mask__parse(m, text);
	}
}

static bool has_cap(cap_value_t cap)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t set = CAP_CLEAR;

	if (caps) {
		cap_get_flag(caps, cap, CAP_EFFECTIVE, &set);
		cap_free(caps);
	}
	return set == CAP_SET;
}

/* What tracepoint @name passes, after a pointer of its own; NULL where there is none. */
static const struct btf_type *tracepoint_proto(const struct btf *btf, const char *name)
{
	const struct btf_type *t;
	char type[64];
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	if (id <= 0)
		return NULL;
	t = btf__type_by_id(btf, btf__type_by_id(btf, id)->type); /* the pointer */
	t = btf__type_by_id(btf, t->type);			  /* the function */
	return btf_is_func_proto(t) ? t : NULL;
}

bool kernel__describes(const struct btf *btf, const char *section)
{
	const char *name = strchr(section, '/');

	if (!name)
		return false;
	section += *section == '?';
	if (strncmp(section, "tp_btf/", 7) == 0)
		return tracepoint_proto(btf, name + 1) != NULL;
	return btf__find_by_name_kind(btf, name + 1, BTF_KIND_FUNC) > 0;
}

static void read_block(struct kernel_facts *k, const struct btf *btf)
{
	const struct btf_type *t = tracepoint_proto(btf, "block_rq_issue");

	k->rq_after_queue = t && btf_vlen(t) == 3;
	k->rq_merge = tracepoint_proto(btf, "block_rq_merge") != NULL;
	t = tracepoint_proto(btf, "block_rq_complete");
	if (t && btf_vlen(t) == 4) {
		t = btf__type_by_id(btf, btf_params(t)[2].type);
		k->rq_status = strcmp(btf__name_by_offset(btf, t->name_off), "blk_status_t") == 0;
	}
}

/* How many arguments tracepoint @name passes, with a pointer of its own; 0: there is none. */
static unsigned int count_passed(const struct btf *btf, const char *name)
{
	const struct btf_type *t = tracepoint_proto(btf, name);

	return t ? btf_vlen(t) : 0;
}

static void read_io_uring(struct kernel_facts *k, const struct btf *btf)
{
	unsigned int complete = count_passed(btf, "io_uring_complete");

	k->trace_io_uring = complete != 0;
	k->uring_entry = complete == 4; /* ring, request, entry */
	k->uring_submit_req = count_passed(btf, "io_uring_submit_req") == 2;
	/* not so before 6.0: some passed what is in a request, one by one */
	k->uring_requests =
		complete != 5 &&
		(k->uring_submit_req || count_passed(btf, "io_uring_submit_sqe") == 3) &&
		count_passed(btf, "io_uring_req_failed") == 4 &&
		count_passed(btf, "io_uring_queue_async_work") == 3 &&
		count_passed(btf, "io_uring_cqe_overflow") == 6;
}

static void read_btf(struct kernel_facts *k)
{
	libbpf_print_fn_t was = libbpf_set_print(NULL); /* that there is none is told otherwise */
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *t;

	libbpf_set_print(was);
	if (!btf)
		return;
	k->btf = true;
	k->trace_memcg_reclaim = tracepoint_proto(btf, "mm_vmscan_memcg_reclaim_begin") != NULL;
	k->trace_fence = tracepoint_proto(btf, "dma_fence_init") != NULL;
	k->trace_page_fault = tracepoint_proto(btf, "page_fault_user") != NULL;
	k->rdonly_cast = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	k->var_preempt_count = btf__find_by_name_kind(btf, "__preempt_count", BTF_KIND_VAR) > 0;
	k->var_pcpu_hot = btf__find_by_name_kind(btf, "pcpu_hot", BTF_KIND_VAR) > 0;
	t = tracepoint_proto(btf, "sched_switch");
	/* besides the tracepoint's own argument: preempt, prev, next, prev_state */
	k->switch_has_state = t && btf_vlen(t) == 5;
	read_block(k, btf);
	read_io_uring(k, btf);
	btf__free(btf);
}

/* All modes stand in the file, the one in force in brackets. No such file: nothing is locked. */
static void read_lockdown(struct kernel_facts *k)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "", *mode;

	snprintf(k->lockdown, sizeof(k->lockdown), "none");
	if (!f)
		return;
	mode = fgets(line, sizeof(line), f) ? strchr(line, '[') : NULL;
	fclose(f);
	if (mode)
		snprintf(k->lockdown, sizeof(k->lockdown), "%.*s", (int)strcspn(mode + 1, "]"),
			 mode + 1);
}

bool kernel_facts__hides_memory(const struct kernel_facts *k)
{
	return strcmp(k->lockdown, "confidentiality") == 0;
}

static void find_tracefs(struct kernel_facts *k)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[96];
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/events/sched/sched_switch/id", places[i]);
		if (access(path, R_OK) == 0) {
			snprintf(k->tracefs, sizeof(k->tracefs), "%s", places[i]);
			return;
		}
	}
}

static void read_rights(struct kernel_facts *k)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");

	k->cap_sys_admin = has_cap(CAP_SYS_ADMIN);
	k->cap_bpf = has_cap(CAP_BPF) || k->cap_sys_admin;
	k->cap_perfmon = has_cap(CAP_PERFMON) || k->cap_sys_admin;
	k->cap_sys_nice = has_cap(CAP_SYS_NICE);
	if (!f || fscanf(f, "%d", &k->perf_paranoid) != 1)
		k->perf_paranoid = PERF_UNKNOWN;
	if (f)
		fclose(f);
}

/* Levels above 2 are of distributions; what they take instead of CAP_SYS_ADMIN differs. */
void kernel_facts__perf_lack(const struct kernel_facts *k, char *why, size_t size)
{
	if (!k->cap_perfmon)
		snprintf(why, size, "needs CAP_PERFMON: run it as root");
	else if (!k->cap_sys_admin && k->perf_paranoid > 2 && k->perf_paranoid != PERF_UNKNOWN)
		snprintf(why, size,
			 "kernel.perf_event_paranoid is %d, at which this kernel wants "
			 "CAP_SYS_ADMIN: "
			 "run it as root, or set it to 2",
			 k->perf_paranoid);
	else
		snprintf(
			why, size,
			"the kernel refuses performance events in spite of %s (a security module?)",
			k->cap_sys_admin ? "CAP_SYS_ADMIN" : "CAP_PERFMON");
}

void kernel__perf_lack(char *why, size_t size)
{
	struct kernel_facts k;

	read_rights(&k);
	kernel_facts__perf_lack(&k, why, size);
}

const char *kernel__tracefs_remedy(void)
{
	struct statfs fs;

	if (statfs("/sys/kernel/tracing", &fs) == 0 && fs.f_type == TRACEFS_MAGIC)
		return geteuid()
			       ? "as root: mount -o remount,gid=GROUP,mode=750 /sys/kernel/tracing"
			       : "mount -o remount,mode=700 /sys/kernel/tracing";
	return geteuid() ? "as root: mount -t tracefs -o gid=GROUP,mode=750 tracefs "
			   "/sys/kernel/tracing"
			 : "mount -t tracefs tracefs /sys/kernel/tracing";
}

void kernel_facts__get(struct kernel_facts *k)
{
	struct cpu_mask possible;

	memset(k, 0, sizeof(*k));
	read_cpus("online", &k->online);
	read_cpus("possible", &possible);
	k->cpus_online = k->online.n;
	k->cpus_possible = possible.last > k->online.last ? possible.last : k->online.last;
	read_rights(k);
	read_btf(k);
	read_lockdown(k);
	find_tracefs(k);
}
