// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/caller.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/lib/opt.h"

/* 1: @name holds an id; 0: it is not set; -EINVAL (printed): it holds something else */
static int id_from_env(const char *name, unsigned int *id)
{
	const char *text = getenv(name);
	uint64_t v;

	if (!text)
		return 0;
	if (opt__parse_u64(text, &v) || v >= UINT_MAX) {
		log_error("'%s=%s' is no user or group id", name, text);
		return -EINVAL;
	}
	*id = v;
	return 1;
}

static int own_groups(struct caller *c)
{
	int n = getgroups(0, NULL);

	if (n <= 0)
		return n < 0 ? -errno : 0;
	c->groups = calloc(n, sizeof(*c->groups));
	if (!c->groups)
		return -ENOMEM;
	n = getgroups(n, c->groups);
	if (n < 0)
		return -errno;
	c->ngroups = n;
	return 0;
}

static int groups_of(struct caller *c)
{
	int n = 0;

	if (!c->name) { /* no such user in the system: the group that sudo names, no others */
		c->groups = malloc(sizeof(*c->groups));
		if (!c->groups)
			return -ENOMEM;
		c->groups[0] = c->gid;
		c->ngroups = 1;
		return 0;
	}
	getgrouplist(c->name, c->gid, NULL, &n);
	c->groups = calloc(n ? n : 1, sizeof(*c->groups));
	if (!c->groups)
		return -ENOMEM;
	if (getgrouplist(c->name, c->gid, c->groups, &n) < 0)
		return -EIO;
	c->ngroups = n;
	return 0;
}

static int look_up(struct caller *c)
{
	struct passwd *pw = getpwuid(c->uid);

	if (!pw)
		return 0;
	c->name = strdup(pw->pw_name);
	c->home = strdup(pw->pw_dir);
	c->shell = strdup(pw->pw_shell);
	return c->name && c->home && c->shell ? 0 : -ENOMEM;
}

int caller__get(struct caller *c, bool as_root)
{
	unsigned int uid = 0, gid = 0;
	int err = 0, has_uid = 0, has_gid = 0;

	*c = (struct caller){.uid = geteuid(), .gid = getegid()};
	if (!as_root && c->uid == 0) {
		has_uid = id_from_env("SUDO_UID", &uid);
		has_gid = id_from_env("SUDO_GID", &gid);
		if (has_uid < 0 || has_gid < 0)
			return -EINVAL;
	}
	c->sudo = has_uid && has_gid && uid != 0;
	if (c->sudo) {
		c->uid = uid;
		c->gid = gid;
	}
	err = look_up(c);
	if (!err)
		err = c->sudo ? groups_of(c) : own_groups(c);
	if (err) {
		log_error("cannot find out who user %u is: %s", c->uid, log__err(err));
		caller__free(c);
	}
	return err;
}

void caller__free(struct caller *c)
{
	free(c->groups);
	free(c->name);
	free(c->home);
	free(c->shell);
	*c = (struct caller){0};
}

int caller__drop_caps(void)
{
	cap_t none = cap_init();
	int err = 0;

	if (!none)
		return -ENOMEM;
	if (cap_set_proc(none) < 0)
		err = -errno;
	cap_free(none);
	if (!err && cap_reset_ambient() < 0 && errno != EINVAL)
		err = -errno;
	return err;
}

int caller__become(const struct caller *c, bool keep_caps)
{
	if (c->sudo) {
		if (setgroups(c->ngroups, c->groups) < 0 || setresgid(c->gid, c->gid, c->gid) < 0 ||
		    setresuid(c->uid, c->uid, c->uid) < 0)
			return -errno;
		return caller__drop_caps();
	}
	return keep_caps ? 0 : caller__drop_caps();
}

/* The groups that are ours while files are used as the caller. */
static gid_t *kept_groups;
static int n_kept;

static int keep_groups(void)
{
	int n = getgroups(0, NULL);

	if (n < 0)
		return -errno;
	kept_groups = calloc(n ? n : 1, sizeof(*kept_groups));
	if (!kept_groups)
		return -ENOMEM;
	n_kept = getgroups(n, kept_groups);
	return n_kept < 0 ? -errno : 0;
}

static void files_as_ourselves(void)
{
	if (!kept_groups)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	/* we had them and may set groups, as was seen before */
	if (setgroups(n_kept, kept_groups) < 0)
		abort();
	free(kept_groups);
	kept_groups = NULL;
}

int caller__files_as(const struct caller *c)
{
	int err;

	if (!c) {
		files_as_ourselves();
		return 0;
	}
	if (!c->sudo || geteuid() == c->uid) /* we have become him already */
		return 0;
	err = keep_groups();
	if (!err && setgroups(c->ngroups, c->groups) < 0)
		err = -errno;
	if (err) {
		free(kept_groups);
		kept_groups = NULL;
		return err;
	}
	/* the gid first: without root's uid it could not be changed */
	setfsgid(c->gid);
	setfsuid(c->uid);
	return 0;
}

void caller__set_env(const struct caller *c)
{
	if (!c->sudo || !c->name)
		return;
	setenv("HOME", c->home, 1);
	setenv("USER", c->name, 1);
	setenv("LOGNAME", c->name, 1);
	setenv("SHELL", c->shell, 1);
}

static bool ignores_children;

void caller__wait_for_children(void)
{
	struct sigaction now;

	if (sigaction(SIGCHLD, NULL, &now) || now.sa_handler != SIG_IGN)
		return;
	ignores_children = true;
	signal(SIGCHLD, SIG_DFL);
}

void caller__restore_signals(void)
{
	if (ignores_children)
		signal(SIGCHLD, SIG_IGN);
}

static rlim_t files; /* the limit before; 0: it was not raised */

void caller__raise_files(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) || rl.rlim_cur >= rl.rlim_max)
		return;
	files = files ? files : rl.rlim_cur;
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
}

void caller__restore_files(void)
{
	struct rlimit rl;

	if (!files || getrlimit(RLIMIT_NOFILE, &rl))
		return;
	rl.rlim_cur = files;
	setrlimit(RLIMIT_NOFILE, &rl);
}
