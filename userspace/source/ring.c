// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEFAULT_BUDGET (64ULL << 20)
#define MAX_RING       (16ULL << 20)

int ring__map(struct ring *r, int map_fd, size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *own, *theirs;

	*r = (struct ring){0};
	own = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (own == MAP_FAILED)
		return -errno;
	theirs = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, map_fd, page);
	if (theirs == MAP_FAILED) {
		int err = -errno;

		munmap(own, page);
		return err;
	}
	r->consumer = own;
	r->producer = theirs;
	r->data = (const uint8_t *)theirs + page;
	r->bytes = bytes;
	r->pos = *r->consumer;
	return 0;
}

void ring__unmap(struct ring *r)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (!r->consumer)
		return;
	munmap(r->consumer, page);
	munmap((void *)r->producer, page + 2 * r->bytes);
	*r = (struct ring){0};
}

const struct rec *ring__next(struct ring *r, unsigned long end)
{
	const uint32_t *head;
	uint32_t len;

	while (r->pos < end) {
		head = (const uint32_t *)(r->data + (r->pos & (r->bytes - 1)));
		len = __atomic_load_n(head, __ATOMIC_ACQUIRE);
		if (len & RING_BUSY) {
			r->busy = true;
			return NULL;
		}
		r->pos += ((len & ~BPF_RINGBUF_DISCARD_BIT) + BPF_RINGBUF_HDR_SZ + 7) & ~7UL;
		if (!(len & BPF_RINGBUF_DISCARD_BIT))
			return (const struct rec *)(head + BPF_RINGBUF_HDR_SZ / sizeof(*head));
	}
	return NULL;
}

size_t ring__size(uint64_t budget, unsigned int ncpus)
{
	size_t page = sysconf(_SC_PAGESIZE), bytes = page;
	uint64_t share = (budget ? budget : DEFAULT_BUDGET) / (ncpus ? ncpus : 1);

	while (bytes * 2 <= share && bytes * 2 <= MAX_RING)
		bytes *= 2;
	return bytes;
}
