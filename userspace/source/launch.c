// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/lib/log.h"

/* How far the child came: sent to the parent with the error that stopped it. */
enum stage {
	STAGE_READY,
	STAGE_FIND,
	STAGE_CALLER,
	STAGE_DIR,
	STAGE_OTHER,
	STAGE_EXEC,
};

struct report {
	enum stage stage;
	int err;
};

struct launch {
	pid_t pid;
	int go_fd;     /* a socket: a byte lets the child go, its closing ends it */
	int report_fd; /* reports; closed by a successful exec */
	char *name;
	bool gone; /* the child was let go or waited for */
};

static void __attribute__((noreturn)) give_up(int fd, enum stage stage, int err)
{
	struct report r = {.stage = stage, .err = err};

	if (write(fd, &r, sizeof(r)) != sizeof(r))
		_exit(126);
	_exit(127);
}

/* 0 when @path is a file that we may run. */
static int may_run(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return access(path, X_OK) < 0 ? -errno : 0;
}

/*
 * Where execvp() would find @name: looked up before anything is attached, so that a target's
 * records do not begin with the search. A file that may not be run is told from none.
 */
static int find_program(const char *name, char *path, size_t size)
{
	const char *dirs = getenv("PATH"), *end;
	int err, worst = -ENOENT;
	size_t len;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/')) {
		if ((size_t)snprintf(path, size, "%s", name) >= size)
			return -ENAMETOOLONG;
		return may_run(path);
	}
	for (dirs = dirs ? dirs : _PATH_DEFPATH; dirs; dirs = *end ? end + 1 : NULL) {
		end = strchrnul(dirs, ':');
		len = end - dirs;
		if ((size_t)snprintf(path, size, "%.*s%s%s", (int)len, dirs, len ? "/" : "./",
				     name) >= size)
			continue;
		err = may_run(path);
		if (!err)
			return 0;
		if (err == -EACCES)
			worst = err;
	}
	return worst;
}

/* A script without a first line that names its interpreter is the shell's, as in execvp(). */
static void exec_script(const char *path, char *const *argv)
{
	size_t n = 0;
	char **args;

	while (argv[n])
		n++;
	args = calloc(n + 2, sizeof(*args));
	if (!args)
		return;
	args[0] = (char *)_PATH_BSHELL;
	args[1] = (char *)path;
	if (n > 1)
		memcpy(args + 2, argv + 1, (n - 1) * sizeof(*args));
	execv(_PATH_BSHELL, args);
}

static void set_env(const struct launch_opts *o)
{
	const char *const *e;

	if (o->caller)
		caller__set_env(o->caller);
	for (e = o->env; e && *e; e++)
		putenv((char *)*e);
}

static void reset_signals(const sigset_t *mask)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	int sig;

	/* what our parent ignores (nohup) stays ignored, what we handle does not */
	for (sig = 1; sig < NSIG; sig++) {
		struct sigaction now;

		if (sigaction(sig, NULL, &now) == 0 && now.sa_handler != SIG_IGN &&
		    now.sa_handler != SIG_DFL)
			sigaction(sig, &dfl, NULL);
	}
	caller__restore_signals();
	caller__restore_files();
	if (mask)
		sigprocmask(SIG_SETMASK, mask, NULL);
}

static void __attribute__((noreturn)) run_child(const struct launch_opts *o, int go, int report)
{
	struct report ready = {.stage = STAGE_READY};
	char path[PATH_MAX], byte;
	ssize_t n;
	int err;

	reset_signals(o->mask);
	if (o->group && setpgid(0, 0) < 0)
		give_up(report, STAGE_OTHER, errno);
	if (o->out_fd >= 0 && dup2(o->out_fd, STDOUT_FILENO) < 0)
		give_up(report, STAGE_OTHER, errno);
	if (o->err_fd >= 0 && dup2(o->err_fd, STDERR_FILENO) < 0)
		give_up(report, STAGE_OTHER, errno);
	if (o->caller) {
		err = caller__become(o->caller, true);
		if (err)
			give_up(report, STAGE_CALLER, -err);
	}
	if (o->dir && chdir(o->dir) < 0)
		give_up(report, STAGE_DIR, errno);
	set_env(o);
	err = find_program(o->argv[0], path, sizeof(path));
	if (err)
		give_up(report, STAGE_FIND, -err);
	if (write(report, &ready, sizeof(ready)) != sizeof(ready))
		_exit(126);
	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(127); /* the recorder gave up */
	execv(path, o->argv);
	if (errno == ENOEXEC) {
		exec_script(path, o->argv);
		errno = ENOEXEC;
	}
	give_up(report, STAGE_EXEC, errno);
}

static void print_report(const struct launch_opts *o, const char *name, const struct report *r)
{
	switch (r->stage) {
	case STAGE_CALLER:
		log_error("cannot run '%s' as user %u: %s (--as-root runs it as root)", name,
			  o->caller->uid, log__err(r->err));
		break;
	case STAGE_DIR:
		log_error("cannot run '%s' in '%s': %s", name, o->dir, log__err(r->err));
		break;
	case STAGE_FIND:
		if (r->err == ENOENT && !strchr(name, '/')) {
			log_error("cannot run '%s': no such program in PATH", name);
			break;
		}
		/* fall through */
	default:
		log_error("cannot run '%s': %s", name, log__err(r->err));
	}
}

/* 1: @r holds the child's report; 0: the pipe was closed; -errno */
static int read_report(int fd, struct report *r)
{
	ssize_t n;

	do
		n = read(fd, r, sizeof(*r));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == sizeof(*r);
}

static void wait_gone(struct launch *l)
{
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	l->gone = true;
}

static int start_child(struct launch *l, const struct launch_opts *o)
{
	int go[2] = {-1, -1}, report[2] = {-1, -1}, err = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0 ||
	    pipe2(report, O_CLOEXEC) < 0) {
		err = -errno;
		goto out;
	}
	l->pid = fork();
	if (l->pid < 0) {
		err = -errno;
		goto out;
	}
	if (l->pid == 0) {
		close(go[1]);
		run_child(o, go[0], report[1]);
	}
	l->gone = false;
	l->go_fd = go[1];
	l->report_fd = report[0];
	go[1] = report[0] = -1;
out:
	if (err)
		log_error("cannot run '%s': %s", o->argv[0], log__err(err));
	if (go[0] >= 0)
		close(go[0]);
	if (go[1] >= 0)
		close(go[1]);
	if (report[0] >= 0)
		close(report[0]);
	if (report[1] >= 0)
		close(report[1]);
	return err;
}

struct launch *launch__new(const struct launch_opts *o)
{
	struct launch *l = calloc(1, sizeof(*l));
	struct report r = {0};
	int err;

	if (!l)
		return NULL;
	*l = (struct launch){.pid = -1, .go_fd = -1, .report_fd = -1, .gone = true};
	l->name = strdup(o->argv[0]);
	err = l->name ? start_child(l, o) : -ENOMEM;
	if (err)
		goto out;
	err = read_report(l->report_fd, &r);
	if (err == 1 && r.stage == STAGE_READY)
		return l;
	if (err == 1)
		print_report(o, l->name, &r);
	else
		log_error("cannot run '%s': its process ended early", l->name);
	err = err == 1 ? -r.err : -ECHILD;
	wait_gone(l);
out:
	launch__free(l);
	errno = -err;
	return NULL;
}

pid_t launch__pid(const struct launch *l)
{
	return l->pid;
}

int launch__exec(struct launch *l)
{
	struct report r = {0};
	int err;

	if (send(l->go_fd, "", 1, MSG_NOSIGNAL) != 1) {
		err = -errno;
		log_error("cannot run '%s': its process is gone", l->name);
		return err;
	}
	err = read_report(l->report_fd, &r);
	if (err == 0) {
		l->gone = true; /* it is the program now */
		return 0;
	}
	if (err == 1) {
		err = -r.err;
		log_error("cannot run '%s': %s", l->name, log__err(err));
	}
	wait_gone(l);
	return err;
}

void launch__free(struct launch *l)
{
	if (!l)
		return;
	if (!l->gone) {
		kill(l->pid, SIGKILL);
		wait_gone(l);
	}
	if (l->go_fd >= 0)
		close(l->go_fd);
	if (l->report_fd >= 0)
		close(l->report_fd);
	free(l->name);
	free(l);
}

char *launch__describe(int status, char *buf, size_t size)
{
	if (WIFEXITED(status))
		snprintf(buf, size, "exited with status %d", WEXITSTATUS(status));
	else if (WIFSIGNALED(status) && sigabbrev_np(WTERMSIG(status)))
		snprintf(buf, size, "was killed by SIG%s%s", sigabbrev_np(WTERMSIG(status)),
			 WCOREDUMP(status) ? " (core dumped)" : "");
	else
		snprintf(buf, size, "was killed by signal %d", WTERMSIG(status));
	return buf;
}

int launch__exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
