/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For programs that make requests through io_uring: a ring by the kernel's own interface, so that
 * what is submitted and what comes back are this program's alone to count.
 */
#ifndef XPUGAP_TESTS_URING_H
#define XPUGAP_TESTS_URING_H

#include <errno.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct uring {
	int fd;
	uint32_t flags;	   /* of io_uring_setup() */
	uint32_t todo;	   /* entries that are filled and not submitted */
	uint32_t sq_tail;  /* behind them */
	uint32_t sq_sizes; /* entries of the queue */
	uint32_t *sq_head_at, *sq_tail_at, *sq_flags_at, *sq_array;
	uint32_t *cq_head_at, *cq_tail_at;
	uint32_t sq_mask, cq_mask, cq_entries;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	char *queues;
	size_t queues_bytes, sqes_bytes;
};

static inline int uring__enter(struct uring *r, uint32_t submit, uint32_t wait, uint32_t flags)
{
	long n;

	do {
		n = syscall(SYS_io_uring_enter, r->fd, submit, wait, flags, NULL, 0);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}

static inline void *uring__map(const struct uring *r, size_t bytes, off_t what)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, what);
}

static inline int uring__map_queues(struct uring *r, const struct io_uring_params *p)
{
	size_t sq = p->sq_off.array + p->sq_entries * sizeof(uint32_t);
	size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);

	r->queues_bytes = sq > cq ? sq : cq; /* one mapping has both, since 5.4 */
	r->sqes_bytes = p->sq_entries * sizeof(struct io_uring_sqe);
	r->queues = uring__map(r, r->queues_bytes, IORING_OFF_SQ_RING);
	r->sqes = uring__map(r, r->sqes_bytes, IORING_OFF_SQES);
	if (r->queues == MAP_FAILED || (void *)r->sqes == MAP_FAILED)
		return -ENOMEM;
	r->sq_head_at = (uint32_t *)(r->queues + p->sq_off.head);
	r->sq_tail_at = (uint32_t *)(r->queues + p->sq_off.tail);
	r->sq_flags_at = (uint32_t *)(r->queues + p->sq_off.flags);
	r->sq_array = (uint32_t *)(r->queues + p->sq_off.array);
	r->cq_head_at = (uint32_t *)(r->queues + p->cq_off.head);
	r->cq_tail_at = (uint32_t *)(r->queues + p->cq_off.tail);
	r->cqes = (struct io_uring_cqe *)(r->queues + p->cq_off.cqes);
	return 0;
}

/* 0 or -errno. @cq_entries: 0 for twice @entries. */
static inline int uring__open(struct uring *r, uint32_t entries, uint32_t flags,
			      uint32_t cq_entries)
{
	struct io_uring_params p = {.flags = flags, .sq_thread_idle = 100};
	int err;

	memset(r, 0, sizeof(*r));
	if (cq_entries) {
		p.flags |= IORING_SETUP_CQSIZE;
		p.cq_entries = cq_entries;
	}
	r->fd = (int)syscall(SYS_io_uring_setup, entries, &p);
	if (r->fd < 0)
		return errno ? -errno : -EIO;
	r->flags = flags;
	r->sq_sizes = p.sq_entries;
	r->sq_mask = p.sq_entries - 1;
	r->cq_entries = p.cq_entries;
	r->cq_mask = p.cq_entries - 1;
	err = uring__map_queues(r, &p);
	if (err)
		close(r->fd);
	return err;
}

static inline void uring__close(struct uring *r)
{
	munmap(r->queues, r->queues_bytes);
	munmap(r->sqes, r->sqes_bytes);
	close(r->fd);
}

/* The next entry, empty; NULL: the queue is full. */
static inline struct io_uring_sqe *uring__next(struct uring *r)
{
	uint32_t head = __atomic_load_n(r->sq_head_at, __ATOMIC_ACQUIRE);
	struct io_uring_sqe *sqe;

	if (r->sq_tail - head >= r->sq_sizes)
		return NULL;
	sqe = &r->sqes[r->sq_tail & r->sq_mask];
	memset(sqe, 0, sizeof(*sqe));
	r->sq_array[r->sq_tail & r->sq_mask] = r->sq_tail & r->sq_mask;
	r->sq_tail++;
	r->todo++;
	return sqe;
}

/* The thread that polls the ring takes them; it may have to be woken. */
static inline int uring__submit_polled(struct uring *r)
{
	r->todo = 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(r->sq_flags_at, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP)
		return uring__enter(r, 0, 0, IORING_ENTER_SQ_WAKEUP);
	return 0;
}

/* Submit all that is filled: one that is refused ends a call of the kernel's. 0 or -errno. */
static inline int uring__submit(struct uring *r)
{
	int n = 0;

	__atomic_store_n(r->sq_tail_at, r->sq_tail, __ATOMIC_RELEASE);
	if (r->flags & IORING_SETUP_SQPOLL)
		return uring__submit_polled(r);
	while (r->todo) {
		n = uring__enter(r, r->todo, 0, 0);
		if (n <= 0)
			return n ?: -EIO;
		r->todo -= (uint32_t)n;
	}
	return 0;
}

/* The next completion that is there, which is taken away; false: none. */
static inline bool uring__peek(struct uring *r, struct io_uring_cqe *cqe)
{
	uint32_t head = *r->cq_head_at;

	if (head == __atomic_load_n(r->cq_tail_at, __ATOMIC_ACQUIRE))
		return false;
	memcpy(cqe, &r->cqes[head & r->cq_mask], sizeof(*cqe));
	__atomic_store_n(r->cq_head_at, head + 1, __ATOMIC_RELEASE);
	return true;
}

/* Wait for one: 0 or -errno. */
static inline int uring__wait(struct uring *r, struct io_uring_cqe *cqe)
{
	int err = 0;

	while (!uring__peek(r, cqe)) {
		err = uring__enter(r, 0, 1, IORING_ENTER_GETEVENTS);
		if (err < 0)
			return err;
	}
	return 0;
}

#endif
