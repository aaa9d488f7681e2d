// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/mark_env.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/mark/abi.h"
#include "userspace/source/mark_paths.h"

static int __attribute__((format(printf, 2, 3))) add(struct mark_env *e, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&e->strings[e->n], fmt, ap);
	va_end(ap);
	if (n < 0) {
		e->strings[e->n] = NULL;
		return -ENOMEM;
	}
	e->n++;
	return 0;
}

/* Is @dir one of the @list that colons separate? */
static bool is_listed(const char *list, const char *dir)
{
	size_t n, len = strlen(dir);

	for (; list; list = list[n] ? list + n + 1 : NULL) {
		n = strcspn(list, ":");
		if (n == len && strncmp(list, dir, n) == 0)
			return true;
	}
	return false;
}

/* At the end, so that it hides no module of the program's. */
static int add_python(struct mark_env *e, const char *dir)
{
	const char *now = getenv("PYTHONPATH");

	if (!*dir || strchr(dir, ':') || (now && is_listed(now, dir)))
		return 0;
	if (!now || !*now)
		return add(e, "PYTHONPATH=%s", dir);
	return add(e, "PYTHONPATH=%s:%s", now, dir);
}

int mark_env__init(struct mark_env *e, const char *address, const struct mark_paths *paths,
		   bool python)
{
	const char *library = getenv(MARK_LIB_ENV);
	int err = 0;

	*e = (struct mark_env){0};
	if (address)
		err = add(e, "%s=%s", MARK_ENV, address);
	if (!err && *paths->lib && !(library && *library))
		err = add(e, "%s=%s", MARK_LIB_ENV, paths->lib);
	if (!err && python)
		err = add_python(e, paths->python);
	return err;
}

void mark_env__free(struct mark_env *e)
{
	while (e->n)
		free(e->strings[--e->n]);
	e->strings[0] = NULL;
}
