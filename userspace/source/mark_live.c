// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/mark_live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/source/mark_usdt.h"
#include "userspace/source/proc.h"

struct mark_live {
	struct hooks *hooks;
	struct mark_usdt *usdt; /* NULL: refused, or detached */
	struct hook_report report;
	unsigned int processes; /* that have the library */
	unsigned int failed;	/* that may have it, and cannot be looked into or attached to */
	int err;		/* why the first of them */
};

static void refuse(struct mark_live *l, int err)
{
	l->report.state = REC_HOOK_REFUSED;
	l->report.err = err;
	snprintf(l->report.reason, sizeof(l->report.reason),
		 err == -EOPNOTSUPP ? "needs the kernel's type information"
				    : "cannot attach to the probes of programs: %s",
		 log__err(err));
}

struct mark_live *mark_live__new(struct hooks *h)
{
	struct mark_live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->hooks = h;
	snprintf(l->report.way, sizeof(l->report.way), "usdt");
	snprintf(l->report.reason, sizeof(l->report.reason), "no target has the mark library");
	l->usdt = mark_usdt__new(h);
	if (!l->usdt)
		refuse(l, -errno);
	return l;
}

static int visit(void *arg, pid_t pid)
{
	struct mark_live *l = arg;
	int n, err;

	if (pid == getpid() || !hooks__is_target(l->hooks, pid))
		return 0;
	n = mark_usdt__attach(l->usdt, pid, &err);
	if (n == -ENOENT || n == -ESRCH) /* it has just ended */
		return 0;
	if (n > 0)
		l->processes++;
	else if (n < 0)
		err = n;
	if (err == -ENOMEM)
		return err;
	if (err && !l->failed++)
		l->err = err;
	return 0;
}

/* Some could not be attached to: if others could, these are what is missing. */
static void report_failures(struct mark_live *l)
{
	l->report.state = l->processes ? REC_HOOK_DEGRADED : REC_HOOK_REFUSED;
	l->report.err = l->err;
	snprintf(l->report.reason, sizeof(l->report.reason),
		 "cannot attach to the probes of %u process%s that may have some: %s", l->failed,
		 l->failed == 1 ? "" : "es", log__err(l->err));
}

int mark_live__attach(struct mark_live *l)
{
	int err = l->usdt ? proc__each(visit, l) : 0;

	if (err == -ENOMEM)
		return err;
	if (err) {
		refuse(l, err);
	} else if (l->processes) {
		l->report.state = REC_HOOK_ATTACHED;
		l->report.reason[0] = '\0';
	}
	if (!err && l->failed)
		report_failures(l);
	if (l->report.state == REC_HOOK_REFUSED || l->report.state == REC_HOOK_DEGRADED)
		log_warning("marks of running programs are not%s recorded: %s",
			    l->report.state == REC_HOOK_REFUSED ? "" : " all", l->report.reason);
	return 0;
}

const struct hook_report *mark_live__report(const struct mark_live *l)
{
	return &l->report;
}

void mark_live__detach(struct mark_live *l)
{
	if (!l)
		return;
	mark_usdt__free(l->usdt);
	l->usdt = NULL;
}

void mark_live__free(struct mark_live *l)
{
	mark_live__detach(l);
	free(l);
}
