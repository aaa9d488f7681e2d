// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "userspace/lib/log.h"

static char said[65536];
static int saved = -1;
static FILE *caught;

static void begin_catch(void)
{
	caught = tmpfile();
	saved = dup(STDERR_FILENO);
	cr_assert(caught && saved >= 0);
	fflush(stderr);
	dup2(fileno(caught), STDERR_FILENO);
}

static const char *release(void)
{
	size_t n;

	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(caught);
	n = fread(said, 1, sizeof(said) - 1, caught);
	said[n] = '\0';
	fclose(caught);
	return said;
}

Test(log, prefixes_and_levels)
{
	begin_catch();
	log_error("cannot open '%s'", "x");
	log_warning("half of it");
	log_info("done");
	log_debug("not shown");
	log__set_level(LOG_DEBUG);
	log_debug("shown");
	log__set_level(LOG_ERROR);
	log_warning("not shown");
	log_error("always shown");
	cr_expect_str_eq(release(), "xpugap: cannot open 'x'\n"
				    "xpugap: warning: half of it\n"
				    "xpugap: done\n"
				    "xpugap: debug: shown\n"
				    "xpugap: always shown\n");
	cr_expect_eq(log__level(), LOG_ERROR);
}

Test(log, progress_in_a_log_file_is_a_line_per_key)
{
	begin_catch();
	log__progress("one", "one: 1 of %d", 3);
	log__progress("one", "one: 2 of %d", 3);
	log__progress("two", "two: 1 of %d", 3);
	log__progress("two", "two: 2 of %d", 3);
	log__progress(NULL, NULL);
	log_info("end");
	cr_expect_str_eq(release(), "one: 1 of 3\ntwo: 1 of 3\nxpugap: end\n");
}

Test(log, progress_is_silent_when_only_errors_count)
{
	begin_catch();
	log__set_level(LOG_ERROR);
	log__progress("one", "one");
	cr_expect_str_empty(release());
}

static void *shout(void *arg)
{
	int i;

	for (i = 0; i < 200; i++)
		log_info("thread %s says number %d", (const char *)arg, i);
	return NULL;
}

Test(log, lines_of_threads_do_not_mix)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	pthread_t threads[4];
	char *line, *save = NULL, who;
	int i, n, lines = 0;

	begin_catch();
	for (i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, shout, (void *)names[i]), 0);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	release();
	for (line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		cr_expect_eq(sscanf(line, "xpugap: thread %c says number %d", &who, &n), 2, "%s",
			     line);
		lines++;
	}
	cr_expect_eq(lines, 800);
}

Test(log, err_is_lower_case)
{
	cr_expect_str_eq(log__err(ENOENT), "no such file or directory");
	cr_expect_str_eq(log__err(-EPERM), "operation not permitted");
	cr_expect_str_eq(log__err(EIO), "input/output error");
}

Test(log, no_colour_without_a_terminal)
{
	cr_expect_eq(log__colour(-1), 0);
}
