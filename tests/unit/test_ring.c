// SPDX-License-Identifier: BSD-2-Clause
/* The reader's end of a BPF ring, on memory laid out as the kernel's ringbuf.c does. */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace/source/ring.h"

#define BYTES 4096UL

static struct ring ring;
static unsigned long consumer, producer;
static int memory = -1;

/* the data area twice in a row, as the kernel maps it */
static void make(void)
{
	uint8_t *p;

	memory = memfd_create("ring", MFD_CLOEXEC);
	cr_assert(memory >= 0 && ftruncate(memory, BYTES) == 0);
	p = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(p != MAP_FAILED);
	cr_assert(mmap(p, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) == p);
	cr_assert(mmap(p + BYTES, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory,
		       0) == p + BYTES);
	consumer = producer = 0;
	ring = (struct ring){.consumer = &consumer,
			     .producer = &producer,
			     .data = p,
			     .bytes = BYTES};
}

/* Reserve @len bytes with @flags in their length; returns the record's place. */
static void *reserve(uint32_t len, uint32_t flags)
{
	uint8_t *head = (uint8_t *)ring.data + (producer & (BYTES - 1));
	uint32_t word = len | flags;

	memcpy(head, &word, sizeof(word));
	__atomic_store_n(&producer, producer + ((len + 8 + 7) & ~7UL), __ATOMIC_RELEASE);
	return head + 8;
}

static void put(uint64_t time_ns, uint32_t len, uint32_t flags)
{
	struct rec *rec = reserve(len, flags);

	*rec = (struct rec){.type = REC_IOCTL, .size = len, .time_ns = time_ns};
}

static void commit(void *rec)
{
	__atomic_fetch_and((uint32_t *)((uint8_t *)rec - 8), ~BPF_RINGBUF_BUSY_BIT,
			   __ATOMIC_RELEASE);
}

Test(ring, walks_in_order_and_gives_back, .init = make)
{
	unsigned long end;
	const struct rec *rec;
	uint64_t i;

	for (i = 1; i <= 10; i++)
		put(i, 64, 0);
	end = ring__begin(&ring);
	for (i = 1; i <= 10; i++) {
		rec = ring__next(&ring, end);
		cr_assert(rec);
		cr_assert_eq(rec->time_ns, i);
	}
	cr_assert_null(ring__next(&ring, end));
	cr_assert(!ring.busy);
	cr_assert_eq(consumer, 0, "given back before it was released");
	ring__release(&ring);
	cr_assert_eq(consumer, producer);
}

Test(ring, records_that_wrap_are_whole, .init = make)
{
	const struct rec *rec;
	uint64_t n;

	for (n = 0; n < 1000; n++) { /* 1000 x 72 bytes: 17 times around, every remainder */
		put(n, 64, 0);
		rec = ring__next(&ring, ring__begin(&ring));
		cr_assert(rec);
		cr_assert_eq(rec->time_ns, n);
		cr_assert_eq(rec->size, 64);
		ring__release(&ring);
	}
	cr_assert_eq(consumer, 1000 * 72);
}

Test(ring, stops_before_one_that_is_filled, .init = make)
{
	unsigned long end;
	struct rec *late;

	put(1, 64, 0);
	late = reserve(64, BPF_RINGBUF_BUSY_BIT);
	put(3, 64, 0);
	end = ring__begin(&ring);
	cr_assert_eq(ring__next(&ring, end)->time_ns, 1);
	cr_assert_null(ring__next(&ring, end));
	cr_assert(ring.busy);
	ring__release(&ring);
	cr_assert_eq(consumer, 72);
	*late = (struct rec){.type = REC_IOCTL, .size = 64, .time_ns = 2};
	commit(late);
	end = ring__begin(&ring);
	cr_assert(!ring.busy);
	cr_assert_eq(ring__next(&ring, end)->time_ns, 2);
	cr_assert_eq(ring__next(&ring, end)->time_ns, 3);
}

Test(ring, passes_over_discarded, .init = make)
{
	unsigned long end;

	put(1, 64, BPF_RINGBUF_DISCARD_BIT);
	put(2, 24, 0);
	put(3, 40, BPF_RINGBUF_DISCARD_BIT);
	end = ring__begin(&ring);
	cr_assert_eq(ring__next(&ring, end)->time_ns, 2);
	cr_assert_null(ring__next(&ring, end));
	cr_assert(!ring.busy);
	ring__release(&ring);
	cr_assert_eq(consumer, producer);
}

Test(ring, does_not_pass_the_end_it_was_told, .init = make)
{
	unsigned long end;

	put(1, 64, 0);
	end = ring__begin(&ring);
	put(2, 64, 0);
	cr_assert_eq(ring__next(&ring, end)->time_ns, 1);
	cr_assert_null(ring__next(&ring, end));
}

static void *produce(void *arg)
{
	uint64_t n, *count = arg;

	for (n = 1; n <= *count; n++) {
		struct rec *rec;

		while (producer + 72 - __atomic_load_n(&consumer, __ATOMIC_ACQUIRE) > BYTES)
			;
		rec = reserve(64, BPF_RINGBUF_BUSY_BIT);
		*rec = (struct rec){.type = REC_IOCTL, .size = 64, .time_ns = n};
		commit(rec);
	}
	return NULL;
}

Test(ring, keeps_up_with_another_thread, .init = make)
{
	uint64_t count = 200000, seen = 0;
	const struct rec *rec;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, produce, &count), 0);
	while (seen < count) {
		unsigned long end = ring__begin(&ring);

		while ((rec = ring__next(&ring, end)))
			cr_assert_eq(rec->time_ns, ++seen);
		ring__release(&ring);
	}
	pthread_join(thread, NULL);
}

Test(ring, sizes_fit_the_budget)
{
	size_t page = sysconf(_SC_PAGESIZE);

	cr_assert_eq(ring__size(0, 2), 16UL << 20, "2 cpus: the largest ring");
	cr_assert_eq(ring__size(0, 64), 1UL << 20);
	cr_assert_eq(ring__size(0, 256), 256UL << 10);
	cr_assert_eq(ring__size(8 << 20, 2), 4UL << 20);
	cr_assert_eq(ring__size((8 << 20) - 1, 2), 2UL << 20, "both must fit");
	cr_assert_eq(ring__size(1, 256), page, "never less than a page");
	cr_assert_eq(ring__size(1ULL << 40, 1), 16UL << 20, "never more than is of use");
}
