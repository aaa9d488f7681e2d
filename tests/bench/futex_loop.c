// SPDX-License-Identifier: BSD-2-Clause
/*
 * futex_loop WHAT SECONDS CPU: one call after another, then "COUNT CPU_NS_PER_CALL". The time on
 * the cpu does not count what other processes take. WHAT is
 *
 *	again	 waits that end at once, since the word has changed
 *	owned	 the same of a mutex of glibc that another thread has locked: its owner is looked up
 *	wake	 wake-ups of nobody
 *	other	 another call
 *	pair	 two threads on the same cpu hand a word to and fro: each call sleeps
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/bench/loop.h"

/* as a mutex of glibc lies */
static struct {
	_Atomic uint32_t word;
	uint32_t count, owner;
} lock;

static atomic_bool ended;

static long futex(int op, uint32_t val)
{
	return syscall(SYS_futex, &lock.word, op | FUTEX_PRIVATE_FLAG, val, NULL, NULL, 0);
}

static void hand_over(uint32_t from, uint32_t to)
{
	while (lock.word != from && !ended)
		futex(FUTEX_WAIT, to);
	lock.word = to;
	futex(FUTEX_WAKE, 1);
}

static void *other_side(void *arg)
{
	while (!ended)
		hand_over(1, 0);
	return arg;
}

static void *sleep_on(void *arg)
{
	lock.owner = gettid();
	while (!ended)
		usleep(10000);
	return arg;
}

static void one(char what)
{
	switch (what) {
	case 'a':
		futex(FUTEX_WAIT, 1);
		break;
	case 'o':
		futex(FUTEX_WAIT, 2);
		break;
	case 'w':
		futex(FUTEX_WAKE, 1);
		break;
	case 'p':
		hand_over(0, 1);
		break;
	default:
		syscall(SYS_getppid);
	}
}

int main(int argc, char **argv)
{
	char what = argc == 4 ? argv[1][0] : 0;
	uint64_t cpu, end, n = 0;
	pthread_t thread;
	int i;

	if (!what)
		return 2;
	what = strcmp(argv[1], "other") == 0 ? '-' : what;
	if (stay_on(atoi(argv[3])))
		return 1;
	if (what == 'p' || what == 'o')
		pthread_create(&thread, NULL, what == 'p' ? other_side : sleep_on, NULL);
	while (what == 'o' && !*(volatile uint32_t *)&lock.owner)
		usleep(100);
	end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[2]) * 1e9);
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	do {
		for (i = 0; i < 1000; i++)
			one(what);
		n += 1000;
	} while (now_ns(CLOCK_MONOTONIC) < end);
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	ended = true;
	if (what == 'p' || what == 'o') {
		lock.word = 1;
		futex(FUTEX_WAKE, 1);
		pthread_join(thread, NULL);
	}
	printf("%llu %.2f\n", (unsigned long long)n, (double)cpu / n);
	return 0;
}
