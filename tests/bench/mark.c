// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a mark costs the program that makes it: each kind in batches that alternate with batches
 * of an empty loop, while a second process plays a recorder that keeps the rings empty. Prints,
 * for each kind, the median over the batches, in ns: recorded, and with nobody recording.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "userspace/mark/abi.h"
#include "userspace/mark/xpugap_mark.h"

#define BATCHES	  2001
#define PER_BATCH 1000

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static int fail(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the recorder's part ---- */

static int listen_at(char *address, size_t size)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "xpugap-bench-%d", getpid());
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&sa,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) ||
	    listen(fd, 1))
		fail("cannot listen");
	snprintf(address, size, "@%s", sa.sun_path + 1);
	return fd;
}

static int receive_fd(int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct mark_hello hello;
	struct iovec iov = {&hello, sizeof(hello)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	int memfd;

	if (recvmsg(fd, &msg, 0) != sizeof(hello) || !CMSG_FIRSTHDR(&msg))
		fail("no hello");
	memcpy(&memfd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(memfd));
	return memfd;
}

static void empty_rings(int listen_fd)
{
	int memfd = receive_fd(accept(listen_fd, NULL, NULL));
	struct mark_region *r;
	struct stat st;

	if (fstat(memfd, &st))
		fail("fstat");
	r = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (r == MAP_FAILED)
		fail("mmap");
	for (;;) {
		struct timespec ts = {.tv_nsec = 500000};
		uint64_t head = __atomic_load_n(&r->ring[0].head, __ATOMIC_ACQUIRE);

		__atomic_store_n(&r->ring[0].tail, head & ~7ULL, __ATOMIC_RELEASE);
		nanosleep(&ts, NULL);
	}
}

/* ---- the program's part ---- */

static void mark_step(uint64_t i)
{
	xpugap_step(i, 32);
}

static void mark_range(uint64_t i)
{
	xpugap_range_begin("forward");
}

static void mark_span(uint64_t i)
{
	xpugap_span(0, 0, XPUGAP_KERNEL, "conv2d_forward", i, i + 1, i, 0);
}

static void mark_span_long(uint64_t i)
{
	xpugap_span(0, 0, XPUGAP_KERNEL,
		    "void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_"
		    "32x3_nn_align8>(cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128)",
		    i, i + 1, i, 0);
}

static void mark_launch(uint64_t i)
{
	xpugap_launch(0, 0, XPUGAP_KERNEL, "conv2d_forward", xpugap_correlation());
}

static void mark_counter(uint64_t i)
{
	xpugap_counter("loss", 0.5);
}

static void mark_unit(uint64_t i)
{
	xpugap_unit_handover(i);
}

static void read_clock(uint64_t i)
{
	now_ns();
}

static void nothing(uint64_t i)
{
	__asm__ volatile("" ::"r"(i));
}

static const struct {
	const char *name;
	void (*mark)(uint64_t i);
} kinds[] = {
	{"step", mark_step},
	{"range (each end)", mark_range},
	{"span", mark_span},
	{"span, name of 140 characters", mark_span_long},
	{"correlation and launch", mark_launch},
	{"counter", mark_counter},
	{"unit", mark_unit},
	{"clock alone", read_clock},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double batch(void (*volatile mark)(uint64_t i))
{
	uint64_t begin = now_ns();

	for (uint64_t i = 0; i < PER_BATCH; i++)
		mark(i);
	return (double)(now_ns() - begin) / PER_BATCH;
}

static double measure(void (*mark)(uint64_t i))
{
	static double diff[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		double with = batch(mark);

		diff[i] = with - batch(nothing);
		if (i % 8 == 7) { /* let the consumer, who may share our core, get on */
			struct timespec ts = {.tv_nsec = 700000};

			nanosleep(&ts, NULL);
		}
	}
	qsort(diff, BATCHES, sizeof(diff[0]), compare);
	return diff[BATCHES / 2];
}

int main(void)
{
	char address[128];
	double off[KINDS];
	int listen_fd;
	pid_t pid;

	for (size_t i = 0; i < KINDS; i++)
		off[i] = measure(kinds[i].mark);
	listen_fd = listen_at(address, sizeof(address));
	pid = fork();
	if (!pid)
		empty_rings(listen_fd);
	close(listen_fd);
	if (!xpugap_connect(address))
		return fail("cannot connect");
	for (size_t i = 0; i < KINDS; i++)
		printf("%s\t%.1f\t%.2f\n", kinds[i].name, measure(kinds[i].mark), off[i]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
