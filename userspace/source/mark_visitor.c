// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/mark_visitor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

_Static_assert(offsetof(struct mark_hello, abi) == offsetof(struct mark_excuse, abi),
	       "what it is and of which version is read before anything else");

static bool is_hello(const struct mark_hello *h)
{
	return h->slots >= 1 && h->slots <= MARK_SLOTS_MAX &&
	       h->ring_bytes >= MARK_RING_BYTES_MIN && h->ring_bytes <= MARK_RING_BYTES_MAX &&
	       !(h->ring_bytes & (h->ring_bytes - 1));
}

/* Take the descriptors of a message, however many there are; keep the first. */
static int take_fds(struct msghdr *msg)
{
	int kept = -1, fd;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i + sizeof(int) <= n; i += sizeof(int)) {
			memcpy(&fd, CMSG_DATA(c) + i, sizeof(fd));
			if (kept < 0)
				kept = fd;
			else
				close(fd);
		}
	}
	return kept;
}

/* The exact process where the kernel can say so, else whoever has its pid now. */
static int open_peer(int fd, pid_t pid)
{
	socklen_t len = sizeof(int);
	int pidfd;

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len))
		return pidfd;
	if (errno != ENOPROTOOPT)
		return -errno;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return pidfd < 0 ? -errno : pidfd;
}

int mark_visitor__receive(struct mark_visitor *v, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = {&v->hello, sizeof(v->hello)};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	socklen_t len = sizeof(v->cred);
	ssize_t n;

	*v = (struct mark_visitor){.memfd = -1, .pidfd = -1};
	n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EBADMSG;
	v->memfd = take_fds(&msg);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &v->cred, &len))
		return -EBADMSG;
	if (n < (ssize_t)offsetof(struct mark_hello, image) ||
	    (v->hello.magic != MARK_MAGIC && v->hello.magic != MARK_EXCUSE))
		return -EBADMSG;
	if (v->hello.abi != MARK_ABI)
		return -EPROTO;
	if (v->hello.magic == MARK_EXCUSE)
		return n == sizeof(v->excuse) ? 1 : -EBADMSG;
	if (n != sizeof(v->hello) || v->memfd < 0 || !is_hello(&v->hello))
		return -EBADMSG;
	if (v->cred.pid <= 0)
		return -ESRCH;
	v->pidfd = open_peer(fd, v->cred.pid);
	return 0;
}

bool mark_visitor__is_sound(const struct mark_visitor *v)
{
	struct statfs fs;
	struct stat st;
	int seals = fcntl(v->memfd, F_GET_SEALS);

	if (seals < 0 || (seals & MARK_SEALS) != MARK_SEALS)
		return false;
	if (fstatfs(v->memfd, &fs) || fs.f_type != TMPFS_MAGIC || fstat(v->memfd, &st))
		return false;
	return (uint64_t)st.st_size == mark_region__bytes(v->hello.slots, v->hello.ring_bytes);
}

void mark_visitor__end(struct mark_visitor *v)
{
	if (v->memfd >= 0)
		close(v->memfd);
	if (v->pidfd >= 0)
		close(v->pidfd);
}
