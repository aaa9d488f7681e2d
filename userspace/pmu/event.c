// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/pmu/event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/lib/opt.h"
#include "userspace/source/kernel.h"

#define NS "ns"

#define CACHE(cache, op, result)                                                                   \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |                          \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* What every kernel calls so, whatever the processor; the first of several names is listed. */
static const struct own {
	const char *name, *alias, *unit;
	uint32_t type;
	uint64_t config;
} own[] = {
#define HARD(name, alias, config)                                                                  \
	{                                                                                          \
		name, alias, "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config                        \
	}
#define SOFT(name, alias, unit, config)                                                            \
	{                                                                                          \
		name, alias, unit, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config                      \
	}
#define CACHED(name, alias, cache, op, result)                                                     \
	{                                                                                          \
		name, alias, "", PERF_TYPE_HW_CACHE, CACHE(cache, op, result)                      \
	}
	HARD("cycles", "cpu-cycles", CPU_CYCLES),
	HARD("instructions", NULL, INSTRUCTIONS),
	HARD("cache-references", NULL, CACHE_REFERENCES),
	HARD("cache-misses", NULL, CACHE_MISSES),
	HARD("branches", "branch-instructions", BRANCH_INSTRUCTIONS),
	HARD("branch-misses", NULL, BRANCH_MISSES),
	HARD("bus-cycles", NULL, BUS_CYCLES),
	HARD("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HARD("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND),
	HARD("ref-cycles", NULL, REF_CPU_CYCLES),
	CACHED("llc-loads", NULL, LL, READ, ACCESS),
	CACHED("llc-load-misses", "llc-misses", LL, READ, MISS),
	CACHED("llc-stores", NULL, LL, WRITE, ACCESS),
	CACHED("llc-store-misses", NULL, LL, WRITE, MISS),
	CACHED("l1-dcache-loads", NULL, L1D, READ, ACCESS),
	CACHED("l1-dcache-load-misses", NULL, L1D, READ, MISS),
	CACHED("dtlb-loads", NULL, DTLB, READ, ACCESS),
	CACHED("dtlb-load-misses", NULL, DTLB, READ, MISS),
	CACHED("itlb-load-misses", NULL, ITLB, READ, MISS),
	CACHED("node-loads", NULL, NODE, READ, ACCESS),
	CACHED("node-load-misses", NULL, NODE, READ, MISS),
	SOFT("task-clock", NULL, NS, TASK_CLOCK),
	SOFT("cpu-clock", NULL, NS, CPU_CLOCK),
	SOFT("page-faults", "faults", "", PAGE_FAULTS),
	SOFT("minor-faults", NULL, "", PAGE_FAULTS_MIN),
	SOFT("major-faults", NULL, "", PAGE_FAULTS_MAJ),
	SOFT("context-switches", "cs", "", CONTEXT_SWITCHES),
	SOFT("cpu-migrations", "migrations", "", CPU_MIGRATIONS),
	SOFT("alignment-faults", NULL, "", ALIGNMENT_FAULTS),
	SOFT("emulation-faults", NULL, "", EMULATION_FAULTS),
};

#define NOWN (sizeof(own) / sizeof(*own))

static int find_own(struct pmu_event *e, const char *name)
{
	size_t i;

	for (i = 0; i < NOWN; i++)
		if (strcasecmp(name, own[i].name) == 0 ||
		    (own[i].alias && strcasecmp(name, own[i].alias) == 0))
			break;
	if (i == NOWN)
		return -ENOENT;
	e->attr.type = own[i].type;
	e->attr.config = own[i].config;
	e->by = "kernel";
	return 0;
}

/* libpfm4 does not tell units. */
static void set_unit(struct pmu_event *e)
{
	size_t i;

	for (i = 0; i < NOWN; i++)
		if (own[i].type == e->attr.type && own[i].config == e->attr.config)
			snprintf(e->unit, sizeof(e->unit), "%s", own[i].unit);
}

/* ---- names that may be meant ---- */

struct names {
	char **v;
	size_t n, room;
};

static int add_name(void *arg, const char *name)
{
	struct names *l = arg;
	size_t room = l->room ? 2 * l->room : 64;
	char **v;

	if (l->n == l->room) {
		v = realloc(l->v, room * sizeof(*v));
		if (!v)
			return -ENOMEM;
		l->v = v;
		l->room = room;
	}
	l->v[l->n] = strdup(name);
	return l->v[l->n] ? (l->n++, 0) : -ENOMEM;
}

static void free_names(struct names *l)
{
	while (l->n)
		free(l->v[--l->n]);
	free(l->v);
}

/* Words are compared as they are typed: in lower case, whatever libpfm4 writes. */
static void lower(char *s)
{
	for (; *s; s++)
		if (*s >= 'A' && *s <= 'Z')
			*s += 'a' - 'A';
}

static void suggest(const char *name, char *why, size_t size)
{
	char *word = strdup(name);
	struct names l = {0};
	const char *near = NULL;
	size_t i;

	for (i = 0; i < NOWN; i++)
		add_name(&l, own[i].name);
	pmu_sysfs__each(PMU_SYSFS, add_name, &l);
	pmu_libpfm__each(add_name, &l);
	for (i = 0; i < l.n; i++)
		lower(l.v[i]);
	if (word) {
		lower(word);
		near = opt__nearest(word, (const char *const *)l.v, l.n);
	}
	if (near)
		snprintf(why, size, "no such event, did you mean '%s'?", near);
	else
		snprintf(why, size, "no such event (see 'xpugap list counters'%s)",
			 pmu_libpfm__is_there()
				 ? ""
				 : "; libpfm4, which knows processors' events, is not installed");
	free(word);
	free_names(&l);
}

/* ---- finding ---- */

int pmu_event__find(struct pmu_event *e, const char *name, char *why, size_t size)
{
	int err;

	*e = (struct pmu_event){.scale = 1};
	*why = '\0';
	if (!*name || strlen(name) >= sizeof(e->name)) {
		snprintf(why, size, "an event has a name of 1 to %zu letters", sizeof(e->name) - 1);
		return -EINVAL;
	}
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->attr.size = sizeof(e->attr);
	err = strchr(name, '/') ? pmu_sysfs__find(e, PMU_SYSFS, name, why, size)
				: pmu_libpfm__find(e, name);
	if (err == -ENOENT && !*why)
		err = find_own(e, name);
	if (err == -ENOENT && !*why)
		suggest(name, why, size);
	if (err)
		return err;
	if (pmu_sysfs__is_shared(PMU_SYSFS, e->attr.type)) {
		snprintf(why, size, "it counts for a whole socket, not for a thread");
		return -EOPNOTSUPP;
	}
	if (!*e->unit)
		set_unit(e);
	e->attr.inherit = 0;
	return 0;
}

int pmu_event__open(const struct pmu_event *e, int cpu)
{
	struct perf_event_attr attr = e->attr;
	int fd;

	fd = syscall(SYS_perf_event_open, &attr, cpu < 0 ? 0 : -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void pmu_event__explain(int err, char *why, size_t size)
{
	switch (err) {
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
	case -ENXIO:
		snprintf(why, size,
			 "the kernel has no such counter here (no PMU, as in most guests, or "
			 "another "
			 "processor)");
		break;
	case -EACCES:
	case -EPERM:
		kernel__perf_lack(why, size);
		break;
	case -EINVAL:
		snprintf(why, size, "the kernel does not take the event as it is");
		break;
	default:
		snprintf(why, size, "%s", log__err(err));
	}
}

struct nth {
	size_t at, i;
	char *buf;
};

static int take_nth(void *arg, const char *name)
{
	struct nth *nth = arg;

	if (nth->at++ != nth->i)
		return 0;
	snprintf(nth->buf, PMU_NAME_MAX, "%s", name);
	return 1;
}

const char *pmu_event__name(size_t i, char *buf)
{
	struct nth nth = {.at = NOWN, .i = i, .buf = buf};

	if (i < NOWN) {
		snprintf(buf, PMU_NAME_MAX, "%s", own[i].name);
		return buf;
	}
	return pmu_sysfs__each(PMU_SYSFS, take_nth, &nth) ? buf : NULL;
}
