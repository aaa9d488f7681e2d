/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside hooks: what hooks.c, hooks_object.c and hooks_target.c share. */
#ifndef XPUGAP_SOURCE_HOOKS_PRIV_H
#define XPUGAP_SOURCE_HOOKS_PRIV_H

#include <bpf/libbpf.h>

#include "userspace/source/hooks.h"
#include "userspace/source/kernel.h"

#define MAX_PROGRAMS 12

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

struct maps_bpf;

struct hooks {
	struct hooks_opts opts;
	struct kernel_facts facts;
	bool plain; /* without the kernel's type information: targets are known by their tids */
	struct maps_bpf *maps;
	struct bpf_object *maps_obj;
	int rings_fd, tasks_fd, tids_fd; /* of maps; -1: not in this recording */
	struct family family[REC_HOOK_MAX];
	struct ring *rings;
	unsigned int ncpus;
	struct cpu_state *cpus;
	size_t cpus_bytes;
};

#define MAX_VARIANTS 3

/* Ways to attach a family, the best first; which of them it is depends on the kernel alone. */
struct rung {
	const char *way;
	const char *lacks; /* compared with the first */
	/* objects that record the same in different ways, the first that the kernel takes is used
	 */
	int (*open[MAX_VARIANTS + 1])(struct hooks *h, struct family *f);
};

enum {
	RUNG_BTF,
	RUNG_PLAIN,
	RUNG_MAX,
};

struct ladder {
	enum rec_hook_id hook;
	struct rung rungs[RUNG_MAX];
};

/* In the order of loading and attaching: what the others do depends on the first, the sched hook.
 */
#define NLADDERS 3
extern const struct ladder ladders[NLADDERS];

/* Load the family if it is wanted; what went wrong is in its report. */
void family__load(struct hooks *h, const struct ladder *l);
int family__attach(struct family *f);
void family__close(struct family *f);

/* Whatever is recorded, the task hook is what follows the target's children and threads. */
bool family__wanted(const struct hooks_opts *o, enum rec_hook_id hook);

/* Why something failed, and what to do; @what is "create the maps", "load", "attach". */
void family__explain(struct hooks *h, struct family *f, const char *what, int err);

/* What libbpf says is kept for the reason from here on. */
void libbpf_words__clear(void);

#endif
