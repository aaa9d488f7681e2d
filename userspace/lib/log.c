// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/log.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/lib/text.h"

static enum log_level max_level = LOG_INFO;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char progress_line[256]; /* on the terminal now; "" if none */
static char progress_key[256];

void log__set_level(enum log_level level)
{
	max_level = level;
}

enum log_level log__level(void)
{
	return max_level;
}

int log__colour(int fd)
{
	const char *term = getenv("TERM");
	const char *no = getenv("NO_COLOR");

	return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

void log__print(enum log_level level, const char *fmt, ...)
{
	static const char *const prefix[] = {"", "warning: ", "", "debug: "};
	char *text = NULL;
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	pthread_mutex_lock(&lock);
	flockfile(stderr);
	if (progress_line[0])
		fputs("\r\033[K", stderr);
	fprintf(stderr, "xpugap: %s", prefix[level]);
	/* names from anywhere are in it: none may take over the terminal */
	text__print(stderr, text ? text : fmt);
	fputc('\n', stderr);
	if (progress_line[0])
		fputs(progress_line, stderr);
	fflush(stderr);
	funlockfile(stderr);
	pthread_mutex_unlock(&lock);
	free(text);
}

static void draw(const char *key, const char *text)
{
	if (isatty(STDERR_FILENO)) {
		snprintf(progress_line, sizeof(progress_line), "%.200s", text);
		fprintf(stderr, "\r\033[K%s", progress_line);
	} else if (strncmp(key, progress_key, sizeof(progress_key) - 1) != 0) {
		snprintf(progress_key, sizeof(progress_key), "%s", key);
		fprintf(stderr, "%s\n", text);
	}
}

void log__progress(const char *key, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (max_level < LOG_INFO)
		return;
	pthread_mutex_lock(&lock);
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		draw(key ? key : text, text);
	} else if (progress_line[0]) {
		fputs("\r\033[K", stderr);
		progress_line[0] = '\0';
	}
	fflush(stderr);
	pthread_mutex_unlock(&lock);
}

const char *log__err(int err)
{
	static __thread char text[128];

	snprintf(text, sizeof(text), "%s", strerror(abs(err)));
	if (isupper((unsigned char)text[0]) && islower((unsigned char)text[1]))
		text[0] = (char)tolower((unsigned char)text[0]);
	return text;
}
