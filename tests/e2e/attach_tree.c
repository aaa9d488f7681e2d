// SPDX-License-Identifier: BSD-2-Clause
/*
 * attach_tree PROCESSES THREADS CALLS SPAWNERS
 *
 * A tree that runs, says "ready" and waits until there is a file "go" in the directory. Then each
 * of THREADS threads in each of PROCESSES processes makes CALLS ioctls, each with a number of its
 * own as argument, and ends. It prints, in JSON: how many calls there were, and of each thread its
 * id and, for those that lost their parent, when that was about to end.
 *
 * Until then SPAWNERS processes create children all the time that create one more and end at
 * once, so that it goes to init; it waits for a third of a second at most and makes one call if
 * the time has come.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CMD	  0x7801
#define MAX_TASKS 100000

static struct share {
	uint32_t go;
	uint32_t ready;
	uint32_t orphans; /* that live */
	uint32_t ntasks;
	uint64_t next; /* number of a call */
	struct {
		uint32_t tid;
		uint32_t calls;
		uint64_t orphaned_ns;
	} tasks[MAX_TASKS];
} * share;

static int fd;
static unsigned int calls;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Is it time? @ms: wait so long for it at most, 0: for ever. */
static bool wait_go(unsigned int ms)
{
	struct timespec t = {.tv_nsec = ms * 1000000L};

	while (!__atomic_load_n(&share->go, __ATOMIC_ACQUIRE)) {
		if (syscall(SYS_futex, &share->go, FUTEX_WAIT, 0, ms ? &t : NULL, NULL, 0) && ms)
			break;
	}
	return __atomic_load_n(&share->go, __ATOMIC_ACQUIRE);
}

static void work(unsigned int n, uint64_t orphaned_ns)
{
	uint32_t i = __atomic_fetch_add(&share->ntasks, 1, __ATOMIC_RELAXED);
	unsigned int c;

	if (i >= MAX_TASKS)
		abort();
	share->tasks[i].tid = syscall(SYS_gettid);
	share->tasks[i].calls = n;
	share->tasks[i].orphaned_ns = orphaned_ns;
	for (c = 0; c < n; c++)
		ioctl(fd, CMD, __atomic_fetch_add(&share->next, 1, __ATOMIC_RELAXED));
}

static void *thread(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&share->ready, 1, __ATOMIC_RELEASE);
	wait_go(0);
	work(calls, 0);
	return NULL;
}

static int process(unsigned int threads)
{
	pthread_t id;
	unsigned int i;

	for (i = 1; i < threads; i++)
		if (pthread_create(&id, NULL, thread, NULL))
			abort();
	thread(NULL);
	pthread_exit(NULL); /* the first thread may end before the others */
}

/* The child of a child, which is about to end or has. */
static void orphan(uint64_t orphaned_ns)
{
	if (wait_go(333))
		work(1, orphaned_ns);
	__atomic_fetch_add(&share->orphans, -1, __ATOMIC_RELEASE);
	_exit(0);
}

static int spawner(void)
{
	while (!__atomic_load_n(&share->go, __ATOMIC_ACQUIRE)) {
		pid_t pid = fork();

		if (pid == 0) {
			uint64_t t = now();

			__atomic_fetch_add(&share->orphans, 1, __ATOMIC_RELAXED);
			pid = fork();
			if (pid == 0)
				orphan(t);
			if (pid < 0)
				__atomic_fetch_add(&share->orphans, -1, __ATOMIC_RELAXED);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		usleep(2000);
	}
	return 0;
}

static void print(void)
{
	uint32_t i;

	printf("{\"calls\": %llu, \"tasks\": [", (unsigned long long)share->next);
	for (i = 0; i < share->ntasks; i++)
		printf("%s[%u, %u, %llu]", i ? ", " : "", share->tasks[i].tid,
		       share->tasks[i].calls, (unsigned long long)share->tasks[i].orphaned_ns);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	unsigned int processes, threads, spawners, i;

	if (argc != 5)
		return 2;
	processes = atoi(argv[1]);
	threads = atoi(argv[2]);
	calls = atoi(argv[3]);
	spawners = atoi(argv[4]);
	share = mmap(NULL, sizeof(*share), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	fd = open("/dev/null", O_RDWR);
	if (share == MAP_FAILED || fd < 0)
		return 1;
	for (i = 0; i < processes + spawners; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0)
			_exit(i < processes ? process(threads) : spawner());
	}
	while (__atomic_load_n(&share->ready, __ATOMIC_ACQUIRE) < processes * threads)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	while (access("go", F_OK))
		usleep(5000);
	__atomic_store_n(&share->go, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &share->go, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	while (wait(NULL) > 0)
		;
	while (__atomic_load_n(&share->orphans, __ATOMIC_ACQUIRE))
		usleep(1000);
	print();
	return 0;
}
