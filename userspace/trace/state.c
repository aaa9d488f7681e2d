// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/state.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/map.h"
#include "userspace/trace/records.h"
#include "userspace/trace/trace.h"

#define ENDED_MAX	4096	    /* tasks that ended and are still known */
#define NAMES_MAX_BYTES (64u << 20) /* a hostile trace may define strings without end */

struct task {
	struct trace_task t; /* first: what others see */
	bool ended;
};

struct name {
	uint32_t len;
	char text[];
};

struct trace_state {
	struct map tasks; /* by tid */
	struct map names;
	size_t name_bytes;
	uint32_t ended[ENDED_MAX]; /* the last that did, a ring */
	uint32_t n_ended;
};

struct trace_state *trace_state__new(void)
{
	return calloc(1, sizeof(struct trace_state));
}

static void free_values(struct map *m)
{
	struct map_slot *slot;

	for (slot = map__next(m, NULL); slot; slot = map__next(m, slot))
		free(slot->value);
	map__free(m);
}

void trace_state__free(struct trace_state *s)
{
	if (!s)
		return;
	free_values(&s->tasks);
	free_values(&s->names);
	free(s);
}

static struct task *get_task(struct trace_state *s, uint32_t tid)
{
	struct task *t = map__get(&s->tasks, tid);

	if (t || s->tasks.n >= TRACE_TASKS_MAX)
		return t;
	t = calloc(1, sizeof(*t));
	if (t && map__put(&s->tasks, tid, t)) {
		free(t);
		return NULL;
	}
	return t;
}

static int set_task(struct trace_state *s, uint32_t tid, uint32_t pid, const char *comm)
{
	struct task *t = get_task(s, tid);

	if (!t)
		return s->tasks.n >= TRACE_TASKS_MAX ? 0 : -ENOMEM;
	t->ended = false;
	t->t.pid = pid;
	if (!comm)
		return 0;
	t->t.comm_len = (uint8_t)strnlen(comm, REC_COMM_LEN);
	memcpy(t->t.comm, comm, t->t.comm_len);
	return 0;
}

/* Forget the task that ended ENDED_MAX ends ago, unless its tid has been taken again. */
static void end_task(struct trace_state *s, uint32_t tid)
{
	struct task *t = map__get(&s->tasks, tid), *old;
	uint32_t *slot = &s->ended[s->n_ended % ENDED_MAX];

	if (!t || t->ended)
		return;
	t->ended = true;
	if (s->n_ended++ >= ENDED_MAX) {
		old = map__get(&s->tasks, *slot);
		if (old && old->ended && *slot != tid)
			free(map__del(&s->tasks, *slot));
	}
	*slot = tid;
}

static int add_name(struct trace_state *s, const struct rec_name *rec)
{
	const char *text;
	struct name *n;
	size_t len;

	text = record__text(&rec->hdr, 0, &len);
	if (map__get(&s->names, rec->id) || s->name_bytes > NAMES_MAX_BYTES)
		return 0;
	n = malloc(sizeof(*n) + len);
	if (!n)
		return -ENOMEM;
	n->len = (uint32_t)len;
	memcpy(n->text, text, len);
	if (map__put(&s->names, rec->id, n)) {
		free(n);
		return -ENOMEM;
	}
	s->name_bytes += sizeof(*n) + len + sizeof(struct map_slot);
	return 0;
}

int trace_state__feed(struct trace_state *s, const struct rec *rec)
{
	const struct rec_task_fork *fork = (const void *)rec;
	const struct rec_task_comm *comm = (const void *)rec;
	const struct rec_task_exec *exec = (const void *)rec;
	const struct rec_task *task = (const void *)rec;

	switch (rec->type) {
	case REC_TASK:
		return set_task(s, rec->tid, task->pid, task->comm);
	case REC_TASK_FORK:
		return set_task(s, fork->child_tid, fork->child_pid, fork->comm);
	case REC_TASK_COMM:
		return set_task(s, rec->tid, comm->pid, comm->comm);
	case REC_TASK_EXEC:
		return set_task(s, rec->tid, exec->pid, NULL);
	case REC_TASK_EXIT:
		end_task(s, rec->tid);
		return 0;
	case REC_NAME:
		return add_name(s, (const void *)rec);
	default:
		return 0;
	}
}

const struct trace_task *trace_state__task(const struct trace_state *s, uint32_t tid)
{
	const struct task *t = map__get(&s->tasks, tid);

	return t ? &t->t : NULL;
}

const char *trace_state__name(const struct trace_state *s, uint64_t id, size_t *len)
{
	const struct name *n = map__get(&s->names, id);

	*len = n ? n->len : 0;
	return n ? n->text : NULL;
}
