/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources: where records come from. All that lies above them is the same for a kernel's rings, a
 * program's marks, a replayed trace and a made-up one.
 */
#ifndef XPUGAP_SOURCE_SOURCE_H
#define XPUGAP_SOURCE_SOURCE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/source/probe_list.h"
#include "userspace/trace/trace.h"

struct cgroup_ref;
struct source; /* each source embeds or defines its own state behind this name */

struct source_ctx {
	struct trace_writer *writer; /* where records go */
	pid_t target;		     /* root of the recorded tree; 0: none yet, see add */
	uid_t uid;		     /* whom the targets run as, besides ourselves */
	const char *const *probes;   /* names asked for, NULL-terminated; NULL: the defaults */
	struct probe_args args;	     /* of probes */
	uint64_t memory_bytes;	     /* of all its rings together; 0: the source's default */
	bool attach;		     /* targets run before the recording */
	bool no_python;		     /* mark: leave PYTHONPATH of the targets alone */
	bool no_btf;		     /* bpf: do as where the kernel does not describe its types */
	const char *input;	     /* replay: a trace; fake: a recipe */
	bool pace;		     /* replay, fake: as fast as the times of the records say */
	/* bpf: asked with @arg while hooks are loaded and attached: end it? May be NULL. */
	bool (*interrupted)(void *arg);
	void *arg;
};

struct source_stats {
	uint64_t records;
	uint64_t lost;
	uint64_t bytes;
};

/*
 * Errors of the writer are only returned: the caller prints them, once. What else fails is printed
 * by the source, which knows its subject and the remedy.
 *
 * open:  acquire what needs rights; 0 or -errno
 * start: records flow from here on; 0 or -errno
 * poll:  move what is there to the writer without blocking; returns the number moved or -errno
 *        (-ENODATA: this source has ended and will bring nothing more)
 * stop:  no new records; poll may still drain; 0 or -errno
 * stats: totals so far
 * close: release everything; a no-op on NULL
 *
 * These may be NULL:
 * add:   record the tree of process @pid too; 0 or -errno, which the caller prints in any case
 * add_group: record everybody in the control group, now and later; NULL: everybody; as add
 * horizon: after a poll that began at @swept_ns: no record older than this will come; without it
 *        that is @swept_ns itself
 * env:   "NAME=value" strings that targets must find in their environment, NULL-terminated; they
 *        live as long as @s
 * tell_open: while it records: bring, with the next poll at the latest, what has begun and not
 *        ended; 0 or -errno
 * fill:  how full, in per cent, the last poll found the fullest ring: who is asked seldom and
 *        finds much is asked more often
 */
struct source_ops {
	const char *name;
	const char *summary;
	int (*open)(struct source **s, const struct source_ctx *ctx);
	int (*start)(struct source *s);
	int (*poll)(struct source *s);
	int (*stop)(struct source *s);
	void (*stats)(const struct source *s, struct source_stats *out);
	void (*close)(struct source *s);
	int (*add)(struct source *s, pid_t pid);
	int (*add_group)(struct source *s, const struct cgroup_ref *g);
	uint64_t (*horizon)(const struct source *s, uint64_t swept_ns);
	int (*tell_open)(struct source *s);
	const char *const *(*env)(const struct source *s);
	unsigned int (*fill)(const struct source *s);
};

#define SOURCE_TABLE(X)                                                                            \
	X(bpf, "eBPF programs in the running kernel")                                              \
	X(sideband, "what is mapped to be executed, by perf's events")                             \
	X(mark, "marks of the recorded programs")                                                  \
	X(replay, "a recorded trace again")                                                        \
	X(fake, "made-up records by recipe, for tests")

/* NULL if there is none of that name. */
const struct source_ops *source__find(const char *name);

/*
 * Record with one source that needs nothing else (replay, fake) until it ends or *@stop becomes
 * true, and complete the trace. 0 or -errno (printed).
 */
int source__copy(const struct source_ops *ops, const struct source_ctx *ctx,
		 const volatile sig_atomic_t *stop);

#define SOURCE_DECLARE(name, what) extern const struct source_ops source_##name;
SOURCE_TABLE(SOURCE_DECLARE)
#undef SOURCE_DECLARE

#endif
