// SPDX-License-Identifier: BSD-2-Clause
/* Making a region and handing it to the recorder. */
#include "userspace/mark/region.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

size_t mark_region__threads_bytes(const struct mark_map *r)
{
	return r->slots * (sizeof(*r->threads) + MARK_KNOWN * sizeof(struct mark_known));
}

void *mark__wiped_memory(size_t bytes)
{
	void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	madvise(m, bytes, MADV_WIPEONFORK);
	return m;
}

int mark_region__connect(const struct mark_where *where)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	size_t n = strlen(where->address);
	int fd, err;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	memcpy(sa.sun_path + 1, where->address, n);
	do {
		err = connect(fd, (struct sockaddr *)&sa,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
	} while (err && errno == EINTR);
	if (err) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int mark_region__send(const struct mark_where *where, const struct msghdr *msg, size_t size)
{
	int fd = mark_region__connect(where);
	ssize_t n;

	if (fd < 0)
		return fd;
	do {
		n = sendmsg(fd, msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	n = n == (ssize_t)size ? 0 : n < 0 ? -errno : -EIO;
	close(fd);
	return (int)n;
}

static int send_hello(const struct mark_map *r, const struct mark_where *where, int memfd)
{
	struct mark_hello hello = {
		.magic = MARK_MAGIC,
		.abi = MARK_ABI,
		.image = mark__image(),
		.pid = (uint32_t)getpid(),
		.slots = r->slots,
		.ring_bytes = r->ring_bytes,
	};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec iov = {&hello, sizeof(hello)};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &memfd, sizeof(memfd));
	return mark_region__send(where, &msg, sizeof(hello));
}

/*
 * How large a file may be here: one byte more, and the kernel sends a signal. A region that is
 * too large for that, or for our address space, has fewer rings.
 */
static uint64_t file_limit(void)
{
	struct rlimit rl;

	return getrlimit(RLIMIT_FSIZE, &rl) || rl.rlim_cur == RLIM_INFINITY ? UINT64_MAX
									    : rl.rlim_cur;
}

static int map_file(struct mark_map *r, int fd)
{
	if (r->bytes > file_limit())
		return -EFBIG;
	if (ftruncate(fd, (off_t)r->bytes))
		return -errno;
	r->shm = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return r->shm == MAP_FAILED ? -errno : 0;
}

/*
 * Map the rings, of which a child sees nothing and a core dump has nothing. Returns a memfd that
 * the caller closes, or -errno.
 */
static int map_region(struct mark_map *r, const struct mark_where *where)
{
	int fd, err;

	fd = memfd_create("xpugap-mark", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	r->ring_bytes = where->ring_bytes;
	r->slots = where->slots;
	do {
		r->bytes = mark_region__bytes(r->slots, r->ring_bytes);
		err = map_file(r, fd);
	} while ((err == -EFBIG || err == -ENOMEM) && (r->slots /= 2));
	if (err) {
		close(fd);
		return err;
	}
	if (fcntl(fd, F_ADD_SEALS, MARK_SEALS) < 0 || madvise(r->shm, r->bytes, MADV_DONTFORK)) {
		err = -errno;
		munmap(r->shm, r->bytes);
		close(fd);
		return err;
	}
	madvise(r->shm, r->bytes, MADV_DONTDUMP);
	madvise(r->shm, r->bytes, MADV_NOHUGEPAGE); /* a ring is to cost what is used of it */
	return fd;
}

static void fill_threads(struct mark_map *r)
{
	struct mark_known *known = (struct mark_known *)(r->threads + r->slots);
	unsigned char *data = (unsigned char *)r->shm + mark_region__data(r->slots);

	for (uint32_t i = 0; i < r->slots; i++) {
		r->threads[i].ring = &r->shm->ring[i];
		r->threads[i].data = data + i * r->ring_bytes;
		r->threads[i].bytes = r->ring_bytes;
		r->threads[i].known = known + (size_t)i * MARK_KNOWN;
	}
}

int mark_region__new(struct mark_map *r, const struct mark_where *where)
{
	int fd, err;

	fd = map_region(r, where);
	if (fd < 0)
		return fd;
	r->threads = mark__wiped_memory(mark_region__threads_bytes(r));
	err = r->threads ? send_hello(r, where, fd) : -ENOMEM;
	close(fd);
	if (err) {
		munmap(r->shm, r->bytes);
		if (r->threads)
			munmap(r->threads, mark_region__threads_bytes(r));
		return err;
	}
	fill_threads(r);
	return 0;
}
