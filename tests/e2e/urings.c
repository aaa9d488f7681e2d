// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests through io_uring of which all is known:
 *
 *	urings mix DIRECTORY THREADS CHILDREN ROUNDS [polled]
 *			every kind of request, some by workers, some that fail, by several threads
 *of several processes, each with a ring of its own urings many	requests that are completed more
 *than once urings silent N	N that post nothing, and one that fails urings full DIRECTORY N N
 *reads whose completions have no room urings chain DIRECTORY reads what a request before has opened
 *	urings hang	begins a read of an empty pipe when it gets a line, ends it at the next
 *
 * Prints for each completion: "cqe TID OPERATION FLAGS FD RESULT INODE DEVICE MORE ASKED OFFSET",
 * where FLAGS are those of the entry and DEVICE is as the kernel holds it. Exits with 1 where a
 * result is not the one that is known before.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/uring.h"

#define ANY	  INT32_MIN /* any result will do */
#define FILE_SIZE 65536
#define NO_OP	  200 /* that the kernel does not know */
#define MAX_ASKED 64
#define CONNECTS  5

/* What was submitted, under the number that is its user_data. */
struct asked {
	uint8_t op, flags;
	int fd;
	int expect;
	uint32_t len;
	uint64_t off;
	uint64_t inode;
	uint32_t dev;
};

/* One thread's ring, and what it has to say. */
struct user {
	struct uring ring;
	struct asked asked[MAX_ASKED];
	unsigned int n;
	int tid;
	FILE *out;
	char *text;
	size_t text_len;
};

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

#define check(ret, what)                                                                           \
	do {                                                                                       \
		if ((ret) < 0)                                                                     \
			die(what);                                                                 \
	} while (0)

static void open_user(struct user *u, uint32_t entries, uint32_t flags, uint32_t cq_entries)
{
	int err = uring__open(&u->ring, entries, flags, cq_entries);

	if (err) {
		fprintf(stderr, "io_uring_setup: %s\n", strerror(-err));
		_exit(1);
	}
	u->n = 0;
	u->tid = (int)syscall(SYS_gettid);
	u->out = open_memstream(&u->text, &u->text_len);
	if (!u->out)
		die("open_memstream");
}

/* In one piece, as others write, too. */
static void close_user(struct user *u)
{
	uring__close(&u->ring);
	fclose(u->out);
	if (write(1, u->text, u->text_len) != (ssize_t)u->text_len)
		die("write");
	free(u->text);
}

static void name_file(struct asked *a, int fd)
{
	struct stat st;

	a->inode = 0;
	a->dev = 0;
	if (fd < 0 || fstat(fd, &st))
		return;
	a->inode = st.st_ino;
	a->dev = major(st.st_dev) << 20 | minor(st.st_dev);
}

static struct io_uring_sqe *ask(struct user *u, uint8_t op, int fd, int expect)
{
	struct io_uring_sqe *sqe = uring__next(&u->ring);
	struct asked *a = &u->asked[u->n % MAX_ASKED];

	if (!sqe) {
		fputs("the queue is full\n", stderr);
		exit(1);
	}
	*a = (struct asked){.op = op, .fd = fd, .expect = expect};
	name_file(a, fd);
	sqe->opcode = op;
	sqe->fd = fd;
	sqe->user_data = u->n++;
	return sqe;
}

/* Bytes from or to @buf at @off. */
static struct io_uring_sqe *ask_bytes(struct user *u, uint8_t op, int fd, void *buf, uint32_t len,
				      uint64_t off)
{
	struct io_uring_sqe *sqe = ask(u, op, fd, (int)len);
	struct asked *a = &u->asked[(u->n - 1) % MAX_ASKED];

	sqe->addr = (uint64_t)(uintptr_t)buf;
	sqe->len = a->len = len;
	sqe->off = a->off = off;
	return sqe;
}

static void set_flags(struct user *u, struct io_uring_sqe *sqe, uint8_t flags)
{
	sqe->flags = flags;
	u->asked[sqe->user_data % MAX_ASKED].flags = flags;
}

static void say(struct user *u, const struct io_uring_cqe *cqe)
{
	const struct asked *a = &u->asked[cqe->user_data % MAX_ASKED];

	fprintf(u->out, "cqe %d %u %u %d %d %" PRIu64 " %u %d %u %" PRIu64 "\n", u->tid, a->op,
		a->flags, a->fd, cqe->res, a->inode, a->dev, !!(cqe->flags & IORING_CQE_F_MORE),
		a->len, a->off);
	if (a->op == IORING_OP_OPENAT && a->expect == ANY && cqe->res >= 0)
		close(cqe->res);
	if (a->expect == ANY || a->expect == cqe->res || cqe->flags & IORING_CQE_F_MORE)
		return;
	fprintf(stderr, "operation %u gave %d, not %d\n", a->op, cqe->res, a->expect);
	_exit(1);
}

static void submit(struct user *u)
{
	int err = uring__submit(&u->ring);

	if (err) {
		fprintf(stderr, "io_uring_enter: %s\n", strerror(-err));
		_exit(1);
	}
}

static void take(struct user *u, unsigned int n)
{
	struct io_uring_cqe cqe;

	while (n--) {
		if (uring__wait(&u->ring, &cqe))
			die("io_uring_enter");
		say(u, &cqe);
	}
}

static int make_file(const char *dir, const char *name, int id, int n)
{
	static const char zeros[FILE_SIZE];
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.%d.%d", dir, name, id, n);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	check(fd, path);
	if (write(fd, zeros, FILE_SIZE) != FILE_SIZE)
		die(path);
	return fd;
}

/* ---- mix ---- */

struct mixer {
	struct user user;
	pthread_t thread;
	const char *dir;
	unsigned int rounds;
	bool polled;
	int file, pipe[2], pair[2];
};

/* Reads and writes: plain, by workers, of vectors, of the ring's own table of files. */
static void ask_for_files(struct mixer *m, char *buf, struct iovec v[2])
{
	struct user *u = &m->user;

	ask_bytes(u, IORING_OP_READ, m->file, buf, 1000, 4096);
	set_flags(u, ask_bytes(u, IORING_OP_READ, m->file, buf, 2000, 8192), IOSQE_ASYNC);
	ask_bytes(u, IORING_OP_WRITE, m->file, buf, 300, 100);
	set_flags(u, ask_bytes(u, IORING_OP_WRITE, m->file, buf, 400, 500), IOSQE_ASYNC);
	ask_bytes(u, IORING_OP_READV, m->file, v, 2, 50)->len = 2;
	u->asked[(u->n - 1) % MAX_ASKED].expect = 150;
	ask_bytes(u, IORING_OP_WRITEV, m->file, v, 2, 60)->len = 2;
	u->asked[(u->n - 1) % MAX_ASKED].expect = 150;
	ask(u, IORING_OP_FSYNC, m->file, 0);
	/* the file that stands at 0 in the table */
	set_flags(u, ask_bytes(u, IORING_OP_READ, 0, buf, 700, 12288), IOSQE_FIXED_FILE);
	name_file(&u->asked[(u->n - 1) % MAX_ASKED], m->file);
}

static void ask_for_failures(struct mixer *m, char *buf, struct __kernel_timespec *t)
{
	struct user *u = &m->user;
	struct io_uring_sqe *sqe;

	ask_bytes(u, IORING_OP_READ, 99999, buf, 10, 0);
	u->asked[(u->n - 1) % MAX_ASKED].expect = -EBADF;
	ask(u, NO_OP, -1, -EINVAL);
	/* never ready: the timeout that is linked to it ends it */
	sqe = ask(u, IORING_OP_POLL_ADD, m->pipe[0], -ECANCELED);
	sqe->poll32_events = POLLIN;
	set_flags(u, sqe, IOSQE_IO_LINK);
	sqe = ask(u, IORING_OP_LINK_TIMEOUT, -1, -ETIME);
	sqe->addr = (uint64_t)(uintptr_t)t;
	sqe->len = 1;
	sqe = ask(u, IORING_OP_TIMEOUT, -1, -ETIME);
	sqe->addr = (uint64_t)(uintptr_t)t;
	sqe->len = 1;
}

static void mix_once(struct mixer *m, char *buf)
{
	struct iovec v[2] = {{buf, 100}, {buf + 100, 50}};
	struct __kernel_timespec t = {.tv_nsec = 1000000};
	struct user *u = &m->user;
	unsigned int before = u->n;
	struct io_uring_sqe *sqe;

	ask_for_files(m, buf, v);
	ask(u, IORING_OP_NOP, -1, 0);
	set_flags(u, ask(u, IORING_OP_NOP, -1, 0), IOSQE_ASYNC);
	sqe = ask_bytes(u, IORING_OP_SEND, m->pair[0], buf, 100, 0);
	set_flags(u, sqe, IOSQE_IO_LINK);
	ask_bytes(u, IORING_OP_RECV, m->pair[1], buf, 100, 0);
	sqe = ask(u, IORING_OP_OPENAT, -1, ANY);
	sqe->fd = AT_FDCWD;
	sqe->addr = (uint64_t)(uintptr_t)m->dir;
	sqe->open_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	/* a wrong entry ends a call of the kernel's: what comes behind it is submitted all the same
	 */
	ask_for_failures(m, buf, &t);
	submit(u);
	take(u, u->n - before);
}

static void *mix(void *arg)
{
	static char bufs[64][4096];
	static unsigned int next;
	struct mixer *m = arg;
	unsigned int i, mine = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % 64;

	open_user(&m->user, 64, m->polled ? IORING_SETUP_SQPOLL : 0, 0);
	m->file = make_file(m->dir, "mix", m->user.tid, 0);
	check(pipe(m->pipe), "pipe");
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, m->pair), "socketpair");
	check(syscall(SYS_io_uring_register, m->user.ring.fd, IORING_REGISTER_FILES, &m->file, 1),
	      "io_uring_register");
	for (i = 0; i < m->rounds; i++)
		mix_once(m, bufs[mine]);
	fprintf(m->user.out, "thread %d %d\n", m->user.tid, getpid());
	close_user(&m->user);
	return NULL;
}

static int mix_threads(const char *dir, int threads, unsigned int rounds, bool polled)
{
	struct mixer *m = calloc((size_t)threads, sizeof(*m));
	int i;

	if (!m)
		die("calloc");
	for (i = 0; i < threads; i++) {
		m[i].dir = dir;
		m[i].rounds = rounds;
		m[i].polled = polled;
		if (i)
			pthread_create(&m[i].thread, NULL, mix, &m[i]);
	}
	mix(&m[0]);
	for (i = 1; i < threads; i++)
		pthread_join(m[i].thread, NULL);
	free(m);
	return 0;
}

static int mix_all(char **argv, bool polled)
{
	int threads = atoi(argv[1]), children = atoi(argv[2]), i, status, bad = 0;
	pid_t pid;

	for (i = 0; i < children; i++) {
		pid = fork();
		check(pid, "fork");
		if (!pid)
			_exit(mix_threads(argv[0], threads, (unsigned int)atoi(argv[3]), polled));
	}
	mix_threads(argv[0], threads, (unsigned int)atoi(argv[3]), polled);
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}

/* ---- many ---- */

static void cancel(struct user *u, uint64_t what, uint8_t op)
{
	struct io_uring_sqe *sqe = ask(u, op, -1, 0);

	sqe->addr = what;
	submit(u);
	take(u, 2); /* its own and the last of the other, in any order */
}

static void accept_many(struct user *u)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), i, to;
	socklen_t len = sizeof(sa_family_t); /* the kernel makes a name */
	struct io_uring_sqe *sqe;

	check(fd, "socket");
	check(bind(fd, (struct sockaddr *)&name, len), "bind");
	check(listen(fd, CONNECTS), "listen");
	len = sizeof(name);
	check(getsockname(fd, (struct sockaddr *)&name, &len), "getsockname");
	sqe = ask(u, IORING_OP_ACCEPT, fd, -ECANCELED);
	sqe->ioprio = IORING_ACCEPT_MULTISHOT;
	submit(u);
	for (i = 0; i < CONNECTS; i++) {
		to = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		check(to, "socket");
		check(connect(to, (struct sockaddr *)&name, len), "connect");
		take(u, 1);
	}
	cancel(u, sqe->user_data, IORING_OP_ASYNC_CANCEL);
}

static void poll_many(struct user *u)
{
	int fd = eventfd(0, EFD_CLOEXEC), i;
	struct io_uring_sqe *sqe;
	uint64_t one = 1;

	check(fd, "eventfd");
	sqe = ask(u, IORING_OP_POLL_ADD, fd, -ECANCELED);
	sqe->poll32_events = POLLIN;
	sqe->len = IORING_POLL_ADD_MULTI;
	submit(u);
	for (i = 0; i < CONNECTS; i++) {
		if (write(fd, &one, sizeof(one)) != sizeof(one))
			die("write");
		take(u, 1);
	}
	cancel(u, sqe->user_data, IORING_OP_POLL_REMOVE);
}

static int many(void)
{
	struct user u;

	open_user(&u, 8, 0, 0);
	accept_many(&u);
	poll_many(&u);
	close_user(&u);
	return 0;
}

/* ---- silent ---- */

static int silent(unsigned int n)
{
	struct user u;
	unsigned int i;

	open_user(&u, 8, 0, 0);
	for (i = 0; i < n; i++) {
		set_flags(&u, ask(&u, IORING_OP_NOP, -1, 0), IOSQE_CQE_SKIP_SUCCESS);
		if (i % 4 == 3)
			submit(&u);
	}
	set_flags(&u, ask(&u, IORING_OP_FSYNC, 99999, -EBADF), IOSQE_CQE_SKIP_SUCCESS);
	submit(&u);
	take(&u, 1);
	fprintf(u.out, "silent %d %u\n", u.tid, n);
	close_user(&u);
	return 0;
}

/* ---- full ---- */

/* No more than one for which there is room is taken before all are submitted. */
static int full(const char *dir, unsigned int n)
{
	static char buf[4096];
	struct io_uring_cqe cqe;
	struct user u;
	unsigned int i;
	int fd;

	open_user(&u, 4, 0, 4);
	fd = make_file(dir, "full", 0, 0);
	if (n > MAX_ASKED || n > sizeof(buf))
		n = MAX_ASKED;
	for (i = 0; i < n; i++) {
		ask_bytes(&u, IORING_OP_READ, fd, buf, i + 1, i);
		submit(&u);
	}
	for (i = 0; i < n; i++) {
		/* what there was no room for comes when it is asked for */
		if (uring__wait(&u.ring, &cqe))
			die("io_uring_enter");
		say(&u, &cqe);
	}
	fprintf(u.out, "full %d %u %u\n", u.tid, n, u.ring.cq_entries);
	close_user(&u);
	return 0;
}

/* ---- chain ---- */

static int chain(const char *dir)
{
	char buf[64], path[4096];
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	struct user u;
	int first, second;

	open_user(&u, 8, 0, 0);
	second = make_file(dir, "second", 0, 0);
	if (pwrite(second, "second", 6, 0) != 6)
		die("pwrite");
	first = make_file(dir, "first", 0, 0);
	snprintf(path, sizeof(path), "%s/second.0.0", dir);
	sqe = ask(&u, IORING_OP_CLOSE, -1, 0);
	sqe->fd = first;
	set_flags(&u, sqe, IOSQE_IO_LINK);
	/* no lower one is free, so it gets the number of the one that is closed */
	sqe = ask(&u, IORING_OP_OPENAT, -1, first);
	sqe->fd = AT_FDCWD;
	sqe->addr = (uint64_t)(uintptr_t)path;
	set_flags(&u, sqe, IOSQE_IO_LINK);
	ask_bytes(&u, IORING_OP_READ, first, buf, sizeof(buf), 0);
	submit(&u);
	take(&u, 2);
	if (uring__wait(&u.ring, &cqe))
		die("io_uring_enter");
	/* 6.1 looks the file up before that if it hands the chain to a worker */
	if (memcmp(buf, "second", 6) == 0)
		name_file(&u.asked[2], second);
	say(&u, &cqe);
	close_user(&u);
	return 0;
}

/* ---- hang ---- */

static int hang(void)
{
	char line[16], byte;
	struct user u;
	int fd[2];

	check(pipe(fd), "pipe");
	open_user(&u, 8, 0, 0);
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	ask_bytes(&u, IORING_OP_READ, fd[0], &byte, 1, 0);
	submit(&u);
	printf("inside %d %" PRIu64 "\n", u.tid, u.asked[0].inode);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (write(fd[1], "x", 1) != 1)
		die("write");
	take(&u, 1);
	close_user(&u);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "mix") == 0 && argc >= 6)
		return mix_all(argv + 2, argc == 7);
	if (strcmp(what, "many") == 0)
		return many();
	if (strcmp(what, "silent") == 0 && argc == 3)
		return silent((unsigned int)atoi(argv[2]));
	if (strcmp(what, "full") == 0 && argc == 4)
		return full(argv[2], (unsigned int)atoi(argv[3]));
	if (strcmp(what, "chain") == 0 && argc == 3)
		return chain(argv[2]);
	if (strcmp(what, "hang") == 0)
		return hang();
	fprintf(stderr, "usage: see the head of urings.c\n");
	return 2;
}
