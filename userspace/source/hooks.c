// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/hooks.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/hooks/maps.skel.h"
#include "bpf/hooks/sched.skel.h"
#include "bpf/hooks/sched_count.skel.h"
#include "bpf/hooks/sched_hot.skel.h"
#include "bpf/hooks/syscall.skel.h"
#include "bpf/hooks/syscall_read.skel.h"
#include "bpf/hooks/task.skel.h"
#include "userspace/lib/log.h"
#include "userspace/source/kernel.h"
#include "userspace/source/probe.h"

#define MAX_PROGRAMS 12
#define MAX_WALKS    16

/* One family: the object that is loaded and its links. */
struct family {
	struct hook_report report;
	void *skel;
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct bpf_link *links[MAX_PROGRAMS];
	unsigned int nlinks;
	struct bpf_link *walk; /* of its iterator over tasks */
};

struct hooks {
	struct hooks_opts opts;
	struct kernel_facts facts;
	struct maps_bpf *maps;
	struct family family[REC_HOOK_MAX];
	struct ring *rings;
	unsigned int ncpus;
	struct cpu_state *cpus;
	size_t cpus_bytes;
};

/* ---- what libbpf says: kept for the reason, shown when asked for ---- */

static char last_words[160];

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[512];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	if (level == LIBBPF_WARN)
		snprintf(last_words, sizeof(last_words), "%.159s",
			 strncmp(line, "libbpf: ", 8) == 0 ? line + 8 : line);
	log_debug("%s", line);
	return 0;
}

/* Why something failed, and what to do: @what is "create maps", "load", "attach". */
static void explain(struct hooks *h, struct family *f, const char *what, int err)
{
	char *to = f->report.reason;
	size_t size = sizeof(f->report.reason);

	f->report.err = err;
	if ((err == -EPERM || err == -EACCES) && !h->facts.cap_bpf)
		snprintf(to, size, "needs CAP_BPF and CAP_PERFMON: run it as root");
	else if ((err == -EPERM || err == -EACCES) && !h->facts.cap_perfmon)
		snprintf(to, size, "needs CAP_PERFMON besides CAP_BPF");
	else if (!h->facts.btf)
		snprintf(to, size,
			 "the kernel has no type information in /sys/kernel/btf/vmlinux "
			 "(CONFIG_DEBUG_INFO_BTF)");
	else
		snprintf(to, size, "cannot %s: %s%s%s", what, log__err(err),
			 *last_words ? ": " : "", last_words);
}

/* ---- the objects: one function opens each and sets its switches ---- */

/* Take over what NAME_bpf__open() returned; the families' skeletons differ in type only. */
#define ADOPT(family, s)                                                                           \
	do {                                                                                       \
		(family)->skel = (s);                                                              \
		(family)->skeleton = (s)->skeleton;                                                \
		(family)->obj = (s)->obj;                                                          \
	} while (0)

static int open_task(struct hooks *h, struct family *f)
{
	struct task_bpf *s = task_bpf__open();

	if (!s)
		return -errno;
	s->rodata->exit_by_sched = h->family[REC_HOOK_SCHED].obj != NULL;
	ADOPT(f, s);
	return 0;
}

#define OPEN_SCHED(h, f, name)                                                                     \
	do {                                                                                       \
		struct name##_bpf *s = name##_bpf__open();                                         \
                                                                                                   \
		if (!s)                                                                            \
			return -errno;                                                             \
		s->rodata->switch_has_state = (h)->facts.switch_has_state;                         \
		ADOPT(f, s);                                                                       \
	} while (0)

static int open_sched(struct hooks *h, struct family *f)
{
	if (h->facts.sym_preempt_count)
		OPEN_SCHED(h, f, sched_count);
	else if (h->facts.sym_pcpu_hot)
		OPEN_SCHED(h, f, sched_hot);
	else
		OPEN_SCHED(h, f, sched);
	return 0;
}

#define OPEN_SYSCALL(h, f, name)                                                                   \
	do {                                                                                       \
		struct name##_bpf *s = name##_bpf__open();                                         \
                                                                                                   \
		if (!s)                                                                            \
			return -errno;                                                             \
		s->rodata->keep_on_cpu = (h)->family[REC_HOOK_SCHED].obj != NULL;                  \
		ADOPT(f, s);                                                                       \
	} while (0)

static int open_syscall(struct hooks *h, struct family *f)
{
	if (h->facts.rdonly_cast)
		OPEN_SYSCALL(h, f, syscall);
	else
		OPEN_SYSCALL(h, f, syscall_read);
	return 0;
}

struct rung {
	const char *way;
	int (*open)(struct hooks *h, struct family *f);
};

#define MAX_RUNGS 3

/* In the order of loading and attaching: what the others do depends on the sched hook. */
static const struct ladder {
	enum rec_hook_id hook;
	struct rung rungs[MAX_RUNGS + 1];
} ladders[] = {
	{REC_HOOK_SCHED, {{"tp_btf", open_sched}}},
	{REC_HOOK_TASK, {{"tp_btf", open_task}}},
	{REC_HOOK_SYSCALL, {{"tp_btf", open_syscall}}},
};

#define NLADDERS (sizeof(ladders) / sizeof(ladders[0]))

static void close_family(struct family *f)
{
	unsigned int i;

	for (i = 0; i < f->nlinks; i++)
		bpf_link__destroy(f->links[i]);
	bpf_link__destroy(f->walk);
	if (f->skel) {
		bpf_object__destroy_skeleton(f->skeleton);
		free(f->skel);
	}
	*f = (struct family){.report = f->report};
}

int hooks__share(struct hooks *h, struct bpf_object *obj)
{
	struct bpf_map *map, *shared;
	int err;

	if (!h->maps)
		return -ENODEV;
	bpf_object__for_each_map(map, obj)
	{
		shared = bpf_object__find_map_by_name(h->maps->obj, bpf_map__name(map));
		if (!shared || bpf_map__is_internal(map))
			continue;
		err = bpf_map__reuse_fd(map, bpf_map__fd(shared));
		if (err)
			return err;
	}
	return 0;
}

static int load_rung(struct hooks *h, struct family *f, const struct rung *rung)
{
	int err;

	*last_words = '\0';
	err = rung->open(h, f);
	if (!err)
		err = hooks__share(h, f->obj);
	if (!err)
		err = bpf_object__load_skeleton(f->skeleton);
	if (err) {
		explain(h, f, "load", err);
		close_family(f);
	}
	return err;
}

/* Whatever is recorded, the task hook is what follows the target's children and threads. */
static bool wants(const struct hooks_opts *o, enum rec_hook_id hook)
{
	size_t i;

	for (i = 0; i < NLADDERS; i++)
		if ((ladders[i].hook == hook || hook == REC_HOOK_TASK) &&
		    probe__wants(o->probes, ladders[i].hook))
			return true;
	return false;
}

static void load_family(struct hooks *h, const struct ladder *l)
{
	struct family *f = &h->family[l->hook];
	unsigned int i;

	if (!wants(&h->opts, l->hook))
		return;
	f->report.state = REC_HOOK_REFUSED;
	if (!h->maps)
		return; /* the reason is there */
	for (i = 0; l->rungs[i].way; i++) {
		if (h->opts.way && strcmp(h->opts.way, l->rungs[i].way) != 0)
			continue;
		if (load_rung(h, f, &l->rungs[i]) == 0) {
			f->report.rung = i;
			snprintf(f->report.way, sizeof(f->report.way), "%s", l->rungs[i].way);
			return;
		}
	}
	if (!*f->report.reason)
		snprintf(f->report.reason, sizeof(f->report.reason), "has no way '%s'",
			 h->opts.way);
}

/* ---- the shared maps ---- */

static int make_ring(struct hooks *h, __u32 cpu, size_t bytes)
{
	int err, fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, bytes, NULL);

	if (fd < 0)
		return -errno;
	err = bpf_map_update_elem(bpf_map__fd(h->maps->maps.rings), &cpu, &fd, BPF_ANY);
	if (!err)
		err = ring__map(&h->rings[cpu], fd, bytes);
	close(fd); /* the outer map and the mapping keep it */
	return err;
}

/* Cpus that are off now may come later: they get the smallest ring, not none. */
static int make_rings(struct hooks *h)
{
	size_t bytes = ring__size(h->opts.memory_bytes, h->facts.cpus_online);
	unsigned int cpu;
	int err = 0;

	h->rings = calloc(h->ncpus, sizeof(*h->rings));
	if (!h->rings)
		return -ENOMEM;
	for (cpu = 0; !err && cpu < h->ncpus; cpu++)
		err = make_ring(h, cpu,
				cpu_mask__has(&h->facts.online, cpu)
					? bytes
					: (size_t)sysconf(_SC_PAGESIZE));
	return err;
}

static int map_cpus(struct hooks *h)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *p;

	h->cpus_bytes = (h->ncpus * sizeof(struct cpu_state) + page - 1) & ~(page - 1);
	p = mmap(NULL, h->cpus_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		 bpf_map__fd(h->maps->maps.cpus), 0);
	if (p == MAP_FAILED)
		return -errno;
	h->cpus = p;
	return 0;
}

static int make_maps(struct hooks *h)
{
	int err;

	h->ncpus = h->facts.cpus_possible;
	h->maps = maps_bpf__open();
	if (!h->maps)
		return -errno;
	err = bpf_map__set_max_entries(h->maps->maps.rings, h->ncpus);
	if (!err)
		err = bpf_map__set_max_entries(h->maps->maps.cpus, h->ncpus);
	if (!err)
		err = maps_bpf__load(h->maps);
	if (!err)
		err = make_rings(h);
	if (!err)
		err = map_cpus(h);
	return err;
}

static void free_maps(struct hooks *h)
{
	unsigned int cpu;

	for (cpu = 0; h->rings && cpu < h->ncpus; cpu++)
		ring__unmap(&h->rings[cpu]);
	free(h->rings);
	if (h->cpus)
		munmap(h->cpus, h->cpus_bytes);
	maps_bpf__destroy(h->maps);
	h->rings = NULL;
	h->cpus = NULL;
	h->maps = NULL;
	h->ncpus = 0;
}

struct hooks *hooks__new(const struct hooks_opts *opts)
{
	struct hooks *h = calloc(1, sizeof(*h));
	size_t i;
	int err;

	if (!h)
		return NULL;
	h->opts = *opts;
	if (!wants(opts, REC_HOOK_TASK))
		return h;
	libbpf_set_print(print_libbpf);
	kernel_facts__get(&h->facts);
	*last_words = '\0';
	err = make_maps(h);
	if (err) {
		for (i = 0; i < NLADDERS; i++)
			explain(h, &h->family[ladders[i].hook], "create the maps", err);
		free_maps(h);
	}
	for (i = 0; i < NLADDERS; i++)
		load_family(h, &ladders[i]);
	return h;
}

static int attach_family(struct family *f)
{
	struct bpf_program *prog;
	struct bpf_link *link;

	bpf_object__for_each_program(prog, f->obj)
	{
		if (!bpf_program__autoload(prog))
			continue;
		if (f->nlinks == MAX_PROGRAMS)
			return -E2BIG;
		link = bpf_program__attach(prog);
		if (!link)
			return -errno;
		if (strncmp(bpf_program__section_name(prog), "iter/", 5) == 0)
			f->walk = link;
		else
			f->links[f->nlinks++] = link;
	}
	return 0;
}

/* The families after the first were loaded to work with it: now they must do without. */
static void reload_others(struct hooks *h)
{
	size_t i;

	for (i = 1; i < NLADDERS; i++) {
		struct family *f = &h->family[ladders[i].hook];

		if (!f->obj)
			continue;
		close_family(f);
		load_family(h, &ladders[i]);
	}
}

int hooks__attach(struct hooks *h)
{
	int n = 0, err;
	size_t i;

	for (i = 0; i < NLADDERS; i++) {
		struct family *f = &h->family[ladders[i].hook];

		if (!f->obj)
			continue;
		*last_words = '\0';
		err = attach_family(f);
		if (err) {
			explain(h, f, "attach", err);
			close_family(f);
			if (i == 0)
				reload_others(h);
			continue;
		}
		f->report.state = f->report.rung ? REC_HOOK_DEGRADED : REC_HOOK_ATTACHED;
		n++;
	}
	return n;
}

void hooks__detach(struct hooks *h)
{
	unsigned int i, k;

	for (i = 0; i < REC_HOOK_MAX; i++) {
		struct family *f = &h->family[i];

		for (k = 0; k < f->nlinks; k++)
			bpf_link__destroy(f->links[k]);
		f->nlinks = 0;
	}
}

void hooks__free(struct hooks *h)
{
	unsigned int i;

	if (!h)
		return;
	for (i = 0; i < REC_HOOK_MAX; i++)
		close_family(&h->family[i]);
	free_maps(h);
	free(h);
}

/* ---- targets ---- */

/* Run the family's iterator once over all tasks of the system. */
static int walk_tasks(struct family *f)
{
	char buf[64];
	int fd, err;
	ssize_t n;

	if (!f->walk)
		return -ENOENT;
	fd = bpf_iter_create(bpf_link__fd(f->walk));
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf, sizeof(buf));
		err = n < 0 && errno != EINTR && errno != EAGAIN ? -errno : 0;
	} while (n != 0 && !err);
	close(fd);
	return err;
}

/* The cpus' memory of who is a target is no longer right. */
static void forget_targets(struct hooks *h)
{
	unsigned int cpu;

	for (cpu = 0; cpu < h->ncpus; cpu++)
		__atomic_fetch_add(&h->cpus[cpu].targets, 1, __ATOMIC_RELEASE);
}

static int walk_tree(struct hooks *h)
{
	struct family *f = &h->family[REC_HOOK_TASK];
	struct task_bpf *task = f->skel;
	uint64_t before, after;
	int i, err;

	for (i = 0; i < MAX_WALKS; i++) {
		before = __atomic_load_n(&task->bss->found, __ATOMIC_RELAXED);
		err = walk_tasks(f);
		if (err)
			return err;
		after = __atomic_load_n(&task->bss->found, __ATOMIC_RELAXED);
		if (after == before)
			break;
	}
	return 0;
}

int hooks__add(struct hooks *h, pid_t pid)
{
	struct task_state state = {.flags = TASK_STATE_INSIDE};
	int fd, err;

	if (!h->maps)
		return 0;
	fd = syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	err = bpf_map_update_elem(bpf_map__fd(h->maps->maps.tasks), &fd, &state, BPF_NOEXIST);
	close(fd);
	if (err)
		return err == -EEXIST ? 0 : err;
	if (h->family[REC_HOOK_TASK].obj)
		err = walk_tree(h);
	forget_targets(h);
	return err;
}

int hooks__tell_open(struct hooks *h)
{
	struct family *f = &h->family[REC_HOOK_SYSCALL];

	return f->obj ? walk_tasks(f) : 0;
}

const struct call *hooks__call_on(const struct hooks *h, unsigned int cpu, uint32_t *tid)
{
	const struct cpu_state *c = &h->cpus[cpu];

	if (!h->family[REC_HOOK_SYSCALL].obj || !c->call.start_ns)
		return NULL;
	*tid = c->task_pid;
	return &c->call;
}

int64_t hooks__live(const struct hooks *h)
{
	const struct task_bpf *task = h->family[REC_HOOK_TASK].skel;

	return task ? __atomic_load_n(&task->bss->live, __ATOMIC_RELAXED) : -1;
}

/* ---- what is shared ---- */

const struct hook_report *hooks__report(const struct hooks *h, enum rec_hook_id hook)
{
	size_t i;

	for (i = 0; i < NLADDERS; i++)
		if (ladders[i].hook == hook)
			return &h->family[hook].report;
	return NULL;
}

unsigned int hooks__ncpus(const struct hooks *h)
{
	return h->ncpus;
}

struct ring *hooks__ring(struct hooks *h, unsigned int cpu)
{
	return &h->rings[cpu];
}

const struct hook_counts *hooks__counts(const struct hooks *h, unsigned int cpu,
					enum rec_hook_id hook)
{
	return &h->cpus[cpu].hook[hook];
}

uint64_t hooks__nested(const struct hooks *h, enum rec_hook_id hook)
{
	const struct family *f = &h->family[hook];
	struct bpf_program *prog;
	uint64_t sum = 0;

	if (!f->obj)
		return 0;
	bpf_object__for_each_program(prog, f->obj)
	{
		struct bpf_prog_info info = {0};
		__u32 len = sizeof(info);

		if (bpf_program__fd(prog) >= 0 &&
		    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len) == 0)
			sum += info.recursion_misses;
	}
	return sum;
}
