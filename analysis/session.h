/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a trace tells of the world while it is read: tasks and their processes, names, devices,
 * rows of the suite, hooks, losses, facts, and the host state of each thread.
 *
 * Records come one by one in order of time. Definitions may come after their first use, tasks
 * may be seen before they are told of, ids are used again: a task is a tid and a start time.
 * Memory is bounded by the threads alive at a time, the distinct names, and the facts of the
 * recording; of losses the totals are exact and the intervals merged when there are many.
 */
#ifndef XPUGAP_ANALYSIS_SESSION_H
#define XPUGAP_ANALYSIS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/account/timeline.h"
#include "analysis/cpu_times.h"
#include "bpf/include/events.h"
#include "userspace/lib/map.h"
#include "userspace/trace/trace.h"

#define SESSION_OBSERVERS  8
#define SESSION_MAX_LOSSES 1024
/* More than any recording has; further ones, of a trace made to cost time, are passed over. */
#define SESSION_MAX_FACTS   1024
#define SESSION_MAX_DEVICES 65536
#define SESSION_MAX_ROWS    65536
#define SESSION_MAX_DEPTH   256 /* of processes within processes */

/* A workload of the suite, from its ROW records. */
struct session_row {
	char *name, *device;
	uint32_t pid, repeat;
	uint64_t begin_ns, end_ns; /* 0: not recorded */
	bool ended;
	int status; /* as waitpid() reports it, once ended */
};

struct process {
	uint32_t pid;
	struct process *parent; /* as far as known */
	struct task *tasks;	/* alive, linked by task.sibling */
	size_t refs;		/* tasks and children */
	bool lived;		/* has had a task; else only its children told of it */
	struct session_row *row;
	char comm[REC_COMM_LEN + 1]; /* of its leader, the last known */
	void *priv[SESSION_OBSERVERS];
};

struct task {
	struct timeline_thread tl; /* first: the timeline hands it out */
	uint32_t tid, pid;	   /* pid 0: not told yet */
	uint64_t start_ns;	   /* 0: not told yet */
	uint32_t flags;		   /* enum rec_task_flags */
	char comm[REC_COMM_LEN + 1];
	uint64_t role; /* NAME id, 0: none */
	struct process *process;
	struct task *sibling, **link; /* of the same process */
	void *priv[SESSION_OBSERVERS];
};

struct session_hook {
	bool told; /* a HOOK record was seen */
	enum rec_hook_state state;
	uint32_t rung;
	int err;
	double cost_ns;
	char *way, *reason;	      /* "" if empty */
	uint64_t hits, records, lost; /* of HOOK_COUNT records, over all cpus */
};

struct session_loss {
	uint32_t hook;
	uint64_t since_ns, until_ns, count;
};

struct session_fact {
	char *key, *value;
};

struct session_device {
	uint32_t pid, device;
	char *name;
};

/* Told of things as they happen, before the record itself is handed to analyses. */
struct session_ops {
	void (*task_begin)(void *ctx, struct task *t, uint64_t time_ns);
	void (*task_end)(void *ctx, struct task *t, uint64_t time_ns);
	/* the task took this role at @time_ns; its interval is closed there, its old role is @was
	 */
	void (*role)(void *ctx, struct task *t, uint64_t was, uint64_t time_ns);
	/* its process or parentage became known or changed */
	void (*moved)(void *ctx, struct task *t, uint64_t time_ns);
	void (*interval)(void *ctx, struct task *t, enum host_state state, uint64_t begin_ns,
			 uint64_t end_ns);
	void (*left)(void *ctx, struct task *t, uint64_t time_ns, bool voluntary);
	void (*process_end)(void *ctx, struct process *p); /* its last task and child are gone */
};

struct session {
	struct map tasks;     /* tid → struct task, alive */
	struct map processes; /* pid → struct process, the newest of that pid */
	struct map names;     /* NAME id → char * */
	struct map counts;    /* hook, cpu → totals */
	struct timeline timeline;
	bool sched_flows;
	uint64_t begin_ns, end_ns; /* times of the first and the last record */
	uint64_t records;

	struct session_row **rows;
	size_t nrows;
	struct map open_rows; /* pid → struct session_row that has not ended, the last */
	struct session_device **devices; /* in the order of the records */
	size_t ndevices;
	struct map device_of; /* pid, device → one of them */
	struct session_fact *facts;
	size_t nfacts;
	struct map fact_of; /* hash of the key → its place among them, from 1 */
	struct session_hook hooks[REC_HOOK_MAX];
	struct session_loss *losses; /* in the order of the records */
	size_t nlosses;
	uint64_t lost_by_hook[REC_HOOK_MAX]; /* what LOST records count */
	uint64_t lost_total;		     /* of all hooks, also such that we do not know */
	uint64_t cut_lost, cut_since_ns;     /* of these, what a full file took no more of */
	struct cpu_times cpu_times;

	const struct session_ops *observers[SESSION_OBSERVERS];
	void *observer_ctx[SESSION_OBSERVERS];
	size_t nobservers;
	int err; /* the first -ENOMEM */
};

/* Types of records that session__event() needs to see. */
#define SESSION_TYPES                                                                              \
	(TRACE_DEFINITIONS | TRACE_TYPE(REC_LOST) | TRACE_TYPE(REC_HOOK_COUNT) |                   \
	 TRACE_TYPE(REC_CPU_STAT) | TRACE_TYPE(REC_SCHED_SWITCH) | TRACE_TYPE(REC_SCHED_WAKING) |  \
	 TRACE_TYPE(REC_MARK_STEP) | TRACE_TYPE(REC_UNIT_BEGIN) | TRACE_TYPE(REC_UNIT_HANDOVER) |  \
	 TRACE_TYPE(REC_UNIT_END))

struct session *session__new(void); /* NULL with errno */
void session__free(struct session *s);

/*
 * Returns the observer's slot in priv[], or -ENOSPC. Members of @ops may be NULL. An observer lives
 * as long as the session: session__free() still ends tasks that session__finish() did not.
 */
int session__observe(struct session *s, const struct session_ops *ops, void *ctx);

/*
 * Take in one record, well formed as record__check() says. 0 or -ENOMEM. One that is shorter than
 * its struct is read as if filled up with zeros, one of an unknown type changes nothing.
 */
int session__event(struct session *s, const struct trace_event *ev);

/* The trace is at its end: end all tasks. Then only names, facts and losses may be asked for. */
void session__finish(struct session *s);

struct task *session__task(const struct session *s, uint32_t tid); /* alive, or NULL */
const char *session__name(const struct session *s, uint64_t id);   /* NULL: not told (yet) */
const char *session__fact(const struct session *s, const char *key);
/* The row that @p belongs to: its own or that of its nearest ancestor that has one. */
struct session_row *process__row(const struct process *p);

/* The hooks, as bits 1 << REC_HOOK_x, that tell what a thread did. */
#define SESSION_HOST_HOOKS                                                                         \
	(1u << REC_HOOK_TASK | 1u << REC_HOOK_SCHED | 1u << REC_HOOK_SYSCALL | 1u << REC_HOOK_MARK)

/*
 * Is what was lost of @hook perhaps a record of one of @hooks? META stands for all: the trace file
 * took no more, or was damaged. So does a hook that we do not know.
 */
bool session__concerns(uint32_t hook, uint32_t hooks);

/* Were records of one of @hooks lost between the two moments? */
bool session__lost_between(const struct session *s, uint32_t hooks, uint64_t from_ns,
			   uint64_t to_ns);

/* @rec as a struct of @size bytes: itself, or if it is shorter, @copy filled up with zeros. */
const void *record__full(const struct rec *rec, size_t size, void *copy);
#define RECORD(type, rec)                                                                          \
	((const struct rec_##type *)record__full(rec, sizeof(struct rec_##type),                   \
						 &(struct rec_##type){0}))

#endif
