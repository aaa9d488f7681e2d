// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that writes anything into its mark region: what the hub makes of it are records that
 * hold good, in order of time, and nothing else happens.
 *
 * Input: struct input, then the bytes of its only ring; what is beyond the ring's size goes over
 * its beginning in a second sweep, which is as much later as there are bytes.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/mark/abi.h"
#include "userspace/source/mark_hub.h"
#include "userspace/trace/records.h"

#define RING MARK_RING_BYTES_MIN

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t last_ns;

static int check(void *arg, const struct rec *rec)
{
	const struct record_desc *desc = record__find(rec->type);

	if (!desc || rec->size > 4096 || record__check(rec) || rec->size < desc->size)
		abort();
	if (rec->type == REC_LOST)
		return 0;
	if (desc->hook != REC_HOOK_MARK || rec->time_ns < last_ns || rec->time_ns > mark_hub__now())
		abort();
	last_ns = rec->time_ns;
	return 0;
}

static void send_hello(const char *address, int memfd)
{
	struct mark_hello hello = {.magic = MARK_MAGIC,
				   .abi = MARK_ABI,
				   .pid = (uint32_t)getpid(),
				   .slots = 1,
				   .ring_bytes = RING};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS,
			      .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct iovec iov = {&hello, sizeof(hello)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	size_t n = strcspn(address + 1, ";");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	memcpy(sa.sun_path + 1, address + 1, n);
	memcpy(CMSG_DATA(&control.head), &memfd, sizeof(memfd));
	if (connect(fd, (struct sockaddr *)&sa,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) ||
	    sendmsg(fd, &msg, 0) != sizeof(hello))
		abort();
	close(fd);
}

static struct mark_region *attach(struct mark_hub *h)
{
	size_t bytes = mark_region__bytes(1, RING);
	int memfd = memfd_create("fuzz", MFD_ALLOW_SEALING);
	struct mark_region *r;

	if (ftruncate(memfd, (off_t)bytes) || fcntl(memfd, F_ADD_SEALS, MARK_SEALS))
		abort();
	r = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	send_hello(mark_hub__address(h), memfd);
	close(memfd);
	return r;
}

struct input {
	uint32_t used;	/* rings, as it says */
	uint32_t flags; /* 1: scribble over the recorder's position too */
	uint64_t head;
	uint64_t lost;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mark_hub_opts opts = {.slots = 1, .ring_bytes = RING};
	struct mark_region *r;
	struct mark_hub *h;
	struct input in;

	if (size < sizeof(in) || size > sizeof(in) + 2 * RING)
		return 0;
	log__set_level(LOG_ERROR);
	memcpy(&in, data, sizeof(in));
	data += sizeof(in);
	size -= sizeof(in);
	h = mark_hub__new(&opts);
	r = attach(h);
	last_ns = 0;
	for (uint64_t at = 0; at < size || !at;) {
		size_t n = size - at < RING ? size - at : RING;

		memcpy((char *)r + mark_region__data(1), data + at, n);
		r->used = in.used;
		r->lost = in.lost;
		r->ring[0].lost = in.lost * 3;
		r->ring[0].head = in.head + at;
		if (in.flags & 1)
			r->ring[0].tail = in.head;
		if (mark_hub__poll(h, check, NULL) < 0)
			abort();
		at += n ? n : 1;
	}
	mark_hub__stop(h);
	if (mark_hub__poll(h, check, NULL) < 0)
		abort();
	mark_hub__free(h);
	munmap(r, mark_region__bytes(1, RING));
	return 0;
}
