// SPDX-License-Identifier: BSD-2-Clause
/* Tasks that live, and what their processes have mapped. */
#include "userspace/trace/carry_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/trace/grow.h"

/*
 * Rings are read one after the other, so what comes first need not have been first: the name that a
 * task took may come before what tells of the task.
 */
struct task {
	struct rec_task rec; /* pid 0: nothing told of it yet */
	uint64_t ended_ns;   /* 0: it lives */
	uint64_t comm_ns;    /* since when it has its name, 0: as rec says */
};

/* A mapping, shared with the processes that were forked since. */
struct mapping {
	uint32_t refs;
	struct rec_map rec; /* and its tail */
};

struct process {
	struct mapping **maps;
	uint32_t n, cap;
	uint32_t threads; /* that are known and live */
	uint64_t ended_ns;
};

/* ---- processes ---- */

static void drop_mapping(struct trace_carry *c, struct mapping *m)
{
	if (--m->refs)
		return;
	c->bytes -= m->rec.hdr.size;
	free(m);
}

static void drop_mappings(struct trace_carry *c, struct process *p)
{
	while (p->n)
		drop_mapping(c, p->maps[--p->n]);
}

static struct process *get_process(struct trace_carry *c, uint32_t pid)
{
	struct process *p = map__get(&c->processes, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (p && map__put(&c->processes, pid, p)) {
		free(p);
		p = NULL;
	}
	return p;
}

static void free_process(struct trace_carry *c, struct process *p)
{
	drop_mappings(c, p);
	free(p->maps);
	free(p);
}

static void end_process(struct trace_carry *c, struct process *p, uint64_t time_ns)
{
	if (!p->ended_ns)
		c->ended++;
	p->ended_ns = time_ns;
}

/* A process begins that has the id of one that ended, or is still being told of. */
static void begin_process(struct trace_carry *c, struct process *p, uint64_t time_ns)
{
	if (!p->ended_ns || time_ns < p->ended_ns)
		return;
	p->ended_ns = 0;
	c->ended--;
	drop_mappings(c, p);
}

static int add_mapping(struct process *p, struct mapping *m)
{
	uint32_t cap = p->cap ? p->cap * 2 : 16;

	if (p->n == p->cap) {
		if (grow(&p->maps, cap, sizeof(struct mapping *)))
			return -ENOMEM;
		p->cap = cap;
	}
	p->maps[p->n++] = m;
	return 0;
}

/* What lay where @rec lies now is there no more. */
static void cover(struct trace_carry *c, struct process *p, const struct rec_map *rec)
{
	const struct rec_map *old;
	uint32_t i, n = 0;

	for (i = 0; i < p->n; i++) {
		old = &p->maps[i]->rec;
		if (old->addr >= rec->addr && old->addr + old->len <= rec->addr + rec->len)
			drop_mapping(c, p->maps[i]);
		else
			p->maps[n++] = p->maps[i];
	}
	p->n = n;
}

static int on_map(struct trace_carry *c, const struct rec_map *rec)
{
	struct process *p = get_process(c, rec->pid);
	struct mapping *m;
	int err;

	if (!p)
		return -ENOMEM;
	cover(c, p, rec);
	if (c->bytes + rec->hdr.size > CARRY_MAX_BYTES) {
		c->left_out++;
		return 0;
	}
	m = malloc(offsetof(struct mapping, rec) + rec->hdr.size);
	if (!m)
		return -ENOMEM;
	m->refs = 1;
	memcpy(&m->rec, rec, rec->hdr.size);
	err = add_mapping(p, m);
	if (err)
		free(m);
	else
		c->bytes += rec->hdr.size;
	return err;
}

/* The child of a process has what it has. */
static int on_map_fork(struct trace_carry *c, const struct rec_map_fork *rec)
{
	struct process *from = map__get(&c->processes, rec->pid), *to;
	uint32_t i;
	int err = 0;

	if (!from || rec->child_pid == rec->pid)
		return 0;
	to = get_process(c, rec->child_pid);
	if (!to)
		return -ENOMEM;
	begin_process(c, to, rec->hdr.time_ns);
	drop_mappings(c, to);
	for (i = 0; !err && i < from->n; i++) {
		err = add_mapping(to, from->maps[i]);
		if (!err)
			from->maps[i]->refs++;
	}
	return err;
}

static void on_map_comm(struct trace_carry *c, const struct rec_map_comm *rec)
{
	struct process *p = map__get(&c->processes, rec->pid);

	if (p && rec->flags & REC_MAP_EXEC)
		drop_mappings(c, p);
}

/* Without records of tasks, the end of the first thread is taken for that of the process. */
static void on_map_exit(struct trace_carry *c, const struct rec_map_exit *rec)
{
	struct process *p = map__get(&c->processes, rec->pid);

	if (p && !p->threads && rec->hdr.tid == rec->pid)
		end_process(c, p, rec->hdr.time_ns);
}

/* ---- tasks ---- */

static struct task *get_task(struct trace_carry *c, uint32_t tid)
{
	struct task *t = map__get(&c->tasks, tid);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t || map__put(&c->tasks, tid, t)) {
		free(t);
		return NULL;
	}
	return t;
}

static int join(struct trace_carry *c, uint32_t pid, uint64_t time_ns)
{
	struct process *p = get_process(c, pid);

	if (!p)
		return -ENOMEM;
	begin_process(c, p, time_ns);
	p->threads++;
	return 0;
}

static void leave(struct trace_carry *c, uint32_t pid, uint64_t time_ns)
{
	struct process *p = map__get(&c->processes, pid);

	if (p && p->threads && !--p->threads)
		end_process(c, p, time_ns);
}

/* A neighbour came: the one that came so many before it is forgotten. */
static void add_neighbour(struct trace_carry *c, uint32_t tid)
{
	uint32_t *slot = &c->neighbours[c->n_neighbours++ % CARRY_NEIGHBOURS];
	struct task *old = *slot && *slot != tid ? map__get(&c->tasks, *slot) : NULL;

	if (old && !old->ended_ns && old->rec.flags & REC_TASK_NEIGHBOUR) {
		leave(c, old->rec.pid, old->rec.hdr.time_ns);
		free(map__del(&c->tasks, *slot));
	}
	*slot = tid;
}

/* What @rec says, but for a name that the task took since. */
static void describe(struct task *t, const struct rec_task *rec)
{
	const struct rec_task before = t->rec;

	t->rec = *rec;
	if (t->comm_ns > rec->hdr.time_ns)
		memcpy(t->rec.comm, before.comm, sizeof(t->rec.comm));
}

/* @rec says who the task is from now on, unless its end was told already. */
static int set_task(struct trace_carry *c, const struct rec_task *rec)
{
	struct task *t;

	if (!map__get(&c->tasks, rec->hdr.tid) && c->tasks.n >= CARRY_MAX_TASKS) {
		c->left_out++;
		return 0;
	}
	t = get_task(c, rec->hdr.tid);
	if (!t)
		return -ENOMEM;
	if (t->ended_ns && rec->hdr.time_ns <= t->ended_ns) {
		if (!t->rec.pid)
			describe(t, rec);
		return 0;
	}
	if (t->ended_ns)
		c->ended--;
	else if (t->rec.pid)
		leave(c, t->rec.pid, rec->hdr.time_ns);
	if (rec->flags & REC_TASK_NEIGHBOUR && !(t->rec.flags & REC_TASK_NEIGHBOUR))
		add_neighbour(c, rec->hdr.tid);
	describe(t, rec);
	t->ended_ns = 0;
	return join(c, rec->pid, rec->hdr.time_ns);
}

static int on_fork(struct trace_carry *c, const struct rec_task_fork *rec)
{
	const struct task *parent = map__get(&c->tasks, rec->hdr.tid);
	struct rec_task task = {
		.hdr = {REC_TASK, sizeof(task), rec->child_tid, rec->hdr.time_ns},
		.pid = rec->child_pid,
		.ns_tid = rec->child_ns_tid,
		.ns_pid = rec->child_ns_pid,
		.flags = REC_TASK_TARGET,
		.start_ns = rec->start_ns,
	};

	memcpy(task.comm, rec->comm, sizeof(task.comm));
	if (parent) {
		task.uid = parent->rec.uid;
		task.cgroup = parent->rec.cgroup;
		task.flags = parent->rec.flags;
		task.ppid = rec->child_pid == parent->rec.pid ? parent->rec.ppid : parent->rec.pid;
	}
	return set_task(c, &task);
}

static int on_exit_of(struct trace_carry *c, uint32_t tid, uint64_t time_ns)
{
	struct task *t = map__get(&c->tasks, tid);

	if (!t && c->tasks.n >= CARRY_MAX_TASKS)
		return 0;
	if (!t)
		t = get_task(c, tid);
	if (!t)
		return -ENOMEM;
	if (t->ended_ns || time_ns < t->rec.hdr.time_ns)
		return 0;
	t->ended_ns = time_ns;
	c->ended++;
	if (t->rec.pid)
		leave(c, t->rec.pid, time_ns);
	return 0;
}

/* A thread that runs another program takes the id of its process; the others are gone. */
static int on_exec(struct trace_carry *c, const struct rec_task_exec *rec)
{
	struct task *t = map__get(&c->tasks, rec->hdr.tid);
	const struct task *old = map__get(&c->tasks, rec->old_tid);
	struct rec_task task;

	if (rec->old_tid == rec->hdr.tid || !rec->old_tid || !old)
		return 0;
	task = old->rec;
	task.hdr.tid = rec->hdr.tid;
	task.hdr.time_ns = rec->hdr.time_ns;
	task.ns_tid = t ? t->rec.ns_tid : task.ns_pid;
	return set_task(c, &task) ?: on_exit_of(c, rec->old_tid, rec->hdr.time_ns);
}

static int on_comm(struct trace_carry *c, const struct rec_task_comm *rec)
{
	struct task *t = map__get(&c->tasks, rec->hdr.tid);

	if (!t && c->tasks.n >= CARRY_MAX_TASKS)
		return 0;
	if (!t)
		t = get_task(c, rec->hdr.tid);
	if (!t)
		return -ENOMEM;
	if (rec->hdr.time_ns < t->comm_ns)
		return 0;
	memcpy(t->rec.comm, rec->comm, sizeof(t->rec.comm));
	t->comm_ns = rec->hdr.time_ns;
	return 0;
}

int carry_task__feed(struct trace_carry *c, const struct rec *rec)
{
	switch (rec->type) {
	case REC_TASK:
		return set_task(c, (const void *)rec);
	case REC_TASK_FORK:
		return on_fork(c, (const void *)rec);
	case REC_TASK_EXEC:
		return on_exec(c, (const void *)rec);
	case REC_TASK_EXIT:
		return on_exit_of(c, rec->tid, rec->time_ns);
	case REC_TASK_COMM:
		return on_comm(c, (const void *)rec);
	case REC_MAP:
		return on_map(c, (const void *)rec);
	case REC_MAP_FORK:
		return on_map_fork(c, (const void *)rec);
	case REC_MAP_COMM:
		on_map_comm(c, (const void *)rec);
		return 0;
	case REC_MAP_EXIT:
		on_map_exit(c, (const void *)rec);
		return 0;
	default:
		return 0;
	}
}

/* ---- forgetting ---- */

struct keys {
	uint64_t *key;
	uint32_t n, cap;
};

static int add_key(struct keys *k, uint64_t key)
{
	uint32_t cap = k->cap ? k->cap * 2 : 64;

	if (k->n == k->cap) {
		if (grow(&k->key, cap, sizeof(*k->key)))
			return -ENOMEM;
		k->cap = cap;
	}
	k->key[k->n++] = key;
	return 0;
}

static void forget_tasks(struct trace_carry *c, const struct keys *k)
{
	uint32_t i;

	for (i = 0; i < k->n; i++) {
		free(map__del(&c->tasks, k->key[i]));
		carry__forget_role(c, (uint32_t)k->key[i]);
		carry_open__task_ended(c, (uint32_t)k->key[i]);
		c->ended--;
	}
}

static void forget_processes(struct trace_carry *c, const struct keys *k)
{
	uint32_t i;

	for (i = 0; i < k->n; i++) {
		free_process(c, map__del(&c->processes, k->key[i]));
		c->ended--;
	}
}

int carry_task__settle(struct trace_carry *c, uint64_t before_ns)
{
	struct keys tasks = {0}, processes = {0};
	const struct process *p;
	struct map_slot *slot;
	const struct task *t;
	int err = 0;

	for (slot = map__next(&c->tasks, NULL); !err && slot; slot = map__next(&c->tasks, slot)) {
		t = slot->value;
		if (t->ended_ns && t->ended_ns < before_ns)
			err = add_key(&tasks, slot->key);
	}
	for (slot = map__next(&c->processes, NULL); !err && slot;
	     slot = map__next(&c->processes, slot)) {
		p = slot->value;
		if (p->ended_ns && p->ended_ns < before_ns)
			err = add_key(&processes, slot->key);
	}
	forget_tasks(c, &tasks);
	forget_processes(c, &processes);
	free(tasks.key);
	free(processes.key);
	return err;
}

/* ---- telling ---- */

static int tell_mapping(const struct carry_teller *t, struct rec_map *rec, uint32_t pid)
{
	const struct rec_map before = *rec;
	int err;

	if (rec->pid != pid) { /* it has it from its parent */
		rec->pid = pid;
		rec->hdr.tid = pid;
	}
	rec->hdr.time_ns = t->time_ns;
	rec->flags |= REC_MAP_AGAIN;
	err = t->emit(t->arg, &rec->hdr);
	*rec = before;
	return err;
}

int carry_task__tell(struct trace_carry *c, const struct carry_teller *t)
{
	const struct process *p;
	const struct task *task;
	struct map_slot *slot;
	struct rec_task rec;
	uint32_t i;
	int err = 0;

	for (slot = map__next(&c->tasks, NULL); !err && slot; slot = map__next(&c->tasks, slot)) {
		task = slot->value;
		/* of one that has ended since the sweep began, other rings may still tell */
		if (!task->rec.pid || (task->ended_ns && task->ended_ns < t->time_ns))
			continue;
		rec = task->rec;
		rec.hdr.time_ns = t->time_ns;
		err = t->emit(t->arg, &rec.hdr);
	}
	for (slot = map__next(&c->processes, NULL); slot; slot = map__next(&c->processes, slot)) {
		p = slot->value;
		for (i = 0; !err && !p->ended_ns && i < p->n; i++)
			err = tell_mapping(t, &p->maps[i]->rec, (uint32_t)slot->key);
	}
	return err;
}

void carry_task__free(struct trace_carry *c)
{
	struct map_slot *slot;

	carry__free_values(&c->tasks);
	for (slot = map__next(&c->processes, NULL); slot; slot = map__next(&c->processes, slot))
		free_process(c, slot->value);
	map__free(&c->processes);
}
