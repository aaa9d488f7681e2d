/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages for people: to standard error, lower case, one line each. */
#ifndef XPUGAP_LIB_LOG_H
#define XPUGAP_LIB_LOG_H

enum log_level {
	LOG_NONE = -1, /* only to be set: for fuzzing, which makes errors all the time */
	LOG_ERROR = 0,
	LOG_WARNING = 1,
	LOG_INFO = 2, /* default */
	LOG_DEBUG = 3,
};

/* Messages above @level are dropped. Thread-safe once set at start-up. */
void log__set_level(enum log_level level);
enum log_level log__level(void);

/*
 * Print "xpugap: [warning: ]message\n". Say what failed first, then the subject in quotes, then
 * the remedy where it is known. The frame that has the context prints, callers only propagate.
 * Clears a progress line first and redraws it.
 */
void log__print(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)	 log__print(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log__print(LOG_WARNING, __VA_ARGS__)
#define log_info(...)	 log__print(LOG_INFO, __VA_ARGS__)
#define log_debug(...)	 log__print(LOG_DEBUG, __VA_ARGS__)

/*
 * One line of progress that redraws itself, on standard error when that is a terminal; elsewhere
 * a line is printed whenever the text's @key changes, so that logs of CI stay short.
 * log__progress(NULL, NULL) removes the line.
 */
void log__progress(const char *key, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Is @fd a terminal that wants colour (NO_COLOR and TERM=dumb are respected)? */
int log__colour(int fd);

/* Text of an errno, positive or negative, in lower case; valid until the thread's next call. */
const char *log__err(int err);

#endif
