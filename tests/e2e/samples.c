// SPDX-License-Identifier: BSD-2-Clause
/*
 * Work of known frames and known shares of user and kernel time:
 *
 *	samples USER_MS KERNEL_MS
 *
 * Prints "frames BEGIN END RETURN...": while it is in BEGIN to END, the frames after the first are
 * RETURN, outwards. Then "time FROM TO USER_NS KERNEL_NS": CLOCK_MONOTONIC, and the cpu time of
 *each kind of work.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MIB	 (1 << 20)
#define KEEPS_FP __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))

extern char spin_begin[], spin_end[];

static void *returns[3];
static volatile uint64_t sum;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

KEEPS_FP static uint64_t spin(uint64_t n)
{
	returns[0] = __builtin_return_address(0);
#if defined(__x86_64__)
	__asm__ volatile("spin_begin:\n\tdec %0\n\tjnz spin_begin\nspin_end:" : "+r"(n));
#elif defined(__aarch64__)
	__asm__ volatile("spin_begin:\n\tsubs %0, %0, #1\n\tb.ne spin_begin\nspin_end:" : "+r"(n));
#endif
	return n + 1;
}

/* What each adds keeps its call from being its end, at which its frame would be gone. */
KEEPS_FP static uint64_t inner(uint64_t n)
{
	returns[1] = __builtin_return_address(0);
	return spin(n) + sum;
}

KEEPS_FP static uint64_t outer(uint64_t n)
{
	returns[2] = __builtin_return_address(0);
	return inner(n) + sum;
}

int main(int argc, char **argv)
{
	int zero = open("/dev/zero", O_RDONLY);
	static char buf[MIB];
	uint64_t user_ns, kernel_ns, from, begin;

	if (argc != 3 || zero < 0)
		return 2;
	user_ns = strtoull(argv[1], NULL, 0) * 1000000;
	kernel_ns = strtoull(argv[2], NULL, 0) * 1000000;
	if (read(zero, buf, MIB) != MIB) /* its pages are there from now on */
		return 1;
	from = now(CLOCK_MONOTONIC);
	begin = now(CLOCK_THREAD_CPUTIME_ID);
	while (now(CLOCK_THREAD_CPUTIME_ID) - begin < user_ns)
		sum += outer(5000000);
	user_ns = now(CLOCK_THREAD_CPUTIME_ID) - begin;
	begin += user_ns;
	while (now(CLOCK_THREAD_CPUTIME_ID) - begin < kernel_ns)
		if (read(zero, buf, MIB) != MIB)
			return 1;
	kernel_ns = now(CLOCK_THREAD_CPUTIME_ID) - begin;
	printf("frames %p %p %p %p %p\n", (void *)spin_begin, (void *)spin_end, returns[0],
	       returns[1], returns[2]);
	printf("time %llu %llu %llu %llu\n", (unsigned long long)from,
	       (unsigned long long)now(CLOCK_MONOTONIC), (unsigned long long)user_ns,
	       (unsigned long long)kernel_ns);
	return 0;
}
