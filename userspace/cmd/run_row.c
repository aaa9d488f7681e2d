// SPDX-License-Identifier: BSD-2-Clause
/* A row of the suite: one process for each device, side by side, until all have ended. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "userspace/cmd/run.h"
#include "userspace/cmd/tree.h"
#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"

#define POLL_MS	    100
#define PROGRESS_NS 100000000ULL

struct row {
	struct run *run;
	struct child **children; /* NULL: it could not be started */
	size_t n;
	uint64_t shown_ns;
};

/* Who reads the trace should know that a signal was no failure of the workload. */
static void note_interrupt(struct run *r)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)hostclock__now());
	recorder__meta(r->recorder, "run.interrupted_ns", text);
}

/* Asked once, the workloads may finish their step; asked again, they are killed. */
static void take_signals(struct row *row)
{
	struct signalfd_siginfo s;
	struct run *r = row->run;
	size_t i;

	while (read(r->signal_fd, &s, sizeof(s)) == sizeof(s)) {
		r->asked++;
		if (r->asked == 1 && r->recorder)
			note_interrupt(r);
		if (r->asked == 1)
			log_info("ending after this step, or what set-up is at (once more ends at "
				 "once)");
		else if (r->asked == 2)
			log_warning("ending at once");
		for (i = 0; i < row->n; i++)
			if (row->children[i])
				child__end(row->children[i], r->asked > 1);
	}
}

/* The trace takes no more (the recorder has said why): the workloads go on without. */
static void drop_recorder(struct run *r, int err)
{
	r->err = err;
	recorder__finish(r->recorder); /* what fits: how much is missing */
	recorder__free(r->recorder);
	r->recorder = NULL;
}

static void wait_for_news(struct row *row)
{
	struct run *r = row->run;
	struct epoll_event ev[16];
	int n, i;

	if (r->recorder) {
		n = recorder__poll(r->recorder, r->epoll_fd);
		if (n < 0)
			drop_recorder(r, n);
	}
	n = epoll_wait(r->epoll_fd, ev, 16, r->recorder ? 0 : POLL_MS);
	for (i = 0; i < n; i++) {
		if (ev[i].data.ptr)
			child__read(ev[i].data.ptr);
		else
			take_signals(row);
	}
}

static void show_progress(struct row *row)
{
	char line[512] = "", one[256], key[64];
	uint64_t now = hostclock__now();
	size_t i, used = 0;
	int done = 100, pct;

	if (now - row->shown_ns < PROGRESS_NS)
		return;
	row->shown_ns = now;
	for (i = 0; i < row->n; i++) {
		if (!row->children[i])
			continue;
		pct = child__progress(row->children[i], one, sizeof(one));
		done = pct < done ? pct : done;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s: %s",
					 used ? " | " : "", child__tag(row->children[i]), one);
		if (used >= sizeof(line))
			break;
	}
	/* without a terminal: a line for every tenth */
	snprintf(key, sizeof(key), "%.40s %d", line, done / 10);
	key[strcspn(key, ":")] = '\0';
	snprintf(key + strlen(key), sizeof(key) - strlen(key), " %d", done / 10);
	log__progress(key, "%s", line);
}

static bool all_ended(const struct row *row)
{
	size_t i;

	for (i = 0; i < row->n; i++)
		if (row->children[i] && !child__ended(row->children[i]))
			return false;
	return true;
}

static void start_children(struct row *row, const struct run_row *what, uint64_t repeat)
{
	struct run *r = row->run;
	struct child_job job = {.row = what, .repeat = repeat};
	size_t i;

	for (i = 0; i < row->n; i++) {
		job.device = r->o->devices.items[i];
		job.index = (unsigned int)i;
		row->children[i] = child__new(r, &job);
	}
}

static void finish_children(struct row *row)
{
	struct run *r = row->run;
	size_t i;

	for (i = 0; i < row->n; i++) {
		r->finished++;
		if (!row->children[i] || !child__finish(row->children[i]))
			r->failed++;
	}
}

static void sweep(const struct run_row *what)
{
	char names[256];
	int n = tree__sweep(names, sizeof(names));

	if (n > 0)
		log_warning("'%s' left processes running, which were killed: %s",
			    what->workload->name, names);
	else if (n < 0)
		log_warning("'%s' left processes that cannot be killed: %s", what->workload->name,
			    names);
}

int run__row(struct run *r, const struct run_row *what, uint64_t repeat)
{
	struct row row = {.run = r, .n = r->o->devices.n};
	size_t i;

	row.children = calloc(row.n, sizeof(*row.children));
	if (!row.children) {
		log_error("out of memory");
		return -ENOMEM;
	}
	start_children(&row, what, repeat);
	while (!all_ended(&row)) {
		wait_for_news(&row);
		for (i = 0; i < row.n; i++)
			if (row.children[i])
				child__check_time(row.children[i], hostclock__now());
		show_progress(&row);
	}
	log__progress(NULL, NULL);
	finish_children(&row);
	sweep(what);
	free(row.children);
	return 0;
}
