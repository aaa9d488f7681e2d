// SPDX-License-Identifier: BSD-2-Clause
/* Starting a target: stopped, as whom, with what; and each way in which it cannot be. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/source/launch.h"

#define ARGV(...) ((char *const *)(const char *const[]){__VA_ARGS__, NULL})

static struct launch_opts with(char *const *argv)
{
	return (struct launch_opts){.argv = argv, .out_fd = -1, .err_fd = -1};
}

static int status_of(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static char *link_of(pid_t pid, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, buf, size - 1);
	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

Test(launch, waits_until_it_is_let_go)
{
	struct launch_opts o = with(ARGV("sh", "-c", "exit 7"));
	char ours[256], its[256];
	struct launch *l;
	int status;

	l = launch__new(&o);
	cr_assert(l);
	cr_assert_str_eq(link_of(launch__pid(l), its, sizeof(its)),
			 link_of(getpid(), ours, sizeof(ours)), "it is the program already");
	cr_assert_eq(launch__exec(l), 0);
	status = status_of(launch__pid(l));
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 7);
	launch__free(l);
}

Test(launch, is_ended_when_it_is_not_let_go)
{
	struct launch_opts o = with(ARGV("sh", "-c", "exit 7"));
	struct launch *l = launch__new(&o);
	pid_t pid;

	cr_assert(l);
	pid = launch__pid(l);
	launch__free(l);
	cr_assert_eq(kill(pid, 0), -1);
	cr_assert_eq(errno, ESRCH, "it lives on, or nobody waited for it");
}

Test(launch, says_when_it_was_killed_meanwhile)
{
	struct launch_opts o = with(ARGV("sh", "-c", "exit 7"));
	struct launch *l = launch__new(&o);

	cr_assert(l);
	kill(launch__pid(l), SIGKILL);
	while (waitid(P_PID, launch__pid(l), &(siginfo_t){0}, WEXITED | WNOWAIT) < 0)
		;
	cr_assert_lt(launch__exec(l), 0);
	launch__free(l);
}

static void expect_error(char *const *argv, int err)
{
	struct launch_opts o = with(argv);

	errno = 0;
	cr_assert_null(launch__new(&o), "'%s' was started", argv[0]);
	cr_assert_eq(errno, err, "'%s': %s instead of %s", argv[0], strerror(errno), strerror(err));
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "a child is left");
	cr_assert_eq(errno, ECHILD);
}

Test(launch, tells_why_it_cannot, .init = cr_redirect_stderr)
{
	char dir[] = "/tmp/launch.XXXXXX", file[64];
	int fd;

	cr_assert(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/plain", dir);
	fd = open(file, O_CREAT | O_WRONLY, 0644);
	cr_assert(fd >= 0);
	close(fd);

	expect_error(ARGV("no-such-program-here"), ENOENT);
	expect_error(ARGV("/nowhere/program"), ENOENT);
	expect_error(ARGV(""), ENOENT);
	expect_error(ARGV(dir), EACCES);
	expect_error(ARGV(file), EACCES);

	/* in PATH a file that may not be run is told from none */
	setenv("PATH", dir, 1);
	expect_error(ARGV("plain"), EACCES);
	expect_error(ARGV("absent"), ENOENT);
	unlink(file);
	rmdir(dir);
}

Test(launch, finds_the_first_that_may_be_run)
{
	char dir[] = "/tmp/launch.XXXXXX", a[64], b[64], pa[80], pb[80], path[256];
	struct launch_opts o = with(ARGV("prog"));
	struct launch *l;
	int fd;

	cr_assert(mkdtemp(dir));
	snprintf(a, sizeof(a), "%s/a", dir);
	snprintf(b, sizeof(b), "%s/b", dir);
	snprintf(pa, sizeof(pa), "%s/prog", a);
	snprintf(pb, sizeof(pb), "%s/prog", b);
	cr_assert(mkdir(a, 0755) == 0 && mkdir(b, 0755) == 0);
	fd = open(pa, O_CREAT | O_WRONLY, 0644); /* may not be run */
	close(fd);
	fd = open(pb, O_CREAT | O_WRONLY, 0755); /* no first line: the shell's */
	cr_assert_eq(write(fd, "exit 5\n", 7), 7);
	close(fd);
	snprintf(path, sizeof(path), "%s::%s", a, b);
	setenv("PATH", path, 1);
	l = launch__new(&o);
	cr_assert(l);
	launch__exec(l);
	cr_assert_eq(WEXITSTATUS(status_of(launch__pid(l))), 5);
	launch__free(l);
	unlink(pa);
	unlink(pb);
	rmdir(a);
	rmdir(b);
	rmdir(dir);
}

Test(launch, passes_environment_directory_and_output)
{
	char *const *argv = ARGV("sh", "-c", "echo $XPUGAP_TEST $PWD");
	const char *const env[] = {"XPUGAP_TEST=given", NULL};
	struct launch_opts o = with(argv);
	char text[64] = "";
	struct launch *l;
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	o.env = env;
	o.dir = "/usr";
	o.out_fd = fds[1];
	l = launch__new(&o);
	cr_assert(l);
	cr_assert_eq(launch__exec(l), 0);
	status_of(launch__pid(l));
	cr_assert_gt(read(fds[0], text, sizeof(text) - 1), 0);
	cr_assert_str_eq(text, "given /usr\n");
	launch__free(l);
	close(fds[0]);
	close(fds[1]);
}

Test(launch, gives_the_target_the_signals_it_is_told)
{
	char *const *argv = ARGV("sed", "-n", "s/SigBlk:.0*//p", "/proc/self/status");
	struct launch_opts o = with(argv);
	char text[64] = "";
	struct launch *l;
	sigset_t set, mask;
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGPIPE);
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	o.mask = &mask;
	o.out_fd = fds[1];
	l = launch__new(&o);
	cr_assert(l);
	cr_assert_eq(launch__exec(l), 0);
	status_of(launch__pid(l));
	cr_assert_gt(read(fds[0], text, sizeof(text) - 1), 0);
	cr_assert_str_eq(text, "1200\n"); /* a bit for each: 10 and 13 */
	launch__free(l);
	close(fds[0]);
	close(fds[1]);
}

Test(launch, gives_the_target_no_signals_of_ours)
{
	char *const *argv =
		ARGV("sh", "-c", "grep -E 'Sig(Blk|Cgt)' /proc/self/status; kill -INT $$");
	struct launch_opts o = with(argv);
	struct launch *l;
	sigset_t set, before;
	int status;

	signal(SIGINT, SIG_DFL); /* whoever ran the tests in the background had it ignored */
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, &before);
	o.mask = &before;
	o.out_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	l = launch__new(&o);
	cr_assert(l);
	cr_assert_eq(launch__exec(l), 0);
	status = status_of(launch__pid(l));
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	launch__free(l);
	close(o.out_fd);
}

Test(launch, describes_ends)
{
	char buf[64];

	cr_assert_str_eq(launch__describe(3 << 8, buf, sizeof(buf)), "exited with status 3");
	cr_assert_str_eq(launch__describe(SIGKILL, buf, sizeof(buf)), "was killed by SIGKILL");
	cr_assert_str_eq(launch__describe(SIGSEGV | 0x80, buf, sizeof(buf)),
			 "was killed by SIGSEGV (core dumped)");
	cr_assert_str_eq(launch__describe(SIGRTMIN + 1, buf, sizeof(buf)),
			 "was killed by signal 35");
	cr_assert_eq(launch__exit_status(0), 0);
	cr_assert_eq(launch__exit_status(3 << 8), 3);
	cr_assert_eq(launch__exit_status(255 << 8), 255);
	cr_assert_eq(launch__exit_status(SIGSEGV | 0x80), 128 + SIGSEGV);
}

Test(launch, runs_as_the_caller)
{
	char *const *argv =
		ARGV("sh", "-c", "id -u; id -g; id -G; echo $HOME; grep CapEff /proc/self/status");
	struct launch_opts o = with(argv);
	struct caller c;
	char text[256] = "";
	struct launch *l;
	ssize_t n, all = 0;
	int fds[2];

	if (geteuid() != 0)
		cr_skip_test("needs root");
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65534", 1);
	cr_assert_eq(caller__get(&c, false), 0);
	cr_assert(c.sudo);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	o.out_fd = fds[1];
	o.caller = &c;
	l = launch__new(&o);
	cr_assert(l);
	cr_assert_eq(launch__exec(l), 0);
	close(fds[1]);
	while ((n = read(fds[0], text + all, sizeof(text) - 1 - all)) > 0)
		all += n;
	cr_assert_str_eq(text, "65534\n65534\n65534\n/nonexistent\nCapEff:\t0000000000000000\n");
	status_of(launch__pid(l));
	launch__free(l);
	caller__free(&c);
	close(fds[0]);
}

Test(caller, is_ourselves_without_sudo_and_as_root)
{
	struct caller c;

	unsetenv("SUDO_UID");
	cr_assert_eq(caller__get(&c, false), 0);
	cr_assert(!c.sudo);
	cr_assert_eq(c.uid, geteuid());
	caller__free(&c);
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65534", 1);
	cr_assert_eq(caller__get(&c, true), 0);
	cr_assert(!c.sudo);
	cr_assert_eq(c.uid, geteuid());
	caller__free(&c);
}

Test(caller, refuses_what_is_no_id, .init = cr_redirect_stderr)
{
	static const char *const bad[] = {"", "root", "-1", "4294967295", "99999999999", "1x"};
	struct caller c;
	size_t i;

	if (geteuid() != 0)
		cr_skip_test("needs root");
	setenv("SUDO_GID", "0", 1);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("SUDO_UID", bad[i], 1);
		cr_assert_eq(caller__get(&c, false), -EINVAL, "'%s' was taken", bad[i]);
	}
}

/* Create a file in a directory of mode 0770 that belongs to root and @group. 0 or -errno */
static int create_in_group(gid_t group, const struct caller *c)
{
	char dir[] = "/tmp/caller.XXXXXX", path[64];
	int fd, err;

	cr_assert(mkdtemp(dir));
	cr_assert_eq(chown(dir, 0, group), 0);
	cr_assert_eq(chmod(dir, 0770), 0);
	snprintf(path, sizeof(path), "%s/file", dir);
	cr_assert_eq(caller__files_as(c), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	err = fd < 0 ? -errno : 0;
	cr_assert_eq(caller__files_as(NULL), 0);
	if (fd >= 0)
		close(fd);
	unlink(path);
	rmdir(dir);
	return err;
}

Test(caller, files_are_used_with_his_groups_not_ours)
{
	gid_t his[] = {4243, 4244}, ours[] = {0, 4245}, now[8];
	struct caller c = {.uid = 4242, .gid = 4243, .groups = his, .ngroups = 2, .sudo = true};

	if (geteuid() != 0)
		cr_skip_test("needs root");
	cr_assert_eq(setgroups(2, ours), 0);
	cr_expect_eq(create_in_group(4244, &c), 0);
	cr_expect_eq(create_in_group(0, &c), -EACCES, "root's group is not his");
	cr_expect_eq(create_in_group(4245, &c), -EACCES, "our further group is not his");
	cr_expect_eq(getgroups(8, now), 2, "we have our own again");
	cr_expect_eq(now[1], 4245);
}
