// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/info_paths.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "userspace/lib/json.h"
#include "userspace/lib/text.h"
#include "userspace/source/mark_paths.h"

#define LABEL_WIDTH 20

/* @option and the folder of @file, as a word of the shell. */
static void print_folder(const char *option, const char *file)
{
	printf(" %s", option);
	text__shell_word(stdout, file, (size_t)(strrchr(file, '/') - file));
}

static void print_compile(const struct mark_paths *p)
{
	if (!*p->lib || !*p->header)
		return;
	printf("%-*scc prog.c", LABEL_WIDTH, "compile with");
	print_folder("-I", p->header);
	print_folder("-L", p->lib);
	print_folder("-Wl,-rpath,", p->lib);
	puts(" -lxpugap_mark");
}

void info_paths__print(bool as_json)
{
	struct mark_paths p;
	const struct {
		const char *key, *label, *path;
	} rows[] = {
		{"library", "library", p.lib},
		{"static_library", "static library", p.static_library},
		{"header", "header", p.header},
		{"python", "Python module in", p.python},
		{"pkg_config", "pkg-config file in", p.pkgconfig},
	};
	struct json j;
	size_t i;

	mark_paths__find(&p);
	if (as_json) {
		json__init(&j, stdout, 2);
		json__object(&j, NULL);
	}
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!as_json)
			printf("%-*s%s\n", LABEL_WIDTH, rows[i].label,
			       *rows[i].path ? rows[i].path : "not found");
		else if (*rows[i].path)
			json__str(&j, rows[i].key, rows[i].path);
	}
	if (as_json) {
		json__end_object(&j);
		json__finish(&j);
	} else {
		print_compile(&p);
	}
}
