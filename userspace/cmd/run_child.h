/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside a process of a row: run_child.c has its life, run_says.c what it says. */
#ifndef XPUGAP_CMD_RUN_CHILD_H
#define XPUGAP_CMD_RUN_CHILD_H

#include "userspace/cmd/run.h"
#include "userspace/source/launch.h"
#include "workloads/suite/datafile.h"
#include "workloads/suite/lines.h"

#define LAST_WORDS 6 /* lines of standard error that are shown of a failed process */
#define ARGS_MAX   128

enum stream_kind {
	STREAM_STDOUT,
	STREAM_STDERR,
	STREAM_DATA,
	STREAMS,
};

struct stream {
	struct child *child;
	enum stream_kind kind;
	int fd; /* our end; -1: it has ended */
	struct lines lines;
};

struct child {
	struct run *run;
	struct child_job job;
	char tag[160];
	char *args[ARGS_MAX]; /* of the command, owned */
	size_t nargs;
	struct launch *launch;
	pid_t pid;
	int pidfd;
	struct stream streams[STREAMS];
	struct datafile *data;

	uint64_t begin_ns;
	uint64_t first_ns;  /* when the first observation came */
	uint64_t last_ns;   /* and the last */
	uint64_t step_ns;   /* the longest time between two */
	uint64_t kill_ns;   /* SIGKILL is due; 0: not asked to end */
	uint64_t killed_ns; /* when SIGKILL was sent; 0: not yet */
	bool late;	    /* its time was over */
	bool stuck;	    /* it hangs in the kernel: given up */
	bool ended;
	int status; /* as waitpid() gives it */

	/* what it has said */
	uint64_t observations, done, wanted;
	double rate, loss;
	bool has_loss, nan;
	char units[24];
	char activity[160]; /* before the first step */
	char *words[LAST_WORDS];
	size_t nwords;
};

/* What is there; the last line, too, when the stream has ended. */
void stream__read(struct stream *s);
void stream__end(struct stream *s);

/* Why the process has failed, in @buf; whether it has not. */
bool child__judge(const struct child *c, char *buf, size_t size);
void child__say_timeout(const struct child *c, char *buf, size_t size);
/* Its last lines of standard error, as messages of ours. */
void child__say_words(const struct child *c);

#endif
