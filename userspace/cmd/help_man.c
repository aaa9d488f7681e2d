// SPDX-License-Identifier: BSD-2-Clause
/* Manual pages in mdoc(7), from the same rows that parse the command line. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/help.h"
#include "userspace/lib/wrap.h"

#define MAX_REFS 64

/* Print @s so that roff reads every character as itself; @start: at the start of a line. */
static void roff(FILE *out, const char *s, size_t len, bool start)
{
	if (start && len && (*s == '.' || *s == '\''))
		fputs("\\&", out);
	for (; len; s++, len--) {
		if (*s == '\\')
			fputs("\\e", out);
		else if (*s == '-')
			fputs("\\-", out);
		else if (*s == '\n')
			fputc(' ', out);
		else
			fputc(*s, out);
	}
}

/* Running text, which begins a line: each sentence gets one of its own, as roff wants it. */
static void prose(FILE *out, const char *s, size_t len)
{
	size_t n;

	while (len) {
		for (n = 1; n < len && !(strchr(".?!", s[n - 1]) && strchr(" \n", s[n])); n++)
			;
		roff(out, s, n, true);
		s += n;
		len -= n;
		while (len && (*s == ' ' || *s == '\n')) {
			s++;
			len--;
		}
		if (len)
			fputc('\n', out);
	}
}

/* A word as the argument of a macro: never taken for a macro itself. */
static void argument(FILE *out, const char *s)
{
	const char *p;

	fputs(" \"\\&", out);
	for (p = s; *p; p++) {
		if (*p == '"')
			fputs("\\(dq", out);
		else
			roff(out, p, 1, false);
	}
	fputc('"', out);
}

/* A line of text of its own. */
static void line(FILE *out, const char *s)
{
	prose(out, s, strlen(s));
	fputc('\n', out);
}

/* A phrase of a row as a sentence. */
static void sentence(FILE *out, const char *s)
{
	size_t len = strlen(s);
	char first = (char)toupper((unsigned char)*s);

	roff(out, &first, 1, true);
	prose(out, s + 1, len ? len - 1 : 0);
	fputs(len && strchr(".?!", s[len - 1]) ? "\n" : ".\n", out);
}

static void paragraphs(FILE *out, const char *text)
{
	const char *piece;
	int literal, gap, open = 0, first = 1;
	size_t len;

	while ((text = wrap__next(text, &piece, &len, &literal, &gap))) {
		if (open && !literal)
			fputs(".Ed\n", out);
		else if (open && gap)
			fputc('\n', out);
		if (!literal && !first)
			fputs(".Pp\n", out);
		if (literal && !open)
			fputs(".Bd -literal -offset indent\n", out);
		open = literal;
		first = 0;
		if (literal)
			roff(out, piece, len, true);
		else
			prose(out, piece, len);
		fputc('\n', out);
	}
	if (open)
		fputs(".Ed\n", out);
}

static void head(FILE *out, const char *name, const char *summary)
{
	const char *p;

	fputs(".\\\" Made by 'xpugap help --man': edit the command's rows instead.\n", out);
	fputs(".Dd " XPUGAP_RELEASED "\n.Dt ", out);
	for (p = name; *p; p++)
		fputc(toupper((unsigned char)*p), out);
	fprintf(out, " 1\n.Os \"xpugap %s\"\n.Sh NAME\n.Nm %s\n.Nd ", XPUGAP_VERSION, name);
	line(out, summary);
}

static void option(FILE *out, const struct opt *o)
{
	int i;

	fputs(".It ", out);
	if (o->letter)
		fprintf(out, "Fl %c , ", o->letter);
	fprintf(out, "Fl \\-%s", o->name);
	if (o->type != OPT_FLAG) {
		fputs(" Ar", out);
		argument(out, o->arg);
	}
	fputc('\n', out);
	sentence(out, o->help);
	if (o->more)
		line(out, o->more);
	if (o->type == OPT_CHOICE) {
		fprintf(out, "One of");
		for (i = 0; o->choices[i]; i++) {
			fprintf(out, "%s\n.Cm", i ? " ," : "");
			argument(out, o->choices[i]);
		}
		fputs(" .\n", out);
	}
	if (o->type == OPT_LIST)
		line(out, "May be given more than once; commas separate several values.");
	if (o->def && o->type == OPT_FLAG)
		fprintf(out, "This is the default;\n.Fl \\-no\\-%s\nunsets it.\n", o->name);
	else if (o->def) {
		fputs("The default is\n.Cm", out);
		argument(out, o->def);
		fputs(" .\n", out);
	}
}

static void options(FILE *out, const struct opt *o)
{
	fputs(".Sh OPTIONS\n.Bl -tag -width Ds\n", out);
	for (; o && o->name; o++)
		option(out, o);
	fputs(".It Fl h , Fl \\-help\nPrint a summary of the options.\n.El\n", out);
}

static void exit_status(FILE *out, const char *more)
{
	fputs(".Sh EXIT STATUS\n"
	      ".Bl -tag -width 1n -compact\n"
	      ".It 0\nsuccess\n"
	      ".It 1\nfailure; a message on standard error says what failed\n"
	      ".It 2\na command line that could not be understood\n"
	      ".El\n",
	      out);
	if (more) {
		fputs(".Pp\n", out);
		paragraphs(out, more);
	}
}

static void examples(FILE *out, const struct cmd_example *e)
{
	const struct cmd_example *first = e;

	for (; e && e->text; e++) {
		fputs(e == first ? ".Sh EXAMPLES\n" : ".Pp\n", out);
		roff(out, e->text, strlen(e->text), true);
		fputs(":\n.Bd -literal -offset indent\n", out);
		roff(out, e->line, strlen(e->line), true);
		fputs("\n.Ed\n", out);
	}
}

struct ref {
	char name[64];
	char section;
};

struct refs {
	struct ref refs[MAX_REFS];
	size_t n;
};

static void add_ref(struct refs *r, const char *name, char section)
{
	if (r->n == MAX_REFS)
		return;
	snprintf(r->refs[r->n].name, sizeof(r->refs[r->n].name), "%s", name);
	r->refs[r->n++].section = section;
}

/* "trace(5), perf(1)" */
static void add_refs(struct refs *r, const char *text)
{
	char name[64], section;
	int n;

	while (text && sscanf(text, " %63[^( ](%c)%n", name, &section, &n) == 2) {
		add_ref(r, name, section);
		text += n;
		text += strspn(text, ", ");
	}
}

/* As manuals want it: by section, then by name. */
static int compare_refs(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;

	return x->section != y->section ? x->section - y->section : strcasecmp(x->name, y->name);
}

static void see_also(FILE *out, struct refs *r)
{
	size_t i;

	qsort(r->refs, r->n, sizeof(r->refs[0]), compare_refs);
	fputs(".Sh SEE ALSO\n", out);
	for (i = 0; i < r->n; i++)
		fprintf(out, ".Xr %s %c%s\n", r->refs[i].name, r->refs[i].section,
			i + 1 < r->n ? " ," : "");
}

static void command_page(const struct cmd *cmd, FILE *out)
{
	struct refs refs = {.n = 0};
	char name[64];

	snprintf(name, sizeof(name), "xpugap-%s", cmd->name);
	head(out, name, cmd->summary);
	fprintf(out, ".Sh SYNOPSIS\n.Nm xpugap %s\n.Op Ar OPTION ...\n", cmd->name);
	if (*cmd->operands)
		line(out, cmd->operands);
	fputs(".Sh DESCRIPTION\n", out);
	paragraphs(out, cmd->description);
	options(out, cmd->opts);
	exit_status(out, cmd->exit_status);
	examples(out, cmd->examples);
	add_ref(&refs, "xpugap", '1');
	add_refs(&refs, cmd->see_also);
	see_also(out, &refs);
}

static void overview_page(FILE *out)
{
	struct refs refs = {.n = 0};
	const struct cmd *const *c;
	char name[64];

	head(out, "xpugap", "profiler for AI accelerators and the kernel around them");
	fputs(".Sh SYNOPSIS\n.Nm\n.Ar COMMAND\n.Op Ar OPTION ...\n.Op Ar OPERAND ...\n"
	      ".Nm\n.Fl \\-help | Fl \\-version\n"
	      ".Sh DESCRIPTION\n",
	      out);
	paragraphs(out,
		   "xpugap runs AI workloads, or a program of yours, watches the Linux kernel "
		   "with eBPF while they run, and explains step by step where the time went.\n"
		   "\n"
		   "Recording and explaining are apart: one command writes a trace, others read "
		   "it, on this machine or another.");
	fputs(".Sh COMMANDS\n.Bl -tag -width Ds\n", out);
	for (c = cmds; *c; c++) {
		fprintf(out, ".It Xr xpugap-%s 1\n", (*c)->name);
		sentence(out, (*c)->summary);
	}
	fputs(".El\n.Sh OPTIONS\n.Bl -tag -width Ds\n"
	      ".It Fl h , Fl \\-help\nList the commands.\n"
	      ".It Fl V , Fl \\-version\nPrint the version.\n.El\n"
	      ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
	      ".It Ev NO_COLOR\nWhen not empty, no colours are used on terminals.\n.El\n",
	      out);
	exit_status(out, NULL);
	for (c = cmds; *c; c++) {
		snprintf(name, sizeof(name), "xpugap-%s", (*c)->name);
		add_ref(&refs, name, '1');
	}
	add_refs(&refs, "xpugap_mark(3), trace(5)");
	see_also(out, &refs);
}

void help__man(const struct cmd *cmd, FILE *out)
{
	if (cmd)
		command_page(cmd, out);
	else
		overview_page(out);
}
