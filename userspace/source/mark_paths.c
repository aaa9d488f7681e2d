// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/mark_paths.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MULTIARCH "../lib/x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "../lib/aarch64-linux-gnu"
#else
#define MULTIARCH "."
#endif

/* As seen from the program's folder: of the build, then of PREFIX/bin. */
static const char *const lib_dirs[] = {".", "../lib", "../lib64", MULTIARCH, NULL};
static const char *const header_dirs[] = {"include", "../include", NULL};
static const char *const python_dirs[] = {"python", "../share/xpugap/python", NULL};

/* The first of @dirs, seen from @bin, that holds @file: the path of it, or if @folder its folder's.
 */
static void find(char *out, const char *bin, const char *const *dirs, const char *file, bool folder)
{
	char path[PATH_MAX], real[PATH_MAX];

	*out = '\0';
	for (; *dirs && !*out; dirs++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", bin, *dirs, file) >=
		    sizeof(path))
			continue;
		if (access(path, R_OK))
			continue;
		if (folder)
			*strrchr(path, '/') = '\0';
		if (realpath(path, real))
			strcpy(out, real);
	}
}

void mark_paths__find_from(struct mark_paths *p, const char *bin)
{
	static const char *const pc_dirs[] = {"../lib/pkgconfig", "../lib64/pkgconfig",
					      MULTIARCH "/pkgconfig", NULL};
	static const char *const build[] = {".", NULL};

	find(p->lib, bin, lib_dirs, "libxpugap_mark.so.1", false);
	find(p->static_library, bin, lib_dirs, "libxpugap_mark.a", false);
	find(p->header, bin, header_dirs, "xpugap_mark.h", false);
	find(p->python, bin, python_dirs, "xpugap_mark.py", true);
	find(p->pkgconfig, bin, build, "xpugap_mark-uninstalled.pc", true);
	if (!*p->pkgconfig)
		find(p->pkgconfig, bin, pc_dirs, "xpugap_mark.pc", true);
}

void mark_paths__find(struct mark_paths *p)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	mark_paths__find_from(p, slash ? path : "");
}
