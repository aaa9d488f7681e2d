// SPDX-License-Identifier: BSD-2-Clause
/* What -e asks for: probes and their options. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <string.h>

#include "userspace/source/probe.h"
#include "userspace/source/probe_list.h"

/* Parse a line as -e gets it: split at its commas. */
static int parse(struct probe_list *l, const char *line)
{
	char *text = strdup(line), *items[32], *at = text, *item;
	struct opt_list list = {.items = items};
	int err;

	while ((item = strsep(&at, ",")))
		items[list.n++] = item;
	err = probe_list__parse(l, &list);
	free(text);
	return err;
}

static void expect_names(const char *line, const char *const *names, size_t n)
{
	struct probe_list l;
	size_t i;

	cr_assert_eq(parse(&l, line), 0, "%s", line);
	for (i = 0; i < n; i++)
		cr_assert_str_eq(l.names[i], names[i], "%s", line);
	cr_assert_null(l.names[n], "%s: %s", line, l.names[n]);
	probe_list__free(&l);
}

Test(probe_list, nothing_asked_for_is_the_defaults)
{
	struct probe_list l;

	cr_assert_eq(probe_list__parse(&l, &(struct opt_list){0}), 0);
	cr_assert_null(l.names);
	cr_assert_null(l.args.events);
	cr_assert_eq(l.args.sample_hz, 0);
	probe_list__free(&l);
}

Test(probe_list, names_come_once_each_in_their_order)
{
	expect_names("sched,ioctl", (const char *const[]){"sched", "ioctl"}, 2);
	expect_names("sample:99,sched,sample", (const char *const[]){"sample", "sched"}, 2);
}

Test(probe_list, default_stands_for_what_is_on)
{
	const struct probe *p;
	struct probe_list l;
	size_t n = 0;

	cr_assert_eq(parse(&l, "default,sample"), 0);
	for (p = probe_table; p->name; p++) {
		cr_assert(probe__wanted(l.names, p->name) == (p->on || !strcmp(p->name, "sample")),
			  "%s", p->name);
		n += p->on;
	}
	cr_assert_str_eq(l.names[n], "sample");
	cr_assert_null(l.names[n + 1]);
	probe_list__free(&l);
}

Test(probe_list, a_frequency_is_between_its_bounds)
{
	static const char *const bad[] = {"sample:0", "sample:10001", "sample:-1", "sample:1.5",
					  "sample:",  "sample:1k",    "sched:1",   "sampel",
					  "",	      "sample,",      "defaults"};
	struct probe_list l;
	size_t i;

	cr_redirect_stderr();
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_eq(parse(&l, bad[i]), -EINVAL, "'%s'", bad[i]);
	cr_assert_eq(parse(&l, "sample:10000"), 0);
	cr_assert_eq(l.args.sample_hz, 10000);
	probe_list__free(&l);
	cr_assert_eq(parse(&l, "sample:1"), 0);
	cr_assert_eq(l.args.sample_hz, 1);
	probe_list__free(&l);
}
