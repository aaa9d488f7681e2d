// SPDX-License-Identifier: BSD-2-Clause
/*
 * lasting MS [SLOW]: what begins at once and ends only after that time: a range, a unit, and an
 * ioctl that a thread waits in. Meanwhile a step every 5 ms and in each a range that is short,
 * children that live for a moment, and ioctls on /dev/zero whose argument counts them. The step
 * SLOW takes 300 ms more.
 *
 * Prints "STEPS CHILDREN IOCTLS LEADER WAITER BLOCKING_CMD".
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "userspace/mark/xpugap_mark.h"

static volatile int listener, waiter;
static pthread_barrier_t ready;

/* A descriptor on which ioctl(SECCOMP_IOCTL_NOTIF_RECV) waits until this thread calls getppid(). */
static int open_listener(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = 4, .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &prog);
}

static void *answer(void *arg)
{
	struct seccomp_notif n;
	struct seccomp_notif_resp r;

	memset(&n, 0, sizeof(n));
	memset(&r, 0, sizeof(r));
	waiter = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&ready);
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
		exit(1);
	r.id = n.id;
	r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r) < 0)
		exit(1);
	return NULL;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 4000000}, slow = {.tv_nsec = 300000000};
	const uint64_t slow_step = argc > 2 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;
	uint64_t steps = 0, children = 0, calls = 0, end;
	int fd = open("/dev/zero", O_RDWR), i;
	pthread_t thread;
	pid_t pid;

	if (argc < 2 || fd < 0)
		return 2;
	end = now_ms() + strtoull(argv[1], NULL, 10);
	xpugap_role("leader");
	xpugap_range_begin("all of it");
	xpugap_unit_begin(7, "request");
	pthread_barrier_init(&ready, NULL, 2);
	if (pthread_create(&thread, NULL, answer, NULL))
		return 1;
	listener = open_listener();
	if (listener < 0)
		return 1;
	pthread_barrier_wait(&ready);
	while (now_ms() < end) {
		xpugap_step(steps++, 1);
		xpugap_range_begin("a part");
		for (i = 0; i < 1000; i++)
			ioctl(fd, 0x7801, calls++);
		if (steps % 8 == 0) {
			pid = fork();
			if (!pid)
				_exit(0);
			children += pid > 0;
			waitpid(pid, NULL, 0);
		}
		nanosleep(&pause, NULL);
		if (steps - 1 == slow_step)
			nanosleep(&slow, NULL);
		xpugap_range_end("a part");
	}
	syscall(SYS_getppid);
	pthread_join(thread, NULL);
	xpugap_unit_end(7, 1);
	xpugap_range_end("all of it");
	printf("%llu %llu %llu %d %d 0x%lx\n", (unsigned long long)steps,
	       (unsigned long long)children, (unsigned long long)calls, getpid(), waiter,
	       (unsigned long)SECCOMP_IOCTL_NOTIF_RECV);
	return 0;
}
