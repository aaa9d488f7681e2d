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
	int n;

	if (pid == getpid() || !hooks__is_target(l->hooks, pid))
		return 0;
	n = mark_usdt__attach(l->usdt, pid);
	if (n == -ENOENT || n == -ESRCH) /* it has just ended */
		return 0;
	if (n > 0)
		l->processes++;
	return n < 0 ? n : 0;
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
	if (l->report.state == REC_HOOK_REFUSED)
		log_warning("marks of running programs are not recorded: %s", l->report.reason);
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
