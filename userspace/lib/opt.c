// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/opt.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/log.h"
#include "userspace/lib/wrap.h"

#define NEAREST_MAX	64
#define OPT_HELP_COLUMN 28 /* where the explanations stand */

struct unit {
	const char *name;
	double factor;
};

int opt__parse_u64(const char *s, uint64_t *v)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	/* "010" is ten: nobody means octal */
	*v = strtoull(s, &end, s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10);
	if (errno == ERANGE)
		return -ERANGE;
	return *end ? -EINVAL : 0;
}

int opt__parse_f64(const char *s, double *v)
{
	char *end;

	if (!*s || isspace((unsigned char)*s))
		return -EINVAL;
	*v = strtod(s, &end);
	if (*end)
		return -EINVAL;
	return isfinite(*v) ? 0 : -ERANGE;
}

/* A number with one of @units behind it; the first unit is meant where none is written. */
static int parse_with_unit(const char *s, const struct unit *units, uint64_t *v)
{
	const struct unit *u = units;
	double x;
	char *end;

	if (!isdigit((unsigned char)*s) && *s != '.')
		return -EINVAL;
	x = strtod(s, &end);
	if (end == s)
		return -EINVAL;
	if (*end) {
		while (u->name && strcasecmp(u->name, end) != 0)
			u++;
		if (!u->name)
			return -EINVAL;
	}
	x *= u->factor;
	if (!(x < 0x1p63))
		return -ERANGE;
	*v = (uint64_t)llround(x);
	return 0;
}

int opt__parse_size(const char *s, uint64_t *v)
{
	static const struct unit units[] = {
		{"b", 1},      {"k", 0x1p10},	{"kib", 0x1p10}, {"m", 0x1p20},	  {"mib", 0x1p20},
		{"g", 0x1p30}, {"gib", 0x1p30}, {"t", 0x1p40},	 {"tib", 0x1p40}, {NULL, 0},
	};

	return parse_with_unit(s, units, v);
}

int opt__parse_time(const char *s, uint64_t *ns)
{
	static const struct unit units[] = {
		{"s", 1e9},  {"ms", 1e6},   {"us", 1e3}, {"ns", 1},
		{"m", 60e9}, {"h", 3600e9}, {NULL, 0},
	};

	return parse_with_unit(s, units, ns);
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Letters inserted, left out, replaced, or swapped with their neighbour. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][NEAREST_MAX + 1], *row, *up, *upper, n = strlen(b), i, j;

	for (j = 0; j <= n; j++)
		rows[0][j] = j;
	for (i = 1; a[i - 1]; i++) {
		row = rows[i % 3];
		up = rows[(i - 1) % 3];
		upper = rows[(i + 1) % 3];
		row[0] = i;
		for (j = 1; j <= n; j++) {
			row[j] = min_size(up[j], row[j - 1]) + 1;
			row[j] = min_size(row[j], up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min_size(row[j], upper[j - 2] + 1);
		}
	}
	return rows[(i - 1) % 3][n];
}

const char *opt__nearest(const char *word, const char *const *names, size_t n)
{
	size_t len = strlen(word), best = len < 3 ? 1 : len / 3, i, d;
	const char *found = NULL;

	if (!len || len > NEAREST_MAX)
		return NULL;
	for (i = 0; i < n; i++) {
		if (strlen(names[i]) > NEAREST_MAX)
			continue;
		d = edit_distance(word, names[i]);
		if (d < best || (d == best && !found)) {
			best = d;
			found = names[i];
		}
	}
	return found;
}

static int list_append(struct opt_list *list, const char *text, size_t len)
{
	char **items = realloc(list->items, (list->n + 1) * sizeof(*items));

	if (!items)
		return -ENOMEM;
	list->items = items;
	items[list->n] = strndup(text, len);
	if (!items[list->n])
		return -ENOMEM;
	list->n++;
	return 0;
}

static int list_add(struct opt_list *list, const char *text)
{
	int err = text[strspn(text, ",")] ? 0 : -EINVAL;
	size_t len;

	for (; !err; text += len + 1) {
		len = strcspn(text, ",");
		if (len)
			err = list_append(list, text, len);
		if (!text[len])
			break;
	}
	return err;
}

static int parse_choice(const struct opt *o, const char *text, int *v)
{
	int i;

	for (i = 0; o->choices[i]; i++) {
		if (strcmp(o->choices[i], text) == 0) {
			*v = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int store(const struct opt *o, void *values, const char *text)
{
	void *p = (char *)values + o->offset;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)p = strcmp(text, "no") != 0;
		return 0;
	case OPT_STR:
		*(const char **)p = text;
		return 0;
	case OPT_U64:
		return opt__parse_u64(text, p);
	case OPT_F64:
		return opt__parse_f64(text, p);
	case OPT_SIZE:
		return opt__parse_size(text, p);
	case OPT_TIME:
		return opt__parse_time(text, p);
	case OPT_CHOICE:
		return parse_choice(o, text, p);
	case OPT_LIST:
		return list_add(p, text);
	case OPT_OTHER:
		return list_append(p, text, strlen(text));
	}
	return -EINVAL;
}

static const char *expected(enum opt_type type)
{
	switch (type) {
	case OPT_U64:
		return "a whole number";
	case OPT_F64:
		return "a number";
	case OPT_SIZE:
		return "a size such as 4096, 64K or 1G";
	case OPT_TIME:
		return "a time such as 10s, 250ms or 2m";
	default:
		return "another value";
	}
}

static void complain_choice(const struct opt *o, const char *what, const char *text)
{
	size_t n = 0;
	char all[256] = "";
	const char *near;

	for (; o->choices[n]; n++) {
		if (n)
			strncat(all, ", ", sizeof(all) - strlen(all) - 1);
		strncat(all, o->choices[n], sizeof(all) - strlen(all) - 1);
	}
	near = opt__nearest(text, o->choices, n);
	if (near)
		log_error("%s: --%s: unknown '%s', did you mean '%s'? (one of: %s)", what, o->name,
			  text, near, all);
	else
		log_error("%s: --%s: unknown '%s' (one of: %s)", what, o->name, text, all);
}

static int store_or_complain(const struct opt *o, void *values, const char *what, const char *text)
{
	int err = store(o, values, text);

	if (!err)
		return 0;
	if (err == -ENOMEM)
		log_error("%s: out of memory", what);
	else if (o->type == OPT_CHOICE)
		complain_choice(o, what, text);
	else
		log_error("%s: --%s: '%s' is %s, expected %s", what, o->name, text,
			  err == -ERANGE ? "out of range" : "not understood", expected(o->type));
	return -EINVAL;
}

void opts__defaults(const struct opt *rows, void *values)
{
	for (; rows && rows->name; rows++)
		if (rows->def)
			store(rows, values, rows->def);
}

void opts__free(const struct opt *rows, void *values)
{
	struct opt_list *list;
	size_t i;

	for (; rows && rows->name; rows++) {
		if (rows->type != OPT_LIST && rows->type != OPT_OTHER)
			continue;
		list = (void *)((char *)values + rows->offset);
		for (i = 0; i < list->n; i++)
			free(list->items[i]);
		free(list->items);
		list->items = NULL;
		list->n = 0;
	}
}

static bool is_named(const struct opt *o, const char *name, size_t len)
{
	return o->type != OPT_OTHER && strlen(o->name) == len && memcmp(o->name, name, len) == 0;
}

static bool is_negated(const struct opt *o, const char *name, size_t len)
{
	return o->type == OPT_FLAG && len > 3 && memcmp(name, "no-", 3) == 0 &&
	       is_named(o, name + 3, len - 3);
}

static const struct opt *find_long(const struct opt *rows, const char *name, size_t len, bool *no)
{
	const struct opt *o;

	*no = false;
	for (o = rows; o && o->name; o++)
		if (is_named(o, name, len))
			return o;
	*no = true;
	for (o = rows; o && o->name; o++)
		if (is_negated(o, name, len))
			return o;
	return NULL;
}

static const struct opt *other_row(const struct opt *rows)
{
	for (; rows && rows->name; rows++)
		if (rows->type == OPT_OTHER)
			return rows;
	return NULL;
}

/* Whose option "[WHOSE.]name" is among the other tables of @other. */
static const struct opt *find_other(const struct opt *other, const char *name, size_t len, bool *no)
{
	const struct opt *found[NEAREST_MAX];
	const char *dot = memrchr(name, '.', len);
	size_t i, n = other->others(found, NEAREST_MAX);

	if (dot) {
		len -= (size_t)(dot + 1 - name);
		name = dot + 1;
	}
	for (i = 0; i < n; i++) {
		*no = !is_named(found[i], name, len);
		if (!*no || is_negated(found[i], name, len))
			return found[i];
	}
	return NULL;
}

static void complain_unknown(const struct opt *rows, const char *what, const char *name, size_t len)
{
	const struct opt *other = other_row(rows), *found[NEAREST_MAX];
	const char *names[2 * NEAREST_MAX], *near;
	char word[NEAREST_MAX + 1];
	size_t n = 0, i, nfound;

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	for (; rows && rows->name && n < NEAREST_MAX; rows++)
		if (rows != other)
			names[n++] = rows->name;
	nfound = other ? other->others(found, NEAREST_MAX) : 0;
	for (i = 0; i < nfound; i++)
		names[n++] = found[i]->name;
	near = opt__nearest(word, names, n);
	if (near)
		log_error("%s: unknown option '--%s', did you mean '--%s'?", what, word, near);
	else
		log_error("%s: unknown option '--%s' (see 'xpugap help %s')", what, word, what);
}

int opts__set(const struct opt *rows, void *values, const char *what, const char *name,
	      const char *text)
{
	bool no;
	const struct opt *o = find_long(rows, name, strlen(name), &no);

	if (!o) {
		complain_unknown(rows, what, name, strlen(name));
		return -EINVAL;
	}
	return store_or_complain(o, values, what, no ? "no" : text);
}

/* Keep an option of another table as "name=value" in the list of @other. */
static int keep_other(const struct opt *other, void *values, const char *what, const char *name,
		      size_t len, const char *text)
{
	char *word;
	int err;

	if (asprintf(&word, "%.*s=%s", (int)len, name, text) < 0) {
		log_error("%s: out of memory", what);
		return -EINVAL;
	}
	err = store_or_complain(other, values, what, word);
	free(word);
	return err;
}

/* argv[i] is "--something"; returns how many words it took, or -EINVAL. */
static int parse_long(const struct opt *rows, void *values, const char *what, int left, char **argv)
{
	const char *name = argv[0] + 2;
	size_t len = strcspn(name, "=");
	const char *text = name[len] ? name + len + 1 : NULL;
	const struct opt *o, *other = NULL;
	int used = 1, err;
	bool no;

	o = find_long(rows, name, len, &no);
	if (!o) {
		other = other_row(rows);
		o = other ? find_other(other, name, len, &no) : NULL;
	}
	if (!o) {
		complain_unknown(rows, what, name, len);
		return -EINVAL;
	}
	if (o->type == OPT_FLAG) {
		if (text) {
			log_error("%s: --%s takes no value", what, o->name);
			return -EINVAL;
		}
		text = no ? "no" : "yes";
	} else if (!text) {
		if (left < 2) {
			log_error("%s: --%s needs a value: %s", what, o->name, o->arg);
			return -EINVAL;
		}
		text = argv[1];
		used = 2;
	}
	if (other)
		err = keep_other(other, values, what, name, len,
				 o->type == OPT_FLAG ? "yes" : text);
	else
		err = store_or_complain(o, values, what, text);
	return err ?: used;
}

/* argv[i] is "-xyz"; returns how many words it took, or -EINVAL. */
static int parse_short(const struct opt *rows, void *values, const char *what, int left,
		       char **argv)
{
	const char *p = argv[0] + 1;
	const struct opt *o;
	const char *text;

	for (; *p; p++) {
		for (o = rows; o && o->name && o->letter != *p; o++)
			;
		if (!o || !o->name) {
			log_error("%s: unknown option '-%c' (see 'xpugap help %s')", what, *p,
				  what);
			return -EINVAL;
		}
		if (o->type == OPT_FLAG) {
			store(o, values, "yes");
			continue;
		}
		text = p[1] ? p + 1 : left > 1 ? argv[1] : NULL;
		if (!text) {
			log_error("%s: -%c needs a value: %s", what, *p, o->arg);
			return -EINVAL;
		}
		return store_or_complain(o, values, what, text) ?: (p[1] ? 1 : 2);
	}
	return 1;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

/* argv[0] is an option; returns how many words it took, or -EINVAL. */
static int parse_option(const struct opt *rows, void *values, const char *what, int left,
			char **argv)
{
	if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
		return OPTS_HELP;
	if (argv[0][1] == '-')
		return parse_long(rows, values, what, left, argv);
	return parse_short(rows, values, what, left, argv);
}

int opts__parse(const struct opt *rows, void *values, const char *what, int argc, char **argv)
{
	int i = 1, used;

	opts__defaults(rows, values);
	while (i < argc && is_option(argv[i])) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		used = parse_option(rows, values, what, argc - i, argv + i);
		if (used < 0)
			return used;
		i += used;
	}
	return i;
}

int opts__parse_mixed(const struct opt *rows, void *values, const char *what, int argc, char **argv)
{
	int i = 1, n = 0, used = 1;
	char **operands;

	operands = calloc((size_t)argc + 1, sizeof(*operands));
	if (!operands) {
		log_error("%s: out of memory", what);
		return -ENOMEM;
	}
	opts__defaults(rows, values);
	for (; i < argc && used > 0; i += used) {
		if (!is_option(argv[i])) {
			operands[n++] = argv[i];
			used = 1;
		} else if (strcmp(argv[i], "--") == 0) {
			for (i++; i < argc; i++)
				operands[n++] = argv[i];
			used = 1;
		} else {
			used = parse_option(rows, values, what, argc - i, argv + i);
		}
	}
	memcpy(argv + argc - n, operands, (size_t)n * sizeof(*operands));
	free(operands);
	return used < 0 ? used : argc - n;
}

/* Print the phrase of an option with its choices and its default. */
static void print_phrase(const struct opt *o, FILE *out)
{
	size_t i;

	fputs(o->help, out);
	for (i = 0; o->type == OPT_CHOICE && o->choices[i]; i++)
		fprintf(out, "%s%s", i ? ", " : ": ", o->choices[i]);
	if (o->def && o->type != OPT_FLAG)
		fprintf(out, " (default %s)", o->def);
}

static void print_row(const struct opt *o, FILE *out)
{
	char *phrase = NULL;
	size_t size;
	FILE *mem;
	int n;

	n = fprintf(out, o->letter ? "  -%c, " : "      ", o->letter);
	n += fprintf(out, "--%s", o->name);
	if (o->type != OPT_FLAG)
		n += fprintf(out, " %s", o->arg);
	mem = open_memstream(&phrase, &size);
	if (!mem)
		return;
	print_phrase(o, mem);
	if (fclose(mem) == 0) {
		if (n > OPT_HELP_COLUMN - 2)
			fprintf(out, "\n%*s", OPT_HELP_COLUMN, "");
		else
			fprintf(out, "%*s", OPT_HELP_COLUMN - n, "");
		wrap__words(out, OPT_HELP_COLUMN, phrase);
	}
	free(phrase);
}

void opts__help(const struct opt *rows, FILE *out)
{
	for (; rows && rows->name; rows++)
		print_row(rows, out);
}

const char **opt_list__names(const struct opt_list *list)
{
	const char **names = list->n ? calloc(list->n + 1, sizeof(*names)) : NULL;

	if (names)
		memcpy(names, list->items, list->n * sizeof(*names));
	return names;
}
