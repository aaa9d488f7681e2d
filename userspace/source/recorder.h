/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording: sources, a trace, and the loop between them.
 *
 *	caller__get(&caller, false);
 *	r = recorder__new(&opts);                      loads the hooks; needs rights
 *	env = recorder__env(r);
 *	l = launch__new(&(struct launch_opts){.argv = argv, .env = env, .caller = &caller, ...});
 *	recorder__start(r);                            attaches
 *	recorder__add(r, launch__pid(l));              this tree is recorded
 *	caller__become(&caller, false);                no rights are needed from here on
 *	launch__exec(l);
 *	while (running)
 *		recorder__poll(r, pidfd);
 *	recorder__stop(r);
 *	recorder__finish(r);
 *	recorder__free(r);
 *
 * Further targets may be added at any time. All calls come from one thread. Functions print what
 * fails; a hook that cannot be attached is not a failure unless it is required: it is said once,
 * with the remedy, and stands in the trace.
 */
#ifndef XPUGAP_SOURCE_RECORDER_H
#define XPUGAP_SOURCE_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/include/events.h"
#include "userspace/lib/caller.h"
#include "userspace/source/probe_list.h"

struct recorder;

struct recorder_opts {
	int fd;			     /* where the trace goes; stays the caller's */
	const char *const *probes;   /* names, NULL-terminated; NULL: the defaults */
	struct probe_args args;	     /* of probes */
	const char *const *require;  /* probes without which there is no recording */
	uint64_t memory_bytes;	     /* of all rings together; 0: the default */
	const struct caller *caller; /* whose processes are recorded; NULL: ours */
	bool attach;		     /* targets run already: their marks come by USDT only */
	bool no_python;		     /* leave PYTHONPATH of the targets alone */
	bool no_btf;		     /* do as where the kernel does not describe its types */
	int level;		     /* of compression; 0: the default */
	bool no_sync;		     /* do not make the trace durable while it grows */
	bool no_priority;	     /* do not run before others (see Documentation: losses) */
	bool parts;		     /* recorder__next_file() will be called */
	uint64_t window_ns;	     /* not 0: keep the last so much, and write what is asked for */
	uint64_t window_bytes;	     /* of it at most, compressed */
	/* Called with @arg for each MARK_STEP record. NULL: it is not. */
	void (*on_step)(void *arg, const struct rec *rec);
	/* Asked with @arg while a pipe takes nothing: end it? NULL: wait (see trace_writer_opts).
	 */
	bool (*give_up)(void *arg);
	/*
	 * Asked with @arg while hooks are loaded and attached, which takes seconds: end it? Then
	 * recorder__new() or recorder__start() fails with EINTR, of which nothing is printed.
	 */
	bool (*interrupted)(void *arg);
	void *arg;
};

struct recorder *recorder__new(const struct recorder_opts *opts);

/* "NAME=value" strings for targets' environments, NULL-terminated; owned by @r. */
const char *const *recorder__env(const struct recorder *r);

/* Records flow from here on. 0 or -errno. */
int recorder__start(struct recorder *r);

/*
 * What has come so far goes to the file, which opens from then on, whatever happens. 0 or -errno
 * (printed); a file that takes nothing is no reason not to go on: it is printed here, and returned
 * by the next poll.
 */
int recorder__flush(struct recorder *r);

/* Record the tree of @pid, a process that is ours to see, from now on. 0 or -errno. */
int recorder__add(struct recorder *r, pid_t pid);

/*
 * Record everybody who is in the control group or below, from now on and who comes later; @g must
 * live until the end. NULL: everybody but ourselves. 0 or -errno.
 */
struct cgroup_ref;
int recorder__add_group(struct recorder *r, const struct cgroup_ref *g);

/*
 * All targets that run already were added: is the probe 'mark' attached to one, if it is required?
 * 0 or -errno (printed).
 */
int recorder__check_marks(const struct recorder *r);

/* Why tasks cannot be followed, with the remedy; NULL: they can. */
const char *recorder__cannot_follow(const struct recorder *r);

/* Append a record of our own (ROW, META); hdr.time_ns 0 is set to now. 0 or -errno. */
int recorder__append(struct recorder *r, struct rec *rec);
int recorder__meta(struct recorder *r, const char *key, const char *value);

/*
 * One sweep over all sources, then sleep: not at all while records come fast, longer when it is
 * quiet (at most 50 ms), and not once @wake_fd (or -1) is readable. Returns the number of
 * records moved, or -errno when the trace takes no more (printed once).
 */
int recorder__poll(struct recorder *r, int wake_fd);

/*
 * Complete the file and go on in @fd, which stays the caller's and opens alone; nothing is lost or
 * said twice between the two. @done is the file before; with opts.window_ns, it is @fd with what
 * is kept. @facts are about the new file. See trace_writer__next_file(). 0 or -errno (printed).
 */
struct trace_part;
int recorder__next_file(struct recorder *r, int fd, const char *const *facts,
			struct trace_part **done);

/* Detach; calls still open are recorded as such; drain what is there. 0 or -errno. */
int recorder__stop(struct recorder *r);

struct recorder_stats {
	uint64_t records;
	uint64_t bytes; /* of the trace */
	uint64_t lost;	/* in rings, in state, in marks, and by the file */
	int64_t live;	/* tasks of the targets that had not ended; -1: not known */
};
void recorder__stats(const struct recorder *r, struct recorder_stats *out);

/* After stop: totals, index, durable. 0 or the first error (printed). */
int recorder__finish(struct recorder *r);

void recorder__free(struct recorder *r);

#endif
