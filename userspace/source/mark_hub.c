// SPDX-License-Identifier: BSD-2-Clause
/* Processes come and go here; mark_drain.c empties their rings. */
#include "userspace/source/mark_hub.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/mark/abi.h"
#include "userspace/source/mark_drain.h"
#include "userspace/source/mark_visitor.h"
#include "userspace/source/proc.h"

#define MAX_PROCESSES 4096
#define MAX_WAIT_NS   10000000000ULL /* for a hello */
#define SPARE_FDS     128	     /* for connections, and for the rest of the recorder */
#define ACCEPT_MAX    8192	     /* in one poll: twice what can wait */

uint64_t mark_hub__now(void)
{
	return hostclock__now();
}

static int listen_at(struct mark_hub *h)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	uint64_t random;
	size_t n;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	n = (size_t)snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "xpugap-%d-%016llx",
			     getpid(), (unsigned long long)random);
	snprintf(h->address, sizeof(h->address), "@%s;ring=%llu;slots=%u", sa.sun_path + 1,
		 (unsigned long long)h->opts.ring_bytes, h->opts.slots);
	h->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->listen_fd < 0)
		return -errno;
	if (bind(h->listen_fd, (struct sockaddr *)&sa,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) ||
	    listen(h->listen_fd, 4096))
		return -errno;
	return 0;
}

struct mark_hub *mark_hub__new(const struct mark_hub_opts *opts)
{
	struct mark_hub *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return NULL;
	h->listen_fd = h->epoll_fd = -1;
	for (int i = 0; i < MARK_WAITING; i++)
		h->waiting[i].fd = -1;
	h->opts = *opts;
	h->opts.slots = opts->slots ? opts->slots : MARK_SLOTS;
	h->opts.ring_bytes = opts->ring_bytes ? opts->ring_bytes : MARK_RING_BYTES;
	h->opts.max_processes = opts->max_processes ? opts->max_processes : MAX_PROCESSES;
	h->uid = h->allowed_uid = geteuid();
	h->swept_ns = mark_hub__now();
	h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = h->epoll_fd < 0 ? -errno : listen_at(h);
	if (err) {
		mark_hub__free(h);
		errno = -err;
		return NULL;
	}
	return h;
}

const char *mark_hub__address(const struct mark_hub *h)
{
	return h->address;
}

void mark_hub__allow(struct mark_hub *h, uid_t uid)
{
	h->allowed_uid = uid;
}

int mark_hub__add_target(struct mark_hub *h, pid_t target)
{
	return mark_targets__add(&h->targets, target);
}

void mark_hub__tell_tasks(struct mark_hub *h)
{
	h->tell_tasks = true;
}

/* ---- coming ---- */

static bool may_mark(const struct mark_hub *h, const struct ucred *cred)
{
	return cred->uid == 0 || cred->uid == h->uid || cred->uid == h->allowed_uid ||
	       mark_targets__have(&h->targets, cred->pid);
}

/*
 * Each process takes two descriptors, each further region one: the usual 1,024 may not do. The
 * limit is raised when it is near, as programs started before must not inherit another.
 */
static void make_room_for_fds(const struct mark_hub *h)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) || rl.rlim_cur == rl.rlim_max ||
	    h->nfds + SPARE_FDS < rl.rlim_cur)
		return;
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
}

static struct mark_process *find_process(struct mark_hub *h, pid_t pid)
{
	for (struct mark_process *p = h->processes; p; p = p->next)
		if (p->pid == pid && !p->gone)
			return p;
	return NULL;
}

static bool has_ended(const struct mark_process *p)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

	if (p->pidfd < 0)
		return kill(p->pid, 0) < 0 && errno == ESRCH;
	return poll(&fd, 1, 0) == 1;
}

static struct mark_process *add_process(struct mark_hub *h, struct mark_visitor *v)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct mark_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = v->cred.pid;
	p->ns_pid = (pid_t)v->hello.pid;
	p->uid = v->cred.uid;
	p->image = v->hello.image;
	p->nested = mark_peer__nested(p->pid, p->ns_pid);
	p->pidfd = v->pidfd;
	v->pidfd = -1;
	ev.data.ptr = p;
	/* one that ended before we looked, or whose end we cannot see: emptied now, never again */
	p->gone = p->pidfd < 0 || epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, p->pidfd, &ev);
	p->next = h->processes;
	h->processes = p;
	h->nfds += p->pidfd >= 0;
	h->stats.processes++;
	h->stats.alive++;
	return p;
}

static bool is_said(const struct mark_hub *h, const char *why)
{
	for (unsigned int i = 0; i < h->nsaid; i++)
		if (strncmp(h->said[i], why, MARK_WHY_MAX - 1) == 0)
			return true;
	return h->nsaid == MARK_REASONS;
}

/* Of each reason the first is said; all are counted. */
static void refuse(struct mark_hub *h, pid_t pid, uid_t uid, const char *why)
{
	if (!h->stats.refused++)
		snprintf(h->stats.why, sizeof(h->stats.why), "%s", why);
	if (is_said(h, why))
		return;
	log_warning("marks of process %d (uid %u) are not recorded: %s", pid, uid, why);
	snprintf(h->said[h->nsaid++], MARK_WHY_MAX, "%s", why);
}

static void count_refused(struct mark_hub *h, const struct mark_visitor *v, const char *why)
{
	refuse(h, v->cred.pid, v->cred.uid, why);
}

/*
 * Whose excuse it is. Who comes may be a child that was sent, and ends: then it is believed whose,
 * if that is a process of the same user. In a pid namespace of its own nobody knows it by that id.
 */
static pid_t excused(const struct mark_visitor *v)
{
	pid_t pid = (pid_t)v->excuse.pid;
	uint32_t uid;

	return pid > 0 && !proc__uid(pid, &uid) && uid == v->cred.uid ? pid : v->cred.pid;
}

/* One that could not make its rings says why, and how many marks that cost. */
static void take_excuse(struct mark_hub *h, const struct mark_visitor *v)
{
	const struct mark_excuse *e = &v->excuse;
	pid_t pid = excused(v);
	char why[MARK_WHY_MAX];

	if (!may_mark(h, &v->cred) && !mark_targets__have(&h->targets, pid))
		return;
	if (e->lost > MARK_LOST_MAX) /* nobody can have lost so much */
		h->ringless_bad++;
	else
		h->ringless += e->lost;
	if (!e->first)
		return;
	if (e->err == EMFILE)
		snprintf(why, sizeof(why), "it may open no more files (ulimit -n)");
	else if (e->err == EFBIG)
		snprintf(why, sizeof(why), "its files may not be large enough (ulimit -f)");
	else if (e->err == ENOMEM)
		snprintf(why, sizeof(why), "it gets no memory for them (ulimit -v)");
	else
		snprintf(why, sizeof(why), "it cannot make memory to share: %s",
			 log__err(e->err < 4096 ? (int)e->err : EINVAL));
	refuse(h, pid, v->cred.uid, why);
}

/* Take the visitor's region, with the process that it is if we do not know it. */
static int take_in(struct mark_hub *h, struct mark_process *p, struct mark_visitor *v)
{
	struct mark_map *m;

	if (p && p->nmaps == MARK_REGIONS_MAX)
		return -ENOSPC;
	m = mark_map__new(v->memfd, v->hello.slots, v->hello.ring_bytes);
	if (!m)
		return -errno;
	v->memfd = -1;
	if (!p)
		p = add_process(h, v);
	if (!p) {
		mark_map__close(m);
		mark_map__free(m);
		return -ENOMEM;
	}
	m->process = p;
	m->next = p->maps;
	p->maps = m;
	p->nmaps++;
	h->nfds++;
	if (p->gone && !has_ended(p)) {
		mark_map__close(m);
		count_refused(h, v, "its end cannot be waited for");
	}
	return 0;
}

/* Let a program that is not taken know it, so that it stops marking. */
static void turn_away(struct mark_hub *h, struct mark_visitor *v, const char *why)
{
	struct mark_map *m = NULL;

	if (v->memfd >= 0)
		m = mark_map__new(v->memfd, v->hello.slots, v->hello.ring_bytes);
	if (m)
		v->memfd = -1;
	mark_map__close(m);
	mark_map__free(m);
	count_refused(h, v, why);
}

static void admit(struct mark_hub *h, struct mark_visitor *v)
{
	struct mark_process *p;
	int err;

	if (!mark_visitor__is_sound(v)) {
		count_refused(h, v, "its memory is not such as marks go through");
		return;
	}
	p = find_process(h, v->cred.pid);
	if (p && (p->image != v->hello.image || has_ended(p))) {
		p->gone = true; /* it executed another program, or another process has its pid */
		p = NULL;
	}
	if (!may_mark(h, &v->cred))
		turn_away(h, v, "it is not a process of this recording");
	else if (v->pidfd == -EMFILE || v->pidfd == -ENFILE)
		turn_away(h, v, "too many files are open");
	else if (!p && h->stats.alive >= h->opts.max_processes)
		turn_away(h, v, "too many processes mark at the same time");
	else if ((err = take_in(h, p, v)))
		turn_away(h, v, err == -ENOSPC ? "it marks in too many regions" : log__err(err));
}

/* 0, or -EAGAIN if the hello has not come yet. */
static int welcome(struct mark_hub *h, int fd)
{
	struct mark_visitor v;
	int err = mark_visitor__receive(&v, fd);

	if (!err)
		admit(h, &v);
	else if (err == 1)
		take_excuse(h, &v);
	else if (err == -EPROTO)
		count_refused(h, &v, "its library of marks is of another version");
	else if (err == -ESRCH)
		count_refused(h, &v, "it cannot be seen from the recorder's pid namespace");
	mark_visitor__end(&v);
	return err == -EAGAIN ? err : 0;
}

/*
 * A program sends its hello right after it connected, but may lose the cpu in between. Where too
 * many wait, the one that waited longest goes.
 */
static void keep_waiting(struct mark_hub *h, int fd)
{
	int oldest = 0;

	for (int i = 0; i < MARK_WAITING && h->waiting[oldest].fd >= 0; i++)
		if (h->waiting[i].fd < 0 || h->waiting[i].since_ns < h->waiting[oldest].since_ns)
			oldest = i;
	if (h->waiting[oldest].fd >= 0)
		close(h->waiting[oldest].fd);
	h->waiting[oldest].fd = fd;
	h->waiting[oldest].since_ns = mark_hub__now();
}

static void look_at_waiting(struct mark_hub *h)
{
	for (int i = 0; i < MARK_WAITING; i++) {
		int fd = h->waiting[i].fd;

		if (fd < 0 || (welcome(h, fd) == -EAGAIN &&
			       mark_hub__now() - h->waiting[i].since_ns < MAX_WAIT_NS))
			continue;
		close(fd);
		h->waiting[i].fd = -1;
	}
}

/* To ask costs less than to try: an accept() makes a socket before it finds nobody waiting. */
static bool somebody_comes(const struct mark_hub *h)
{
	struct pollfd fd = {.fd = h->listen_fd, .events = POLLIN};

	return h->listen_fd >= 0 && poll(&fd, 1, 0) != 0;
}

static void accept_all(struct mark_hub *h)
{
	look_at_waiting(h);
	if (!somebody_comes(h))
		return;
	for (int i = 0; i < ACCEPT_MAX && h->listen_fd >= 0; i++) {
		int fd = accept4(h->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			break;
		make_room_for_fds(h);
		if (welcome(h, fd) == -EAGAIN)
			keep_waiting(h, fd);
		else
			close(fd);
	}
}

/* ---- going ---- */

static void see_who_left(struct mark_hub *h)
{
	struct epoll_event ev[64];
	int n;

	do {
		n = epoll_wait(h->epoll_fd, ev, 64, 0);
		for (int i = 0; i < n; i++) {
			struct mark_process *p = ev[i].data.ptr;

			p->gone = true;
			epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, p->pidfd, NULL);
		}
	} while (n == 64);
}

static void free_process(struct mark_process *p)
{
	struct mark_map *m, *next;

	for (m = p->maps; m; m = next) {
		next = m->next;
		mark_map__free(m);
	}
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p);
}

static void forget_gone(struct mark_hub *h)
{
	struct mark_process **at = &h->processes, *p;

	while ((p = *at)) {
		if (!p->gone || !mark_drain__is_empty(p)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		h->nfds -= p->nmaps + (p->pidfd >= 0);
		h->stats.alive--;
		free_process(p);
	}
}

int mark_hub__poll(struct mark_hub *h, int (*emit)(void *arg, const struct rec *rec), void *arg)
{
	uint64_t began_ns = mark_hub__now();
	int n;

	/*
	 * In this order: who comes after @began_ns has only later records, and what a process wrote
	 * before it was seen to be gone is still drained.
	 */
	accept_all(h);
	see_who_left(h);
	n = mark_drain__sweep(h, began_ns, emit, arg);
	forget_gone(h);
	return n;
}

uint64_t mark_hub__horizon(const struct mark_hub *h)
{
	return h->horizon_ns;
}

unsigned int mark_hub__fill(const struct mark_hub *h)
{
	return h->fill_pct;
}

void mark_hub__stop(struct mark_hub *h)
{
	accept_all(h);
	for (struct mark_process *p = h->processes; p; p = p->next)
		for (struct mark_map *m = p->maps; m; m = m->next)
			mark_map__close(m);
	if (h->listen_fd >= 0)
		close(h->listen_fd);
	h->listen_fd = -1;
}

void mark_hub__stats(const struct mark_hub *h, struct mark_hub_stats *out)
{
	*out = h->stats;
}

void mark_hub__free(struct mark_hub *h)
{
	struct mark_process *p, *next;

	if (!h)
		return;
	mark_hub__stop(h);
	for (p = h->processes; p; p = next) {
		next = p->next;
		free_process(p);
	}
	for (int i = 0; i < MARK_WAITING; i++)
		if (h->waiting[i].fd >= 0)
			close(h->waiting[i].fd);
	if (h->epoll_fd >= 0)
		close(h->epoll_fd);
	mark_targets__free(&h->targets);
	mark_drain__free(h);
	free(h);
}
