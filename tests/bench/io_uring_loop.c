// SPDX-License-Identifier: BSD-2-Clause
/*
 * io_uring_loop FILE SECONDS CPU: batches of reads of a byte of FILE through a ring, BATCH by one
 * call, then "COUNT CPU_NS_PER_REQUEST". The time on the cpu does not count what other processes
 * take.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/loop.h"
#include "tests/uring.h"

#define BATCH 16

static int read_batch(struct uring *r, int fd)
{
	static char byte;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	int i;

	for (i = 0; i < BATCH; i++) {
		sqe = uring__next(r);
		if (!sqe)
			return -1;
		sqe->opcode = IORING_OP_READ;
		sqe->fd = fd;
		sqe->addr = (uint64_t)(uintptr_t)&byte;
		sqe->len = 1;
		sqe->user_data = (uint64_t)i;
	}
	if (uring__submit(r))
		return -1;
	for (i = 0; i < BATCH; i++)
		if (uring__wait(r, &cqe) || cqe.res != 1)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t cpu, end, n = 0;
	struct uring r;
	int fd, i;

	fd = argc == 4 ? open(argv[1], O_RDONLY) : -1;
	if (fd < 0 || uring__open(&r, BATCH, 0, 0))
		return 2;
	if (stay_on(atoi(argv[3])))
		return 1;
	end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[2]) * 1e9);
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
	do {
		for (i = 0; i < 100; i++)
			if (read_batch(&r, fd))
				return 1;
		n += 100 * BATCH;
	} while (now_ns(CLOCK_MONOTONIC) < end);
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	printf("%llu %.2f\n", (unsigned long long)n, (double)cpu / n);
	uring__close(&r);
	return 0;
}
