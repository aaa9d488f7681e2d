/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xpugap run, in parts: run.c resolves what is asked and goes through the rows, run_row.c has a
 * row's processes side by side, run_child.c and run_says.c are one of them, run_dir.c is what is
 * written beside.
 */
#ifndef XPUGAP_CMD_RUN_H
#define XPUGAP_CMD_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "userspace/cmd/output.h"
#include "userspace/lib/caller.h"
#include "userspace/lib/opt.h"
#include "userspace/source/probe_list.h"
#include "userspace/source/recorder.h"
#include "workloads/suite/workload.h"

struct run_opts {
	struct opt_list devices;
	int size;
	uint64_t stop;
	uint64_t repeat;
	uint64_t max_ns;
	uint64_t seed;
	const char *output;
	bool force;
	const char *data_dir;
	bool verify;
	bool trace;
	struct opt_list probes;
	bool as_root;
	struct opt_list others;
};

/* A workload as it is to run. */
struct run_row {
	const struct workload *workload;
	void *values; /* of its options */
};

struct run {
	const struct run_opts *o;
	struct caller caller;
	const struct probe_list *probes;
	int argc;
	char **argv; /* operands */
	struct run_row *rows;
	size_t nrows;
	char *exe;	/* this very program */
	char *data_dir; /* of generated input */
	char *dir;	/* results */
	bool made_dir;	/* by us */
	bool replaces;	/* what an earlier run left there, which still is */
	struct output trace;
	char *trace_path;
	struct recorder *recorder; /* NULL: not traced */
	int epoll_fd;
	int signal_fd;
	sigset_t mask;	    /* of signals, as we were started with */
	unsigned int asked; /* how often we were asked to end */
	json_t *devices;    /* what workloads have said of them: {spec: {...}} */
	uint64_t failed;    /* processes of rows that did */
	uint64_t finished;
	uint64_t observations; /* of all of them */
	int err;	       /* a result could not be written */
};

/*
 * Where generated input is kept unless told: ~/.cache/xpugap of the caller (NULL: ourselves), or
 * below the current directory of one who has no home. To be freed; NULL: no memory.
 */
char *run__data_dir(const struct caller *caller);

/* ---- run_row.c ---- */

/* Run row @row for the @repeat-th time on all devices at once. 0, or -errno: the run must end. */
int run__row(struct run *r, const struct run_row *row, uint64_t repeat);

/* ---- run_child.c, run_says.c ---- */

struct child;

struct child_job {
	const struct run_row *row;
	uint64_t repeat;
	const char *device;
	unsigned int index; /* of the device */
};

/* Start the process of a job; NULL with errno, printed, where its row has failed before it began.
 */
struct child *child__new(struct run *r, const struct child_job *job);

/* Take what it has said and see whether it has ended. */
void child__read(struct child *c);
/* End it if its time is over. */
void child__check_time(struct child *c, uint64_t now_ns);
/* Ask it to end: SIGTERM, and SIGKILL a while later, or at once if @kill. */
void child__end(struct child *c, bool kill);
bool child__ended(const struct child *c);
/* "step 12 of 61, 812.5 items/s, loss 6.91, 14 s left"; returns how far it is, 0 to 100. */
int child__progress(const struct child *c, char *buf, size_t size);
const char *child__tag(const struct child *c);
/* Write out, say how it went; whether it succeeded. Frees it. */
bool child__finish(struct child *c);

/* ---- run_dir.c ---- */

/* Create the directory of results. 0 or -errno, printed. */
int run_dir__create(struct run *r);
/* The run begins: results of an earlier one go, its trace, too. 0 or -errno, printed. */
int run_dir__replace(struct run *r);
/* config.json: everything that was asked, resolved. */
int run_dir__write_config(const struct run *r);
/* machine.json; again whenever more is known of the devices. */
int run_dir__write_machine(const struct run *r);
/* "meta" and "config" of the .data files */
json_t *run_dir__meta(void);
json_t *run_dir__config(const struct run *r, const struct child_job *job, const char *const *tag,
			size_t ntag);
/* Compute the summary from the .data files, write summary.json, print the tables. */
int run_dir__summarise(const struct run *r);

#endif
