// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who is a target where the kernel does not describe its types: threads by their ids, which /proc
 * and the files of control groups tell. What is looked for may fork meanwhile, so each look is
 * repeated until it finds nothing new.
 */
#include "bpf/include/shared.h" /* skeletons use its types */

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/hooks/task_plain.skel.h"
#include "userspace/source/cgroup.h"
#include "userspace/source/hooks_priv.h"
#include "userspace/source/proc.h"

#define MAX_LOOKS 16

struct look {
	struct hooks *h;
	pid_t pid;  /* of the threads that are looked at */
	bool whole; /* all processes, not only those that descend from targets */
	unsigned int found;
};

static bool is_target(const struct hooks *h, pid_t tid)
{
	struct task_state state;
	__u32 key = tid;

	return bpf_map_lookup_elem(h->tids_fd, &key, &state) == 0;
}

/* It ended before its end could be seen. */
static void take_back(struct hooks *h, __u32 tid)
{
	struct task_plain_bpf *task = h->family[REC_HOOK_TASK].skel;
	struct task_state state;

	if (bpf_map_lookup_elem(h->tids_fd, &tid, &state) || state.flags & TASK_STATE_ENDED)
		return;
	bpf_map_delete_elem(h->tids_fd, &tid);
	if (task)
		__atomic_fetch_add(&task->bss->live, -1, __ATOMIC_RELAXED);
}

static int add_thread(void *arg, pid_t tid)
{
	struct look *l = arg;
	struct task_plain_bpf *task = l->h->family[REC_HOOK_TASK].skel;
	struct task_state state = {.flags = TASK_STATE_INSIDE};
	struct proc_stat st;
	__u32 key = tid;
	int err;

	if (proc__stat(l->pid, tid, &st) || proc_stat__ending(&st))
		return 0;
	err = bpf_map_update_elem(l->h->tids_fd, &key, &state, BPF_NOEXIST);
	if (err)
		return err == -EEXIST ? 0 : err;
	l->found++;
	if (task)
		__atomic_fetch_add(&task->bss->live, 1, __ATOMIC_RELAXED);
	if (proc__stat(l->pid, tid, &st) || proc_stat__ending(&st))
		take_back(l->h, key);
	return l->h->opts.found ? l->h->opts.found(l->h->opts.arg, l->pid, tid) : 0;
}

static int add_threads(struct look *l, pid_t pid)
{
	int err;

	l->pid = pid;
	err = proc__each_thread(pid, add_thread, l);
	return err == -ESRCH ? 0 : err;
}

static int look_at_process(void *arg, pid_t pid)
{
	struct look *l = arg;
	struct proc_stat st;

	if (pid == getpid() || proc__stat(pid, 0, &st))
		return 0;
	if (!l->whole && !is_target(l->h, pid) && !(st.ppid > 0 && is_target(l->h, st.ppid)))
		return 0;
	return add_threads(l, pid);
}

static int look_at_member(void *arg, pid_t tid)
{
	struct look *l = arg;
	pid_t leader = proc__leader(tid);

	if (!leader || leader == getpid())
		return 0;
	l->pid = leader;
	return add_thread(l, tid);
}

/* Look again and again until nothing new is found. */
static int look(struct look *l, const struct cgroup_ref *g)
{
	int i, err = 0;

	if (!proc__in_first_namespace())
		return -EXDEV; /* ids seen here are not those that the programs see */
	for (i = 0; !err && i < MAX_LOOKS; i++) {
		l->found = 0;
		err = g ? cgroup__each(g, look_at_member, l) : proc__each(look_at_process, l);
		if (!l->found)
			break;
	}
	return err;
}

int plain__add(struct hooks *h, pid_t pid)
{
	struct look l = {.h = h};
	int err;

	if (!proc__in_first_namespace())
		return -EXDEV;
	err = add_threads(&l, pid);
	if (!err && !l.found)
		err = is_target(h, pid) ? 0 : -ESRCH;
	return err ? err : look(&l, NULL);
}

int plain__add_group(struct hooks *h, const struct cgroup_ref *g)
{
	struct look l = {.h = h, .whole = true};

	return look(&l, g);
}
