// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/tracefs.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OFFSET 65535 /* a tracepoint's data are smaller than a page */

/* Is @name declared by @decl, which ends before @end? "const char * name", "int name[4]". */
static bool declares(const char *decl, const char *end, const char *name)
{
	const char *bracket = memchr(decl, '[', end - decl), *word;
	size_t n = strlen(name);

	/* "__data_loc char[] name" has brackets before the name, "char name[16]" after it */
	if (bracket && memchr(bracket, ']', end - bracket) == end - 1)
		end = bracket;
	while (end > decl && isspace((unsigned char)end[-1]))
		end--;
	if ((size_t)(end - decl) < n)
		return false;
	word = end - n;
	return memcmp(word, name, n) == 0 &&
	       (word == decl || (!isalnum((unsigned char)word[-1]) && word[-1] != '_'));
}

static int parse_offset(const char *line, const char *end, uint32_t *offset)
{
	static const char key[] = "offset:";
	const char *at = memmem(line, end - line, key, sizeof(key) - 1);
	unsigned long v;
	char *stop;

	if (!at || !isdigit((unsigned char)at[sizeof(key) - 1]))
		return -EINVAL;
	v = strtoul(at + sizeof(key) - 1, &stop, 10);
	if (*stop != ';' || v > MAX_OFFSET)
		return -EINVAL;
	*offset = v;
	return 0;
}

int tracefs__parse_field(const char *format, const char *name, uint32_t *offset)
{
	static const char key[] = "field:";
	const char *line, *end, *decl, *semicolon;

	for (line = format; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		decl = memmem(line, end - line, key, sizeof(key) - 1);
		if (!decl)
			continue;
		decl += sizeof(key) - 1;
		semicolon = memchr(decl, ';', end - decl);
		if (semicolon && declares(decl, semicolon, name))
			return parse_offset(semicolon, end, offset);
	}
	return -ENOENT;
}

int tracefs__field(const char *root, const char *event, const char *name, uint32_t *offset)
{
	char path[256], *text;
	size_t n;
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "%s/events/%s/format", root, event);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	text = malloc(65536);
	n = text ? fread(text, 1, 65535, f) : 0;
	fclose(f);
	if (!text)
		return -ENOMEM;
	text[n] = '\0';
	err = tracefs__parse_field(text, name, offset);
	free(text);
	return err;
}
