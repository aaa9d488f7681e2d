// SPDX-License-Identifier: BSD-2-Clause
/* Loading and attaching a family of hooks. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/hooks/sched.skel.h"
#include "bpf/hooks/sched_count.skel.h"
#include "bpf/hooks/sched_hot.skel.h"
#include "bpf/hooks/sched_plain.skel.h"
#include "bpf/hooks/syscall.skel.h"
#include "bpf/hooks/syscall_plain.skel.h"
#include "bpf/hooks/syscall_read.skel.h"
#include "bpf/hooks/task.skel.h"
#include "bpf/hooks/task_plain.skel.h"
#include "userspace/lib/log.h"
#include "userspace/source/hooks_priv.h"
#include "userspace/source/probe.h"
#include "userspace/source/tracefs.h"

/* ---- what libbpf says: kept for the reason, shown when asked for ---- */

#define NO_BTF                                                                                     \
	"the kernel has no type information in /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)"

static char first_words[160];

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[512];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	if (level == LIBBPF_WARN && !*first_words) /* what follows is about what follows */
		snprintf(first_words, sizeof(first_words), "%.159s",
			 strncmp(line, "libbpf: ", 8) == 0 ? line + 8 : line);
	log_debug("%s", line);
	return 0;
}

void libbpf_words__clear(void)
{
	*first_words = '\0';
	libbpf_set_print(print_libbpf);
}

void family__explain(struct hooks *h, struct family *f, const char *what, int err)
{
	char *to = f->report.reason;
	size_t size = sizeof(f->report.reason);

	f->report.err = err;
	if ((err == -EPERM || err == -EACCES) && !h->facts.cap_bpf)
		snprintf(to, size, "needs CAP_BPF and CAP_PERFMON: run it as root");
	else if ((err == -EPERM || err == -EACCES) && !h->facts.cap_perfmon)
		snprintf(to, size, "needs CAP_PERFMON besides CAP_BPF");
	else if (h->plain && !*h->facts.tracefs)
		snprintf(to, size,
			 "%s and tracefs cannot be read (mount -t tracefs tracefs "
			 "/sys/kernel/tracing)",
			 NO_BTF);
	else
		snprintf(to, size, "cannot %s: %s%s%s", what, log__err(err),
			 *first_words ? ": " : "", first_words);
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

#define OPEN_SCHED(name, may)                                                                      \
	static int open_##name(struct hooks *h, struct family *f)                                  \
	{                                                                                          \
		struct name##_bpf *s = (may) ? name##_bpf__open() : NULL;                          \
                                                                                                   \
		if (!s)                                                                            \
			return (may) ? -errno : -ENOENT;                                           \
		s->rodata->switch_has_state = h->facts.switch_has_state;                           \
		ADOPT(f, s);                                                                       \
		return 0;                                                                          \
	}

/* the verifier refuses the first two where kallsyms does not list the variable */
OPEN_SCHED(sched_count, h->facts.var_preempt_count)
OPEN_SCHED(sched_hot, h->facts.var_pcpu_hot)
OPEN_SCHED(sched, true)

#define OPEN_SYSCALL(name, may)                                                                    \
	static int open_##name(struct hooks *h, struct family *f)                                  \
	{                                                                                          \
		struct name##_bpf *s = (may) ? name##_bpf__open() : NULL;                          \
                                                                                                   \
		if (!s)                                                                            \
			return (may) ? -errno : -ENOENT;                                           \
		s->rodata->keep_on_cpu = h->family[REC_HOOK_SCHED].obj != NULL;                    \
		ADOPT(f, s);                                                                       \
		return 0;                                                                          \
	}

OPEN_SYSCALL(syscall, h->facts.rdonly_cast)
OPEN_SYSCALL(syscall_read, true)

/* Set the switches of @s, a skeleton's read-only data, to where fields lie in @event. */
#define FIELD(h, event, field, to)                                                                 \
	do {                                                                                       \
		int err_ = tracefs__field((h)->facts.tracefs, event, field, to);                   \
                                                                                                   \
		if (err_)                                                                          \
			return err_;                                                               \
	} while (0)

static int set_task_fields(struct hooks *h, struct task_plain_bpf *s)
{
	FIELD(h, "task/task_newtask", "pid", (uint32_t *)&s->rodata->at_newtask_pid);
	FIELD(h, "task/task_newtask", "clone_flags", (uint32_t *)&s->rodata->at_newtask_flags);
	FIELD(h, "sched/sched_process_exec", "filename", (uint32_t *)&s->rodata->at_exec_filename);
	FIELD(h, "sched/sched_process_exec", "pid", (uint32_t *)&s->rodata->at_exec_pid);
	FIELD(h, "sched/sched_process_exec", "old_pid", (uint32_t *)&s->rodata->at_exec_old_pid);
	FIELD(h, "sched/sched_process_exit", "pid", (uint32_t *)&s->rodata->at_exit_pid);
	FIELD(h, "sched/sched_process_free", "pid", (uint32_t *)&s->rodata->at_free_pid);
	FIELD(h, "task/task_rename", "pid", (uint32_t *)&s->rodata->at_rename_pid);
	FIELD(h, "task/task_rename", "newcomm", (uint32_t *)&s->rodata->at_rename_newcomm);
	return 0;
}

static int open_task_plain(struct hooks *h, struct family *f)
{
	struct task_plain_bpf *s;

	if (!*h->facts.tracefs)
		return -ENODEV;
	s = task_plain_bpf__open();
	if (!s)
		return -errno;
	ADOPT(f, s);
	return set_task_fields(h, s);
}

static int set_sched_fields(struct hooks *h, struct sched_plain_bpf *s)
{
	FIELD(h, "sched/sched_switch", "prev_pid", (uint32_t *)&s->rodata->at_prev_pid);
	FIELD(h, "sched/sched_switch", "prev_state", (uint32_t *)&s->rodata->at_prev_state);
	FIELD(h, "sched/sched_switch", "next_pid", (uint32_t *)&s->rodata->at_next_pid);
	FIELD(h, "sched/sched_switch", "next_comm", (uint32_t *)&s->rodata->at_next_comm);
	FIELD(h, "sched/sched_waking", "pid", (uint32_t *)&s->rodata->at_waking_pid);
	FIELD(h, "sched/sched_waking", "target_cpu", (uint32_t *)&s->rodata->at_waking_cpu);
	FIELD(h, "sched/sched_wakeup_new", "pid", (uint32_t *)&s->rodata->at_new_pid);
	FIELD(h, "sched/sched_wakeup_new", "target_cpu", (uint32_t *)&s->rodata->at_new_cpu);
	return 0;
}

static int open_sched_plain(struct hooks *h, struct family *f)
{
	struct sched_plain_bpf *s;

	if (!*h->facts.tracefs)
		return -ENODEV;
	s = sched_plain_bpf__open();
	if (!s)
		return -errno;
	ADOPT(f, s);
	return set_sched_fields(h, s);
}

static int open_syscall_plain(struct hooks *h, struct family *f)
{
	struct syscall_plain_bpf *s = syscall_plain_bpf__open();

	if (!s)
		return -errno;
	ADOPT(f, s);
	return 0;
}

const struct ladder ladders[NLADDERS] = {
	{REC_HOOK_SCHED,
	 {{"tp_btf", "", {open_sched_count, open_sched_hot, open_sched}},
	  {"tracepoint",
	   "the system call of who leaves the cpu and wake-ups by interrupts",
	   {open_sched_plain}}}},
	{REC_HOOK_TASK,
	 {{"tp_btf", "", {open_task}},
	  {"tracepoint", "ids in namespaces and totals at a task's end", {open_task_plain}}}},
	{REC_HOOK_SYSCALL,
	 {{"tp_btf", "", {open_syscall, open_syscall_read}},
	  {"raw_tp",
	   "the file behind a descriptor and 32-bit calls of 64-bit programs",
	   {open_syscall_plain}}}},
};

void family__close(struct family *f)
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
		shared = bpf_object__find_map_by_name(h->maps_obj, bpf_map__name(map));
		if (!shared || bpf_map__is_internal(map))
			continue;
		if (bpf_map__fd(shared) < 0)
			return -EOPNOTSUPP; /* targets are not known in this way here */
		err = bpf_map__reuse_fd(map, bpf_map__fd(shared));
		if (err)
			return err;
	}
	return 0;
}

static int load_variant(struct hooks *h, struct family *f,
			int (*open)(struct hooks *h, struct family *f))
{
	int err;

	libbpf_words__clear();
	err = open(h, f);
	if (!err)
		err = hooks__share(h, f->obj);
	if (!err)
		err = bpf_object__load_skeleton(f->skeleton);
	if (err)
		family__close(f);
	return err;
}

static int load_rung(struct hooks *h, struct family *f, const struct rung *rung)
{
	int i, err = -ENOENT;

	for (i = 0; err && rung->open[i]; i++)
		err = load_variant(h, f, rung->open[i]);
	if (err)
		family__explain(h, f, "load", err);
	return err;
}

bool family__wanted(const struct hooks_opts *o, enum rec_hook_id hook)
{
	size_t i;

	for (i = 0; i < NLADDERS; i++)
		if ((ladders[i].hook == hook || hook == REC_HOOK_TASK) &&
		    probe__wants(o->probes, ladders[i].hook))
			return true;
	return false;
}

void family__load(struct hooks *h, const struct ladder *l)
{
	const struct rung *rung = &l->rungs[h->plain ? RUNG_PLAIN : RUNG_BTF];
	struct family *f = &h->family[l->hook];

	if (!family__wanted(&h->opts, l->hook))
		return;
	f->report.state = REC_HOOK_REFUSED;
	if (!h->maps || load_rung(h, f, rung)) /* the reason is there */
		return;
	f->report.rung = h->plain ? RUNG_PLAIN : RUNG_BTF;
	snprintf(f->report.way, sizeof(f->report.way), "%s", rung->way);
	if (h->plain)
		snprintf(f->report.reason, sizeof(f->report.reason), "%s: does not tell %s",
			 h->facts.btf ? "type information is not used" : NO_BTF, rung->lacks);
}

int family__attach(struct family *f)
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
