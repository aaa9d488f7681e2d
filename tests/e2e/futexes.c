// SPDX-License-Identifier: BSD-2-Clause
/*
 * futexes WHAT: waits for futexes of numbers that are known. What a thread waits for it is seen to
 * wait for before it is woken, as /proc/PID/task/TID/syscall shows it.
 *
 *	mutexes ROUNDS
 *		one thread holds a mutex, another waits for it, for each kind; prints lines
 *		"KIND ADDRESS OWNER WAITER", the last with the kind "join" for the end of the
 *		waiter, where ADDRESS is 0
 *	calls
 *		waits that fail, time out, are interrupted and go on; prints lines
 *		"OP ADDRESS RET FLAGS COUNT" of what FUTEX_WAIT records are to hold, RET as the
 *		kernel returns it before it looks at signals, "." where any will do; FLAGS without
 *		that for having slept where it may or may not
 *	load THREADS ROUNDS
 *		a lock of our own, for which all wait at first; prints lines "TID WOKEN AGAIN" of
 *		each thread: waits that returned 0, and that failed since the word had changed;
 *		and "word ADDRESS"
 *	hang
 *		once a line was read, a thread waits for a mutex for ever; prints
 *		"ADDRESS OWNER WAITER"
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NR_WAITV 449
#define NR_WAIT	 455

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

/* Wait until thread @tid is asleep in system call @nr on @address (NULL: on whatever). */
static void until_asleep(pid_t pid, pid_t tid, long nr, const void *address)
{
	char path[64], line[256], expected[64];
	bool so = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	if (address)
		snprintf(expected, sizeof(expected), "%ld 0x%" PRIxPTR " ", nr, (uintptr_t)address);
	else
		snprintf(expected, sizeof(expected), "%ld ", nr);
	while (!so) {
		f = fopen(path, "re");
		check(f != NULL, path);
		so = fgets(line, sizeof(line), f) && strncmp(line, expected, strlen(expected)) == 0;
		fclose(f);
		if (!so)
			usleep(200);
	}
}

/* ---- mutexes ---- */

static pthread_mutex_t mutex;
static atomic_int waiter;
static int go[2], done[2];

static void *take(void *arg)
{
	char byte;

	(void)arg;
	waiter = gettid();
	while (read(go[0], &byte, 1) == 1) {
		check(pthread_mutex_lock(&mutex) == 0, "lock");
		check(pthread_mutex_unlock(&mutex) == 0, "unlock");
		check(write(done[1], "x", 1) == 1, "write");
	}
	return NULL;
}

static void one_round(void)
{
	char byte;

	check(pthread_mutex_lock(&mutex) == 0, "lock");
	check(write(go[1], "x", 1) == 1, "write");
	until_asleep(getpid(), waiter, SYS_futex, &mutex);
	check(pthread_mutex_unlock(&mutex) == 0, "unlock");
	check(read(done[0], &byte, 1) == 1, "read");
}

static void rounds_of(const char *kind, const pthread_mutexattr_t *attr, int rounds)
{
	int i;

	check(pthread_mutex_init(&mutex, attr) == 0, "pthread_mutex_init");
	for (i = 0; i < rounds; i++)
		one_round();
	printf("%s %p %d %d\n", kind, (void *)&mutex, gettid(), waiter);
	pthread_mutex_destroy(&mutex);
}

static int mutexes(int rounds)
{
	pthread_mutexattr_t attr;
	pthread_t thread;
	const char *kind[] = {"normal", "robust", "pi", "recursive"};
	int i;

	check(pipe(done) == 0, "pipe");
	for (i = 0; i < 4; i++) {
		check(pipe(go) == 0, "pipe");
		waiter = 0;
		pthread_mutexattr_init(&attr);
		if (i == 1)
			pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
		if (i == 2)
			pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
		if (i == 3)
			pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
		check(pthread_create(&thread, NULL, take, NULL) == 0, "pthread_create");
		while (!waiter)
			usleep(100);
		rounds_of(kind[i], &attr, rounds);
		close(go[1]);
		pthread_join(thread, NULL);
		close(go[0]);
	}
	printf("join 0 %d %d\n", waiter, gettid());
	return 0;
}

/* ---- calls ---- */

static uint32_t *word; /* shared with children */

static long futex(int op, uint32_t val, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op, val, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void expect(const char *op, const char *ret, const char *flags, int count)
{
	printf("%s %p %s %s %d\n", op, (void *)word, ret, flags, count);
	word++; /* each has its own */
}

static void fail_and_time_out(void)
{
	struct timespec soon = {.tv_nsec = 1000000}, then;
	int i;

	for (i = 0; i < 10; i++)
		check(futex(FUTEX_WAIT_PRIVATE, 1, NULL) < 0 && errno == EAGAIN,
		      "wait: other value");
	expect("wait", "-11", "1", 10);
	for (i = 0; i < 7; i++)
		check(futex(FUTEX_WAIT, 0, &soon) < 0 && errno == ETIMEDOUT, "wait: no time left");
	expect("wait", "-110", "2", 7);
	clock_gettime(CLOCK_MONOTONIC, &then);
	for (i = 0; i < 5; i++)
		check(futex(FUTEX_WAIT_BITSET_PRIVATE, 0, &then) < 0 && errno == ETIMEDOUT, "past");
	expect("wait_bitset", "-110", "3", 5);
	for (i = 0; i < 50; i++)
		check(futex(FUTEX_WAKE_PRIVATE, 1, NULL) == 0, "wake");
	expect("none", ".", ".", 0);
	*word = gettid(); /* it would wait for itself */
	for (i = 0; i < 3; i++)
		check(futex(FUTEX_LOCK_PI_PRIVATE, 0, NULL) < 0 && errno == EDEADLK, "lock_pi");
	expect("lock_pi", "-35", "17", 3);
	for (i = 0; i < 2; i++)
		check(syscall(SYS_futex, word, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 1, NULL, word + 8,
			      0) < 0,
		      "requeue");
	expect("wait_requeue_pi", ".", "1", 2);
}

/* What later kernels have; what an earlier one says counts as well. */
static void later_calls(void)
{
	struct futex_waitv list[2] = {
		{.val = 1, .uaddr = (uintptr_t)word, .flags = 2 | FUTEX_PRIVATE_FLAG},
		{.val = 1, .uaddr = (uintptr_t)word, .flags = 2 | FUTEX_PRIVATE_FLAG},
	};
	struct timespec past = {.tv_sec = 0};
	char ret[16];
	int i;

	for (i = 0; i < 4; i++)
		check(syscall(NR_WAITV, list, 2, 0, &past, CLOCK_MONOTONIC) < 0, "waitv");
	snprintf(ret, sizeof(ret), "%d", -errno);
	expect("futex_waitv", ret, "3", 4);
	for (i = 0; i < 6; i++)
		check(syscall(NR_WAIT, word, 1UL, ~0U, 2 | FUTEX_PRIVATE_FLAG, NULL, 0) < 0,
		      "wait");
	snprintf(ret, sizeof(ret), "%d", -errno);
	expect("futex_wait", ret, "1", 6);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* A child waits; what the parent does then ends that, or not. */
static pid_t child_waits(const struct timespec *timeout, int err)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	check(pid >= 0, "fork");
	if (pid == 0) {
		long ret = futex(FUTEX_WAIT, 0, timeout);

		_exit((ret < 0 ? errno : 0) == err ? 0 : 1);
	}
	until_asleep(pid, pid, SYS_futex, word);
	return pid;
}

static void wait_for(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid && status == 0, "the child's wait");
}

static void interrupted(void)
{
	const struct sigaction act = {.sa_handler = on_signal};
	struct timespec late = {.tv_sec = 3600};
	pid_t pid;
	int status;

	sigaction(SIGUSR1, &act, NULL);
	pid = child_waits(NULL, EINTR);
	kill(pid, SIGUSR1);
	wait_for(pid);
	expect("wait", "-512", "4", 1);

	pid = child_waits(&late, EINTR);
	kill(pid, SIGUSR1);
	wait_for(pid);
	expect("wait", "-516", "6", 1);

	/* stopped and let go: it goes on with what time is left */
	pid = child_waits(&late, 0);
	kill(pid, SIGSTOP);
	check(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "stop");
	kill(pid, SIGCONT);
	until_asleep(pid, pid, SYS_restart_syscall, word);
	check(futex(FUTEX_WAKE, 1, NULL) == 1, "wake");
	wait_for(pid);
	printf("wait %p -516 6 1\n", (void *)word);
	expect("wait", "0", "14", 1);
}

static int calls(void)
{
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(word != MAP_FAILED, "mmap");
	*word = 0;
	fail_and_time_out();
	later_calls();
	interrupted();
	return 0;
}

/* ---- load ---- */

static _Atomic uint32_t lock; /* 0: free, 1: locked, 2: and somebody may wait */
static int load_rounds;

static void *contend(void *arg)
{
	unsigned long woken = 0, again = 0;
	atomic_int *tid = arg;
	uint32_t was;
	int i;

	*tid = gettid();
	for (i = 0; i < load_rounds; i++) {
		was = 0;
		if (!atomic_compare_exchange_strong(&lock, &was, 1)) {
			while (atomic_exchange(&lock, 2) != 0) {
				if (syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 2, NULL) == 0)
					woken++;
				else if (errno == EAGAIN)
					again++;
				else
					check(false, "futex");
			}
		}
		sched_yield();
		if (atomic_exchange(&lock, 0) == 2)
			syscall(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, 1);
	}
	printf("%d %lu %lu\n", gettid(), woken, again);
	return NULL;
}

static int load(int threads, int rounds)
{
	static atomic_int tids[256];
	pthread_t thread[256];
	int i;

	check(threads <= 256, "threads");
	load_rounds = rounds;
	lock = 2; /* until all wait for it */
	for (i = 0; i < threads; i++)
		check(pthread_create(&thread[i], NULL, contend, &tids[i]) == 0, "pthread_create");
	for (i = 0; i < threads; i++) {
		while (!tids[i])
			usleep(100);
		until_asleep(getpid(), tids[i], SYS_futex, &lock);
	}
	lock = 0;
	syscall(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, 1);
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("word %p\n", (void *)&lock);
	return 0;
}

/* ---- hang ---- */

static void *wait_for_ever(void *arg)
{
	waiter = gettid();
	pthread_mutex_lock(&mutex);
	return arg;
}

static int hang(void)
{
	pthread_t thread;

	check(getchar() != EOF, "getchar");
	pthread_mutex_init(&mutex, NULL);
	pthread_mutex_lock(&mutex);
	check(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0, "pthread_create");
	while (!waiter)
		usleep(100);
	until_asleep(getpid(), waiter, SYS_futex, &mutex);
	printf("%p %d %d\n", (void *)&mutex, gettid(), waiter);
	fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "mutexes") == 0)
		return mutexes(atoi(argv[2]));
	if (argc == 2 && strcmp(argv[1], "calls") == 0)
		return calls();
	if (argc == 4 && strcmp(argv[1], "load") == 0)
		return load(atoi(argv[2]), atoi(argv[3]));
	if (argc == 2 && strcmp(argv[1], "hang") == 0)
		return hang();
	return 2;
}
