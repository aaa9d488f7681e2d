// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/hooks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/hooks/maps.skel.h"
#include "userspace/source/hooks_priv.h"
#include "userspace/source/probe.h"

/* ---- the shared maps ---- */

static int make_ring(struct hooks *h, __u32 cpu, size_t bytes)
{
	int err, fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, bytes, NULL);

	if (fd < 0)
		return -errno;
	err = bpf_map_update_elem(h->rings_fd, &cpu, &fd, BPF_ANY);
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
	h->maps_obj = h->maps->obj;
	err = bpf_map__set_autocreate(h->plain ? h->maps->maps.tasks : h->maps->maps.tids, false);
	if (!err && h->plain) /* files are not told of in this way */
		err = bpf_map__set_autocreate(h->maps->maps.told_files, false);
	if (!err)
		err = bpf_map__set_max_entries(h->maps->maps.rings, h->ncpus);
	if (!err)
		err = bpf_map__set_max_entries(h->maps->maps.cpus, h->ncpus);
	if (!err)
		err = maps_bpf__load(h->maps);
	h->rings_fd = bpf_map__fd(h->maps->maps.rings);
	h->tasks_fd = bpf_map__fd(h->maps->maps.tasks);
	h->tids_fd = bpf_map__fd(h->maps->maps.tids);
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

static bool is_interrupted(const struct hooks *h)
{
	return h->opts.interrupted && h->opts.interrupted(h->opts.arg);
}

struct hooks *hooks__new(const struct hooks_opts *opts)
{
	struct hooks *h = calloc(1, sizeof(*h));
	const struct ladder *l;
	int err;

	if (!h)
		return NULL;
	h->opts = *opts;
	if (!hooks__wanted(opts))
		return h;
	kernel_facts__get(&h->facts);
	h->plain = opts->no_btf || !h->facts.btf;
	libbpf_words__clear();
	err = make_maps(h);
	if (err) {
		for (l = ladders; l->hook; l++)
			family__explain(h, ladder__family(h, l), "create the maps", err);
		free_maps(h);
	}
	for (l = ladders; l->hook; l++) {
		if (is_interrupted(h)) {
			hooks__free(h);
			errno = EINTR;
			return NULL;
		}
		family__load(h, l);
	}
	return h;
}

/* The families after the first were loaded to work with it: now they must do without. */
static void reload_others(struct hooks *h)
{
	const struct ladder *l;

	for (l = ladders + 1; l->hook; l++) {
		if (!ladder__family(h, l)->obj)
			continue;
		family__close(ladder__family(h, l));
		family__load(h, l);
	}
}

int hooks__attach(struct hooks *h)
{
	const struct ladder *l;

	for (l = ladders; l->hook; l++) {
		if (is_interrupted(h))
			return -EINTR;
		if (ladder__family(h, l)->obj && family__attach(h, l) && l == ladders)
			reload_others(h);
	}
	return 0;
}

void hooks__detach(struct hooks *h)
{
	const struct ladder *l = ladders;

	/* a return whose entry was not seen is then no call that a filter answered */
	if (h->detaching && h->family[REC_HOOK_SYSCALL].nlinks)
		__atomic_store_n(h->detaching, 1, __ATOMIC_SEQ_CST);
	while (l->hook)
		l++;
	/* the others rely on the sched hook while they run: the first goes last */
	while (l-- > ladders)
		family__detach(ladder__family(h, l));
}

void hooks__free(struct hooks *h)
{
	unsigned int i;

	if (!h)
		return;
	for (i = 0; i < FAMILIES; i++)
		family__close(&h->family[i]);
	pmu_hooks__close(h);
	free_maps(h);
	free(h);
}

/* ---- what is shared ---- */

/* A part's name in front of what is said of it, behind what was said of others before. */
static void say_part(char *to, size_t size, const char *between, const struct ladder *l,
		     const char *what)
{
	size_t len = strlen(to);

	if (*what)
		snprintf(to + len, size - len, "%s%s%s%s", len ? between : "", l->probe,
			 between[0] == ';' ? ": " : " ", what);
}

static void add_part(struct hook_report *sum, const struct ladder *l,
		     const struct hook_report *part, unsigned int *works)
{
	if (part->state == REC_HOOK_OFF)
		return;
	if (part->state != REC_HOOK_REFUSED) {
		++*works;
		say_part(sum->way, sizeof(sum->way), ", ", l, part->way);
		sum->rung = part->rung > sum->rung ? part->rung : sum->rung;
	}
	if (part->state > sum->state)
		sum->state = part->state;
	if (part->err && !sum->err)
		sum->err = part->err;
	say_part(sum->reason, sizeof(sum->reason), "; ", l, part->reason);
}

/* What all parts of the family lack, if that is one and the same; else NULL. */
static const char *same_reason(struct hooks *h, enum rec_hook_id hook)
{
	const struct hook_report *first = NULL, *r;
	const struct ladder *l;

	for (l = ladders; l->hook; l++) {
		r = &ladder__family(h, l)->report;
		if (l->hook != hook || r->state == REC_HOOK_OFF)
			continue;
		if (first && strcmp(first->reason, r->reason) != 0)
			return NULL;
		first = r;
	}
	return first ? first->reason : NULL;
}

/* What is said of a family whose parts are attached each for itself. */
static const struct hook_report *sum_parts(struct hooks *h, enum rec_hook_id hook)
{
	struct hook_report *sum = &h->parts;
	const char *same = same_reason(h, hook);
	const struct ladder *l;
	unsigned int works = 0;

	*sum = (struct hook_report){0};
	for (l = ladders; l->hook; l++)
		if (l->hook == hook)
			add_part(sum, l, &ladder__family(h, l)->report, &works);
	if (same)
		snprintf(sum->reason, sizeof(sum->reason), "%s", same);
	if (sum->state == REC_HOOK_REFUSED && works)
		sum->state = REC_HOOK_DEGRADED;
	return sum;
}

const struct hook_report *hooks__report(struct hooks *h, enum rec_hook_id hook)
{
	const struct ladder *l;

	for (l = ladders; l->hook; l++)
		if (l->hook == hook)
			return l->probe ? sum_parts(h, hook) : &h->family[hook].report;
	return NULL;
}

const struct hook_report *hooks__probe_report(struct hooks *h, const struct probe *p)
{
	const struct ladder *l;

	for (l = ladders; l->hook; l++)
		if (l->probe && strcmp(l->probe, p->name) == 0)
			return &ladder__family(h, l)->report;
	return hooks__report(h, p->hook);
}

bool hooks__plain(const struct hooks *h)
{
	return h->plain;
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

static uint64_t nested_of(const struct family *f)
{
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

uint64_t hooks__nested(struct hooks *h, enum rec_hook_id hook)
{
	const struct ladder *l;
	uint64_t sum = 0;

	for (l = ladders; l->hook; l++)
		if (l->hook == hook)
			sum += nested_of(ladder__family(h, l));
	return sum;
}

void hooks__distrust(struct hooks *h, enum rec_hook_id hook, uint64_t now)
{
	unsigned int cpu;

	for (cpu = 0; cpu < h->ncpus; cpu++)
		__atomic_store_n(&h->cpus[cpu].hook[hook].skipped_ns, now, __ATOMIC_RELAXED);
}
