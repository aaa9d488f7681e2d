// SPDX-License-Identifier: BSD-2-Clause
/*
 * One sweep over all rings: see how far each is, then copy, check, name the threads, merge by
 * time, hand on. What is younger than the sweep stays where it is: the next one may find older
 * records in other rings, and what is handed on is in order.
 */
#include "userspace/source/mark_drain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/source/mark_peer.h"

#define WINDOWS_BYTES (4U << 20) /* of all runs, unless there are very many */
#define MIN_WINDOW    (8U << 10)
#define MAX_WINDOW    (256U << 10)
#define MAX_RUNS      4096U
#define MAX_TID	      (1U << 22)
#define MAX_HELD_NS   400000000ULL /* that a record being written may hold up the others */
#define MAX_HELD_FILL 50	   /* nor when a ring is so full, in per cent */

struct sweep {
	struct mark_hub *hub;
	int (*emit)(void *arg, const struct rec *rec);
	void *arg;
	uint64_t began_ns;
	uint64_t limit_ns; /* records after this stay */
	size_t window;	   /* bytes of a run's */
	uint64_t count;
};

void mark_drain__free(struct mark_hub *h)
{
	free(h->runs);
	free(h->windows);
}

/* ---- regions ---- */

struct mark_map *mark_map__new(int fd, uint32_t slots, uint64_t ring_bytes)
{
	struct mark_map *m = calloc(1, sizeof(*m) + slots * sizeof(m->slot[0]));
	int err;

	if (!m)
		return NULL;
	m->shm_bytes = mark_region__data(slots);
	m->shm = mmap(NULL, m->shm_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m->shm == MAP_FAILED) {
		err = errno;
		free(m);
		errno = err;
		return NULL;
	}
	m->slots = slots;
	m->ring_bytes = ring_bytes;
	m->fd = fd;
	return m;
}

void mark_map__close(struct mark_map *m)
{
	for (uint32_t i = 0; m && i < m->slots; i++)
		__atomic_store_n(&m->shm->ring[i].closed, 1, __ATOMIC_RELEASE);
}

void mark_map__free(struct mark_map *m)
{
	if (!m)
		return;
	/* a program that lives on keeps its mapping: give the memory back */
	fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)m->shm_bytes,
		  (off_t)(m->slots * m->ring_bytes));
	munmap(m->shm, m->shm_bytes);
	close(m->fd);
	free(m);
}

static int each_map(struct sweep *s, int (*fn)(struct sweep *s, struct mark_map *m))
{
	int err = 0;

	for (struct mark_process *p = s->hub->processes; p && !err; p = p->next)
		for (struct mark_map *m = p->maps; m && !err; m = m->next)
			err = fn(s, m);
	return err;
}

bool mark_drain__is_empty(const struct mark_process *p)
{
	for (const struct mark_map *m = p->maps; m; m = m->next)
		for (uint32_t i = 0; i < m->used; i++)
			if (!m->slot[i].damaged && m->slot[i].tail != m->slot[i].head)
				return false;
	return true;
}

/* ---- how far they are ---- */

/* Nothing can be made out any more: what was in it is one loss of unknown size. */
static void give_up(const struct mark_map *m, struct mark_slot *slot)
{
	if (!m->process->damaged) /* said of the first */
		log_warning("a mark ring of process %d is damaged: its marks are not recorded any "
			    "more",
			    m->process->pid);
	m->process->damaged = true;
	slot->damaged = true;
	slot->bad++;
	__atomic_store_n(&m->shm->ring[slot - m->slot].closed, 1, __ATOMIC_RELEASE);
}

/*
 * A thread that is at a record took its time after we last found it idle, and after its record
 * before. It may have been stopped there for good, so it holds up nobody for long.
 */
static void look_at(struct sweep *s, struct mark_map *m, struct mark_slot *slot)
{
	uint64_t head = __atomic_load_n(&m->shm->ring[slot - m->slot].head, __ATOMIC_ACQUIRE);
	uint64_t since = slot->idle_ns > slot->last_ns ? slot->idle_ns : slot->last_ns;
	uint64_t avail;

	slot->head = head & ~(uint64_t)MARK_WRITING;
	avail = slot->head - slot->tail;
	if (avail > m->ring_bytes || avail % REC_ALIGN) {
		give_up(m, slot);
		return;
	}
	if (avail * 100 / m->ring_bytes > s->hub->fill_pct)
		s->hub->fill_pct = (unsigned int)(avail * 100 / m->ring_bytes);
	s->hub->nruns += avail > 0;
	if (!(head & MARK_WRITING) || m->process->gone)
		slot->idle_ns = s->began_ns;
	else if (since + MAX_HELD_NS > s->began_ns && since < s->limit_ns)
		s->limit_ns = since;
}

static int look_at_map(struct sweep *s, struct mark_map *m)
{
	uint32_t used = __atomic_load_n(&m->shm->used, __ATOMIC_ACQUIRE), before = m->used;

	m->used = used < m->slots ? used : m->slots;
	for (uint32_t i = before; i < m->used; i++)
		m->slot[i].idle_ns = s->hub->swept_ns; /* nobody had it in the last sweep */
	for (uint32_t i = 0; i < m->used; i++)
		if (!m->slot[i].damaged)
			look_at(s, m, &m->slot[i]);
	return 0;
}

static void look_at_all(struct sweep *s)
{
	s->hub->nruns = 0;
	s->hub->fill_pct = 0;
	each_map(s, look_at_map);
	if (s->hub->fill_pct >= MAX_HELD_FILL)
		s->limit_ns = s->began_ns;
	if (s->hub->listen_fd < 0) /* stopped: there is no next sweep */
		s->limit_ns = UINT64_MAX;
	s->hub->horizon_ns = s->limit_ns;
}

/* ---- a run: one ring's part of the sweep ---- */

/* Find out what thread the program calls @ns_tid, which is not the one before. */
static void find_thread(struct sweep *s, struct mark_run *run, uint32_t ns_tid)
{
	const struct mark_process *p = run->map->process;
	struct mark_slot *slot = run->slot;
	pid_t tid;

	if (ns_tid == (uint32_t)p->ns_pid)
		tid = p->pid;
	else
		tid = ns_tid < MAX_TID ? mark_peer__tid(p->pid, p->nested, (pid_t)ns_tid) : 0;
	if (!tid) {
		tid = p->pid;
		s->hub->stats.strange++;
	}
	slot->ns_tid = (pid_t)ns_tid;
	slot->tid = tid;
}

static int tell_task(struct sweep *s, const struct mark_run *run)
{
	const struct mark_process *p = run->map->process;
	struct rec_task task = {
		.hdr = {.type = REC_TASK,
			.size = sizeof(task),
			.tid = (uint32_t)run->slot->tid,
			.time_ns = run->rec->time_ns},
		.pid = (uint32_t)p->pid,
		.ns_tid = (uint32_t)run->slot->ns_tid,
		.ns_pid = (uint32_t)p->ns_pid,
		.uid = p->uid,
		.flags = REC_TASK_TARGET,
	};

	mark_peer__describe(p->pid, run->slot->tid, &task);
	return s->emit(s->arg, &task.hdr);
}

/* Copy @len bytes from position @pos of the ring; the program may change them meanwhile. */
static int copy_out(const struct mark_run *run, unsigned char *to, uint64_t pos, size_t len)
{
	const struct mark_map *m = run->map;
	uint64_t data =
		mark_region__data(m->slots) + (uint64_t)(run->slot - m->slot) * m->ring_bytes;

	while (len) {
		uint64_t at = pos & (m->ring_bytes - 1);
		size_t n = len < m->ring_bytes - at ? len : m->ring_bytes - at;
		ssize_t got = pread(m->fd, to, n, (off_t)(data + at));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		to += got;
		pos += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

static void give_back(struct mark_run *run)
{
	struct mark_slot *slot = run->slot;

	slot->tail = run->walk.pos + run->walk.at;
	__atomic_store_n(&run->map->shm->ring[slot - run->map->slot].tail, slot->tail,
			 __ATOMIC_RELEASE);
}

/* Give back what was walked over and copy what follows. 0, or -EBADMSG if nothing does. */
static int refill(struct sweep *s, struct mark_run *run)
{
	struct mark_walk *w = &run->walk;
	uint64_t left;
	size_t n;
	int err;

	give_back(run);
	w->pos += w->at;
	left = run->head - w->pos;
	n = left < s->window ? left : s->window;
	if (w->len && w->len - w->at == n)
		return -EBADMSG; /* a program publishes whole records */
	err = copy_out(run, w->buf, w->pos, n);
	w->at = 0;
	w->len = err ? 0 : n;
	w->now_ns = mark_hub__now();
	return err;
}

static void settle(struct mark_run *run)
{
	give_back(run);
	run->slot->last_ns = run->walk.last_ns;
	run->slot->bad += run->walk.bad;
}

/* The run's next record. 1; 0: it has none that this sweep takes; -errno. */
static int advance(struct sweep *s, struct mark_run *run)
{
	struct mark_walk *w = &run->walk;
	int ret;

	while (w->pos + w->at != run->head) {
		ret = mark_walk__next(w, &run->rec);
		if (ret == 1 && run->rec->time_ns <= s->limit_ns)
			return 1;
		if (ret == 1)
			break;
		if (ret == 0 && w->pos + w->at != run->head)
			ret = refill(s, run);
		if (ret == -EBADMSG) {
			settle(run);
			give_up(run->map, run->slot);
			return 0;
		}
		if (ret < 0)
			return ret;
	}
	settle(run);
	return 0;
}

/* ---- merging ---- */

static bool comes_before(const struct mark_run *x, const struct mark_run *y)
{
	return x->rec->time_ns < y->rec->time_ns;
}

/* Let the run at @i of a heap of @n sink to its place. */
static void sink(struct mark_run *runs, uint32_t i, uint32_t n)
{
	for (;;) {
		uint32_t least = i, child = 2 * i + 1;
		struct mark_run run = runs[i];

		for (uint32_t c = child; c < n && c < child + 2; c++)
			if (comes_before(&runs[c], &runs[least]))
				least = c;
		if (least == i)
			return;
		runs[i] = runs[least];
		runs[least] = run;
		i = least;
	}
}

static int hand_on(struct sweep *s, struct mark_run *run)
{
	struct mark_hub_stats *st = &s->hub->stats;
	struct mark_slot *slot = run->slot;
	struct rec *r = run->rec;
	int err = 0;

	if (!slot->tid || r->tid != (uint32_t)slot->ns_tid) {
		find_thread(s, run, r->tid);
		if (s->hub->tell_tasks)
			err = tell_task(s, run);
	}
	r->tid = (uint32_t)slot->tid;
	st->records++;
	st->bytes += r->size;
	st->clamped += run->walk.moved;
	s->count++;
	mark_walk__take(&run->walk, r);
	return err ? err : s->emit(s->arg, r);
}

static int merge(struct sweep *s)
{
	struct mark_run *runs = s->hub->runs;
	uint32_t n = s->hub->nruns;
	int ret = 0;

	for (uint32_t i = n / 2; i-- > 0;)
		sink(runs, i, n);
	while (n && ret >= 0) {
		ret = hand_on(s, &runs[0]);
		if (!ret)
			ret = advance(s, &runs[0]);
		if (!ret)
			runs[0] = runs[--n];
		sink(runs, 0, n);
	}
	for (uint32_t i = 0; i < n; i++) /* after an error: what was handed on is taken */
		settle(&runs[i]);
	return ret < 0 ? ret : 0;
}

/* Room for as many runs as there are rings with records, each with a window. */
static int make_room(struct sweep *s)
{
	struct mark_hub *h = s->hub;
	uint32_t n = h->nruns < MAX_RUNS ? h->nruns : MAX_RUNS;
	size_t bytes;
	void *p;

	s->window = WINDOWS_BYTES / (n ? n : 1) & ~(size_t)(REC_ALIGN - 1);
	if (s->window < MIN_WINDOW)
		s->window = MIN_WINDOW;
	if (s->window > MAX_WINDOW)
		s->window = MAX_WINDOW;
	bytes = n * s->window;
	if (n > h->max_runs) {
		p = realloc(h->runs, n * sizeof(*h->runs));
		if (!p)
			return -ENOMEM;
		h->runs = p;
		h->max_runs = n;
	}
	if (bytes > h->windows_bytes) {
		free(h->windows);
		h->windows_bytes = 0;
		h->windows = malloc(bytes);
		if (!h->windows)
			return -ENOMEM;
		h->windows_bytes = bytes;
	}
	h->nruns = 0;
	return 0;
}

static int begin_runs(struct sweep *s, struct mark_map *m)
{
	struct mark_hub *h = s->hub;
	int ret;

	for (uint32_t i = 0; i < m->used && h->nruns < h->max_runs && h->nruns < MAX_RUNS; i++) {
		struct mark_slot *slot = &m->slot[i];
		struct mark_run *run = &h->runs[h->nruns];

		if (slot->damaged || slot->head == slot->tail)
			continue;
		*run = (struct mark_run){
			.map = m,
			.slot = slot,
			.head = slot->head,
			.walk = {.buf = h->windows + h->nruns * s->window,
				 .pos = slot->tail,
				 .ring_bytes = m->ring_bytes,
				 .last_ns = slot->last_ns,
				 .limit_ns = s->limit_ns},
		};
		ret = advance(s, run);
		if (ret < 0)
			return ret;
		h->nruns += (uint32_t)ret;
	}
	return 0;
}

/* ---- losses ---- */

static int report_lost(struct sweep *s, uint32_t why, uint64_t count, pid_t tid)
{
	struct rec_lost lost = {
		.hdr = {.type = REC_LOST, .size = sizeof(lost), .tid = (uint32_t)tid},
		.hook = REC_HOOK_MARK,
		.cpu = REC_NO_CPU,
		.why = why,
		.count = count,
		.since_ns = s->hub->swept_ns,
	};

	lost.hdr.time_ns = mark_hub__now();
	return s->emit(s->arg, &lost.hdr);
}

/* What a counter of the program's went up by since it was reported. */
static int report_counter(struct sweep *s, const uint64_t *counter, uint64_t *reported, pid_t tid)
{
	uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED), more = now - *reported;

	if (!more)
		return 0;
	*reported = now;
	if (more > MARK_LOST_MAX) { /* nobody can have lost so much: the program wrote there */
		s->hub->stats.bad++;
		return report_lost(s, REC_LOST_BAD, 1, tid);
	}
	s->hub->stats.lost += more;
	return report_lost(s, REC_LOST_MARK, more, tid);
}

static int report_map(struct sweep *s, struct mark_map *m)
{
	pid_t pid = m->process->pid;
	int err;

	err = report_counter(s, &m->shm->lost, &m->lost, pid);
	for (uint32_t i = 0; i < m->used && !err; i++) {
		struct mark_slot *slot = &m->slot[i];
		pid_t tid = slot->tid ? slot->tid : pid;

		err = report_counter(s, &m->shm->ring[i].lost, &slot->lost, tid);
		if (slot->bad && !err) {
			s->hub->stats.bad += slot->bad;
			err = report_lost(s, REC_LOST_BAD, slot->bad, tid);
			slot->bad = 0;
		}
	}
	return err;
}

static int report_ringless(struct sweep *s)
{
	struct mark_hub *h = s->hub;
	uint64_t lost = h->ringless, bad = h->ringless_bad;
	int err = 0;

	h->ringless = h->ringless_bad = 0;
	h->stats.lost += lost;
	h->stats.bad += bad;
	if (lost)
		err = report_lost(s, REC_LOST_MARK, lost, 0);
	if (bad && !err)
		err = report_lost(s, REC_LOST_BAD, bad, 0);
	return err;
}

int mark_drain__sweep(struct mark_hub *h, uint64_t began_ns,
		      int (*emit)(void *arg, const struct rec *rec), void *arg)
{
	struct sweep s = {
		.hub = h, .emit = emit, .arg = arg, .began_ns = began_ns, .limit_ns = began_ns};
	int err;

	look_at_all(&s);
	err = make_room(&s);
	if (!err)
		err = each_map(&s, begin_runs);
	if (!err)
		err = merge(&s);
	if (!err)
		err = each_map(&s, report_map);
	if (!err)
		err = report_ringless(&s);
	h->swept_ns = began_ns;
	if (err)
		return err;
	return s.count < INT_MAX ? (int)s.count : INT_MAX;
}
