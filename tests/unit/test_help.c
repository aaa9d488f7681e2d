// SPDX-License-Identifier: BSD-2-Clause
/* Pages, help and completion of a made-up command with everything in it that is awkward. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/help.h"

static const char *const sizes[] = {"tiny", "Fl", NULL};

static const struct opt rows[] = {
	{"output", 'o', OPT_STR, "FILE", "write to FILE", .more = "Never overwrites. Ever!"},
	{"size", 0, OPT_CHOICE, "SIZE", "how much", .choices = sizes, .def = "tiny"},
	{"trace", 0, OPT_FLAG, NULL, "record a trace", .def = "yes"},
	{"probe", 'p', OPT_LIST, "NAME", ".hidden\\names, such as 'x-y'"},
	{NULL},
};

static const struct cmd_example examples[] = {
	{"A run", "xpugap odd -o x.y -- ./prog -v"},
	{"Another", "'quoted' \\ back"},
	{NULL},
};

static const struct cmd odd = {
	.name = "odd",
	.summary = "does odd things",
	.operands = "[--] CMD [ARG...]",
	.runs_program = true,
	.description = "First paragraph, which is long enough to be wrapped by the help text but "
		       "not by the page.\nStill the first. New sentence.\n"
		       "\n"
		       ".Not a macro.\n"
		       "  literal -x   line\n"
		       "\n"
		       "  'literal too\n"
		       "Last.",
	.opts = rows,
	.examples = examples,
	.exit_status = "Otherwise that of CMD.",
	.see_also = "trace(5), perf(1)",
};

static char *text;

static const char *page(void (*print)(const struct cmd *, FILE *))
{
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_not_null(out);
	print(&odd, out);
	cr_assert_eq(fclose(out), 0);
	return text;
}

#define has(part) cr_expect(strstr(text, part), "no '%s' in:\n%s", part, text)

Test(help, text)
{
	page(help__command);
	has("usage: xpugap odd [OPTION...] [--] CMD [ARG...]\n\nFirst paragraph, which");
	has("\n\n.Not a macro.\n  literal -x   line\n\n  'literal too\nLast.\n\noptions:\n");
	has("  -o, --output FILE         write to FILE\n");
	has("      --size SIZE           how much: tiny, Fl (default tiny)\n");
	has("  -h, --help                print this\n");
	has("  A run\n      xpugap odd -o x.y -- ./prog -v\n");
	free(text);
}

Test(help, page_has_every_part_in_order)
{
	static const char *const parts[] = {
		".Dt XPUGAP-ODD 1\n",	 ".Sh NAME\n",	      ".Nm xpugap-odd\n",
		".Nd does odd things\n", ".Sh SYNOPSIS\n",    ".Sh DESCRIPTION\n",
		".Sh OPTIONS\n",	 ".Sh EXIT STATUS\n", ".Sh EXAMPLES\n",
		".Sh SEE ALSO\n",
	};
	const char *at = page(help__man);
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		cr_assert(at = strstr(at, parts[i]), "no '%s' where it belongs:\n%s", parts[i],
			  text);
	}
	free(text);
}

Test(help, page_keeps_every_character)
{
	page(help__man);
	has("Still the first.\nNew sentence.\n");
	has("\n\\&.Not a macro.\n");
	has("  literal \\-x   line\n");
	has("Never overwrites.\nEver!\n");
	has(".hidden\\enames, such as 'x\\-y'.\n");
	has("\\&'quoted' \\e back\n");
	has(".Cm \"\\&Fl\"");
	has(".It Fl o , Fl \\-output Ar \"\\&FILE\"\n");
	has(".Fl \\-no\\-trace\n");
	has("Otherwise that of CMD.\n");
	has(".Xr perf 1 ,\n.Xr xpugap 1 ,\n.Xr trace 5\n");
	free(text);
}
