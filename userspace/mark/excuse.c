// SPDX-License-Identifier: BSD-2-Clause
/* What a process that cannot have rings tells its recorder, so that it does not look as if it had
 * marked nothing. */
#include "userspace/mark/region.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES (64U << 10)
#define FEW_FILES   64U /* that one who may raise its limits asks for */

struct errand {
	const struct mark_where *where;
	const struct mark_excuse *excuse;
	bool own_files;
	int err;
};

static int send_it(const struct errand *e)
{
	struct iovec iov = {(void *)(uintptr_t)e->excuse, sizeof(*e->excuse)};
	const struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	return mark_region__send(e->where, &msg, sizeof(*e->excuse));
}

/*
 * In a process of its own, whose limits are copies: it may use what the hard limit allows; and, if
 * its descriptors are copies too, close one for the socket's sake.
 */
static int run_errand(void *arg)
{
	const struct rlimit few = {FEW_FILES, FEW_FILES};
	struct errand *e = arg;
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl))
		return 1;
	if (rl.rlim_max < FEW_FILES && !setrlimit(RLIMIT_NOFILE, &few))
		rl = few;
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	e->err = send_it(e);
	if (e->own_files && e->err == -EMFILE && !close((int)rl.rlim_cur - 1))
		e->err = send_it(e);
	return 0;
}

/*
 * As posix_spawn() does it: in our memory, while we wait, with no signal in between. Whoever has
 * copies of our descriptors closes them as it ends, which may take a file system of another machine
 * its time.
 */
static int send_by_another(struct errand *e)
{
	const int share = CLONE_VM | CLONE_VFORK | (e->own_files ? 0 : CLONE_FILES);
	const int flags = PROT_READ | PROT_WRITE;
	sigset_t all, before;
	char *stack;
	pid_t pid;

	stack = mmap(NULL, STACK_BYTES, flags, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* without SIGCHLD at its end, so that a program that waits for its children does not see it
	 */
	pid = clone(run_errand, stack + STACK_BYTES, share, e);
	if (pid < 0)
		e->err = -errno;
	while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(stack, STACK_BYTES);
	return e->err;
}

int mark_excuse__send(const struct mark_where *where, const struct mark_excuse *excuse)
{
	struct errand e = {.where = where, .excuse = excuse, .err = -EMFILE};
	int err = send_it(&e);

	if (err == -EMFILE)
		err = send_by_another(&e);
	e.own_files = true;
	return err == -EMFILE ? send_by_another(&e) : err;
}
