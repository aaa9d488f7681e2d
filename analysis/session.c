// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/session_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/trace/state.h"

/* Two readings of a start time that differ by less are of one task: /proc counts in ticks. */
#define START_SLACK_NS 20000000

#define CLONE_PARENT 0x8000

/* prev_state of a task's last switch: EXIT_DEAD, EXIT_ZOMBIE */
#define STATE_ENDED (0x10 | 0x20)

#define NOTIFY(s, op, ...)                                                                         \
	do {                                                                                       \
		size_t o_;                                                                         \
		for (o_ = 0; o_ < (s)->nobservers; o_++)                                           \
			if ((s)->observers[o_]->op)                                                \
				(s)->observers[o_]->op((s)->observer_ctx[o_], __VA_ARGS__);        \
	} while (0)

static void on_interval(void *ctx, struct timeline_thread *th, enum host_state state,
			uint64_t begin_ns, uint64_t end_ns)
{
	struct session *s = ctx;

	NOTIFY(s, interval, (struct task *)th, state, begin_ns, end_ns);
}

static void on_left(void *ctx, struct timeline_thread *th, uint64_t t, bool voluntary)
{
	struct session *s = ctx;

	NOTIFY(s, left, (struct task *)th, t, voluntary);
}

static const struct timeline_ops timeline_ops = {.interval = on_interval, .left = on_left};

struct session *session__new(void)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s)
		timeline__init(&s->timeline, &timeline_ops, s);
	return s;
}

int session__observe(struct session *s, const struct session_ops *ops, void *ctx)
{
	if (s->nobservers == SESSION_OBSERVERS)
		return -ENOSPC;
	s->observers[s->nobservers] = ops;
	s->observer_ctx[s->nobservers] = ctx;
	return (int)s->nobservers++;
}

static void take_comm(char *to, const char *from)
{
	memcpy(to, from, REC_COMM_LEN);
	to[REC_COMM_LEN] = '\0';
}

/* ---- processes ---- */

static void put_process(struct session *s, struct process *p)
{
	struct process *parent;

	while (p && --p->refs == 0) {
		parent = p->parent;
		if (map__get(&s->processes, p->pid) == p)
			map__del(&s->processes, p->pid);
		NOTIFY(s, process_end, p);
		free(p);
		p = parent;
	}
}

/* @pid is created: a process of that pid whose tasks have all ended is another one. */
static void forget_process(struct session *s, uint32_t pid)
{
	struct process *p = map__get(&s->processes, pid);

	if (p && p->lived && !p->tasks)
		map__del(&s->processes, pid);
}

/* The process of that pid, with one more reference. NULL without memory. */
static struct process *get_process(struct session *s, uint32_t pid)
{
	struct process *p = map__get(&s->processes, pid);

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p || map__put(&s->processes, pid, p)) {
			free(p);
			session__fail(s);
			return NULL;
		}
		p->pid = pid;
		p->row = map__get(&s->open_rows, pid);
	}
	p->refs++;
	return p;
}

/* Would @p be its own ancestor below @parent, or so deep that it costs time to find? */
static bool is_ancestor(const struct process *p, const struct process *parent)
{
	unsigned int depth;

	for (depth = 0; parent && depth < SESSION_MAX_DEPTH; depth++, parent = parent->parent)
		if (parent == p)
			return true;
	return parent;
}

static void set_parent(struct session *s, struct process *p, uint32_t ppid)
{
	struct process *parent;

	if (p->parent || !ppid || ppid == p->pid)
		return;
	parent = get_process(s, ppid);
	if (!parent)
		return;
	if (is_ancestor(p, parent))
		put_process(s, parent);
	else
		p->parent = parent;
}

struct session_row *process__row(const struct process *p)
{
	unsigned int depth;

	for (depth = 0; p && depth < SESSION_MAX_DEPTH; depth++, p = p->parent)
		if (p->row)
			return p->row;
	return NULL;
}

/* ---- tasks ---- */

static void unlink_task(struct task *t)
{
	if (!t->process)
		return;
	*t->link = t->sibling;
	if (t->sibling)
		t->sibling->link = t->link;
}

/* @t belongs to process @pid, of which it is a child of @ppid if that is known. */
static void join_process(struct session *s, struct task *t, uint32_t pid, uint32_t ppid,
			 uint64_t time_ns)
{
	struct process *was = t->process, *p;

	if (t->pid == pid && was) {
		set_parent(s, was, ppid);
		return;
	}
	p = get_process(s, pid);
	if (!p)
		return;
	unlink_task(t);
	t->pid = pid;
	t->process = p;
	t->sibling = p->tasks;
	t->link = &p->tasks;
	if (t->sibling)
		t->sibling->link = &t->sibling;
	p->tasks = t;
	p->lived = true;
	set_parent(s, p, ppid);
	if (t->tid == pid)
		memcpy(p->comm, t->comm, sizeof(p->comm));
	put_process(s, was);
	NOTIFY(s, moved, t, time_ns);
}

static void end_task(struct session *s, struct task *t, uint64_t time_ns)
{
	timeline__end(&s->timeline, &t->tl, time_ns);
	NOTIFY(s, task_end, t, time_ns);
	map__del(&s->tasks, t->tid);
	unlink_task(t);
	put_process(s, t->process);
	free(t);
}

/* NULL without memory, and where a damaged trace names more tasks than a kernel can have. */
static struct task *begin_task(struct session *s, uint32_t tid, uint64_t time_ns)
{
	struct task *t;

	if (s->tasks.n >= TRACE_TASKS_MAX)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t || map__put(&s->tasks, tid, t)) {
		free(t);
		session__fail(s);
		return NULL;
	}
	t->tid = tid;
	timeline__begin(&s->timeline, &t->tl, time_ns, s->sched_flows);
	NOTIFY(s, task_begin, t, time_ns);
	return t;
}

struct task *session__task(const struct session *s, uint32_t tid)
{
	return map__get(&s->tasks, tid);
}

/* A record names @tid, told of or not. NULL for the idle task and without memory. */
static struct task *need_task(struct session *s, uint32_t tid, uint64_t time_ns)
{
	struct task *t;

	if (!tid)
		return NULL;
	t = session__task(s, tid);
	return t ? t : begin_task(s, tid, time_ns);
}

/* The task of @tid that started at @start_ns: one of another start has ended unseen. */
static struct task *define_task(struct session *s, uint32_t tid, uint64_t start_ns,
				uint64_t time_ns)
{
	struct task *t = session__task(s, tid);
	uint64_t apart;

	if (t && t->start_ns && start_ns) {
		apart = t->start_ns > start_ns ? t->start_ns - start_ns : start_ns - t->start_ns;
		if (apart > START_SLACK_NS) {
			end_task(s, t, time_ns);
			t = NULL;
		}
	}
	t = t ? t : need_task(s, tid, time_ns);
	if (t && !t->start_ns)
		t->start_ns = start_ns;
	return t;
}

static void set_comm(struct task *t, const char *comm)
{
	take_comm(t->comm, comm);
	if (t->process && t->tid == t->pid)
		memcpy(t->process->comm, t->comm, sizeof(t->process->comm));
}

static void on_task(struct session *s, const struct rec *rec)
{
	const struct rec_task *r = RECORD(task, rec);
	struct task *t;

	/* neighbours are not followed: only some of their switches are recorded */
	if (r->flags & REC_TASK_NEIGHBOUR)
		return;
	t = define_task(s, rec->tid, r->start_ns, rec->time_ns);
	if (!t)
		return;
	t->flags = r->flags;
	set_comm(t, r->comm);
	join_process(s, t, r->pid, r->ppid, rec->time_ns);
}

static void on_task_fork(struct session *s, const struct rec *rec)
{
	const struct rec_task_fork *r = RECORD(task_fork, rec);
	struct task *creator = session__task(s, rec->tid), *t;
	uint32_t ppid = creator && creator->pid ? creator->pid : 0;

	if (!r->child_tid || r->child_tid == rec->tid)
		return;
	t = session__task(s, r->child_tid);
	if (t)
		end_task(s, t, rec->time_ns); /* its end was not recorded */
	t = begin_task(s, r->child_tid, rec->time_ns);
	if (!t)
		return;
	t->start_ns = r->start_ns;
	t->flags = REC_TASK_TARGET;
	take_comm(t->comm, r->comm);
	if (r->child_pid == r->child_tid)
		forget_process(s, r->child_pid);
	if (r->clone_flags & CLONE_PARENT && creator && creator->process)
		ppid = creator->process->parent ? creator->process->parent->pid : 0;
	join_process(s, t, r->child_pid, ppid, rec->time_ns);
}

/* The thread that called exec goes on under the leader's id; the leader is gone. */
static void on_task_exec(struct session *s, const struct rec *rec)
{
	const struct rec_task_exec *r = RECORD(task_exec, rec);
	struct task *t = session__task(s, r->old_tid), *leader;
	uint64_t was;

	if (t && r->old_tid != rec->tid && rec->tid) {
		leader = session__task(s, rec->tid);
		if (leader)
			end_task(s, leader, rec->time_ns);
		map__del(&s->tasks, t->tid);
		t->tid = rec->tid;
		if (map__put(&s->tasks, t->tid, t))
			session__fail(s);
	}
	t = need_task(s, rec->tid, rec->time_ns);
	if (!t)
		return;
	join_process(s, t, r->pid, 0, rec->time_ns);
	was = t->role;
	timeline__acted(&s->timeline, &t->tl, rec->time_ns);
	t->role = 0;
	if (was)
		NOTIFY(s, role, t, was, rec->time_ns);
}

static void on_task_exit(struct session *s, const struct rec *rec)
{
	struct task *t = session__task(s, rec->tid);

	if (t)
		end_task(s, t, rec->time_ns);
}

static void on_task_comm(struct session *s, const struct rec *rec)
{
	const struct rec_task_comm *r = RECORD(task_comm, rec);
	struct task *t = need_task(s, rec->tid, rec->time_ns);

	if (!t)
		return;
	join_process(s, t, r->pid, 0, rec->time_ns);
	set_comm(t, r->comm);
}

/* ---- the scheduler ---- */

void session__sched_flows(struct session *s, uint64_t time_ns)
{
	struct map_slot *slot;

	if (s->sched_flows)
		return;
	s->sched_flows = true;
	for (slot = map__next(&s->tasks, NULL); slot; slot = map__next(&s->tasks, slot))
		timeline__watch(&s->timeline, &((struct task *)slot->value)->tl, time_ns);
}

static struct timeline_thread *followed(struct session *s, uint32_t tid, bool target,
					uint64_t time_ns)
{
	struct task *t = target ? need_task(s, tid, time_ns) : NULL;

	return t ? &t->tl : NULL;
}

static void on_switch(struct session *s, const struct rec *rec, uint16_t cpu)
{
	const struct rec_sched_switch *r = RECORD(sched_switch, rec);
	struct timeline_thread *prev, *next;

	session__sched_flows(s, rec->time_ns);
	prev = followed(s, rec->tid, r->flags & REC_SCHED_PREV_TARGET, rec->time_ns);
	next = followed(s, r->next_tid, r->flags & REC_SCHED_NEXT_TARGET, rec->time_ns);
	if (timeline__switch(&s->timeline, cpu, rec->time_ns, prev, r->prev_state,
			     r->flags & REC_SCHED_PREEMPT, next))
		session__fail(s);
	if (prev && r->prev_state & STATE_ENDED)
		end_task(s, (struct task *)prev, rec->time_ns); /* TASK_EXIT may be lost */
}

static void on_waking(struct session *s, const struct rec *rec)
{
	const struct rec_sched_waking *r = RECORD(sched_waking, rec);
	struct task *t;

	session__sched_flows(s, rec->time_ns);
	if (!(r->flags & REC_SCHED_NEXT_TARGET))
		return;
	t = need_task(s, r->wakee_tid, rec->time_ns);
	if (!t)
		return;
	if (!t->pid && r->wakee_pid)
		join_process(s, t, r->wakee_pid, 0, rec->time_ns);
	timeline__waking(&s->timeline, &t->tl, rec->time_ns);
}

/* ---- what programs say ---- */

static void on_role(struct session *s, const struct rec *rec)
{
	const struct rec_role *r = RECORD(role, rec);
	struct task *t = need_task(s, rec->tid, rec->time_ns);
	uint64_t was;

	if (!t)
		return;
	timeline__acted(&s->timeline, &t->tl, rec->time_ns);
	was = t->role;
	t->role = r->name;
	NOTIFY(s, role, t, was, rec->time_ns);
}

/* The thread that marks a step or a unit runs. */
static void on_acted(struct session *s, const struct rec *rec)
{
	struct task *t = need_task(s, rec->tid, rec->time_ns);

	if (t)
		timeline__acted(&s->timeline, &t->tl, rec->time_ns);
}

int session__event(struct session *s, const struct trace_event *ev)
{
	const struct rec *rec = ev->rec;

	if (!s->records++)
		s->begin_ns = rec->time_ns;
	if (rec->time_ns > s->end_ns)
		s->end_ns = rec->time_ns;
	switch (rec->type) {
	case REC_SCHED_SWITCH:
		on_switch(s, rec, ev->ring);
		break;
	case REC_SCHED_WAKING:
		on_waking(s, rec);
		break;
	case REC_META:
		session__on_meta(s, rec);
		break;
	case REC_LOST:
		session__on_lost(s, rec);
		break;
	case REC_HOOK:
		session__on_hook(s, rec);
		break;
	case REC_HOOK_COUNT:
		session__on_hook_count(s, rec);
		break;
	case REC_CPU_STAT:
		if (cpu_times__add(&s->cpu_times, RECORD(cpu_stat, rec)))
			session__fail(s);
		break;
	case REC_TASK:
		on_task(s, rec);
		break;
	case REC_ROW:
		session__on_row(s, rec);
		break;
	case REC_TASK_FORK:
		on_task_fork(s, rec);
		break;
	case REC_TASK_EXEC:
		on_task_exec(s, rec);
		break;
	case REC_TASK_EXIT:
		on_task_exit(s, rec);
		break;
	case REC_TASK_COMM:
		on_task_comm(s, rec);
		break;
	case REC_NAME:
		session__on_name(s, rec);
		break;
	case REC_MARK_STEP:
	case REC_UNIT_BEGIN:
	case REC_UNIT_HANDOVER:
	case REC_UNIT_END:
		on_acted(s, rec);
		break;
	case REC_ROLE:
		on_role(s, rec);
		break;
	case REC_DEVICE:
		session__on_device(s, rec);
		break;
	}
	return s->err;
}

static void end_all(struct session *s)
{
	struct map_slot *slot;
	struct task *t;

	for (slot = map__next(&s->tasks, NULL); slot; slot = map__next(&s->tasks, slot)) {
		t = slot->value;
		timeline__end(&s->timeline, &t->tl, s->end_ns);
		NOTIFY(s, task_end, t, s->end_ns);
		unlink_task(t);
		put_process(s, t->process);
		free(t);
	}
	map__free(&s->tasks);
	map__free(&s->processes);
}

void session__finish(struct session *s)
{
	end_all(s);
}

void session__free(struct session *s)
{
	if (!s)
		return;
	end_all(s);
	session__free_facts(s);
	cpu_times__free(&s->cpu_times);
	timeline__free(&s->timeline);
	free(s);
}
