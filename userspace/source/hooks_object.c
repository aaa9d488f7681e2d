// SPDX-License-Identifier: BSD-2-Clause
/* Loading a family of hooks and attaching it, in the first way of its ladder that works. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "userspace/source/hooks_priv.h"
#include "userspace/source/probe.h"

#define NO_BTF                                                                                     \
	"the kernel has no type information in /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)"

/* ---- what libbpf says: kept for the reason, shown when asked for ---- */

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
	if (f->lack)
		snprintf(to, size, "%s", f->lack);
	else if ((err == -EPERM || err == -EACCES) && !h->facts.cap_bpf)
		snprintf(to, size, "needs CAP_BPF and CAP_PERFMON: run it as root");
	else if ((err == -EPERM || err == -EACCES) && !h->facts.cap_perfmon)
		snprintf(to, size, "needs CAP_PERFMON besides CAP_BPF");
	else if (kernel_facts__hides_memory(&h->facts))
		snprintf(to, size,
			 "the kernel's lockdown (%s) keeps hooks from reading memory: boot with "
			 "lockdown=integrity, or without secure boot",
			 h->facts.lockdown);
	else if (h->plain && err == -EOPNOTSUPP)
		snprintf(to, size, "%s, which what is asked for needs",
			 h->facts.btf ? "type information is not used" : NO_BTF);
	else if (h->plain && !*h->facts.tracefs)
		snprintf(to, size, "%s and tracefs cannot be read (%s)",
			 h->facts.btf ? "type information is not used" : NO_BTF,
			 kernel__tracefs_remedy());
	else
		snprintf(to, size, "cannot %s: %s%s%s", what, log__err(err),
			 *first_words ? ": " : "", first_words);
}

void family__detach(struct family *f)
{
	unsigned int i;

	for (i = 0; i < f->nlinks; i++)
		bpf_link__destroy(f->links[i]);
	free(f->links);
	f->links = NULL;
	f->nlinks = 0;
}

void family__close(struct family *f)
{
	family__detach(f);
	bpf_link__destroy(f->walk);
	bpf_link__destroy(f->walk_now);
	if (f->skel) {
		bpf_object__destroy_skeleton(f->skeleton);
		free(f->skel);
	}
	*f = (struct family){.report = f->report, .at = f->at, .lack = f->lack};
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
	f->lack = NULL;
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

struct family *ladder__family(struct hooks *h, const struct ladder *l)
{
	return &h->family[l->place ? l->place : l->hook];
}

bool hooks__wanted(const struct hooks_opts *o)
{
	const struct ladder *l;

	for (l = ladders; l->hook; l++)
		if (probe__wants(o->probes, l->hook))
			return true;
	return o->attach;
}

bool ladder__wanted(const struct hooks_opts *o, const struct ladder *l)
{
	if (l->hook == REC_HOOK_TASK)
		return hooks__wanted(o);
	return l->probe ? probe__wanted(o->probes, l->probe) : probe__wants(o->probes, l->hook);
}

/* The report of a family that stands on @rung; what a better one lacked stands there already. */
static void report_rung(const struct hooks *h, struct family *f, const struct rung *rung)
{
	struct hook_report *r = &f->report;
	char better[sizeof(r->reason)];

	r->rung = f->at;
	r->without = rung->without;
	snprintf(r->way, sizeof(r->way), "%s", rung->way);
	if (!*rung->lacks) {
		r->err = 0;
		*r->reason = '\0';
		return;
	}
	snprintf(better, sizeof(better), "%s",
		 !h->plain || *r->reason ? r->reason
		 : h->facts.btf		 ? "type information is not used"
					 : NO_BTF);
	snprintf(r->reason, sizeof(r->reason), "%.*s: does not tell %s",
		 (int)(sizeof(r->reason) - strlen(rung->lacks) - 20), better, rung->lacks);
}

static void load_from(struct hooks *h, const struct ladder *l)
{
	struct family *f = ladder__family(h, l);
	const struct rung *rung;

	for (; f->at < MAX_RUNGS && l->rungs[f->at].way; f->at++) {
		rung = &l->rungs[f->at];
		if (rung->plain != h->plain || load_rung(h, f, rung))
			continue;
		report_rung(h, f, rung);
		return;
	}
}

void family__load(struct hooks *h, const struct ladder *l)
{
	struct family *f = ladder__family(h, l);

	if (!ladder__wanted(&h->opts, l))
		return;
	f->report.state = REC_HOOK_REFUSED;
	f->at = 0;
	if (h->maps) { /* else the reason is there */
		*f->report.reason = '\0';
		load_from(h, l);
	}
	if (!f->obj && f->report.err == -ENXIO) /* no way is wrong: there is nothing to see */
		f->report.state = REC_HOOK_OFF;
}

/* ---- attaching ---- */

int family__keep(struct family *f, struct bpf_link *link)
{
	struct bpf_link **links;

	links = realloc(f->links, (f->nlinks + 1) * sizeof(struct bpf_link *));
	if (!links) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	f->links = links;
	f->links[f->nlinks++] = link;
	return 0;
}

static int attach_program(struct hooks *h, struct family *f, struct bpf_program *prog)
{
	struct bpf_link *link;

	if (bpf_program__type(prog) == BPF_PROG_TYPE_PERF_EVENT)
		return perf_hooks__attach(h, f, prog);
	link = bpf_program__attach(prog);
	if (!link)
		return -errno;
	if (strncmp(bpf_program__section_name(prog), "iter/", 5) != 0)
		return family__keep(f, link);
	if (strcmp(bpf_program__name(prog), "walk_now") == 0)
		f->walk_now = link;
	else
		f->walk = link;
	return 0;
}

static int attach_all(struct hooks *h, struct family *f, const struct rung *rung)
{
	struct bpf_program *prog;
	int err = rung->ready ? rung->ready(h, f) : 0;

	if (err)
		return err;

	bpf_object__for_each_program(prog, f->obj)
	{
		if (!bpf_program__autoload(prog))
			continue;
		err = attach_program(h, f, prog);
		if (err)
			return err;
	}
	return 0;
}

int family__attach(struct hooks *h, const struct ladder *l)
{
	struct family *f = ladder__family(h, l);
	int err = -ENOENT;

	while (f->obj) {
		libbpf_words__clear();
		err = attach_all(h, f, &l->rungs[f->at]);
		if (!err)
			break;
		family__explain(h, f, "attach", err);
		family__close(f);
		f->at++;
		load_from(h, l);
	}
	if (!err)
		f->report.state = *f->report.reason ? REC_HOOK_DEGRADED : REC_HOOK_ATTACHED;
	return err;
}
