/* SPDX-License-Identifier: BSD-2-Clause */
/* Running text for a terminal of 80 columns. */
#ifndef XPUGAP_LIB_WRAP_H
#define XPUGAP_LIB_WRAP_H

#include <stdio.h>

/*
 * Print the words of @text, the cursor standing in column @indent, where each further line begins
 * too. Any white space between words counts as one space. Ends with a newline.
 */
void wrap__words(FILE *out, int indent, const char *text);

/*
 * Print paragraphs, which an empty line separates. A line that begins with a space or a tab is
 * printed as it is.
 */
void wrap__paragraphs(FILE *out, const char *text);

/*
 * The next piece of @text: a paragraph's words, or one line that is to stay as it is (*literal).
 * Returns where to go on, or NULL at the end. *len is the length of the piece at *piece; *gap says
 * whether an empty line stood before it.
 */
const char *wrap__next(const char *text, const char **piece, size_t *len, int *literal, int *gap);

#endif
