// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/record_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/cmd/cmd.h"
#include "userspace/lib/log.h"
#include "userspace/source/container.h"
#include "userspace/source/proc.h"

bool record_target__asked(const struct record_target_opts *o)
{
	return o->pids.n || o->cgroup || o->container || o->all;
}

/* ---- processes ---- */

/* May we look into it? A process of somebody else is not ours to record. */
static int check_rights(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	return errno == EACCES || errno == EPERM ? -EPERM : 0;
}

static int check_process(pid_t pid)
{
	struct proc_stat st;
	pid_t leader;

	if (pid == getpid()) {
		log_error("cannot record process %d: it is the recorder itself", pid);
		return -EINVAL;
	}
	leader = proc__leader(pid);
	if (!leader || proc__stat(pid, 0, &st)) {
		log_error("cannot record process %d: there is none", pid);
		return -ESRCH;
	}
	if (leader != pid) {
		log_error("cannot record process %d: it is a thread of process %d (-p %d)", pid,
			  leader, leader);
		return -EINVAL;
	}
	if (st.flags & PROC_KTHREAD) {
		log_error("cannot record process %d: '%s' is a thread of the kernel (-a records "
			  "all of them)",
			  pid, st.comm);
		return -EINVAL;
	}
	if (!proc__lives(pid)) {
		log_error("cannot record process %d: '%s' has ended", pid, st.comm);
		return -ESRCH;
	}
	if (check_rights(pid)) {
		log_error("cannot record process %d: '%s' may not be looked into: it is another "
			  "user's, or has more rights than we%s",
			  pid, st.comm, geteuid() ? " (run it as root)" : "");
		return -EPERM;
	}
	return 0;
}

static int find_processes(struct record_target *t, const struct opt_list *list)
{
	uint64_t pid;
	size_t i;

	t->pids = calloc(list->n, sizeof(*t->pids));
	if (!t->pids)
		return EXIT_FAILED;
	for (i = 0; i < list->n; i++) {
		if (opt__parse_u64(list->items[i], &pid) || !pid || pid > INT32_MAX) {
			log_error("record: --pid: '%s' is no process id", list->items[i]);
			return EXIT_USAGE;
		}
		if (check_process((pid_t)pid))
			return EXIT_FAILED;
		t->pids[t->npids++] = (pid_t)pid;
	}
	snprintf(t->name, sizeof(t->name), t->npids == 1 ? "process %s" : "processes %s, ...",
		 list->items[0]);
	return EXIT_OK;
}

/* ---- groups ---- */

static int find_group(struct record_target *t, const char *path)
{
	int err = cgroup__find(&t->group, path);

	snprintf(t->name, sizeof(t->name), "control group '%.40s'", path);
	if (err == -ENOENT)
		log_error("cannot record control group '%s': there is none (see "
			  "/proc/PID/cgroup of what you mean)",
			  path);
	else if (err == -ENOTDIR)
		log_error("cannot record control group '%s': it is none, but another file", path);
	else if (err)
		log_error("cannot record control group '%s': %s", path, log__err(err));
	return err ? EXIT_FAILED : EXIT_OK;
}

static int find_container(struct record_target *t, const char *name)
{
	char path[PATH_MAX];
	int err = container__find(name, "", path, sizeof(path));

	if (err == -ENOENT)
		log_error("cannot record container '%s': no process runs in one of that name or id",
			  name);
	else if (err == -EEXIST)
		log_error("cannot record container '%s': more than one has an id that begins so",
			  name);
	else if (err)
		log_error("cannot record container '%s': %s", name, log__err(err));
	if (err)
		return EXIT_FAILED;
	return find_group(t, path);
}

int record_target__find(struct record_target *t, const struct record_target_opts *o)
{
	*t = (struct record_target){.opts = o};
	if ((o->pids.n > 0) + !!o->cgroup + !!o->container + o->all > 1) {
		log_error("record: only one of --pid, --cgroup, --container and --all");
		return EXIT_USAGE;
	}
	if (o->pids.n)
		return find_processes(t, &o->pids);
	if (o->cgroup)
		return find_group(t, o->cgroup);
	if (o->container)
		return find_container(t, o->container);
	snprintf(t->name, sizeof(t->name), "all processes");
	return EXIT_OK;
}

bool record_target__grows(const struct record_target *t)
{
	return !t->npids;
}

/* ---- the recording ---- */

static int write_facts(const struct record_target *t, struct recorder *r)
{
	char text[1024] = "";
	size_t i, n = 0;
	int err = 0;

	for (i = 0; i < t->npids && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d", i ? "," : "", t->pids[i]);
	if (t->npids)
		err = recorder__meta(r, "target.pid", text);
	else if (t->opts->all)
		err = recorder__meta(r, "target.all", "yes");
	else
		err = recorder__meta(r, "target.cgroup", t->group.path);
	if (!err && t->opts->container)
		err = recorder__meta(r, "target.container", t->opts->container);
	return err;
}

/* What can be done from inside of a container, and what cannot. */
static void say_namespace(void)
{
	if (!proc__in_first_namespace())
		log_warning("this is not the initial PID namespace: ids in the trace are those of "
			    "the host, and mappings are not recorded");
}

int record_target__add(const struct record_target *t, struct recorder *r)
{
	const char *why = recorder__cannot_follow(r);
	size_t i;
	int err;

	if (why) {
		log_error("cannot record %s: %s", t->name, why);
		return -EPERM;
	}
	say_namespace();
	err = write_facts(t, r);
	for (i = 0; !err && i < t->npids; i++)
		err = recorder__add(r, t->pids[i]);
	if (!err && !t->npids)
		err = recorder__add_group(r, t->opts->all ? NULL : &t->group);
	return err ? err : recorder__check_marks(r);
}

bool record_target__ended(const struct record_target *t, const struct recorder *r)
{
	struct recorder_stats stats;

	if (t->opts->all)
		return false;
	recorder__stats(r, &stats);
	if (stats.live > 0)
		return false;
	return t->npids || access(t->group.path, F_OK) != 0;
}

void record_target__free(struct record_target *t)
{
	free(t->pids);
	t->pids = NULL;
}
