/* SPDX-License-Identifier: BSD-2-Clause */
/* Who called: the user behind sudo, and the rights to give up for him. */
#ifndef XPUGAP_LIB_CALLER_H
#define XPUGAP_LIB_CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct caller {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary groups */
	size_t ngroups;
	char *name; /* login name, home directory and shell; NULL where there is no such user */
	char *home;
	char *shell;
	bool sudo; /* not who we are: root, called through sudo */
};

/*
 * Who called: the user of SUDO_UID and SUDO_GID with the groups that the system gives him when
 * we are root and those are set, else ourselves. @as_root: ourselves in any case.
 * 0 or -errno (printed: SUDO_UID is no number). Release with caller__free().
 */
int caller__get(struct caller *c, bool as_root);
void caller__free(struct caller *c);

/*
 * Become the caller for good: groups, gid, uid, no capabilities, no way back. Also correct for a
 * caller that is ourselves: capabilities alone are dropped unless @keep_caps. Safe after fork().
 * 0 or -errno, nothing printed.
 */
int caller__become(const struct caller *c, bool keep_caps);

/*
 * Drop the capabilities of the calling thread, which caller__become() of another does not reach: it
 * has to do with what is open already only. 0 or -errno, nothing printed.
 */
int caller__drop_caps(void);

/*
 * Where we are called through sudo: HOME, USER, LOGNAME and SHELL as the caller's own. Programs
 * that run as him would else look for root's files.
 */
void caller__set_env(const struct caller *c);

/*
 * Callers may ignore SIGCHLD: then we do, too, and are never told how children end. From now on we
 * are; what is started for the caller calls caller__restore_signals() before it becomes another
 * program, and has the disposition that he gave us.
 */
void caller__wait_for_children(void);
void caller__restore_signals(void);

/*
 * Hooks take a descriptor for each program, map and cpu: from now on we may have as many files as
 * the hard limit says. What is started for the caller calls caller__restore_files() before it
 * becomes another program, and has the limit that he gave us.
 */
void caller__raise_files(void);
void caller__restore_files(void);

/*
 * Use files as the caller (fsuid, fsgid, groups) until the next call with NULL. 0 or -errno, with
 * nothing changed and nothing printed. While other threads run, they do so, too.
 */
int caller__files_as(const struct caller *c);

#endif
