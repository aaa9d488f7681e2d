// SPDX-License-Identifier: BSD-2-Clause
/* Completion for bash, from the same rows that parse the command line. */
#include <stdio.h>
#include <string.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/help.h"
#include "workloads/device/device.h"
#include "workloads/suite/workload.h"

#define OTHERS_MAX 64 /* options of workloads */

#define NAME_OF(name, what) #name " "
static const char workload_names[] = "" WORKLOAD_TABLE(NAME_OF);
static const char device_names[] = DEVICE_TABLE(NAME_OF);
static const char command_names[] = CMD_TABLE(NAME_OF);

/* What a metavariable of a command's operands stands for. */
static enum opt_complete operand_kind(const char *operands)
{
	static const struct {
		const char *word;
		enum opt_complete kind;
	} words[] = {
		{"COMMAND", OPT_COMPLETE_XPUGAP_COMMAND},
		{"WORKLOAD", OPT_COMPLETE_WORKLOAD},
		{"DEVICE", OPT_COMPLETE_DEVICE},
		{"CMD", OPT_COMPLETE_COMMAND},
		{"DIR", OPT_COMPLETE_FILE},
		{"TRACE", OPT_COMPLETE_FILE},
		{"FILE", OPT_COMPLETE_FILE},
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(operands, words[i].word))
			return words[i].kind;
	return OPT_COMPLETE_NONE;
}

/* The shell command that fills COMPREPLY. */
static void offer(FILE *out, enum opt_complete kind)
{
	switch (kind) {
	case OPT_COMPLETE_FILE:
		fputs("_xpugap_files -f", out);
		break;
	case OPT_COMPLETE_DIR:
		fputs("_xpugap_files -d", out);
		break;
	case OPT_COMPLETE_WORKLOAD:
		fprintf(out, "_xpugap_words '%s'", workload_names);
		break;
	case OPT_COMPLETE_DEVICE:
		fprintf(out, "_xpugap_words '%s'", device_names);
		break;
	case OPT_COMPLETE_XPUGAP_COMMAND:
		fprintf(out, "_xpugap_words '%s'", command_names);
		break;
	case OPT_COMPLETE_COMMAND:
		fputs("_xpugap_program", out);
		break;
	case OPT_COMPLETE_NONE:
		fputc(':', out);
		break;
	}
}

/* "run:--output|run:-o) ..." if the option takes a value */
static void value(FILE *out, const struct cmd *cmd, const struct opt *o)
{
	const struct opt *others[OTHERS_MAX];
	size_t i, n = o->type == OPT_OTHER ? o->others(others, OTHERS_MAX) : 0;

	for (i = 0; i < n; i++)
		value(out, cmd, others[i]);
	if (o->type == OPT_FLAG || o->type == OPT_OTHER)
		return;
	fprintf(out, "\t%s:--%s", cmd->name, o->name);
	if (o->letter)
		fprintf(out, "|%s:-%c", cmd->name, o->letter);
	fputs(") ", out);
	if (o->type == OPT_CHOICE) {
		fputs("_xpugap_words '", out);
		for (i = 0; o->choices[i]; i++)
			fprintf(out, "%s ", o->choices[i]);
		fputc('\'', out);
	} else {
		offer(out, o->complete);
	}
	fputs("; return ;;\n", out);
}

static void name(FILE *out, const struct opt *o, bool valued)
{
	const struct opt *others[OTHERS_MAX];
	size_t i, n;

	if (o->type == OPT_OTHER) {
		n = o->others(others, OTHERS_MAX);
		for (i = 0; i < n; i++)
			name(out, others[i], valued);
	} else if (!valued) {
		fprintf(out, " --%s%s", o->name, o->type == OPT_FLAG ? "" : "=");
	} else if (o->type != OPT_FLAG) {
		fprintf(out, " --%s", o->name);
		if (o->letter)
			fprintf(out, " -%c", o->letter);
	}
}

/* The names of all options, and those that take a value. */
static void options(FILE *out, const struct cmd *cmd)
{
	const struct opt *o;

	fprintf(out, "\t%s) options='--help", cmd->name);
	for (o = cmd->opts; o && o->name; o++)
		name(out, o, false);
	fputs("' valued='", out);
	for (o = cmd->opts; o && o->name; o++)
		name(out, o, true);
	fprintf(out, " ' program=%d ;;\n", cmd->runs_program);
}

static void operands(FILE *out, const struct cmd *cmd)
{
	fprintf(out, "\t%s) ", cmd->name);
	offer(out, operand_kind(cmd->operands));
	fputs(" ;;\n", out);
}

static const char helpers[] =
	"# bash completion for xpugap. Made by 'xpugap help --completion bash'.\n"
	"\n"
	"_xpugap_words() {\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
	"\t[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n"
	"}\n"
	"\n"
	"_xpugap_files() {\n"
	"\tcompopt -o filenames\n"
	"\tmapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"# a program and its arguments, which begin at $first\n"
	"_xpugap_program() {\n"
	"\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$first\"\n"
	"\telif ((COMP_CWORD == first)) && [[ $cur != */* ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"\telse\n"
	"\t\t_xpugap_files -f\n"
	"\tfi\n"
	"}\n"
	"\n"
	"_xpugap() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal command=${COMP_WORDS[1]-} options valued program first=0 i word\n"
	"\tCOMPREPLY=()\n";

/* Finds where the options end, and the option whose value is being typed. */
static const char search[] =
	"\tesac\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif [[ $word == -- ]]; then\n"
	"\t\t\tfirst=$((i + 1))\n"
	"\t\t\tbreak\n"
	"\t\telif [[ ${COMP_WORDS[i + 1]-} == = ]]; then # bash splits \"--name=value\" there\n"
	"\t\t\ti=$((i + 2))\n"
	"\t\telif [[ $valued == *\" $word \"* ]]; then\n"
	"\t\t\ti=$((i + 1))\n"
	"\t\telif [[ $word != -* ]] && ((program)); then\n"
	"\t\t\tfirst=$i\n"
	"\t\t\tbreak\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tif [[ $cur == = ]]; then\n"
	"\t\tcur=\n"
	"\telif [[ $prev == = ]] && ((COMP_CWORD > 2)); then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tfi\n"
	"\t((first)) || case $command:$prev in\n";

static const char operand[] = "\tesac\n"
			      "\tif ((!first)) && [[ $cur == -* ]]; then\n"
			      "\t\t_xpugap_words \"$options\"\n"
			      "\t\treturn\n"
			      "\tfi\n"
			      "\t((first)) || first=$COMP_CWORD\n"
			      "\tcase $command in\n";

void help__completion_bash(FILE *out)
{
	const struct cmd *const *c;
	const struct opt *o;

	fputs(helpers, out);
	fprintf(out,
		"\tif ((COMP_CWORD == 1)); then\n"
		"\t\t_xpugap_words '%s--help --version'\n"
		"\t\treturn\n"
		"\tfi\n"
		"\tcase $command in\n",
		command_names);
	for (c = cmds; *c; c++)
		options(out, *c);
	fputs("\t*) return ;;\n", out);
	fputs(search, out);
	for (c = cmds; *c; c++)
		for (o = (*c)->opts; o && o->name; o++)
			value(out, *c, o);
	fputs(operand, out);
	for (c = cmds; *c; c++)
		operands(out, *c);
	fputs("\tesac\n}\ncomplete -F _xpugap xpugap\n", out);
}
