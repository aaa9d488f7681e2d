// SPDX-License-Identifier: BSD-2-Clause
/* What goes wrong while a trace is written: full disks, closed pipes, signals, a killed writer. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"

/* What a writer in a child process tells. */
struct shared {
	uint64_t appended;
	uint64_t kept; /* appended when the last round ended: these must be in the file */
	struct trace_writer_stats stats;
	int err;
};

static struct shared *share(void)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(s, MAP_FAILED);
	return s;
}

static char *temporary_file(int flags, int *fd)
{
	char *path = strdup("/tmp/xpugap-test-XXXXXX");

	*fd = mkostemp(path, flags | O_CLOEXEC);
	cr_assert_geq(*fd, 0);
	return path;
}

static void random_ioctl(struct rec_ioctl *r, uint64_t i, uint64_t *seed)
{
	*r = (struct rec_ioctl){
		.hdr = {.type = REC_IOCTL, .size = sizeof(*r), .tid = (uint32_t)i},
		.duration_ns = rnd(seed),
		.arg = i,
	};
	r->hdr.time_ns = 1000 + i;
}

/* Append until the first error, and some more; counts into @s. */
static void write_until_full(struct shared *s, int fd, uint64_t most)
{
	const struct trace_writer_opts opts = {.round_ns = 1000};
	struct trace_writer *w = trace_writer__new(fd, &opts);
	uint64_t seed = 5, after = 0, i;
	struct rec_ioctl r;
	int err = 0;

	if (!w)
		_exit(9);
	for (i = 0; i < most && after < 1000; i++) {
		random_ioctl(&r, i, &seed);
		err = trace_writer__append(w, 0, &r.hdr);
		s->appended++;
		if (!err && i % 500 == 0)
			err = trace_writer__round(w, r.hdr.time_ns, false);
		if (err && s->err && s->err != err)
			_exit(8); /* the first error must be the one that stays */
		if (err && !s->err)
			s->err = err;
		after += err != 0;
	}
	if (s->err && trace_writer__finish(w) != s->err)
		_exit(7);
	if (!s->err && trace_writer__finish(w))
		_exit(6);
	trace_writer__stats(w, &s->stats);
	trace_writer__free(w);
}

/* The first records of the file are those that were appended, then comes what was lost: the end. */
static void expect_cut_short_in(struct trace_reader *r, const struct shared *s, uint64_t behind)
{
	const struct rec_lost *lost;
	struct trace_damage d;
	struct trace_event ev;
	uint64_t n = 0, counted = 0;

	cr_assert_not_null(r);
	while (trace_reader__next(r, &ev) == 1) {
		if (ev.rec->type == REC_LOST) {
			lost = (const struct rec_lost *)ev.rec;
			cr_assert_eq(lost->why, REC_LOST_WRITE);
			cr_assert_leq(lost->since_ns, 1000 + n);
			counted += lost->count;
			continue;
		}
		cr_assert_eq(ev.rec->type, REC_IOCTL);
		cr_assert_eq(((const struct rec_ioctl *)ev.rec)->arg, n);
		n++;
	}
	cr_assert_eq(n + s->stats.lost, s->appended);
	cr_assert_gt(n, 0);
	trace_reader__damage(r, &d);
	cr_assert_eq(d.bad_chunks, 0);
	cr_assert_geq(d.skipped_bytes, behind);
	cr_assert(behind || !d.skipped_bytes);
	cr_assert_not(d.truncated);
	cr_assert_eq(counted, s->stats.lost);
	trace_reader__free(r);
}

/* The index may have had no room: who looks for records by it finds all of them. */
static void expect_cut_short(const char *path, const struct shared *s)
{
	const struct trace_filter ioctls = {.types = TRACE_TYPE(REC_IOCTL)};
	struct trace_reader *r = trace_reader__open(path);
	struct trace_event ev;
	uint64_t n = 0;

	expect_cut_short_in(trace_reader__open(path), s, 0);
	cr_assert_eq(trace_reader__filter(r, &ioctls), 0);
	while (trace_reader__next(r, &ev) == 1)
		n++;
	cr_assert_eq(n + s->stats.lost, s->appended);
	trace_reader__free(r);
}

static void limit_file_size(int flags, rlim_t limit)
{
	struct rlimit rl = {limit, limit};
	struct shared *s = share();
	int fd, status;
	char *path = temporary_file(flags, &fd);
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_FSIZE, &rl);
		write_until_full(s, fd, 200000);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0, "status %x", status);
	cr_assert_eq(s->err, -EFBIG);
	expect_cut_short(path, s);
	unlink(path);
	free(path);
	close(fd);
	munmap(s, sizeof(*s));
}

Test(trace_faults, file_size_limit)
{
	rlim_t limit;

	for (limit = 10000; limit < 500000; limit += limit / 3 + 777) {
		limit_file_size(0, limit);
		limit_file_size(O_APPEND, limit);
	}
	/* wherever in a chunk the limit lies, down to where the end itself does not fit behind it
	 */
	for (limit = 40000; limit < 43000; limit += 67)
		limit_file_size(0, limit);
}

/* The trace begins @at bytes into a file of @old bytes that were there before. */
static void limit_in_old_file(int flags, size_t old, size_t at, rlim_t limit)
{
	struct rlimit rl = {limit, limit};
	struct shared *s = share();
	int fd, again, status;
	char *path = temporary_file(0, &fd);
	uint8_t *before = malloc(old), *after;
	size_t size, i;
	pid_t pid;

	for (i = 0; i < old; i++)
		before[i] = (uint8_t)(i % 251);
	cr_assert_eq(write(fd, before, old), (ssize_t)old);
	close(fd);
	pid = fork();
	if (pid == 0) {
		fd = open(path, O_WRONLY | flags);
		if (fd < 0 || (!flags && lseek(fd, (off_t)at, SEEK_SET) < 0))
			_exit(5);
		setrlimit(RLIMIT_FSIZE, &rl);
		write_until_full(s, fd, 200000);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0, "status %x", status);
	cr_assert_eq(s->err, -EFBIG);
	fd = open(path, O_RDONLY);
	after = whole_file(fd, &size);
	cr_assert_geq(size, at);
	cr_assert_eq(memcmp(before, after, at), 0);
	/* nobody has written behind the limit */
	if (old > limit) {
		cr_assert_eq(size, old);
		cr_assert_eq(memcmp(before + limit, after + limit, old - limit), 0);
	}
	again = memory_file(after + at, size - at);
	expect_cut_short_in(trace_reader__open_fd(again, "again"), s,
			    old > limit ? old - limit : 0);
	unlink(path);
	free(path);
	free(before);
	free(after);
	close(fd);
	close(again);
	munmap(s, sizeof(*s));
}

Test(trace_faults, what_was_in_the_file_before_stays)
{
	/* as the shell's >> opens it: the descriptor stands at 0, bytes go to the end */
	limit_in_old_file(O_APPEND, 5000, 5000, 100000);
	limit_in_old_file(O_APPEND, 70000, 70000, 100000);
	limit_in_old_file(0, 5000, 5000, 100000);
	limit_in_old_file(0, 5000, 1000, 100000);
	limit_in_old_file(0, 99000, 1000, 100000);
	limit_in_old_file(0, 300000, 1000, 100000);
}

/* A disk that is full: one of our own, in a mount namespace that ends with the child. */
Test(trace_faults, disk_full)
{
	char dir[] = "/tmp/xpugap-test-XXXXXX", path[64];
	struct shared *s = share();
	int fd, status, copy;
	uint8_t *data;
	size_t size;
	pid_t pid;

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.xpt", dir);
	copy = memfd_create("copy", 0);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", dir, "tmpfs", 0, "size=256k"))
			_exit(77);
		fd = open(path, O_CREAT | O_RDWR, 0600);
		write_until_full(s, fd, 200000);
		data = whole_file(fd, &size);
		_exit(write(copy, data, size) == (ssize_t)size ? 0 : 5);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	rmdir(dir);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		cr_skip_test("no right to mount a file system");
	cr_assert_eq(status, 0, "status %x", status);
	cr_assert_eq(s->err, -ENOSPC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
	expect_cut_short(path, s);
	close(copy);
}

struct cut {
	const char *path;
	const uint8_t *after;
	size_t keep, size; /* of the file, and then */
	int idle;
};

/* The reader waits for more: now the recorder cuts its file back and ends it. */
static void cut_back(void *arg)
{
	struct cut *c = arg;
	int fd;

	cr_assert_lt(c->idle++, 10, "the end was not seen");
	if (c->idle > 1)
		return;
	cr_assert_eq(truncate(c->path, (off_t)c->keep), 0);
	fd = open(c->path, O_WRONLY | O_APPEND);
	cr_assert_eq(write(fd, c->after + c->keep, c->size - c->keep),
		     (ssize_t)(c->size - c->keep));
	close(fd);
}

static uint8_t *write_limited(rlim_t limit, struct shared *s, size_t *size)
{
	struct rlimit rl = {limit, limit};
	int fd, status;
	char *path = temporary_file(0, &fd);
	uint8_t *data;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_FSIZE, &rl);
		write_until_full(s, fd, 20000);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	data = whole_file(fd, size);
	unlink(path);
	free(path);
	close(fd);
	return data;
}

/* @whole: what the recorder would have written without a limit. Returns how far it went back. */
static size_t follow_until_full(const uint8_t *whole, rlim_t limit)
{
	struct shared *s = share();
	struct trace_damage d;
	struct trace_reader *r;
	struct trace_event ev;
	uint64_t n = 0, lost = 0;
	struct cut c = {0};
	size_t back;
	int fd;
	char *path = temporary_file(0, &fd);
	uint8_t *cut = write_limited(limit, s, &c.size);

	c.path = path;
	c.after = cut;
	/* behind the head, which holds the time of day */
	for (c.keep = 64; c.keep < c.size && whole[c.keep] == cut[c.keep]; c.keep++)
		;
	cr_assert_eq(write(fd, whole, limit), (ssize_t)limit);
	r = trace_reader__open(path);
	cr_assert_not_null(r);
	trace_reader__follow(r);
	trace_reader__on_idle(r, cut_back, &c);
	while (trace_reader__next(r, &ev) == 1) {
		if (ev.rec->type == REC_LOST) {
			lost = ((const struct rec_lost *)ev.rec)->count;
			continue;
		}
		cr_assert_eq(((const struct rec_ioctl *)ev.rec)->arg, n);
		n++;
	}
	/* it may have read records that were cut off then */
	cr_assert_eq(lost, s->stats.lost);
	cr_assert_geq(n + lost, s->appended);
	trace_reader__damage(r, &d);
	cr_assert_eq(d.bad_chunks, 0);
	cr_assert_eq(d.skipped_bytes, 0);
	cr_assert(!d.truncated);
	trace_reader__free(r);
	back = limit - c.keep;
	unlink(path);
	free(path);
	free(cut);
	close(fd);
	munmap(s, sizeof(*s));
	return back;
}

/* Who follows a trace whose recorder finds the disk full sees the end that it writes. */
Test(trace_faults, a_followed_file_is_cut_back)
{
	struct shared *s = share();
	size_t size, back, least = SIZE_MAX, most = 0;
	uint8_t *whole = write_limited(RLIM_INFINITY, s, &size);
	rlim_t limit;

	cr_assert_gt(size, 60000);
	for (limit = 40000; limit < 43000; limit += 67) {
		back = follow_until_full(whole, limit);
		least = back < least ? back : least;
		most = back > most ? back : most;
	}
	cr_expect_gt(most, 2 * least);
	free(whole);
	munmap(s, sizeof(*s));
}

/* The reader goes away: an error, not a signal. */
Test(trace_faults, closed_pipe)
{
	struct shared *s = share();
	int fds[2], status;
	char buf[4096];
	pid_t pid;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		write_until_full(s, fds[1], 1000000);
		_exit(0);
	}
	close(fds[1]);
	cr_assert_gt(read(fds[0], buf, sizeof(buf)), 0);
	close(fds[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0, "status %x", status);
	cr_assert_eq(s->err, -EPIPE);
	cr_assert_gt(s->stats.lost, 0);
	cr_assert_lt(s->appended, 1000000);
}

static void nothing(int sig)
{
	(void)sig;
}

/* Signals all the time, and a pipe that does not wait. */
Test(trace_faults, interrupted_and_impatient)
{
	struct itimerval often = {{0, 200}, {0, 200}};
	struct sigaction sa = {.sa_handler = nothing}; /* no SA_RESTART */
	struct sums in = {0}, out = {0};
	struct trace_reader *r;
	struct trace_writer *w;
	int fds[2], status;
	pid_t pid;

	cr_assert_eq(pipe2(fds, O_NONBLOCK), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		sigaction(SIGALRM, &sa, NULL);
		setitimer(ITIMER_REAL, &often, NULL);
		w = trace_writer__new(fds[1], NULL);
		write_random(w, 100000, 21, NULL);
		_exit(0);
	}
	close(fds[1]);
	w = trace_writer__new(memfd_create("trace", 0), NULL);
	write_random(w, 100000, 21, &in);
	trace_writer__free(w);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	r = trace_reader__open_fd(fds[0], "pipe");
	cr_assert_not_null(r);
	cr_assert_eq(read_all(r, &out), 0);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	cr_assert(sums__equal(&in, &out));
	while (waitpid(pid, &status, 0) < 0)
		cr_assert_eq(errno, EINTR);
	cr_assert_eq(status, 0);
	trace_reader__free(r);
	close(fds[0]);
	sums__free(&in);
	sums__free(&out);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* As a recorder does, in rounds of 5 ms, until it is killed. */
static void write_until_killed(struct shared *s, int fd)
{
	const struct trace_writer_opts opts = {.round_ns = 5000000, .sync = true};
	struct trace_writer *w = trace_writer__new(fd, &opts);
	uint64_t seed = 17, i, swept, last = 0;
	struct rec_ioctl r;

	for (i = 0; w; i++) {
		random_ioctl(&r, i, &seed);
		r.hdr.time_ns = now_ns();
		if (trace_writer__append(w, (uint16_t)(i % 3), &r.hdr))
			_exit(1);
		if (i % 64)
			continue;
		swept = r.hdr.time_ns;
		if (trace_writer__round(w, swept, false))
			_exit(1);
		if (swept - last >= opts.round_ns) { /* it ended a round */
			last = swept;
			__atomic_store_n(&s->kept, i + 1, __ATOMIC_RELEASE);
		}
	}
	_exit(2);
}

/* kill -9 at any moment costs nothing that was there when the last round ended. */
Test(trace_faults, killed)
{
	struct shared *s = share();
	uint64_t seed = 99, n, sum, kept;
	struct trace_damage d;
	struct trace_reader *r;
	struct trace_event ev;
	int fd, status, round;
	char *path;
	pid_t pid;

	for (round = 0; round < 20; round++) {
		path = temporary_file(0, &fd);
		memset(s, 0, sizeof(*s));
		pid = fork();
		if (pid == 0)
			write_until_killed(s, fd);
		do
			usleep((useconds_t)(rnd(&seed) % 30000));
		while (!__atomic_load_n(&s->kept, __ATOMIC_ACQUIRE));
		kill(pid, SIGKILL);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert(WIFSIGNALED(status));
		kept = __atomic_load_n(&s->kept, __ATOMIC_ACQUIRE);
		r = trace_reader__open(path);
		cr_assert_not_null(r);
		for (n = 0, sum = 0; trace_reader__next(r, &ev) == 1; n++) {
			sum += ((const struct rec_ioctl *)ev.rec)->arg;
			/* what a dead writer left is in order and without a gap */
			cr_assert_eq(((const struct rec_ioctl *)ev.rec)->arg % 3, ev.ring);
		}
		cr_assert_geq(n, kept);
		if (n == kept)
			cr_assert_eq(sum, n * (n - 1) / 2);
		trace_reader__damage(r, &d);
		cr_assert(d.truncated);
		cr_assert_eq(d.bad_chunks + d.skipped_bytes, 0);
		trace_reader__free(r);
		unlink(path);
		free(path);
		close(fd);
	}
}
