// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "userspace/lib/caller.h"

#define STALL_MS 100

struct sink {
	int fd;
	off_t start;	/* of our bytes in the file; -1: not a regular file */
	off_t old_size; /* of the file before we wrote */
	off_t at;	/* where the next byte goes */
	off_t reached;	/* how far we ever wrote, if the file still reaches there */
	bool appends;
	bool sync;
	bool piped;
	bool (*give_up)(void *arg);
	void *arg;
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool wanted; /* under lock, like the rest */
	bool ending;
	bool last; /* make all durable once more, at the end */
	bool ended;
	int sync_err;
};

static int make_durable(int fd)
{
	/* EINVAL, EROFS: not something that could be made durable */
	if (fdatasync(fd) == 0 || errno == EINVAL || errno == EROFS)
		return 0;
	return -errno;
}

/* Under lock, which is given up meanwhile. */
static void sync_now(struct sink *s)
{
	int err;

	s->wanted = false;
	pthread_mutex_unlock(&s->lock);
	err = make_durable(s->fd);
	pthread_mutex_lock(&s->lock);
	if (err && !s->sync_err)
		s->sync_err = err;
}

static void *sync_thread(void *arg)
{
	struct sink *s = arg;

	caller__drop_caps();
	pthread_mutex_lock(&s->lock);
	while (!s->ending) {
		if (s->wanted)
			sync_now(s);
		else
			pthread_cond_wait(&s->wake, &s->lock);
	}
	if (s->last)
		sync_now(s);
	s->ended = true;
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* The helper must not take signals that are meant for the program. */
static int start_thread(struct sink *s)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&s->thread, NULL, sync_thread, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	s->has_thread = !err;
	return -err;
}

struct sink *sink__new(int fd, bool sync)
{
	struct sink *s = calloc(1, sizeof(*s));
	struct stat st;
	int err = 0;

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	s->fd = fd;
	s->start = -1;
	if (fstat(fd, &st)) {
		err = -errno;
		goto out;
	}
	if (S_ISREG(st.st_mode)) {
		/* each write goes to the end, wherever the descriptor stands */
		s->appends = fcntl(fd, F_GETFL) & O_APPEND;
		s->start = s->appends ? st.st_size : lseek(fd, 0, SEEK_CUR);
		s->old_size = st.st_size;
		s->at = s->reached = s->start;
	}
	s->sync = sync && S_ISREG(st.st_mode);
	s->piped = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
out:
	if (!err)
		return s;
	sink__free(s);
	errno = -err;
	return NULL;
}

void sink__on_stall(struct sink *s, bool (*give_up)(void *arg), void *arg)
{
	s->give_up = give_up;
	s->arg = arg;
}

static void end_thread(struct sink *s)
{
	if (!s->has_thread)
		return;
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->has_thread = false;
}

void sink__free(struct sink *s)
{
	if (!s)
		return;
	end_thread(s);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Wait until @s, a pipe, takes something. */
static int wait_for_room(struct sink *s)
{
	struct pollfd pfd = {.fd = s->fd, .events = POLLOUT};

	while (poll(&pfd, 1, STALL_MS) <= 0)
		if (s->give_up(s->arg))
			return -ECANCELED;
	return 0;
}

static int write_all(struct sink *s, const uint8_t *p, size_t size, size_t *done)
{
	struct pollfd pfd = {.fd = s->fd, .events = POLLOUT};
	bool wait = s->piped && s->give_up;
	size_t part;
	ssize_t n;

	for (*done = 0; *done < size;) {
		if (wait && wait_for_room(s))
			return -ECANCELED;
		/* so much room there is where poll() says that there is some */
		part = wait && size - *done > PIPE_BUF ? PIPE_BUF : size - *done;
		n = write(s->fd, p + *done, part);
		if (n > 0)
			*done += (size_t)n;
		else if (n == 0)
			return -ENOSPC;
		else if (errno == EAGAIN)
			poll(&pfd, 1, -1);
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int sink__write(struct sink *s, const void *data, size_t size, size_t *done)
{
	const struct timespec now = {0};
	sigset_t set, old, pending;
	int err;

	/* a closed pipe or a limit on file size is an answer here, not a signal */
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	err = write_all(s, data, size, done);
	s->at += (off_t)*done;
	if (s->reached < s->at)
		s->reached = s->at;
	if (err == -EPIPE && !sigismember(&pending, SIGPIPE)) {
		sigdelset(&set, SIGXFSZ);
		sigtimedwait(&set, NULL, &now);
	} else if (err == -EFBIG && !sigismember(&pending, SIGXFSZ)) {
		sigdelset(&set, SIGPIPE);
		sigtimedwait(&set, NULL, &now);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

void sink__sync(struct sink *s)
{
	/* made when it is first needed: by then the program has given up the rights it began with,
	 * which a thread would keep */
	if (!s->sync || (!s->has_thread && start_thread(s)))
		return;
	pthread_mutex_lock(&s->lock);
	s->wanted = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

int sink__rewind(struct sink *s, uint64_t size)
{
	off_t end = s->start + (off_t)size;
	struct stat st;

	if (s->start < 0)
		return -ESPIPE;
	if (fstat(s->fd, &st))
		return -errno;
	/* what others appended meanwhile is not ours to cut off */
	if (s->appends && st.st_size != s->reached)
		return -ESPIPE;
	/* nor is what lay in the file behind all that we have written over */
	if ((s->reached >= s->old_size && ftruncate(s->fd, end)) || lseek(s->fd, end, SEEK_SET) < 0)
		return -errno;
	s->at = end;
	if (s->reached >= s->old_size)
		s->reached = end;
	return 0;
}

void sink__end(struct sink *s)
{
	if (!s->sync || (!s->has_thread && start_thread(s))) {
		s->ended = true;
		return;
	}
	pthread_mutex_lock(&s->lock);
	s->last = s->ending = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

bool sink__has_ended(struct sink *s)
{
	bool ended;

	pthread_mutex_lock(&s->lock);
	ended = s->ended;
	pthread_mutex_unlock(&s->lock);
	return ended;
}

int sink__finish(struct sink *s)
{
	bool sync = s->sync;
	int err = 0;

	end_thread(s);
	if (sync && !s->last)
		err = make_durable(s->fd);
	return s->sync_err ? s->sync_err : err;
}
