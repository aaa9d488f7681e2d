// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/suite/workload.h"

#include <errno.h>
#include <string.h>

#include "userspace/lib/log.h"

#define NAMES_MAX 256

const char *const workload_sizes[] = {"tiny", "small", "full", NULL};
const char *const workload_size_summaries[] = {"for tests: a second or two",
					       "for a look: under a minute on two cores",
					       "to compare machines: the published shape", NULL};

size_t workload__count(void)
{
	size_t n = 0;

	while (workloads[n])
		n++;
	return n;
}

static const struct workload *find(const char *name)
{
	size_t i;

	for (i = 0; workloads[i]; i++)
		if (strcmp(workloads[i]->name, name) == 0)
			return workloads[i];
	return NULL;
}

/* @groups: a group's name would have done, too. */
static void complain(const char *name, bool groups)
{
	const char *names[NAMES_MAX], *near;
	size_t n = 0, i;

	for (i = 0; workloads[i] && n + 2 < NAMES_MAX; i++) {
		names[n++] = workloads[i]->name;
		if (groups)
			names[n++] = workloads[i]->group;
	}
	if (groups)
		names[n++] = "all";
	near = opt__nearest(name, names, n);
	if (near)
		log_error("no workload '%s' (did you mean '%s'?)", name, near);
	else
		log_error("no workload '%s' (see 'xpugap list workloads')", name);
}

const struct workload *workload__find(const char *name)
{
	const struct workload *w = find(name);

	if (!w)
		complain(name, false);
	return w;
}

static int add(const struct workload *w, const struct workload **out, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (out[i] == w)
			return n;
	out[n] = w;
	return n + 1;
}

static bool known_as(const struct workload *w, const char *word)
{
	return strcmp(word, "all") == 0 || strcmp(word, w->group) == 0;
}

int workload__select(char *const *words, int n, const struct workload **out)
{
	const struct workload *one;
	int found = 0, i;
	bool known;
	size_t j;

	for (i = 0; i < n; i++) {
		one = find(words[i]);
		known = one || strcmp(words[i], "all") == 0;
		for (j = 0; workloads[j]; j++) {
			if (one ? workloads[j] != one : !known_as(workloads[j], words[i]))
				continue;
			found = add(workloads[j], out, found);
			known = true;
		}
		if (!known) {
			complain(words[i], true);
			return -EINVAL;
		}
	}
	return found;
}
