// SPDX-License-Identifier: BSD-2-Clause
/* Names of what counts, and events as units describe them in sysfs. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/pmu/event.h"
#include "userspace/pmu/format.h"

static struct pmu_format parsed(const char *text)
{
	struct pmu_format f;

	cr_assert_eq(pmu_format__parse(&f, text), 0, "'%s'", text);
	return f;
}

Test(pmu, formats_of_kernels)
{
	struct pmu_format f = parsed("config:0-7\n");

	cr_assert_eq(f.config, 0);
	cr_assert_eq(f.n, 1);
	cr_assert_eq(f.range[0].first, 0);
	cr_assert_eq(f.range[0].last, 7);
	f = parsed("config:0-7,32-35,59-60"); /* event of amd_l3 and others */
	cr_assert_eq(f.n, 3);
	cr_assert_eq(f.range[1].first, 32);
	cr_assert_eq(f.range[2].last, 60);
	f = parsed("config2:63");
	cr_assert_eq(f.config, 2);
	cr_assert_eq(f.range[0].first, 63);
	cr_assert_eq(f.range[0].last, 63);
	parsed("config1:0-63");
}

Test(pmu, what_is_no_format)
{
	static const char *const bad[] = {"",
					  "config",
					  "config:",
					  "config3:0",
					  "conf:0",
					  "config:64",
					  "config:7-0",
					  "config:0-64",
					  "config:0,",
					  "config:-1",
					  "config:0-",
					  "config:x",
					  "config:0 1",
					  "config:0\n\n",
					  "configs:0-7",
					  ":0",
					  "config:999999999999999999999",
					  "config:0,1,2,3,4,5,6,7,8"};
	struct pmu_format f;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_eq(pmu_format__parse(&f, bad[i]), -EINVAL, "'%s'", bad[i]);
}

Test(pmu, bits_go_where_the_format_says)
{
	struct pmu_format f = parsed("config:0-7,32-35");
	uint64_t c[PMU_CONFIGS] = {0};

	/* event 0x1c7 of an AMD processor: its highest four bits lie apart */
	cr_assert_eq(pmu_format__set(&f, 0x1c7, c), 0);
	cr_assert_eq(c[0], 0x1000000c7);
	cr_assert_eq(pmu_format__set(&f, 0x2, c), 0);
	cr_assert_eq(c[0], 0x2, "what was there goes");
	cr_assert_eq(pmu_format__set(&f, 0x1000, c), -ERANGE);
	f = parsed("config1:0-63");
	cr_assert_eq(pmu_format__set(&f, UINT64_MAX, c), 0);
	cr_assert_eq(c[1], UINT64_MAX);
	f = parsed("config2:63");
	cr_assert_eq(pmu_format__set(&f, 1, c), 0);
	cr_assert_eq(c[2], 1ULL << 63);
	cr_assert_eq(pmu_format__set(&f, 2, c), -ERANGE);
}

/* The formats of /sys/bus/event_source/devices/cpu/format of an Intel processor. */
static int intel(void *arg, const char *name, struct pmu_format *f)
{
	static const char *const formats[][2] = {
		{"event", "config:0-7"}, {"umask", "config:8-15"},  {"edge", "config:18"},
		{"inv", "config:23"},	 {"cmask", "config:24-31"}, {"ldlat", "config1:0-15"},
	};
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (strcmp(name, formats[i][0]) == 0)
			return pmu_format__parse(f, formats[i][1]);
	return -ENOENT;
}

static int pack(const char *terms, uint64_t c[PMU_CONFIGS])
{
	char why[PMU_WHY_MAX];
	int err;

	memset(c, 0, PMU_CONFIGS * sizeof(*c));
	err = pmu_terms__pack(terms, intel, NULL, c, why, sizeof(why));
	cr_assert_eq(err != 0, *why != '\0', "%s: %d '%s'", terms, err, why);
	return err;
}

/* Numbers as the processor's manual and perf have them. */
Test(pmu, terms_are_put_together)
{
	uint64_t c[PMU_CONFIGS];

	cr_assert_eq(pack("event=0x2e,umask=0x41", c), 0); /* LONGEST_LAT_CACHE.MISS */
	cr_assert_eq(c[0], 0x412e);
	cr_assert_eq(pack("event=0xcd,umask=0x1,ldlat=30\n", c), 0); /* loads of 30 cycles */
	cr_assert_eq(c[0], 0x1cd);
	cr_assert_eq(c[1], 30);
	cr_assert_eq(pack("event=0x0d,edge,cmask=1,inv=0", c), 0);
	cr_assert_eq(c[0], 0x104000d);
	cr_assert_eq(pack("config=0x3c,config2=7", c), 0);
	cr_assert_eq(c[0], 0x3c);
	cr_assert_eq(c[2], 7);
	cr_assert_eq(pack("event=0x100", c), -ERANGE);
	cr_assert_eq(pack("evnt=1", c), -ENOENT);
	cr_assert_eq(pack("event=x", c), -EINVAL);
	cr_assert_eq(pack("", c), -EINVAL);
	cr_assert_eq(pack("event=1,", c), -EINVAL);
	cr_assert_eq(pack(",event=1", c), -EINVAL);
}

/* ---- a unit in a directory of our own ---- */

static char root[] = "/tmp/xpugap-pmu.XXXXXX";

static void put(const char *path, const char *text)
{
	char full[256], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + sizeof(root), '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	cr_assert_not_null(f, "%s", full);
	fputs(text, f);
	fclose(f);
}

static void make_units(void)
{
	cr_assert_not_null(mkdtemp(root));
	put("uncore_imc_0/type", "19\n");
	put("uncore_imc_0/cpumask", "0\n");
	put("uncore_imc_0/format/event", "config:0-7\n");
	put("uncore_imc_0/format/umask", "config:8-15\n");
	put("uncore_imc_0/events/cas_count_read", "event=0x04,umask=0x03\n");
	put("uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5\n");
	put("uncore_imc_0/events/cas_count_read.unit", "MiB\n");
	put("npu/type", "20\n");
	put("npu/format/event", "config:nonsense\n");
	put("npu/events/busy", "event=1\n");
	put("bad/type", "-3\n");
}

static void remove_units(void)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0); /* NOLINT(cert-env33-c): a path of our own */
}

static int find(struct pmu_event *e, const char *name)
{
	char why[PMU_WHY_MAX] = "";

	*e = (struct pmu_event){.scale = 1};
	return pmu_sysfs__find(e, root, name, why, sizeof(why));
}

static int count(void *arg, const char *name)
{
	unsigned int *n = arg;

	++*n;
	cr_assert(!strstr(name, ".unit") && !strstr(name, ".scale"), "%s", name);
	return 0;
}

Test(pmu, units_describe_themselves, .init = make_units, .fini = remove_units)
{
	struct pmu_event e;
	unsigned int n = 0;

	cr_assert_eq(find(&e, "uncore_imc_0/cas_count_read/"), 0);
	cr_assert_eq(e.attr.type, 19);
	cr_assert_eq(e.attr.config, 0x304);
	cr_assert_str_eq(e.unit, "MiB");
	cr_assert_float_eq(e.scale, 1.0 / 16384, 1e-12, "64 bytes in MiB");
	cr_assert_eq(find(&e, "uncore_imc_0/event=4,umask=0xc/"), 0);
	cr_assert_eq(e.attr.config, 0xc04);
	cr_assert_str_eq(e.unit, "");
	cr_assert_eq(find(&e, "uncore_imc_0/umask=256/"), -ERANGE);
	cr_assert_eq(find(&e, "uncore_imc_0/nothing/"), -ENOENT);
	cr_assert_eq(find(&e, "uncore_imc_1/cas_count_read/"), -ENOENT);
	cr_assert_eq(find(&e, "npu/busy/"), -ENOENT, "its format cannot be understood");
	cr_assert_eq(find(&e, "bad/busy/"), -EINVAL);
	cr_assert_eq(find(&e, "npu/busy"), -EINVAL);
	cr_assert_eq(find(&e, "npu//"), -EINVAL);
	cr_assert_eq(find(&e, "../npu/busy/"), -EINVAL);
	cr_assert_eq(find(&e, "/busy/"), -EINVAL);
	cr_assert_eq(find(&e, "cycles"), -ENOENT, "another's name");
	cr_assert(pmu_sysfs__is_shared(root, 19));
	cr_assert(!pmu_sysfs__is_shared(root, 20));
	cr_assert_eq(pmu_sysfs__each(root, count, &n), 0);
	cr_assert_eq(n, 2);
}

/* ---- names ---- */

Test(pmu, names_of_the_kernel)
{
	struct pmu_event e;
	char why[PMU_WHY_MAX], name[PMU_NAME_MAX];

	cr_assert_eq(pmu_event__find(&e, "page-faults", why, sizeof(why)), 0);
	cr_assert_eq(e.attr.type, PERF_TYPE_SOFTWARE);
	cr_assert_eq(e.attr.config, PERF_COUNT_SW_PAGE_FAULTS);
	cr_assert_str_eq(e.unit, "");
	cr_assert_eq(pmu_event__find(&e, "task-clock", why, sizeof(why)), 0);
	cr_assert_eq(e.attr.config, PERF_COUNT_SW_TASK_CLOCK);
	cr_assert_str_eq(e.unit, "ns");
	cr_assert_eq(pmu_event__find(&e, "cycles", why, sizeof(why)), 0);
	cr_assert_eq(pmu_event__find(&e, "llc-misses", why, sizeof(why)), 0);
	cr_assert_eq(pmu_event__find(&e, "page-fautls", why, sizeof(why)), -ENOENT);
	cr_assert(strstr(why, "did you mean 'page-faults'"), "%s", why);
	cr_assert_eq(pmu_event__find(&e, "quite-another-thing", why, sizeof(why)), -ENOENT);
	cr_assert(*why);
	cr_assert_eq(pmu_event__find(&e, "", why, sizeof(why)), -EINVAL);
	cr_assert_str_eq(pmu_event__name(0, name), "cycles");
	cr_assert_null(pmu_event__name(100000, name));
}

/* The kernel counts faults of this thread: as many as getrusage() says. */
Test(pmu, an_event_counts)
{
	struct pmu_event e;
	char why[PMU_WHY_MAX];
	uint64_t n = 0;
	char *p;
	int fd, i;

	cr_assert_eq(pmu_event__find(&e, "page-faults", why, sizeof(why)), 0);
	fd = pmu_event__open(&e, -1);
	if (fd == -EACCES || fd == -EPERM)
		cr_skip_test("needs rights: kernel.perf_event_paranoid");
	cr_assert_geq(fd, 0);
	p = aligned_alloc(4096, 64 * 4096);
	for (i = 0; i < 64; i++)
		*(volatile char *)(p + i * 4096) = 1;
	cr_assert_eq(read(fd, &n, sizeof(n)), sizeof(n));
	cr_assert_geq(n, 64);
	close(fd);
	free(p);
}
