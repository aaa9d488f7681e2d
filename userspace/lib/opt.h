/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Option rows: one table gives parsing, --help, the man page and shell completion.
 *
 * The values live in a struct of the command (or workload, or analysis); a row names the member
 * by its offset. Both "--name value" and "--name=value" are understood, short options may be
 * joined ("-vq", "-oFILE"), "--" ends the options, and a unique prefix of a name is not accepted
 * (scripts would break when an option is added).
 */
#ifndef XPUGAP_LIB_OPT_H
#define XPUGAP_LIB_OPT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum opt_type {
	OPT_FLAG,   /* bool; "--no-NAME" unsets it */
	OPT_STR,    /* const char *, points into argv */
	OPT_U64,    /* uint64_t */
	OPT_F64,    /* double, finite */
	OPT_SIZE,   /* uint64_t bytes: 4096, 64K, 16M, 2G (powers of 1024) */
	OPT_TIME,   /* uint64_t ns: 10s (default unit s), 250ms, 5us, 100ns, 2m, 1h */
	OPT_CHOICE, /* int: index into choices */
	OPT_LIST,   /* struct opt_list: each use appends; commas separate */
	OPT_OTHER,  /* struct opt_list: options of other tables, as typed: "name=value" */
};

struct opt_list {
	char **items; /* owned; opts__free() frees */
	size_t n;
};

/* What shell completion offers for the argument. */
enum opt_complete {
	OPT_COMPLETE_NONE,
	OPT_COMPLETE_FILE,
	OPT_COMPLETE_DIR,
	OPT_COMPLETE_WORKLOAD,
	OPT_COMPLETE_DEVICE,
	OPT_COMPLETE_COMMAND,	     /* a program and its arguments */
	OPT_COMPLETE_XPUGAP_COMMAND, /* record, report, ... */
};

struct opt {
	const char *name; /* long name without dashes; NULL ends the table */
	char letter;	  /* short name or 0 */
	enum opt_type type;
	const char *arg;	    /* metavariable in help, e.g. "FILE" */
	const char *help;	    /* one phrase, lower case, no full stop */
	const char *more;	    /* further sentences for the man page, or NULL */
	const char *const *choices; /* OPT_CHOICE: NULL-terminated */
	enum opt_complete complete;
	size_t offset;
	const char *def; /* default as a user would type it, set before parsing; NULL: zero */
	/*
	 * OPT_OTHER: options that this table does not know but one of @max @rows does are kept
	 * for opts__set(). "--WHOSE.NAME" is looked up as NAME. Returns how many rows there are.
	 */
	size_t (*others)(const struct opt **rows, size_t max);
};

#define OPT_OFFSET(s, member) .offset = offsetof(struct s, member)

/*
 * Parse argv[1..argc) into @values by @rows; @what names the command in messages.
 * Returns the index in argv of the first operand (options and operands may not be mixed after
 * it), OPTS_HELP at "--help" or "-h", or -EINVAL after printing what is wrong, with the nearest
 * known name suggested. Defaults are stored first. Release with opts__free().
 */
#define OPTS_HELP (-ECANCELED)
int opts__parse(const struct opt *rows, void *values, const char *what, int argc, char **argv);

/*
 * The same where options may also follow operands ("report DIR --json"): @argv is reordered so
 * that the operands stand at its end, in their order. Only "--" ends the options.
 */
int opts__parse_mixed(const struct opt *rows, void *values, const char *what, int argc,
		      char **argv);

/* Set one option by name, as if typed; -EINVAL (printed) when it cannot be. A flag takes "yes"
 * and "no". */
int opts__set(const struct opt *rows, void *values, const char *what, const char *name,
	      const char *text);

void opts__defaults(const struct opt *rows, void *values);
void opts__free(const struct opt *rows, void *values);

/* Print the rows as the option part of --help, wrapped at 80 columns. */
void opts__help(const struct opt *rows, FILE *out);

/* The items as others want them: NULL-terminated, to be freed, the texts not; NULL: none. */
const char **opt_list__names(const struct opt_list *list);

/* Parsers behind the types; 0 or -EINVAL (-ERANGE), nothing printed. */
int opt__parse_u64(const char *s, uint64_t *v);
int opt__parse_f64(const char *s, double *v);
int opt__parse_size(const char *s, uint64_t *v);
int opt__parse_time(const char *s, uint64_t *ns);

/*
 * The nearest of @n names to @word by edit distance, or NULL when none is near enough to be
 * meant (distance over a third of the length, at least 1).
 */
const char *opt__nearest(const char *word, const char *const *names, size_t n);

#endif
