// SPDX-License-Identifier: BSD-2-Clause
/* Marks of programs that execute others, live in namespaces of their own, or outpace a recorder. */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/mark/abi.h"
#include "userspace/mark/xpugap_mark.h"
#include "userspace/source/mark_hub.h"

#define AGAIN "XPUGAP_TEST_MARK_AGAIN"

#ifdef __SANITIZE_ADDRESS__
#define SHADOW true /* address space cannot be limited */
#else
#define SHADOW false
#endif

extern char **environ;

static void steps(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		xpugap_step(i, 1);
}

/*
 * This program, executed by a test: mark, then execute it again as often as is asked for. It runs
 * before the tests' own main(), perhaps even before the constructor of the marks.
 */
__attribute__((constructor)) static void be_the_target(void)
{
	const char *again = getenv(AGAIN);
	char text[16];
	int n;

	if (!again)
		return;
	n = atoi(again);
	steps(100);
	if (!n)
		_exit(xpugap_recording() ? 0 : 1);
	snprintf(text, sizeof(text), "%d", n - 1);
	setenv(AGAIN, text, 1);
	execv("/proc/self/exe", (char *[]){(char *)"again", NULL});
	_exit(2);
}

struct got {
	uint64_t steps, lost;
	uint64_t first_ns, last_ns;
	uint32_t tids[64];
	unsigned int ntids;
};

static int collect(void *arg, const struct rec *rec)
{
	struct got *g = arg;
	unsigned int i;

	if (rec->type == REC_LOST)
		g->lost += ((const struct rec_lost *)rec)->count;
	if (rec->type != REC_MARK_STEP)
		return 0;
	if (!g->steps++)
		g->first_ns = rec->time_ns;
	g->last_ns = rec->time_ns;
	for (i = 0; i < g->ntids && g->tids[i] != rec->tid; i++)
		;
	if (i == g->ntids && i < 64)
		g->tids[g->ntids++] = rec->tid;
	return 0;
}

static void drain(struct mark_hub *h, struct got *g)
{
	while (mark_hub__poll(h, collect, g) > 0)
		;
}

static struct mark_hub *hub(uint64_t ring_bytes)
{
	struct mark_hub *h = mark_hub__new(&(struct mark_hub_opts){.ring_bytes = ring_bytes});

	cr_assert_not_null(h);
	cr_assert_eq(setenv(MARK_ENV, mark_hub__address(h), 1), 0);
	return h;
}

/* The same process, six programs one after the other, each with a ring of its own. */
Test(mark_process, exec)
{
	struct mark_hub *h = hub(0);
	struct mark_hub_stats st;
	struct got g = {0};
	int status;
	pid_t pid = fork();

	if (!pid) {
		setenv(AGAIN, "5", 1);
		execv("/proc/self/exe", (char *[]){(char *)"again", NULL});
		_exit(2);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		mark_hub__poll(h, collect, &g);
		mark_hub__stats(h, &st);
		cr_assert_leq(st.alive, 1);
	}
	cr_assert_eq(status, 0, "%x", status);
	drain(h, &g);
	cr_assert_eq(g.steps, 600);
	cr_assert_eq(g.lost, 0);
	cr_assert_eq(g.ntids, 1);
	cr_assert_eq(g.tids[0], (uint32_t)pid);
	mark_hub__free(h);
}

/* Children that live in the parent's memory until they become another program. */
Test(mark_process, vfork_and_spawn)
{
	struct mark_hub *h = hub(0);
	struct got g = {0};
	int status;
	pid_t pid;

	cr_assert(xpugap_connect(mark_hub__address(h)));
	steps(10);
	setenv(AGAIN, "0", 1);
	pid = vfork(); /* NOLINT: what is tested */
	if (!pid) {
		execv("/proc/self/exe", (char *[]){(char *)"again", NULL});
		_exit(2);
	}
	waitpid(pid, &status, 0);
	cr_assert_eq(status, 0);
	cr_assert_eq(posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
				 (char *[]){(char *)"again", NULL}, environ),
		     0);
	waitpid(pid, &status, 0);
	cr_assert_eq(status, 0);
	steps(10);
	drain(h, &g);
	cr_assert_eq(g.steps, 220);
	cr_assert_eq(g.ntids, 3);
	mark_hub__free(h);
}

/* ---- limits ---- */

static rlim_t address_space(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	cr_assert(f && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static int marks_within(int resource, rlim_t limit, const char *address)
{
	struct rlimit rl = {limit, limit};

	signal(SIGXFSZ, SIG_DFL);
	if (setrlimit(resource, &rl))
		return 1;
	xpugap_connect(address);
	steps(100);
	return xpugap_recording() ? 0 : 2;
}

static int run_within(struct mark_hub *h, int resource, rlim_t limit)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(marks_within(resource, limit, mark_hub__address(h)));
	waitpid(pid, &status, 0);
	return status;
}

/* Small files or little address space: fewer rings. No files at all: no marks, and no signal. */
Test(mark_process, limits)
{
	struct mark_hub *h = hub(0);
	struct mark_hub_stats st;
	struct got g = {0};

	cr_assert_eq(run_within(h, RLIMIT_FSIZE, 5 << 20), 0);
	log__set_level(LOG_ERROR);
	cr_assert_eq(run_within(h, RLIMIT_FSIZE, 4096), 2 << 8);
	drain(h, &g);
	cr_assert_eq(g.steps, 100);
	cr_assert_eq(g.lost, 0);
	mark_hub__stats(h, &st);
	cr_assert_eq(st.refused, 1);
	cr_assert(strstr(st.why, "ulimit -f"), "%s", st.why);
	if (!SHADOW) {
		cr_assert_eq(run_within(h, RLIMIT_AS, address_space() + (24 << 20)), 0);
		drain(h, &g);
		cr_assert_eq(g.steps, 200);
	}
	mark_hub__free(h);
}

#define FEW 64

/* All descriptors are taken; how many there are. */
static int take_all(void)
{
	struct rlimit rl = {FEW, FEW};
	int n = 0;

	if (setrlimit(RLIMIT_NOFILE, &rl))
		_exit(3);
	while (dup(0) >= 0)
		n++;
	return n;
}

static int marks_without_descriptors(const char *address)
{
	struct rlimit rl = {0, 0};
	int n = take_all(), status = 0;

	xpugap_connect(address);
	steps(50);
	sleep(2); /* by then it tries once more, at the next mark */
	steps(1);
	/* neither a child that somebody waits for, nor a descriptor less */
	status |= waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD;
	status |= getrlimit(RLIMIT_NOFILE, &rl) || rl.rlim_cur != FEW || rl.rlim_max != FEW;
	status |= fcntl(FEW - 1, F_GETFD) < 0 || dup(0) >= 0 || !n;
	if (status)
		return status;
	for (int fd = FEW - 1; n--; fd--)
		close(fd);
	sleep(2);
	steps(10);
	return xpugap_recording() ? 0 : 2;
}

/* No descriptor is left: the marks that this costs are told, and the rest once there is one. */
Test(mark_process, no_descriptors, .timeout = 120)
{
	struct mark_hub *h = hub(0);
	struct mark_hub_stats st;
	struct got g = {0};
	int status;
	pid_t pid;

	log__set_level(LOG_ERROR);
	pid = fork();
	if (!pid)
		_exit(marks_without_descriptors(mark_hub__address(h)));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	drain(h, &g);
	cr_assert_eq(status, 0, "%x", status);
	cr_assert_eq(g.steps, 10);
	cr_assert_eq(g.lost, 51);
	mark_hub__stats(h, &st);
	cr_assert_eq(st.lost, 51);
	cr_assert_eq(st.refused, 1);
	cr_assert(strstr(st.why, "ulimit -n"), "%s", st.why);
	mark_hub__free(h);
}

/* ---- namespaces ---- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(78);
	close(fd);
}

/* The clock of a time namespace is an hour ahead; the records are not. */
Test(mark_process, time_namespace)
{
	struct mark_hub *h = hub(0);
	uint64_t begin = mark_hub__now();
	struct got g = {0};
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWTIME))
			_exit(77);
		write_file("/proc/self/timens_offsets", "monotonic 3600 5\n");
		pid = fork();
		if (!pid) {
			xpugap_connect(mark_hub__address(h));
			steps(100);
			_exit(mark_hub__now() < begin + 3600000000000ULL ||
			      xpugap_now() > begin + 3600000000000ULL);
		}
		waitpid(pid, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 77)
		cr_skip_test("no time namespaces here, or no right to make one");
	cr_assert_eq(status, 0, "%x", status);
	drain(h, &g);
	cr_assert_eq(g.steps, 100);
	cr_assert_geq(g.first_ns, begin);
	cr_assert_leq(g.last_ns, mark_hub__now());
	mark_hub__free(h);
}

static void *steps_until(void *arg)
{
	int *pipes = arg;
	char c;

	steps(10);
	if (write(pipes[1], "x", 1) != 1 || read(pipes[2], &c, 1) < 0)
		_exit(1);
	return NULL;
}

static int three_threads(const char *address, int *pipes)
{
	pthread_t th[2];

	if (getpid() != 1 || !xpugap_connect(address))
		return 1;
	close(pipes[3]);
	for (int i = 0; i < 2; i++)
		pthread_create(&th[i], NULL, steps_until, pipes);
	steps_until(pipes);
	for (int i = 0; i < 2; i++)
		pthread_join(th[i], NULL);
	return 0;
}

static unsigned int count_known(pid_t pid, const struct got *g)
{
	unsigned int n = 0;
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	cr_assert_not_null(d);
	while ((e = readdir(d)))
		for (unsigned int i = 0; i < g->ntids; i++)
			n += (uint32_t)atoi(e->d_name) == g->tids[i];
	closedir(d);
	return n;
}

/* A process that thinks it is number 1: its threads are named as we see them. */
Test(mark_process, pid_namespace)
{
	struct mark_hub *h = hub(0);
	struct got g = {0};
	int pipes[4], status;
	pid_t pid;
	char c[3];

	if (geteuid() != 0)
		cr_skip_test("needs root to make a pid namespace");
	cr_assert_eq(pipe(pipes) | pipe(pipes + 2), 0);
	cr_assert_eq(unshare(CLONE_NEWPID), 0);
	pid = fork();
	if (!pid)
		_exit(three_threads(mark_hub__address(h), pipes));
	for (int i = 0; i < 3; i++)
		cr_assert_eq(read(pipes[0], &c[i], 1), 1);
	drain(h, &g);
	cr_assert_eq(g.steps, 30);
	cr_assert_eq(g.ntids, 3);
	cr_assert_eq(count_known(pid, &g), 3);
	close(pipes[3]);
	waitpid(pid, &status, 0);
	cr_assert_eq(status, 0);
	mark_hub__free(h);
}

/* ---- a recorder that stands still ---- */

static int record_until(struct mark_hub *h, int go)
{
	struct got g = {0};
	char c;

	fcntl(go, F_SETFL, O_NONBLOCK);
	while (read(go, &c, 1) < 0)
		mark_hub__poll(h, collect, &g);
	drain(h, &g);
	return g.steps + g.lost == 3000000 && g.lost && g.steps ? 0 : 1;
}

/* A recorder that is stopped for a while: what it finds and what was lost are all there was. */
Test(mark_process, recorder_stopped, .timeout = 60)
{
	struct mark_hub *h = hub(1 << 16);
	int go[2], status;
	pid_t pid;

	cr_assert_eq(pipe(go), 0);
	pid = fork();
	if (!pid)
		_exit(record_until(h, go[0]));
	cr_assert(xpugap_connect(mark_hub__address(h)));
	steps(1000000);
	kill(pid, SIGSTOP);
	steps(1000000);
	kill(pid, SIGCONT);
	for (int i = 0; i < 100; i++) {
		steps(10000);
		usleep(100);
	}
	cr_assert_eq(write(go[1], "x", 1), 1);
	waitpid(pid, &status, 0);
	cr_assert_eq(status, 0);
	mark_hub__free(h);
}
