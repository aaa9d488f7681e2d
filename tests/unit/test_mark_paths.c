// SPDX-License-Identifier: BSD-2-Clause
/* Where the mark library is found, and what recorded programs get in their environment. */
#include <criterion/criterion.h>

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/source/mark_env.h"
#include "userspace/source/mark_paths.h"

static char root[PATH_MAX];

static void plant(const char *path)
{
	char full[PATH_MAX * 2], *c;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (c = full + strlen(root) + 1; (c = strchr(c, '/')); *c++ = '/') {
		*c = '\0';
		mkdir(full, 0755);
	}
	f = fopen(full, "w");
	cr_assert_not_null(f);
	fclose(f);
}

static void begin(void)
{
	char name[] = "/tmp/xpugap-paths.XXXXXX";

	cr_assert_not_null(mkdtemp(name));
	cr_assert_not_null(realpath(name, root));
	unsetenv("PYTHONPATH");
	unsetenv("XPUGAP_MARK_LIB");
}

static int delete (const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void end(void)
{
	nftw(root, delete, 8, FTW_DEPTH | FTW_PHYS);
}

/* Is @path @expected below the root? */
static void is_at(const char *path, const char *expected)
{
	char full[PATH_MAX * 2];

	snprintf(full, sizeof(full), "%s/%s", root, expected);
	cr_expect_str_eq(path, full);
}

static void find(struct mark_paths *p, const char *bin)
{
	char full[PATH_MAX * 2];

	snprintf(full, sizeof(full), "%s/%s", root, bin);
	mark_paths__find_from(p, full);
}

TestSuite(mark_paths, .init = begin, .fini = end);

Test(mark_paths, nothing)
{
	struct mark_paths p;

	plant("bin/xpugap");
	find(&p, "bin");
	cr_expect_str_empty(p.lib);
	cr_expect_str_empty(p.static_library);
	cr_expect_str_empty(p.header);
	cr_expect_str_empty(p.python);
	cr_expect_str_empty(p.pkgconfig);
}

Test(mark_paths, build)
{
	struct mark_paths p;

	plant("build/libxpugap_mark.so.1");
	plant("build/libxpugap_mark.a");
	plant("build/include/xpugap_mark.h");
	plant("build/python/xpugap_mark.py");
	plant("build/xpugap_mark-uninstalled.pc");
	plant("lib/libxpugap_mark.so.1"); /* of another one, installed where the tree lies */
	find(&p, "build");
	is_at(p.lib, "build/libxpugap_mark.so.1");
	is_at(p.static_library, "build/libxpugap_mark.a");
	is_at(p.header, "build/include/xpugap_mark.h");
	is_at(p.python, "build/python");
	is_at(p.pkgconfig, "build");
}

Test(mark_paths, installed)
{
	struct mark_paths p;

	plant("usr/bin/xpugap");
	plant("usr/lib64/libxpugap_mark.so.1");
	plant("usr/lib64/pkgconfig/xpugap_mark.pc");
	plant("usr/include/xpugap_mark.h");
	plant("usr/share/xpugap/python/xpugap_mark.py");
	find(&p, "usr/bin");
	is_at(p.lib, "usr/lib64/libxpugap_mark.so.1");
	cr_expect_str_empty(p.static_library);
	is_at(p.header, "usr/include/xpugap_mark.h");
	is_at(p.python, "usr/share/xpugap/python");
	is_at(p.pkgconfig, "usr/lib64/pkgconfig");
}

TestSuite(mark_env, .init = begin, .fini = end);

static const struct mark_paths paths = {.lib = "/b/lib.so", .python = "/b/python"};

/* What stands for @name in @e, or NULL. */
static const char *value(const struct mark_env *e, const char *name)
{
	size_t len = strlen(name);
	const char *found = NULL;

	for (char *const *s = e->strings; *s; s++) {
		if (strncmp(*s, name, len) != 0 || (*s)[len] != '=')
			continue;
		cr_expect_null(found, "%s stands there twice", name);
		found = *s + len + 1;
	}
	return found;
}

Test(mark_env, all)
{
	struct mark_env e;

	cr_assert_eq(mark_env__init(&e, "@x;ring=65536", &paths, true), 0);
	cr_expect_str_eq(value(&e, "XPUGAP_MARK"), "@x;ring=65536");
	cr_expect_str_eq(value(&e, "XPUGAP_MARK_LIB"), "/b/lib.so");
	cr_expect_str_eq(value(&e, "PYTHONPATH"), "/b/python");
	mark_env__free(&e);
	cr_assert_eq(mark_env__init(&e, NULL, &paths, false), 0);
	cr_expect_null(value(&e, "XPUGAP_MARK"));
	cr_expect_null(value(&e, "PYTHONPATH"));
	mark_env__free(&e);
}

Test(mark_env, of_the_caller)
{
	static const struct {
		const char *now, *then; /* NULL: not set */
	} rows[] = {
		{"", "/b/python"},
		{"/a", "/a:/b/python"},
		{"/a:", "/a::/b/python"},
		{"/b/python", NULL},
		{"/a:/b/python:/c", NULL},
		{"/b/python:", NULL},
		{"/a:/b/python", NULL},
		{"/b/pyth", "/b/pyth:/b/python"},
		{"/b/python2", "/b/python2:/b/python"},
	};
	struct mark_env e;
	const char *got;

	setenv("XPUGAP_MARK_LIB", "/mine", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		setenv("PYTHONPATH", rows[i].now, 1);
		cr_assert_eq(mark_env__init(&e, "@x", &paths, true), 0);
		cr_expect_null(value(&e, "XPUGAP_MARK_LIB"));
		got = value(&e, "PYTHONPATH");
		cr_expect_str_eq(got ? got : "none", rows[i].then ? rows[i].then : "none",
				 "'%s' became '%s'", rows[i].now, got ? got : "none");
		mark_env__free(&e);
	}
}

/* A folder that PYTHONPATH cannot name, and none. */
Test(mark_env, no_folder)
{
	const char *const folders[] = {"", "/a:b"};
	struct mark_paths odd = {.lib = ""};
	struct mark_env e;

	for (size_t i = 0; i < 2; i++) {
		strcpy(odd.python, folders[i]);
		cr_assert_eq(mark_env__init(&e, "@x", &odd, true), 0);
		cr_expect_null(value(&e, "PYTHONPATH"));
		cr_expect_null(value(&e, "XPUGAP_MARK_LIB"));
		mark_env__free(&e);
	}
}
