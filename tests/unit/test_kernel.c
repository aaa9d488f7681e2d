// SPDX-License-Identifier: BSD-2-Clause
/* What is found out about the kernel, and probes by name. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/source/clock.h"
#include "userspace/source/kernel.h"
#include "userspace/source/probe.h"

Test(cpu_mask, parses_what_the_kernel_writes)
{
	struct cpu_mask m;

	cr_assert_eq(cpu_mask__parse(&m, "0\n"), 0);
	cr_assert(m.n == 1 && m.last == 1 && cpu_mask__has(&m, 0) && !cpu_mask__has(&m, 1));
	cr_assert_eq(cpu_mask__parse(&m, "0-1,3,8-11\n"), 0);
	cr_assert(m.n == 7 && m.last == 12);
	cr_assert(cpu_mask__has(&m, 3) && !cpu_mask__has(&m, 2) && !cpu_mask__has(&m, 7) &&
		  cpu_mask__has(&m, 11));
	cr_assert_eq(cpu_mask__parse(&m, "0-255\n"), 0);
	cr_assert(m.n == 256 && m.last == 256);
	cr_assert_eq(cpu_mask__parse(&m, "2,2,1-2"), 0);
	cr_assert_eq(m.n, 2, "counted twice");
	cr_assert(!cpu_mask__has(&m, 1000000));
}

Test(cpu_mask, refuses_what_is_none)
{
	static const char *const bad[] = {"", "\n", "a", "1-", "-1", "3-1", "1;2", "1 2", "0x3"};
	struct cpu_mask m;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(cpu_mask__parse(&m, bad[i]), -EINVAL, "'%s' was taken", bad[i]);
	cr_assert_eq(cpu_mask__parse(&m, "0-8192"), -ERANGE);
	cr_assert_eq(cpu_mask__parse(&m, "99999999999999999999"), -ERANGE);
}

Test(kernel_facts, agree_with_the_system)
{
	struct kernel_facts k;

	kernel_facts__get(&k);
	cr_assert_eq(k.cpus_online, sysconf(_SC_NPROCESSORS_ONLN));
	cr_assert_geq(k.cpus_possible, k.cpus_online);
	cr_assert_eq(k.btf, access("/sys/kernel/btf/vmlinux", R_OK) == 0);
}

Test(probe, knows_names)
{
	cr_assert_eq(probe__find("ioctl")->hook, REC_HOOK_SYSCALL);
	cr_assert_null(probe__find("ioct"));
	cr_assert_eq(probe__check(NULL), 0);
	cr_assert_eq(probe__check((const char *const[]){"task", "mark", NULL}), 0);
	cr_assert(probe__wants(NULL, REC_HOOK_SCHED), "a default");
	cr_assert(!probe__wants((const char *const[]){"ioctl", NULL}, REC_HOOK_SCHED));
	cr_assert(probe__wants((const char *const[]){"ioctl", NULL}, REC_HOOK_SYSCALL));
	cr_assert(!probe__wants(NULL, REC_HOOK_META), "no probe");
}

Test(probe, suggests_the_nearest, .init = cr_redirect_stderr)
{
	cr_assert_eq(probe__check((const char *const[]){"task", "ioctls", NULL}), -EINVAL);
	fflush(stderr);
	cr_assert_stderr_eq_str("xpugap: unknown probe 'ioctls', did you mean 'ioctl'?\n");
}

Test(clock, reads_both_at_one_moment)
{
	struct rec_clock a, b;

	clock__read_real(&a);
	usleep(20000);
	clock__read_real(&b);
	cr_assert_eq(a.clock, 0);
	cr_assert_geq(a.hdr.time_ns, a.host_ns);
	cr_assert_lt(a.uncertainty_ns, 1000000);
	/* both clocks went on by the same, give or take what the readings are uncertain by */
	cr_assert_leq(llabs((int64_t)(b.host_ns - a.host_ns) - (int64_t)(b.ticks - a.ticks)),
		      (int64_t)a.uncertainty_ns + b.uncertainty_ns + 20000);
}
