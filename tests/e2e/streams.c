// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls about pipes and sockets, and calls that wait, of numbers that are known.
 *
 *	streams move ROUNDS	two threads at the ends of each kind of stream move ROUNDS messages;
 *				prints what each end is, and what each thread did there
 *	streams late TIMES	a thread reads from a pipe and is kept waiting, TIMES times; prints
 *				from when to when it was inside its call for certain
 *	streams splices		moves bytes from a pipe into another, into a socket and to a file
 *	streams waits		calls that wait for what is known
 *	streams hang		stays inside a read of a pipe and a poll until standard input ends
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE 700 /* bytes */
#define BATCH	4   /* messages of one sendmmsg */

static long check(long got, const char *what)
{
	if (got < 0) {
		perror(what);
		exit(1);
	}
	return got;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	check(fstat(fd, &st), "fstat");
	return st.st_ino;
}

static int tid_of_self(void)
{
	return (int)syscall(SYS_gettid);
}

/* ---- move ---- */

struct end {
	const char *kind;
	int fd;
	bool out;
	int rounds;
	sem_t *go, *done; /* one message at a time: of datagrams, which may be dropped */
	int tid;
	uint64_t calls, bytes;
};

static void did(struct end *e, long bytes, const char *what)
{
	e->calls++;
	e->bytes += check(bytes, what);
}

static void send_batch(struct end *e, char *data)
{
	struct iovec v[BATCH];
	struct mmsghdr m[BATCH] = {0};
	int i, n;

	for (i = 0; i < BATCH; i++) {
		v[i] = (struct iovec){data, MESSAGE / BATCH};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &v[i], .msg_iovlen = 1};
	}
	n = check(sendmmsg(e->fd, m, BATCH, 0), "sendmmsg");
	for (i = 0; i < n; i++)
		e->bytes += m[i].msg_len;
	e->calls++;
}

static void send_one(struct end *e, int round, bool socket)
{
	static char data[MESSAGE];
	struct iovec v[2] = {{data, MESSAGE / 2}, {data, MESSAGE / 2}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};

	switch (round % (socket ? 5 : 2)) {
	case 0:
		did(e, write(e->fd, data, MESSAGE), "write");
		break;
	case 1:
		did(e, writev(e->fd, v, 2), "writev");
		break;
	case 2:
		did(e, send(e->fd, data, MESSAGE, 0), "send");
		break;
	case 3:
		did(e, sendmsg(e->fd, &m, 0), "sendmsg");
		break;
	case 4:
		send_batch(e, data);
		break;
	}
}

static long get(struct end *e, int round, bool socket)
{
	char data[2 * MESSAGE];
	struct iovec v[2] = {{data, MESSAGE}, {data + MESSAGE, MESSAGE}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	struct mmsghdr mm = {.msg_hdr = m};
	uint64_t before = e->bytes;

	switch (round % (socket ? 5 : 2)) {
	case 0:
		did(e, read(e->fd, data, sizeof(data)), "read");
		break;
	case 1:
		did(e, readv(e->fd, v, 2), "readv");
		break;
	case 2:
		did(e, recv(e->fd, data, sizeof(data), 0), "recv");
		break;
	case 3:
		did(e, recvmsg(e->fd, &m, 0), "recvmsg");
		break;
	case 4:
		check(recvmmsg(e->fd, &mm, 1, 0, NULL), "recvmmsg");
		did(e, mm.msg_len, "recvmmsg");
		break;
	}
	return e->bytes - before;
}

static void *run_end(void *arg)
{
	struct end *e = arg;
	bool socket = strcmp(e->kind, "pipe") != 0 && strcmp(e->kind, "fifo") != 0;
	uint64_t total = (uint64_t)e->rounds * MESSAGE;
	int i;

	e->tid = tid_of_self();
	for (i = 0; e->out && i < e->rounds; i++) {
		if (e->go)
			sem_wait(e->go);
		send_one(e, i, socket);
	}
	for (i = 0; !e->out && e->bytes < total; i++) {
		uint64_t whole = e->bytes + MESSAGE;

		get(e, i, socket);
		while (e->done && e->bytes < whole) /* a batch is several datagrams */
			get(e, i, socket);
		if (e->done)
			sem_post(e->done);
	}
	return NULL;
}

static void put_address(int fd, int (*get_it)(int, struct sockaddr *, socklen_t *))
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un un;
	} a = {0};
	socklen_t len = sizeof(a);
	char text[INET6_ADDRSTRLEN] = "";

	if (get_it(fd, &a.any, &len)) {
		printf(" -");
	} else if (a.any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof(text));
		printf(" %s:%d", text, ntohs(a.v4.sin_port));
	} else if (a.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof(text));
		printf(" [%s]:%d", text, ntohs(a.v6.sin6_port));
	} else if (len > sizeof(a.un.sun_family) && !a.un.sun_path[0]) {
		printf(" @%.*s", (int)(len - sizeof(a.un.sun_family) - 1), a.un.sun_path + 1);
	} else {
		printf(" %s", len > sizeof(a.un.sun_family) ? a.un.sun_path : "-");
	}
}

static void print_end(const struct end *e, int peer)
{
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);

	getsockopt(e->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	printf("end %s %s %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d", e->kind,
	       e->out ? "out" : "in", e->tid, inode_of(e->fd), inode_of(peer), e->calls, e->bytes,
	       cred.pid);
	put_address(e->fd, getsockname);
	put_address(e->fd, getpeername);
	printf("\n");
}

/* A connection to a socket that listens at @addr, or wherever it was put: [0] is who connected. */
static void connect_pair(int fd[2], const void *addr, socklen_t len, int type)
{
	int domain = ((const struct sockaddr *)addr)->sa_family;
	int listener = check(socket(domain, type, 0), "socket");
	struct sockaddr_storage at;

	check(bind(listener, addr, len), "bind");
	len = sizeof(at);
	check(getsockname(listener, (void *)&at, &len), "getsockname");
	fd[0] = check(socket(domain, type, 0), "socket");
	if (type == SOCK_DGRAM) {
		fd[1] = listener;
		check(connect(fd[0], (void *)&at, len), "connect");
		len = sizeof(at);
		check(getsockname(fd[0], (void *)&at, &len), "getsockname");
		check(connect(fd[1], (void *)&at, len), "connect");
		return;
	}
	check(listen(listener, 1), "listen");
	check(connect(fd[0], (void *)&at, len), "connect");
	fd[1] = check(accept(listener, NULL, NULL), "accept");
	close(listener);
}

static bool make_pair(const char *kind, int fd[2])
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int pipes[2], s;

	if (strcmp(kind, "pipe") == 0) {
		check(pipe(pipes), "pipe");
		fd[0] = pipes[1];
		fd[1] = pipes[0];
	} else if (strcmp(kind, "fifo") == 0) {
		check(mkfifo("fifo", 0600), "mkfifo");
		fd[1] = check(open("fifo", O_RDONLY | O_NONBLOCK), "fifo");
		fd[0] = check(open("fifo", O_WRONLY), "fifo");
		check(fcntl(fd[1], F_SETFL, 0), "fcntl");
	} else if (strcmp(kind, "pair") == 0) {
		check(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), "socketpair");
	} else if (strcmp(kind, "unix") == 0) {
		connect_pair(fd, &un, sizeof(un), SOCK_STREAM);
	} else if (strcmp(kind, "hidden") == 0) {
		s = snprintf(un.sun_path + 1, 40, "streams-%d", getpid());
		un.sun_path[0] = '\0';
		connect_pair(fd, &un, offsetof(struct sockaddr_un, sun_path) + 1 + s, SOCK_STREAM);
	} else if (strcmp(kind, "tcp4") == 0) {
		connect_pair(fd, &v4, sizeof(v4), SOCK_STREAM);
	} else if (strcmp(kind, "udp4") == 0) {
		connect_pair(fd, &v4, sizeof(v4), SOCK_DGRAM);
	} else if (strcmp(kind, "tcp6") == 0) {
		s = check(socket(AF_INET6, SOCK_STREAM, 0), "socket");
		if (bind(s, (void *)&v6, sizeof(v6))) { /* no IPv6 here */
			close(s);
			return false;
		}
		close(s);
		connect_pair(fd, &v6, sizeof(v6), SOCK_STREAM);
	}
	return true;
}

static int move(int rounds)
{
	static const char *const kinds[] = {"pipe",   "fifo", "pair", "unix",
					    "hidden", "tcp4", "tcp6", "udp4"};
	enum { N = sizeof(kinds) / sizeof(kinds[0]) };
	struct end ends[2 * N] = {0};
	pthread_t threads[2 * N];
	int i, n = 0, fd[2];
	sem_t go;

	sem_init(&go, 0, 1);
	for (i = 0; i < N; i++) {
		if (!make_pair(kinds[i], fd))
			continue;
		ends[n++] = (struct end){.kind = kinds[i], .fd = fd[0], .out = true};
		ends[n++] = (struct end){.kind = kinds[i], .fd = fd[1]};
		if (strcmp(kinds[i], "udp4") == 0)
			ends[n - 2].go = ends[n - 1].done = &go;
	}
	for (i = 0; i < n; i++) {
		ends[i].rounds = rounds;
		pthread_create(&threads[i], NULL, run_end, &ends[i]);
	}
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < n; i++)
		print_end(&ends[i], ends[i ^ 1].fd);
	return 0;
}

/* ---- late ---- */

/* Until thread @tid is seen off the cpu inside system call @nr with descriptor @fd. */
static void until_inside(int tid, long nr, unsigned long arg)
{
	char path[64], line[256];
	unsigned long got;
	long in;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	for (;;) {
		f = fopen(path, "re");
		if (f && fgets(line, sizeof(line), f) && sscanf(line, "%ld %lx", &in, &got) == 2 &&
		    in == nr && got == arg) {
			fclose(f);
			return;
		}
		if (f)
			fclose(f);
		usleep(1000);
	}
}

struct late {
	int fd[2];
	int times;
	_Atomic int tid, calls; /* that it has come to */
};

static void *read_late(void *arg)
{
	struct late *l = arg;
	char byte;
	int i;

	l->tid = tid_of_self();
	for (i = 0; i < l->times; i++) {
		l->calls++;
		check(read(l->fd[0], &byte, 1), "read");
	}
	return NULL;
}

static int late(int times)
{
	struct late l = {.times = times};
	uint64_t since, until;
	pthread_t reader;
	int i;

	check(pipe(l.fd), "pipe");
	pthread_create(&reader, NULL, read_late, &l);
	while (!l.tid)
		usleep(1000);
	printf("late %d %d %" PRIu64 "\n", l.tid, tid_of_self(), inode_of(l.fd[0]));
	for (i = 0; i < times; i++) {
		/* who was woken may still look as if it were asleep in the call before */
		while (l.calls <= i)
			usleep(10);
		until_inside(l.tid, SYS_read, l.fd[0]);
		since = now();
		usleep(2000);
		until = now();
		printf("inside %" PRIu64 " %" PRIu64 "\n", since, until);
		check(write(l.fd[1], "x", 1), "write");
	}
	pthread_join(reader, NULL);
	return 0;
}

/* ---- splices ---- */

static int splices(void)
{
	int a[2], b[2], s[2],
		file = check(open("spliced", O_RDWR | O_CREAT | O_TRUNC, 0600), "open");
	char data[MESSAGE] = {0};

	check(pipe(a), "pipe");
	check(pipe(b), "pipe");
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	check(write(a[1], data, MESSAGE), "write");
	check(tee(a[0], b[1], MESSAGE, 0), "tee");
	check(splice(a[0], NULL, s[0], NULL, 300, 0), "splice");
	check(splice(a[0], NULL, file, NULL, 400, 0), "splice");
	check(lseek(file, 0, SEEK_SET), "lseek");
	check(splice(file, NULL, b[1], NULL, 200, 0), "splice");
	check(sendfile(s[1], file, NULL, 150), "sendfile");
	check(vmsplice(b[1], &(struct iovec){data, 50}, 1, 0), "vmsplice");
	check(recv(s[1], data, sizeof(data), MSG_PEEK), "recv");
	errno = 0;
	if (recv(s[1], data, 300, MSG_DONTWAIT) != 300 || recv(s[1], data, 1, MSG_DONTWAIT) >= 0)
		return 1;
	printf("splices %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d\n", inode_of(a[0]),
	       inode_of(b[0]), inode_of(s[0]), inode_of(s[1]), tid_of_self());
	return 0;
}

/* ---- waits ---- */

static int waits(void)
{
	struct timespec t = {.tv_nsec = 3000000}, at;
	struct timeval tv = {.tv_usec = 4000};
	struct epoll_event ev = {.events = EPOLLIN};
	struct pollfd polled[3] = {0};
	int fd[3][2], i, ep, child;
	fd_set set;

	for (i = 0; i < 3; i++) {
		check(pipe(fd[i]), "pipe");
		polled[i] = (struct pollfd){.fd = fd[i][0], .events = POLLIN};
	}
	check(poll(polled, 3, 2), "poll");
	check(write(fd[2][1], "x", 1), "write");
	check(poll(polled, 3, -1), "poll");
	FD_ZERO(&set);
	FD_SET(fd[0][0], &set);
	check(select(fd[0][0] + 1, &set, NULL, NULL, &tv), "select");
	ep = check(epoll_create1(0), "epoll");
	check(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0][0], &ev), "epoll_ctl");
	check(epoll_wait(ep, &ev, 1, 5), "epoll_wait");
	check(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL), "clock_nanosleep");
	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec -= 1;
	check(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL), "clock_nanosleep");
	child = check(fork(), "fork");
	if (!child) {
		check(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL), "clock_nanosleep");
		_exit(0);
	}
	check(waitpid(child, NULL, 0), "waitpid");
	printf("waits %d %d %d %d %d %d\n", tid_of_self(), fd[2][0], fd[0][0] + 1, ep, child,
	       fd[0][0]);
	return 0;
}

/* ---- hang ---- */

static void *tell_when_inside(void *arg)
{
	struct late *l = arg;

	while (!l->tid)
		usleep(1000);
	until_inside(l->tid, SYS_read, l->fd[0]);
	printf("inside %d %" PRIu64 " %d\n", l->tid, inode_of(l->fd[0]), getpid());
	fflush(stdout);
	return NULL;
}

static int hang(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	struct late l = {.times = 1};
	pthread_t reader, teller;

	check(pipe(l.fd), "pipe");
	pthread_create(&reader, NULL, read_late, &l);
	pthread_create(&teller, NULL, tell_when_inside, &l);
	check(ppoll(&in, 1, NULL, NULL), "ppoll");
	check(write(l.fd[1], "x", 1), "write");
	pthread_join(reader, NULL);
	pthread_join(teller, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (strcmp(what, "move") == 0)
		return move(n);
	if (strcmp(what, "late") == 0)
		return late(n);
	if (strcmp(what, "splices") == 0)
		return splices();
	if (strcmp(what, "waits") == 0)
		return waits();
	return strcmp(what, "hang") == 0 ? hang() : 2;
}
