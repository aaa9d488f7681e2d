// SPDX-License-Identifier: BSD-2-Clause
/* Programs that do to their recorder what they can: it goes on, and records the others. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/mark/state.h"
#include "userspace/mark/xpugap_mark.h"
#include "userspace/source/mark_drain.h"
#include "userspace/source/mark_hub.h"
#include "userspace/trace/records.h"

#define SLOTS 4
#define RING  MARK_RING_BYTES_MIN

static uint64_t nsteps, lost_bad;

static int check(void *arg, const struct rec *rec)
{
	cr_assert_not_null(record__find(rec->type));
	cr_assert_eq(record__check(rec), 0);
	nsteps += rec->type == REC_MARK_STEP;
	if (rec->type == REC_LOST && ((const struct rec_lost *)rec)->why == REC_LOST_BAD)
		lost_bad += ((const struct rec_lost *)rec)->count;
	return 0;
}

static struct mark_hub *hub(void)
{
	struct mark_hub *h = mark_hub__new(&(struct mark_hub_opts){0});

	cr_assert_not_null(h);
	log__set_level(LOG_ERROR);
	return h;
}

static int connect_to(const struct mark_hub *h)
{
	const char *address = mark_hub__address(h) + 1;
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	size_t n = strcspn(address, ";");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(sa.sun_path + 1, address, n);
	cr_assert_eq(connect(fd, (struct sockaddr *)&sa,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)),
		     0);
	return fd;
}

static const struct mark_hello good = {.magic = MARK_MAGIC,
				       .abi = MARK_ABI,
				       .slots = SLOTS,
				       .ring_bytes = RING};

static void say_on(int fd, const void *hello, size_t size, const int *fds, int nfds)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {(void *)(uintptr_t)hello, size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nfds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
		control.head.cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, (size_t)nfds * sizeof(int));
	}
	cr_assert_eq(sendmsg(fd, &msg, 0), (ssize_t)size);
	close(fd);
}

static void say(const struct mark_hub *h, const void *hello, size_t size, const int *fds, int nfds)
{
	say_on(connect_to(h), hello, size, fds, nfds);
}

static int region(size_t bytes, unsigned int seals)
{
	int fd = memfd_create("hostile", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static size_t right_size(void)
{
	return mark_region__bytes(SLOTS, RING);
}

static unsigned int alive(struct mark_hub *h)
{
	struct mark_hub_stats st;

	cr_assert_geq(mark_hub__poll(h, check, NULL), 0);
	mark_hub__stats(h, &st);
	return st.alive;
}

/* The lowest free descriptor: higher than before if some were kept. */
static int lowest_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

Test(mark_hostile, wrong_hellos)
{
	struct mark_hub *h = hub();
	struct mark_hello hello = good;
	struct mark_hub_stats st;
	int fds[16], p[2], lowest;

	cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
	fds[0] = region(right_size(), MARK_SEALS);
	for (int i = 1; i < 16; i++)
		fds[i] = p[0];
	lowest = lowest_fd();
	say(h, "x", 1, NULL, 0);
	say(h, &good, sizeof(good) - 1, fds, 1);
	say(h, &good, sizeof(good), NULL, 0);
	say(h, &good, sizeof(good), p, 1);
	hello.magic ^= 1;
	say(h, &hello, sizeof(hello), fds, 1);
	hello = good;
	hello.abi = 2;
	say(h, &hello, sizeof(hello), fds, 1);
	hello = good;
	hello.slots = 0;
	say(h, &hello, sizeof(hello), fds, 1);
	hello.slots = UINT32_MAX;
	say(h, &hello, sizeof(hello), fds, 1);
	hello = good;
	hello.ring_bytes = RING - 8;
	say(h, &hello, sizeof(hello), fds, 1);
	hello.ring_bytes = 1ULL << 63;
	say(h, &hello, sizeof(hello), fds, 1);
	hello = good;
	hello.slots = SLOTS + 1;
	say(h, &hello, sizeof(hello), fds, 1);
	close(connect_to(h));
	cr_assert_eq(alive(h), 0);
	mark_hub__stats(h, &st);
	cr_assert_eq(st.refused, 3); /* of another version, a pipe, of another size */
	cr_assert_eq(lowest_fd(), lowest);
	say(h, &good, sizeof(good), fds, 16); /* more descriptors than one: the first counts */
	cr_assert_eq(alive(h), 1);
	mark_hub__free(h);
	cr_assert_leq(lowest_fd(), lowest);
}

/* Excuses that cannot be: of another size or version, of more losses than there can be. */
Test(mark_hostile, wrong_excuses)
{
	struct mark_excuse e = {.magic = MARK_EXCUSE,
				.abi = MARK_ABI,
				.err = UINT32_MAX,
				.pid = UINT32_MAX,
				.first = 1,
				.lost = 7};
	struct mark_hub *h = hub();
	int fd = region(right_size(), MARK_SEALS), lowest = lowest_fd();
	struct mark_hub_stats st;

	say(h, &e, sizeof(e) - 1, NULL, 0);
	e.abi = MARK_ABI + 1;
	say(h, &e, sizeof(e), NULL, 0);
	cr_assert_eq(alive(h), 0);
	mark_hub__stats(h, &st);
	cr_assert_eq(st.lost, 0);
	cr_assert_eq(st.refused, 1); /* of another version */
	e.abi = MARK_ABI;
	say(h, &e, sizeof(e), &fd, 1); /* a descriptor has no place there */
	e.first = 0;
	e.lost = UINT64_MAX;
	say(h, &e, sizeof(e), NULL, 0);
	cr_assert_eq(alive(h), 0);
	mark_hub__stats(h, &st);
	cr_assert_eq(st.lost, 7);
	cr_assert_eq(st.bad, 1);
	cr_assert_eq(lost_bad, 1);
	cr_assert_eq(st.refused, 2);
	cr_assert_eq(lowest_fd(), lowest);
	mark_hub__free(h);
}

/* Who connects and says nothing, or late, is waited for, and is in nobody's way. */
Test(mark_hostile, silent_visitors)
{
	struct mark_hub *h = hub();
	int fd = region(right_size(), MARK_SEALS), lowest = lowest_fd();
	int silent[200];

	for (int i = 0; i < 200; i++) {
		silent[i] = connect_to(h);
		if (i % 10 == 0)
			cr_assert_eq(alive(h), 0);
	}
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(alive(h), 0);
	say_on(silent[199], &good, sizeof(good), &fd, 1);
	cr_assert_eq(alive(h), 1);
	say(h, &good, sizeof(good), &fd, 1);
	cr_assert_eq(alive(h), 1);
	for (int i = 0; i < 199; i++)
		close(silent[i]);
	cr_assert_eq(alive(h), 1);
	mark_hub__free(h);
	cr_assert_leq(lowest_fd(), lowest);
}

Test(mark_hostile, wrong_memory)
{
	struct mark_hub *h = hub();
	char path[] = "/tmp/xpugap-test-XXXXXX";
	int fds[5], file;

	fds[0] = region(right_size(), 0);
	fds[1] = region(right_size(), F_SEAL_SHRINK);
	fds[2] = region(right_size() - 4096, MARK_SEALS);
	fds[3] = region(right_size(), MARK_SEALS | F_SEAL_WRITE);
	fds[4] = memfd_create("huge", MFD_ALLOW_SEALING | MFD_HUGETLB);
	if (fds[4] >= 0) {
		cr_assert_eq(ftruncate(fds[4], 2 << 20), 0);
		fcntl(fds[4], F_ADD_SEALS, MARK_SEALS);
	}
	file = mkstemp(path);
	unlink(path);
	cr_assert_eq(ftruncate(file, (off_t)right_size()), 0);
	for (int i = 0; i < 5; i++)
		if (fds[i] >= 0)
			say(h, &good, sizeof(good), &fds[i], 1);
	say(h, &good, sizeof(good), &file, 1);
	cr_assert_eq(alive(h), 0);
	mark_hub__free(h);
}

/* What is sealed cannot be cut afterwards; holes are zeros, which are no records. */
Test(mark_hostile, cut_and_punch)
{
	struct mark_hub *h = hub();
	int fd = region(right_size(), MARK_SEALS);
	struct mark_region *r = mmap(NULL, right_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	say(h, &good, sizeof(good), &fd, 1);
	cr_assert_eq(alive(h), 1);
	cr_assert_neq(ftruncate(fd, 0), 0);
	r->used = SLOTS;
	r->ring[1].head = 4096;
	cr_assert_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			       (off_t)mark_region__data(SLOTS), SLOTS * RING),
		     0);
	cr_assert_eq(alive(h), 1);
	cr_assert_eq(lost_bad, 1);
	cr_assert_eq(r->ring[1].closed, 1);
	cr_assert_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			       (off_t)mark_region__data(SLOTS)),
		     0);
	cr_assert_eq(alive(h), 1);
	mark_hub__free(h);
}

/* What nobody can have lost is a loss of unknown size, and does not make sums wrap. */
Test(mark_hostile, impossible_losses)
{
	struct mark_hub *h = hub();
	int fd = region(right_size(), MARK_SEALS);
	struct mark_region *r = mmap(NULL, right_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct mark_hub_stats st;

	say(h, &good, sizeof(good), &fd, 1);
	r->used = SLOTS;
	r->lost = 7;
	cr_assert_eq(alive(h), 1);
	mark_hub__stats(h, &st);
	cr_assert_eq(st.lost, 7);
	r->lost = 3; /* it goes back */
	r->ring[1].lost = (uint64_t)-1000;
	cr_assert_eq(alive(h), 1);
	mark_hub__stats(h, &st);
	cr_assert_eq(st.lost, 7);
	cr_assert_eq(lost_bad, 2);
	mark_hub__free(h);
}

static int stop_scribbling;

static void *scribble(void *arg)
{
	struct mark_region *r = arg;
	unsigned int seed = 1;
	uint64_t *words = arg;

	while (!__atomic_load_n(&stop_scribbling, __ATOMIC_RELAXED)) {
		/* whole steps as a program writes them, then anything anywhere */
		for (uint64_t i = 0; i < 64; i++) {
			struct rec_mark_step step = {.hdr = {.type = REC_MARK_STEP,
							     .size = sizeof(step),
							     .tid = (uint32_t)rand_r(&seed),
							     .time_ns = xpugap_now()}};
			uint32_t ring = (uint32_t)rand_r(&seed) % SLOTS;
			char *data = (char *)r + mark_region__data(SLOTS) + ring * RING;

			memcpy(data + r->ring[ring].head % RING / 32 * 32, &step, sizeof(step));
			__atomic_store_n(&r->ring[ring].head, r->ring[ring].head + sizeof(step),
					 __ATOMIC_RELEASE);
		}
		words[(size_t)rand_r(&seed) % (right_size() / 8)] = (uint64_t)rand_r(&seed)
								    << (rand_r(&seed) % 64);
		r->used = (uint32_t)rand_r(&seed) % (2 * SLOTS);
	}
	return NULL;
}

/* Anything anywhere while the recorder reads; its own marks arrive all the same. */
Test(mark_hostile, scribble, .timeout = 60)
{
	struct mark_hub *h = hub();
	struct mark_hub_stats st;
	int status, fd;
	pid_t pid = fork();
	pthread_t th;

	if (!pid) {
		fd = region(right_size(), MARK_SEALS);
		for (unsigned int i = 0; i < MARK_REGIONS_MAX + 5; i++)
			say(h, &good, sizeof(good), &fd, 1);
		pthread_create(&th, NULL, scribble,
			       mmap(NULL, right_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
		usleep(700000);
		_exit(0);
	}
	cr_assert(xpugap_connect(mark_hub__address(h)));
	nsteps = 0;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		xpugap_counter("mine", 1);
		cr_assert_geq(mark_hub__poll(h, check, NULL), 0);
	}
	cr_assert_eq(status, 0);
	cr_assert_geq(mark_hub__poll(h, check, NULL), 0);
	mark_hub__stats(h, &st);
	cr_assert_gt(st.records, 0);
	cr_assert_gt(lost_bad, 0);
	cr_assert_eq(st.alive, 1); /* this process */
	mark_hub__free(h);
}

/* A record that is never finished holds up the others for a moment only. */
Test(mark_hostile, never_finished)
{
	struct mark_hub *h = hub();
	int fd = region(right_size(), MARK_SEALS);
	struct mark_region *r = mmap(NULL, right_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct mark_hello hello = good;

	hello.image = mark__image(); /* not another program in the same process */
	r->used = 1;
	say(h, &hello, sizeof(hello), &fd, 1);
	cr_assert_eq(alive(h), 1);
	r->ring[0].head = MARK_WRITING;
	cr_assert(xpugap_connect(mark_hub__address(h)));
	xpugap_step(0, 0);
	mark_hub__poll(h, check, NULL);
	cr_assert_eq(nsteps, 0);
	usleep(500000);
	mark_hub__poll(h, check, NULL);
	cr_assert_eq(nsteps, 1);
	mark_hub__free(h);
}

static int mark_as_nobody(const struct mark_hub *h, int go)
{
	char c;

	if (setgid(65534) || setuid(65534))
		return 77;
	xpugap_connect(mark_hub__address(h));
	xpugap_step(0, 0);
	if (read(go, &c, 1) < 0)
		return 1;
	xpugap_step(1, 0);
	return xpugap_recording() ? 0 : 2;
}

/* Its end cannot be waited for: it is told so, and what it marked before is there. */
Test(mark_hostile, unwatched_process)
{
	struct mark_hub *h = hub();
	struct mark_hub_stats st;
	int null = open("/dev/null", O_RDONLY);

	cr_assert_eq(dup2(null, h->epoll_fd), h->epoll_fd);
	cr_assert(xpugap_connect(mark_hub__address(h)));
	xpugap_step(0, 0);
	cr_assert_eq(mark_hub__poll(h, check, NULL), 1);
	xpugap_step(1, 0);
	cr_assert_not(xpugap_recording());
	mark_hub__poll(h, check, NULL);
	cr_assert_eq(nsteps, 1);
	mark_hub__stats(h, &st);
	cr_assert_eq(st.refused, 1);
	cr_assert_eq(st.alive, 0);
	mark_hub__free(h);
}

/* ---- other users ---- */

/* Until @n processes have been let in or turned away. */
static void poll_until_seen(struct mark_hub *h, uint64_t n)
{
	struct mark_hub_stats st;

	do {
		mark_hub__poll(h, check, NULL);
		mark_hub__stats(h, &st);
	} while (st.processes + st.refused < n);
}

static int run_as_nobody(struct mark_hub *h, bool as_target)
{
	struct mark_hub_stats before;
	int go[2], status;
	pid_t pid;

	cr_assert_eq(pipe(go), 0);
	mark_hub__stats(h, &before);
	pid = fork();
	if (!pid) {
		close(go[1]);
		_exit(mark_as_nobody(h, go[0]));
	}
	if (as_target)
		cr_assert_eq(mark_hub__add_target(h, pid), 0);
	poll_until_seen(h, before.processes + before.refused + 1);
	close(go[1]);
	waitpid(pid, &status, 0);
	mark_hub__poll(h, check, NULL);
	return WEXITSTATUS(status);
}

Test(mark_hostile, other_user)
{
	struct mark_hub *h = hub();

	if (geteuid() != 0)
		cr_skip_test("needs root to become another user");
	/* told that it is not recorded, so that it stops */
	cr_assert_eq(run_as_nobody(h, false), 2);
	cr_assert_eq(nsteps, 0);
	cr_assert_eq(run_as_nobody(h, true), 0);
	cr_assert_eq(nsteps, 2);
	mark_hub__allow(h, 65534);
	cr_assert_eq(run_as_nobody(h, false), 0);
	cr_assert_eq(nsteps, 4);
	mark_hub__free(h);
}

/* A further target is one more: the processes of those before may mark as ever. */
Test(mark_hostile, other_user_of_several_targets)
{
	struct mark_hub *h = hub();
	int go[2], status;
	pid_t pids[3];

	if (geteuid() != 0)
		cr_skip_test("needs root to become another user");
	cr_assert_eq(pipe(go), 0);
	for (int i = 0; i < 3; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			close(go[1]);
			_exit(mark_as_nobody(h, go[0]));
		}
		cr_assert_eq(mark_hub__add_target(h, pids[i]), 0);
	}
	poll_until_seen(h, 3);
	close(go[1]);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(waitpid(pids[i], &status, 0), pids[i]);
		cr_assert_eq(status, 0, "target %d: %x", i, status);
	}
	mark_hub__poll(h, check, NULL);
	cr_assert_eq(nsteps, 6);
	mark_hub__free(h);
}

static const struct mark_excuse no_files = {
	.magic = MARK_EXCUSE, .abi = MARK_ABI, .err = EMFILE, .first = 1, .lost = 5};

static void excuse_as_nobody(const struct mark_hub *h, pid_t whose)
{
	struct mark_excuse e = no_files;

	if (setgid(65534) || setuid(65534))
		_exit(77);
	e.pid = (uint32_t)whose;
	say(h, &e, sizeof(e), NULL, 0);
	_exit(0);
}

/* Nobody speaks for the process of another user: it is named who came. */
Test(mark_hostile, excuse_for_another_users_process, .init = cr_redirect_stderr)
{
	struct mark_hub *h = hub();
	char said[256], want[64];
	struct mark_hub_stats st;
	int status;
	pid_t pid;

	if (geteuid() != 0)
		cr_skip_test("needs root to become another user");
	log__set_level(LOG_WARNING);
	mark_hub__allow(h, 65534);
	pid = fork();
	if (!pid)
		excuse_as_nobody(h, getppid());
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_eq(alive(h), 0);
	mark_hub__stats(h, &st);
	cr_expect(st.lost == 5 && st.refused == 1);
	fflush(stderr);
	cr_assert_not_null(fgets(said, sizeof(said), cr_get_redirected_stderr()));
	snprintf(want, sizeof(want), "marks of process %d (uid 65534)", pid);
	cr_expect_not_null(strstr(said, want), "said: %s", said);
	mark_hub__free(h);
}

/* A target of another user, which stands still until it is told to end, and sends a child. */
static pid_t start_target(const struct mark_hub *h, pid_t whose, int *go)
{
	int sent[2], until[2], status;
	char c;
	pid_t pid;

	cr_assert(pipe2(sent, O_CLOEXEC) == 0 && pipe2(until, O_CLOEXEC) == 0);
	pid = fork();
	if (!pid) {
		close(until[1]);
		if (setgid(65534) || setuid(65534))
			_exit(77);
		pid = getpid();
		if (!fork())
			excuse_as_nobody(h, whose ? whose : pid);
		if (wait(&status) < 0 || status || write(sent[1], "", 1) != 1)
			_exit(1);
		_exit(read(until[0], &c, 1) != 0);
	}
	close(sent[1]);
	close(until[0]);
	cr_assert_eq(read(sent[0], &c, 1), 1, "its child could not say it");
	close(sent[0]);
	*go = until[1];
	return pid;
}

/* The child that a target sent is gone, but the target is there, and of its user. */
Test(mark_hostile, excuse_by_a_child_of_a_target)
{
	struct mark_hub *h = hub();
	struct mark_hub_stats st;
	pid_t whose[] = {1, 0};
	int go, status;

	if (geteuid() != 0)
		cr_skip_test("needs root to become another user");
	for (int i = 0; i < 2; i++) {
		pid_t pid = start_target(h, whose[i], &go);

		cr_assert_eq(mark_hub__add_target(h, pid), 0);
		cr_assert_eq(alive(h), 0);
		mark_hub__stats(h, &st);
		cr_expect_eq(st.lost, i ? 5 : 0, "for process %d: %llu", whose[i],
			     (unsigned long long)st.lost);
		close(go);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert_eq(status, 0);
	}
	mark_hub__free(h);
}
