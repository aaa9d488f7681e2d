// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/wrap.h"

#include <string.h>

#define WIDTH 80

static void wrap_words(FILE *out, int indent, const char *text, size_t len)
{
	const char *end = text + len;
	int column = indent, word;

	while (text < end) {
		text += strspn(text, " \t\n");
		word = (int)strcspn(text, " \t\n");
		if (text + word > end)
			word = (int)(end - text);
		if (word <= 0)
			break;
		if (column > indent && column + 1 + word > WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		}
		if (column > indent)
			fputc(' ', out);
		column += word + (column > indent);
		fprintf(out, "%.*s", word, text);
		text += word;
	}
	fputc('\n', out);
}

void wrap__words(FILE *out, int indent, const char *text)
{
	wrap_words(out, indent, text, strlen(text));
}

const char *wrap__next(const char *text, const char **piece, size_t *len, int *literal, int *gap)
{
	const char *p, *nl;

	*gap = *text == '\n';
	text += strspn(text, "\n");
	if (!*text)
		return NULL;
	*piece = text;
	*literal = *text == ' ' || *text == '\t';
	for (p = text;; p = nl + 1) {
		nl = strchr(p, '\n');
		if (!nl) {
			*len = strlen(text);
			return text + *len;
		}
		/* up to an empty line or a literal one */
		if (*literal || nl[1] == '\n' || nl[1] == ' ' || nl[1] == '\t' || !nl[1]) {
			*len = (size_t)(nl - text);
			return nl + 1;
		}
	}
}

void wrap__paragraphs(FILE *out, const char *text)
{
	const char *piece;
	int literal, gap, first = 1;
	size_t len;

	while ((text = wrap__next(text, &piece, &len, &literal, &gap))) {
		if (gap && !first)
			fputc('\n', out);
		first = 0;
		if (literal)
			fprintf(out, "%.*s\n", (int)len, piece);
		else
			wrap_words(out, 0, piece, len);
	}
}
