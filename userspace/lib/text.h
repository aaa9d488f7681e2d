/* SPDX-License-Identifier: BSD-2-Clause */
/* UTF-8 from untrusted sources: decoding, width on a terminal, printing without control codes. */
#ifndef XPUGAP_LIB_TEXT_H
#define XPUGAP_LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define UTF8_REPLACEMENT 0xfffdu

/*
 * The code point at s[0..n), n > 0, and in *len the bytes it takes. Each maximal part of an
 * ill-formed sequence yields one UTF8_REPLACEMENT, as Unicode (3.9, table 3-8) recommends.
 */
uint32_t utf8__decode(const char *s, size_t n, size_t *len);

/* Encode @c into @buf, which has room for 4 bytes; returns its length. */
size_t utf8__encode(char *buf, uint32_t c);

/* Cells that text__print() of @s takes on a terminal. */
size_t text__width(const char *s);

/* Print @s with control characters shown as '?' and ill-formed UTF-8 as U+FFFD. */
void text__print(FILE *out, const char *s);

/* Print the first @len bytes of @s as one word of a POSIX shell, quoted where it must be. */
void text__shell_word(FILE *out, const char *s, size_t len);

/* Would a shell take @s as one word as it stands? */
bool text__is_shell_word(const char *s);

/* The shortest decimal that reads back as the same finite double; returns @buf (32 bytes do). */
char *text__f64(char *buf, size_t size, double v);

/* For tables of strings (FNV-1a). Who looks up what others chose compares the strings as well. */
uint64_t text__hash(const char *s);

#endif
