// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define INPUT_BYTES (256u << 10)
#define PIPE_BYTES  (64u << 10) /* a pipe holds no more */
#define LEAST_BYTES 4096
#define FOLLOW_NS   50000000
#define CHECK_BYTES 64
#define INPUT_PAD   8 /* decoders may read, but not use, that much past what they got */

int input__init(struct input *in, int fd)
{
	struct stat st;
	off_t at;

	memset(in, 0, sizeof(*in));
	in->fd = fd;
	if (fstat(fd, &st))
		return -errno;
	at = lseek(fd, 0, SEEK_CUR);
	if (S_ISREG(st.st_mode) && at == 0) {
		in->seekable = true;
		in->size = (uint64_t)st.st_size;
	}
	in->cap = in->seekable ? INPUT_BYTES : PIPE_BYTES;
	if (in->seekable && in->size < in->cap)
		in->cap = in->size > LEAST_BYTES ? in->size : LEAST_BYTES;
	in->buf = malloc(in->cap + INPUT_PAD);
	return in->buf ? 0 : -ENOMEM;
}

void input__destroy(struct input *in)
{
	free(in->buf);
	in->buf = NULL;
}

static int make_space(struct input *in, size_t n)
{
	uint8_t *buf;

	if (in->from) {
		memmove(in->buf, in->buf + in->from, in->to - in->from);
		in->to -= in->from;
		in->from = 0;
	}
	if (n <= in->cap)
		return 0;
	buf = realloc(in->buf, n + INPUT_PAD);
	if (!buf)
		return -ENOMEM;
	in->buf = buf;
	in->cap = n;
	return 0;
}

/* Something may be waiting for what was read so far. */
static void be_idle(struct input *in)
{
	struct pollfd pfd = {.fd = in->fd, .events = POLLIN};

	if (in->idle && !in->seekable && poll(&pfd, 1, 0) == 0)
		in->idle(in->idle_arg);
}

static void wait_for_more(struct input *in)
{
	const struct timespec t = {.tv_nsec = FOLLOW_NS};

	if (in->idle)
		in->idle(in->idle_arg);
	nanosleep(&t, NULL);
}

/*
 * A writer whose disk is full cuts its file back, and writes less there than there was. Then the
 * file ends before what we have, or has something else where that was.
 */
static bool was_cut_back(struct input *in)
{
	size_t n = in->to - in->from < CHECK_BYTES ? in->to - in->from : CHECK_BYTES;
	uint64_t end = in->offset + (in->to - in->from);
	uint8_t now[CHECK_BYTES];
	struct stat st;

	if (fstat(in->fd, &st) || (uint64_t)st.st_size < end)
		return true;
	return n && (pread(in->fd, now, n, (off_t)(end - n)) != (ssize_t)n ||
		     memcmp(now, in->buf + in->to - n, n) != 0);
}

static ssize_t read_some(struct input *in)
{
	struct pollfd pfd = {.fd = in->fd, .events = POLLIN};
	ssize_t n;

	be_idle(in);
	for (;;) {
		n = read(in->fd, in->buf + in->to, in->cap - in->to);
		if (n > 0 || (n == 0 && !(in->follow && in->seekable)))
			return n;
		in->shrunk = n == 0 && was_cut_back(in);
		if (in->shrunk)
			return 0;
		if (n == 0)
			wait_for_more(in);
		else if (errno == EAGAIN)
			poll(&pfd, 1, -1);
		else if (errno != EINTR)
			return -errno;
	}
}

bool input__need(struct input *in, size_t n)
{
	ssize_t got;
	int err;

	if (n <= in->to - in->from)
		return true;
	err = in->eof ? 0 : make_space(in, n);
	while (!err && !in->eof && in->to - in->from < n) {
		got = read_some(in);
		if (got < 0)
			err = (int)got;
		else if (got == 0)
			in->eof = true;
		else
			in->to += (size_t)got;
	}
	if (err) {
		in->err = err;
		in->eof = true;
	}
	return in->to - in->from >= n;
}

void input__take(struct input *in, size_t n)
{
	in->from += n;
	in->offset += n;
}

void input__skip(struct input *in, uint64_t n)
{
	size_t here = in->to - in->from;

	if (n > here && in->seekable && in->offset + n <= in->size &&
	    input__seek(in, in->offset + n) == 0)
		return;
	while (n) {
		if (!input__need(in, 1))
			return;
		here = in->to - in->from;
		here = n < here ? (size_t)n : here;
		input__take(in, here);
		n -= here;
	}
}

int input__seek(struct input *in, uint64_t offset)
{
	if (lseek(in->fd, (off_t)offset, SEEK_SET) < 0)
		return -errno;
	in->from = in->to = 0;
	in->offset = offset;
	in->eof = in->shrunk = false;
	return 0;
}
