// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workloads/device/cores.h"

static struct cores set(const char *spec)
{
	struct cores all, out;
	char why[256];

	memset(&all, 0xff, sizeof(all));
	cr_assert_eq(cores__parse(spec, &all, &out, why, sizeof(why)), 0, "%s: %s", spec, why);
	return out;
}

static void refused(const char *spec, const char *expected)
{
	struct cores usable = set("0-3,8"), out;
	char why[256] = "";

	cr_expect_eq(cores__parse(spec, &usable, &out, why, sizeof(why)), -EINVAL, "'%s'", spec);
	cr_expect(strstr(why, expected), "'%s' is refused with \"%s\"", spec, why);
}

Test(cores, parses_and_prints)
{
	static const char *const same[] = {"0", "0-1", "0,2", "3-5,9,64-127,8191"};
	char buf[128];
	struct cores c;
	size_t i;

	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		c = set(same[i]);
		cr_expect_str_eq(cores__format(&c, buf, sizeof(buf)), same[i]);
	}
	c = set("5,3,4");
	cr_expect_str_eq(cores__format(&c, buf, sizeof(buf)), "3-5");
	cr_expect_eq(cores__count(&c), 3);
	c = set("0-3,6");
	cr_expect_str_eq(cores__format(&c, buf, 4), "0-3", "cut, not overrun");
}

Test(cores, empty_is_all_that_is_usable)
{
	struct cores usable = set("0-3,8"), out;
	char why[64];

	cr_assert_eq(cores__parse("", &usable, &out, why, sizeof(why)), 0);
	cr_expect_eq(memcmp(&usable, &out, sizeof(out)), 0);
}

Test(cores, refuses_with_a_reason)
{
	refused("x", "numbers and ranges");
	refused("0-", "numbers and ranges");
	refused("-1", "numbers and ranges");
	refused("1-0", "numbers and ranges");
	refused("0,,1", "numbers and ranges");
	refused("0,", "numbers and ranges");
	refused("0 1", "numbers and ranges");
	refused("99999999999999999999", "not usable");
	refused("4294967296", "not usable");
	refused("0-9999", "not usable");
	refused("8192", "core 8192 is not usable");
	refused("4", "core 4 is not usable by this process (usable: 0-3,8)");
	refused("0-8", "core 4 is not usable");
	refused("1,0-2", "core 1 is named twice");
}

Test(cores, entering_is_what_the_kernel_then_reports)
{
	struct cores usable, one, now;
	char first[32], why[64];

	cr_assert_eq(cores__usable(&usable), 0);
	cr_expect_leq(cores__count(&usable), (unsigned int)sysconf(_SC_NPROCESSORS_ONLN));
	cores__format(&usable, first, sizeof(first));
	first[strspn(first, "0123456789")] = '\0';
	cr_assert_eq(cores__parse(first, &usable, &one, why, sizeof(why)), 0);
	cr_assert_eq(cores__enter(&one), 0);
	cr_assert_eq(cores__usable(&now), 0);
	cr_expect_eq(cores__count(&now), 1);
	cr_expect_eq(sched_getcpu(), atoi(first));
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	cr_assert(f);
	fputs(text, f);
	fclose(f);
}

Test(cores, quota_is_the_least_of_the_groups_above)
{
	char root[] = "/tmp/xpugap-cores-XXXXXX", self[64], a[64], b[64], cmd[64];

	cr_assert(mkdtemp(root));
	snprintf(self, sizeof(self), "%s/self", root);
	snprintf(a, sizeof(a), "%s/a", root);
	snprintf(b, sizeof(b), "%s/a/b", root);
	cr_assert_eq(mkdir(a, 0700) || mkdir(b, 0700), 0);
	put(root, "self", "4:cpu:/old\n0::/a/b\n");

	cr_expect_eq(cores__quota(root, self), 0, "no files: no limit");
	put(b, "cpu.max", "max 100000\n");
	cr_expect_eq(cores__quota(root, self), 0);
	put(a, "cpu.max", "250000 100000\n");
	cr_expect_eq(cores__quota(root, self), 3, "2.5 cores are rounded up");
	put(b, "cpu.max", "50000 100000\n");
	cr_expect_eq(cores__quota(root, self), 1);
	put(root, "self", "0::/\n");
	cr_expect_eq(cores__quota(root, self), 0);
	put(root, "self", "4:cpu:/old\n");
	cr_expect_eq(cores__quota(root, self), 0, "version 1 only");
	cr_expect_eq(cores__quota(root, "/nonexistent"), 0);

	snprintf(cmd, sizeof(cmd), "rm -r %s", root);
	cr_assert_eq(system(cmd), 0);
}
