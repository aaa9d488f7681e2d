// SPDX-License-Identifier: BSD-2-Clause
/*
 * ioctl_kinds KIND: ioctls of one kind; each prints what is to be found in the trace.
 *
 *	blocked	 one that waits 50 ms for another thread, then one that runs through
 *	open	 one that never returns: the process ends when its standard input does
 *	denied	 5 that a seccomp filter answers, between 3 and 3 that are let through
 *	compat	 7 by the 32-bit gate, 4 other 32-bit calls with the number of the 64-bit ioctl,
 *		 4 other 64-bit calls with the number of the 32-bit ioctl (x86-64; else "none")
 *	closed	 one on a descriptor that another thread closes while it waits, one on none
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CMD 0x7803

static int install(unsigned int flags, struct sock_filter *code, unsigned short n)
{
	struct sock_fprog prog = {.len = n, .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

/* A descriptor on which ioctl(SECCOMP_IOCTL_NOTIF_RECV) waits until this thread calls getppid(). */
static int open_listener(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(SECCOMP_FILTER_FLAG_NEW_LISTENER, code, 4);
}

static volatile int listener;
static pthread_barrier_t ready;
static pid_t answerer;

static void *answer(void *arg)
{
	struct seccomp_notif n;
	struct seccomp_notif_resp r;

	memset(&n, 0, sizeof(n));
	memset(&r, 0, sizeof(r));
	answerer = gettid();
	pthread_barrier_wait(&ready);
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
		exit(1);
	r.id = n.id;
	r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r) < 0)
		exit(1);
	return NULL;
}

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static bool waits_in_ioctl(pid_t tid)
{
	char path[64];
	bool waits;
	int nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "r");
	/* "running" of who does not wait */
	waits = f && fscanf(f, "%d", &nr) == 1 && nr == SYS_ioctl;
	if (f)
		fclose(f);
	return waits;
}

/* A thread that has been waiting in an ioctl for @ms already. */
static int make_wait(pthread_t *thread, long ms)
{
	pthread_barrier_init(&ready, NULL, 2);
	if (pthread_create(thread, NULL, answer, NULL))
		return 1;
	listener = open_listener();
	if (listener < 0)
		return 1;
	pthread_barrier_wait(&ready);
	while (!waits_in_ioctl(answerer))
		sleep_ms(1);
	sleep_ms(ms);
	return 0;
}

static int run_blocked(int close_it)
{
	pthread_t thread;
	struct stat st;

	if (make_wait(&thread, 60) || fstat(listener, &st) < 0)
		return 1;
	printf("%lu %lu %d %llu\n", (unsigned long)SECCOMP_IOCTL_NOTIF_RECV,
	       (unsigned long)SECCOMP_IOCTL_NOTIF_SEND, listener, (unsigned long long)st.st_ino);
	fflush(stdout);
	if (close_it) {
		int other = dup(listener);

		close(listener);
		listener = other;
	}
	syscall(SYS_getppid);
	pthread_join(thread, NULL);
	if (close_it)
		ioctl(12345, CMD, 0);
	return 0;
}

static int run_open(void)
{
	pthread_t thread;
	char c;

	if (make_wait(&thread, 100))
		return 1;
	puts("open");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
}

static int run_denied(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 99, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	int i;

	for (i = 0; i < 3; i++)
		ioctl(fd, CMD, i);
	if (install(0, code, 6))
		return 1;
	for (i = 0; i < 5; i++)
		if (ioctl(fd, CMD, 99) != -1 || errno != EXDEV)
			return 1;
	for (i = 3; i < 6; i++)
		ioctl(fd, CMD, i);
	return 0;
}

#if defined(__x86_64__)
static long call32(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

static int run_compat(int fd)
{
	int i;

	if (call32(20, 0, 0, 0) != getpid()) { /* getpid */
		puts("none");
		return 0;
	}
	for (i = 0; i < 7; i++)
		call32(54, fd, CMD, (long)0xfffffff0 + i);
	for (i = 0; i < 4; i++)
		call32(16, 0, 0, 0); /* lchown */
	for (i = 0; i < 4; i++)
		syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_DEBUG, NULL, 0); /* 54 */
	puts("7");
	return 0;
}
#else
static int run_compat(int fd)
{
	puts("none");
	return 0;
}
#endif

int main(int argc, char **argv)
{
	const char *kind = argc == 2 ? argv[1] : "";
	int fd = open("/dev/null", O_RDWR);

	if (fd < 0)
		return 1;
	if (!strcmp(kind, "blocked"))
		return run_blocked(0);
	if (!strcmp(kind, "closed"))
		return run_blocked(1);
	if (!strcmp(kind, "open"))
		return run_open();
	if (!strcmp(kind, "denied"))
		return run_denied(fd);
	if (!strcmp(kind, "compat"))
		return run_compat(fd);
	return 2;
}
