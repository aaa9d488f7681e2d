// SPDX-License-Identifier: BSD-2-Clause
/* The consumer's side of the loader: starts workers, hands out batches, notices deaths. */
#include "workloads/data/loader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/mark/xpugap_mark.h"
#include "workloads/data/loader_impl.h"

const char *const loader_kinds[] = {"threads", "processes", NULL};

uint32_t loader__batch_size(const struct loader *l, uint64_t batch)
{
	uint64_t first = batch % l->epoch_batches * l->opts.batch;
	uint64_t left = l->epoch_samples - first;

	return left < l->opts.batch ? (uint32_t)left : l->opts.batch;
}

uint64_t loader__batches(const struct loader *l)
{
	return l->epoch_batches;
}

/* ---- start ---- */

static int plan(struct loader *l)
{
	uint64_t n = l->folder.n, batch = l->opts.batch;

	if (batch == 0 || l->opts.side == 0) {
		log_error("the loader needs a batch and an image size of at least 1");
		return -EINVAL;
	}
	if (l->opts.drop_last && n < batch) {
		log_error("'%s' holds %llu images, fewer than one batch of %llu (make the batch "
			  "smaller or add images)",
			  l->opts.dir, (unsigned long long)n, (unsigned long long)batch);
		return -EINVAL;
	}
	l->epoch_samples = l->opts.drop_last ? n / batch * batch : n;
	l->epoch_batches = (l->epoch_samples + batch - 1) / batch;
	l->nslots = (l->opts.prefetch ? l->opts.prefetch : 2) + LOADER_HELD;
	return 0;
}

static size_t align(size_t size)
{
	return (size + LOADER_ALIGN - 1) / LOADER_ALIGN * LOADER_ALIGN;
}

/* One mapping for control, labels and images. */
static int map_shared(struct loader *l)
{
	size_t head = align(sizeof(*l->shared) + l->nslots * sizeof(struct slot));
	size_t samples = (size_t)l->nslots * l->opts.batch;
	size_t labels = align(samples * sizeof(int32_t)), one, images;
	uint32_t i;
	void *p;

	if (__builtin_mul_overflow((size_t)l->opts.batch * 3 * sizeof(float), (size_t)l->opts.side,
				   &one) ||
	    __builtin_mul_overflow(one, (size_t)l->opts.side, &one) ||
	    __builtin_mul_overflow(align(one), (size_t)l->nslots, &images) ||
	    __builtin_add_overflow(images, head + labels, &l->shared_size))
		return -ENOMEM;
	l->slot_floats = align(one) / sizeof(float);
	p = mmap(NULL, l->shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	l->shared = p;
	l->labels = (int32_t *)((char *)p + head);
	l->images = (float *)((char *)p + head + labels);
	for (i = 0; i < l->nslots; i++) {
		l->shared->slots[i].batch = i;
		l->shared->slots[i].bad = LOADER_GOOD;
	}
	return 0;
}

static void *run_thread(void *arg)
{
	struct worker *w = arg;

	worker__run(w->loader, w->tools);
	return NULL;
}

static void name_worker(const struct worker *w, char name[16])
{
	snprintf(name, 16, "loader/%u", w->number % 10000);
}

/* Signals are for the threads of the program's own. */
static int start_thread(struct worker *w)
{
	sigset_t all, old;
	char name[16];
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = pthread_create(&w->thread, NULL, run_thread, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	name_worker(w, name);
	pthread_setname_np(w->thread, name);
	return 0;
}

/*
 * Other threads may hold any lock of the C library at the time of the fork, so that the worker
 * only decodes and writes to the mapping; it does not log.
 */
static void run_process(struct worker *w, pid_t parent)
{
	char name[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGINT, SIG_IGN); /* the parent decides */
	signal(SIGTERM, SIG_DFL);
	name_worker(w, name);
	prctl(PR_SET_NAME, name);
	worker__run(w->loader, w->tools);
	_exit(0);
}

static int start_process(struct worker *w)
{
	pid_t parent = getpid();
	int err;

	w->pid = fork();
	if (w->pid < 0) {
		err = -errno;
		w->pid = 0;
		return err;
	}
	if (w->pid == 0)
		run_process(w, parent);
	w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	return w->pidfd < 0 ? -errno : 0;
}

static int start_workers(struct loader *l)
{
	uint32_t n = l->opts.workers;
	struct worker *w;
	int err = 0;

	l->workers = calloc(n + 1, sizeof(*l->workers));
	if (!l->workers)
		return -ENOMEM;
	while (l->nworkers < n && !err) {
		w = &l->workers[l->nworkers];
		*w = (struct worker){.loader = l, .number = l->nworkers, .pidfd = -1};
		w->tools = worker_tools__new(l);
		if (!w->tools)
			return -errno;
		err = l->opts.kind == LOADER_PROCESSES ? start_process(w) : start_thread(w);
		if (!err || w->pid)
			l->nworkers++;
		else
			worker_tools__free(w->tools);
	}
	return err;
}

struct loader *loader__new(const struct loader_opts *opts)
{
	struct loader *l = calloc(1, sizeof(*l));
	int err;

	if (!l) {
		log_error("out of memory");
		return NULL;
	}
	l->opts = *opts;
	l->ready_fd = -1;
	l->folder.fd = -1;
	err = folder__open(&l->folder, opts->dir) ?: plan(l);
	if (err)
		goto out;
	l->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = l->ready_fd < 0 ? -errno : map_shared(l);
	if (!err && !opts->workers) {
		l->own = worker_tools__new(l);
		err = l->own ? 0 : -errno;
	}
	if (!err)
		err = start_workers(l);
	if (err)
		log_error("cannot start the loader with %u %s: %s", opts->workers,
			  loader_kinds[opts->kind], log__err(err));
out:
	if (!err)
		return l;
	loader__free(l);
	errno = -err;
	return NULL;
}

/* ---- run ---- */

static bool is_complete(const struct loader *l, uint64_t batch)
{
	const struct slot *s = &l->shared->slots[batch % l->nslots];

	return atomic_load(&s->batch) == batch &&
	       atomic_load(&s->done) == loader__batch_size(l, batch);
}

static uint32_t count_ready(const struct loader *l)
{
	uint32_t i, n = 0;

	for (i = 0; i < l->nslots; i++)
		n += is_complete(l, l->batch + i);
	return n;
}

/* Reap worker @w: one that found no more samples ended well. 0 or -ECHILD, printed. */
static int reap_worker(struct worker *w)
{
	siginfo_t info = {0};
	int err = -ECHILD;

	while (waitid(P_PIDFD, (id_t)w->pidfd, &info, WEXITED) < 0 && errno == EINTR)
		;
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		err = 0;
	else if (info.si_code == CLD_EXITED)
		log_error("loader worker %u (process %d) failed with exit status %d", w->number,
			  w->pid, info.si_status);
	else
		log_error("loader worker %u (process %d) was killed by signal %d (%s)%s", w->number,
			  w->pid, info.si_status, strsignal(info.si_status),
			  info.si_status == SIGKILL ? ": out of memory?" : "");
	close(w->pidfd);
	w->pidfd = -1;
	w->pid = 0;
	return err;
}

/* Sleep until a batch is complete or a worker ended; 0 or -errno. */
static int wait_for_workers(struct loader *l)
{
	struct pollfd fds[l->nworkers + 1];
	uint64_t count;
	uint32_t i;
	int err = 0;

	fds[0] = (struct pollfd){.fd = l->ready_fd, .events = POLLIN};
	for (i = 0; i < l->nworkers; i++)
		fds[i + 1] = (struct pollfd){.fd = l->workers[i].pidfd, .events = POLLIN};
	if (poll(fds, l->nworkers + 1, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[0].revents && read(l->ready_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return -errno;
	for (i = 0; i < l->nworkers && !err; i++)
		if (fds[i + 1].revents)
			err = reap_worker(&l->workers[i]);
	return err;
}

static int wait_for_batch(struct loader *l)
{
	int err = 0;

	while (!err && !is_complete(l, l->batch)) {
		if (l->nworkers)
			err = wait_for_workers(l);
		else
			worker__sample(l, l->own, false);
	}
	return err;
}

static int check_batch(const struct loader *l)
{
	const struct slot *s = &l->shared->slots[l->batch % l->nslots];

	if (atomic_load(&s->bad) == LOADER_GOOD)
		return 0;
	log_error("cannot load '%s/%s': %s", l->opts.dir, l->folder.files[s->file].path, s->reason);
	return s->err;
}

static int wait_marked(struct loader *l)
{
	uint64_t since = xpugap_now();
	int err;

	xpugap_counter("loader.ready", count_ready(l));
	xpugap_range_begin("loader.wait");
	err = wait_for_batch(l);
	xpugap_range_end("loader.wait");
	l->wait_ns += xpugap_now() - since;
	return err ?: check_batch(l);
}

int loader__next(struct loader *l, struct loader_batch *b)
{
	size_t slot = l->batch % l->nslots;

	if (l->err)
		return l->err;
	if (l->opts.epochs && l->batch / l->epoch_batches >= l->opts.epochs)
		return 0;
	if (atomic_load(&l->held) >= LOADER_HELD) {
		log_error("more than %d batches of the loader are held", LOADER_HELD);
		return -EBUSY;
	}
	l->err = wait_marked(l);
	if (l->err)
		return l->err;
	b->images = l->images + slot * l->slot_floats;
	b->labels = l->labels + slot * l->opts.batch;
	b->n = loader__batch_size(l, l->batch);
	b->index = l->batch;
	b->epoch = l->batch / l->epoch_batches;
	atomic_fetch_add(&l->held, 1);
	l->batch++;
	return 1;
}

void loader__release(struct loader *l, const struct loader_batch *b)
{
	struct slot *s = &l->shared->slots[b->index % l->nslots];

	atomic_store(&s->done, 0);
	atomic_store(&s->batch, b->index + l->nslots);
	atomic_fetch_sub(&l->held, 1);
	loader__wake_workers(l->shared);
}

void loader__stats(const struct loader *l, struct loader_stats *out)
{
	const struct loader_totals *t = &l->shared->totals;

	*out = (struct loader_stats){
		.files = l->folder.n,
		.classes = l->folder.classes,
		.labels = l->folder.labels,
		.images = t->images,
		.bytes = t->bytes,
		.warnings = t->warnings,
		.wait_ns = l->wait_ns,
		.read_ns = t->read_ns,
		.decode_ns = t->decode_ns,
		.augment_ns = t->augment_ns,
		.collate_ns = t->collate_ns,
	};
}

/* ---- stop ---- */

static void stop_worker(struct worker *w, bool process)
{
	if (!process) {
		pthread_join(w->thread, NULL);
	} else if (w->pid) {
		kill(w->pid, SIGKILL);
		while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (w->pidfd >= 0)
		close(w->pidfd);
	worker_tools__free(w->tools);
}

void loader__free(struct loader *l)
{
	uint32_t i;

	if (!l)
		return;
	if (l->shared) {
		atomic_store(&l->shared->stop, 1);
		loader__wake_workers(l->shared);
	}
	for (i = 0; i < l->nworkers; i++)
		stop_worker(&l->workers[i], l->opts.kind == LOADER_PROCESSES);
	free(l->workers);
	worker_tools__free(l->own);
	if (l->shared)
		munmap(l->shared, l->shared_size);
	if (l->ready_fd >= 0)
		close(l->ready_fd);
	folder__close(&l->folder);
	free(l);
}
