// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/log.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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

static bool understands_codes(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

int log__colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	return understands_codes(fd) && !(no && *no);
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

/* A line that is longer than the terminal is wide could not be taken back. */
static size_t columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

/* What fits of @text in @cells, without control characters. */
static void fit(char *buf, size_t size, const char *text, size_t cells)
{
	FILE *out = fmemopen(buf, size, "w");
	char *end;

	*buf = '\0';
	if (!out)
		return;
	text__print(out, text);
	fclose(out);
	buf[size - 1] = '\0';
	while (text__width(buf) > cells) {
		/* back to the beginning of the last character */
		for (end = buf + strlen(buf) - 1; end > buf && (*end & 0xc0) == 0x80; end--)
			;
		*end = '\0';
	}
}

static void draw(const char *key, const char *text)
{
	if (understands_codes(STDERR_FILENO)) {
		fit(progress_line, sizeof(progress_line), text, columns() - 1);
		fprintf(stderr, "\r\033[K%s", progress_line);
	} else if (strncmp(key, progress_key, sizeof(progress_key) - 1) != 0) {
		snprintf(progress_key, sizeof(progress_key), "%s", key);
		text__print(stderr, text);
		fputc('\n', stderr);
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

	if (abs(err) == EMFILE)
		return "too many open files (raise the limit: ulimit -n)";
	snprintf(text, sizeof(text), "%s", strerror(abs(err)));
	if (isupper((unsigned char)text[0]) && islower((unsigned char)text[1]))
		text[0] = (char)tolower((unsigned char)text[0]);
	return text;
}
