// SPDX-License-Identifier: BSD-2-Clause
/* Who is a target, and what the kernel knows of the targets. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/include/shared.h" /* skeletons use its types */

#include "bpf/hooks/task.skel.h"
#include "bpf/hooks/task_plain.skel.h"
#include "userspace/lib/hostclock.h"
#include "userspace/source/cgroup.h"
#include "userspace/source/hooks_priv.h"
#include "userspace/source/proc.h"

#define MAX_WALKS     16
#define MAX_KEYS      (1u << 20)    /* a map that changes while its keys are read may start again */
#define LOOK_EVERY_NS 1000000000ULL /* for who came, where the kernel does not say so */

/* Run the family's iterator once over all tasks of the system. */
static int walk(const struct bpf_link *link)
{
	char buf[64];
	int fd, err;
	ssize_t n;

	if (!link)
		return -ENOENT;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf, sizeof(buf));
		err = n < 0 && errno != EINTR && errno != EAGAIN ? -errno : 0;
	} while (n != 0 && !err);
	close(fd);
	return err;
}

static int walk_tasks(struct family *f)
{
	return walk(f->walk);
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

/*
 * The root becomes a target, and then what descends from it: from before that until the walks have
 * come to an end, the programs look at the ancestors of all that is created or ends.
 */
static int add_process(struct hooks *h, pid_t pid)
{
	struct task_state state = {.flags = TASK_STATE_INSIDE,
				   .counted = COUNTED_ON,
				   .faults = FAULTS_UNKNOWN};
	struct task_bpf *task = h->family[REC_HOOK_TASK].skel;
	int fd, err;

	fd = syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	if (task)
		__atomic_store_n(&task->bss->follow.attaching, 1, __ATOMIC_SEQ_CST);
	err = bpf_map_update_elem(h->tasks_fd, &fd, &state, BPF_NOEXIST);
	close(fd);
	if (err == -EEXIST) {
		err = 0;
	} else if (!err && task) {
		__atomic_fetch_add(&task->bss->live, 1, __ATOMIC_RELAXED);
		err = walk_tree(h);
	}
	if (task)
		__atomic_store_n(&task->bss->follow.attaching, 0, __ATOMIC_SEQ_CST);
	forget_targets(h);
	return err;
}

int hooks__add(struct hooks *h, pid_t pid)
{
	if (!h->maps)
		return 0;
	return h->plain ? plain__add(h, pid) : add_process(h, pid);
}

int hooks__add_group(struct hooks *h, const struct cgroup_ref *g)
{
	struct task_bpf *task = h->family[REC_HOOK_TASK].skel;
	struct follow *follow;

	if (!task)
		return -EOPNOTSUPP;
	if (h->plain) {
		h->group = g;
		return plain__add_group(h, g);
	}
	follow = &task->bss->follow;
	h->group = g;
	if (!g) {
		__atomic_store_n(&follow->everybody, 1, __ATOMIC_SEQ_CST);
		return hooks__look(h);
	}
	follow->group_id = g->id;
	follow->hierarchy = g->hierarchy;
	__atomic_store_n(&follow->group, 1, __ATOMIC_SEQ_CST);
	return hooks__look(h);
}

static uint64_t times_moved(const struct hooks *h)
{
	const struct task_bpf *task = h->family[REC_HOOK_TASK].skel;

	return h->plain || !task ? 0 : __atomic_load_n(&task->bss->moved, __ATOMIC_RELAXED);
}

int hooks__look(struct hooks *h)
{
	uint64_t moved = times_moved(h);
	int err = h->plain ? plain__add_group(h, h->group) : walk_tree(h);

	forget_targets(h);
	h->looked_ns = hostclock__now();
	if (!err)
		h->moved = moved;
	return err;
}

/* The kernel says so, or it is time to see: is there perhaps somebody new in the group? */
bool hooks__came(struct hooks *h)
{
	if (!h->group || !h->family[REC_HOOK_TASK].skel)
		return false;
	if (h->plain)
		return hostclock__now() - h->looked_ns >= LOOK_EVERY_NS;
	return times_moved(h) != h->moved;
}

bool hooks__is_target(const struct hooks *h, pid_t pid)
{
	struct task_state state;
	__u32 tid = pid;
	int fd, err;

	if (!h->maps)
		return false;
	if (h->plain)
		return bpf_map_lookup_elem(h->tids_fd, &tid, &state) == 0;
	fd = syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return false;
	err = bpf_map_lookup_elem(h->tasks_fd, &fd, &state);
	close(fd);
	return !err;
}

/* The calls of targets that are known by their thread ids. */
static int tell_tids(struct hooks *h, const struct call_teller *tell)
{
	struct task_state state;
	__u32 tid, *last = NULL, n = 0;
	int err = 0;

	while (!err && n++ < MAX_KEYS && bpf_map_get_next_key(h->tids_fd, last, &tid) == 0) {
		last = &tid;
		if (bpf_map_lookup_elem(h->tids_fd, &tid, &state))
			continue;
		if (state.call.start_ns)
			err = tell->ioctl(tell->arg, tid, &state.call);
		if (!err && state.futex.start_ns)
			err = tell->futex(tell->arg, tid, &state.futex);
	}
	return err;
}

int hooks__tell_open(struct hooks *h, const struct call_teller *tell)
{
	struct family *f = &h->family[REC_HOOK_SYSCALL];
	unsigned int cpu;
	int err;

	if (!f->obj)
		return 0;
	if (h->plain)
		return tell_tids(h, tell);
	err = walk_tasks(f);
	for (cpu = 0; !err && cpu < h->ncpus; cpu++)
		if (h->cpus[cpu].call.start_ns)
			err = tell->ioctl(tell->arg, h->cpus[cpu].task_pid, &h->cpus[cpu].call);
	return err;
}

/* The call that @cpu is in, unless it returns while it is copied. */
static bool copy_call(const struct cpu_state *cpu, uint32_t *tid, struct call *call)
{
	uint64_t start = __atomic_load_n(&cpu->call.start_ns, __ATOMIC_ACQUIRE);

	*call = cpu->call;
	*tid = cpu->task_pid;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return start && __atomic_load_n(&cpu->call.start_ns, __ATOMIC_RELAXED) == start;
}

int hooks__tell_open_now(struct hooks *h, const struct call_teller *tell)
{
	struct family *f = &h->family[REC_HOOK_SYSCALL];
	struct call call;
	unsigned int cpu;
	uint32_t tid;
	int err;

	if (!f->obj)
		return 0;
	if (h->plain)
		return tell_tids(h, tell);
	err = walk(f->walk_now);
	for (cpu = 0; !err && cpu < h->ncpus; cpu++)
		if (copy_call(&h->cpus[cpu], &tid, &call))
			err = tell->ioctl(tell->arg, tid, &call);
	return err;
}

int hooks__tell_requests(struct hooks *h,
			 int (*tell)(void *arg, const void *key, const void *value), void *arg)
{
	const struct family *f = &h->family[REC_HOOK_BLOCK];

	return f->obj ? hooks_map__each(f, "requests", tell, arg) : 0;
}

int64_t hooks__live(const struct hooks *h)
{
	const struct task_plain_bpf *plain = h->family[REC_HOOK_TASK].skel;
	const struct task_bpf *task = h->family[REC_HOOK_TASK].skel;

	if (!task)
		return -1;
	return __atomic_load_n(h->plain ? &plain->bss->live : &task->bss->live, __ATOMIC_RELAXED);
}
