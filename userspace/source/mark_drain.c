// SPDX-License-Identifier: BSD-2-Clause
/* One sweep over all rings: copy, check, name the threads, merge by time, hand on. */
#include "userspace/source/mark_drain.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/source/mark_peer.h"
#include "userspace/source/mark_ring.h"

#define ARENA_BYTES (4U << 20) /* of records merged at a time */
#define MIN_RECORD  16U
#define MAX_RUNS    1024U
#define MAX_TID	    (1 << 22)
#define MAX_HELD_NS 500000000ULL /* that a record being written may hold up the others */

struct sweep {
	struct mark_hub *hub;
	int (*emit)(void *arg, const struct rec *rec);
	void *arg;
	uint64_t count;
	uint64_t began_ns;
	/* the ring being read */
	struct mark_map *map;
	struct mark_slot *slot;
};

uint64_t mark_drain__now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

int mark_drain__init(struct mark_hub *h)
{
	struct mark_arena *a = &h->arena;

	/* touched only as far as it is used */
	a->bytes = malloc(ARENA_BYTES);
	a->refs = malloc(ARENA_BYTES / MIN_RECORD * sizeof(*a->refs));
	a->runs = malloc(MAX_RUNS * sizeof(*a->runs));
	return a->bytes && a->refs && a->runs ? 0 : -ENOMEM;
}

void mark_drain__free(struct mark_hub *h)
{
	free(h->arena.bytes);
	free(h->arena.refs);
	free(h->arena.runs);
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
	munmap(m->shm, m->shm_bytes);
	close(m->fd);
	free(m);
}

/* ---- merging ---- */

static bool run_before(const struct mark_arena *a, uint32_t x, uint32_t y)
{
	return a->refs[a->runs[x].at].time_ns < a->refs[a->runs[y].at].time_ns;
}

/* Let the run at @i of a heap of @n sink to its place. */
static void sink(struct mark_arena *a, uint32_t i, uint32_t n)
{
	for (;;) {
		uint32_t least = i, child = 2 * i + 1;
		struct mark_run run = a->runs[i];

		for (uint32_t c = child; c < n && c < child + 2; c++)
			if (run_before(a, c, least))
				least = c;
		if (least == i)
			return;
		a->runs[i] = a->runs[least];
		a->runs[least] = run;
		i = least;
	}
}

static int hand_on(struct sweep *s, const struct rec *r)
{
	int err = s->emit(s->arg, r);

	if (err)
		return err;
	s->count++;
	s->hub->stats.records++;
	s->hub->stats.bytes += r->size;
	return 0;
}

static int flush(struct sweep *s)
{
	struct mark_arena *a = &s->hub->arena;
	uint32_t n = a->nruns;
	int err = 0;

	for (uint32_t i = n / 2; i-- > 0;)
		sink(a, i, n);
	while (n && !err) {
		struct mark_run *first = &a->runs[0];

		err = hand_on(s, (struct rec *)(a->bytes + a->refs[first->at].at));
		if (++first->at == first->end)
			*first = a->runs[--n];
		sink(a, 0, n);
	}
	a->used = a->nrefs = a->nruns = 0;
	return err;
}

/* ---- one ring ---- */

static pid_t thread_of(struct sweep *s, uint32_t ns_tid)
{
	const struct mark_process *p = s->map->process;
	pid_t tid;

	if (s->slot->tid && ns_tid == (uint32_t)s->slot->ns_tid)
		return s->slot->tid;
	if (ns_tid == (uint32_t)p->ns_pid)
		tid = p->pid;
	else
		tid = ns_tid < MAX_TID ? mark_peer__tid(p->pid, p->nested, (pid_t)ns_tid) : 0;
	if (!tid) {
		tid = p->pid;
		s->hub->stats.strange++;
	}
	s->slot->ns_tid = (pid_t)ns_tid;
	s->slot->tid = tid;
	return tid;
}

static int collect(void *arg, struct rec *r)
{
	struct sweep *s = arg;
	struct mark_arena *a = &s->hub->arena;

	r->tid = (uint32_t)thread_of(s, r->tid);
	a->refs[a->nrefs].time_ns = r->time_ns;
	a->refs[a->nrefs].at = (uint32_t)((unsigned char *)r - a->bytes);
	a->nrefs++;
	return 0;
}

/* Copy @len bytes from position @pos of the ring; the program may change them meanwhile. */
static int copy_out(struct sweep *s, unsigned char *to, uint64_t pos, size_t len)
{
	const struct mark_map *m = s->map;
	uint64_t data = mark_region__data(m->slots) + (uint64_t)(s->slot - m->slot) * m->ring_bytes;

	while (len) {
		uint64_t at = pos & (m->ring_bytes - 1);
		size_t n = len < m->ring_bytes - at ? len : m->ring_bytes - at;
		ssize_t got = pread(m->fd, to, n, (off_t)(data + at));

		if (got <= 0)
			return got < 0 && errno != EINTR ? -errno : -EIO;
		to += got;
		pos += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

/* Nothing can be made out any more: what was in it is one loss of unknown size. */
static int give_up(struct sweep *s)
{
	log_warning("a mark ring of process %d is damaged: its marks are not recorded any more",
		    s->map->process->pid);
	s->slot->damaged = true;
	s->slot->bad++;
	__atomic_store_n(&s->map->shm->ring[s->slot - s->map->slot].closed, 1, __ATOMIC_RELEASE);
	return 0;
}

/*
 * Move at most what fits in the arena. Returns the bytes used up, -EBADMSG for bytes that are no
 * records, -errno if they cannot be read.
 */
static ssize_t read_part(struct sweep *s, uint64_t avail)
{
	struct mark_arena *a = &s->hub->arena;
	struct mark_scan scan = {.last_ns = s->slot->last_ns};
	uint32_t first = a->nrefs;
	size_t n = avail < ARENA_BYTES - a->used ? avail : ARENA_BYTES - a->used;
	ssize_t used;
	int err;

	err = copy_out(s, a->bytes + a->used, s->slot->tail, n);
	if (err)
		return err;
	scan.now_ns = mark_drain__now();
	used = mark_ring__scan(&scan, a->bytes + a->used, n, s->slot->tail, s->map->ring_bytes,
			       collect, s);
	a->used += n;
	if (a->nrefs > first)
		a->runs[a->nruns++] = (struct mark_run){first, a->nrefs};
	s->slot->last_ns = scan.last_ns;
	s->slot->bad += scan.bad;
	s->hub->stats.clamped += scan.clamped;
	if (used >= 0 && (size_t)used < n && n == avail)
		return -EBADMSG; /* a program publishes whole records */
	return used;
}

static int drain_ring(struct sweep *s, struct mark_ring *ring, uint64_t head)
{
	struct mark_arena *a = &s->hub->arena;
	uint64_t avail = head - s->slot->tail;
	ssize_t n;
	int err;

	if (avail > s->map->ring_bytes || avail % REC_ALIGN)
		return give_up(s);
	if (avail * 100 / s->map->ring_bytes > s->hub->fill_pct)
		s->hub->fill_pct = (unsigned int)(avail * 100 / s->map->ring_bytes);
	while (avail) {
		n = read_part(s, avail);
		if (n == -EBADMSG)
			return give_up(s);
		if (n < 0)
			return (int)n;
		avail -= (uint64_t)n;
		s->slot->tail += (uint64_t)n;
		__atomic_store_n(&ring->tail, s->slot->tail, __ATOMIC_RELEASE);
		if (avail || a->nruns == MAX_RUNS) {
			err = flush(s);
			if (err)
				return err;
		}
	}
	return 0;
}

/*
 * A thread that is at a record took its time after we last found it idle, and after its record
 * before. It may have been stopped there for good, so it holds up nobody for long.
 */
static void note_writing(struct sweep *s, bool writing)
{
	struct mark_slot *slot = s->slot;
	uint64_t since = slot->idle_ns > slot->last_ns ? slot->idle_ns : slot->last_ns;

	if (!writing || s->map->process->gone) {
		slot->idle_ns = s->began_ns;
		return;
	}
	if (since + MAX_HELD_NS > s->began_ns && since < s->hub->horizon_ns)
		s->hub->horizon_ns = since;
}

static int drain_map(struct sweep *s, struct mark_map *m)
{
	uint32_t used = __atomic_load_n(&m->shm->used, __ATOMIC_ACQUIRE);
	uint64_t head;
	int err = 0;

	s->map = m;
	for (uint32_t i = 0; i < used && i < m->slots && !err; i++) {
		s->slot = &m->slot[i];
		if (s->slot->damaged)
			continue;
		head = __atomic_load_n(&m->shm->ring[i].head, __ATOMIC_ACQUIRE);
		if ((head & ~(uint64_t)MARK_WRITING) != s->slot->tail)
			err = drain_ring(s, &m->shm->ring[i], head & ~(uint64_t)MARK_WRITING);
		note_writing(s, head & MARK_WRITING);
	}
	return err;
}

/* ---- losses ---- */

static int report_lost(struct sweep *s, uint32_t why, uint64_t count, pid_t tid)
{
	struct rec_lost lost = {
		.hdr = {.type = REC_LOST, .size = sizeof(lost), .tid = (uint32_t)tid},
		.hook = REC_HOOK_MARK,
		.cpu = UINT32_MAX,
		.why = why,
		.count = count,
		.since_ns = s->hub->swept_ns,
	};

	lost.hdr.time_ns = mark_drain__now();
	return s->emit(s->arg, &lost.hdr);
}

/* What a counter of the program's went up by since it was reported. */
static int report_counter(struct sweep *s, const uint64_t *counter, uint64_t *reported, pid_t tid)
{
	uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED), more = now - *reported;

	if (!more)
		return 0;
	*reported = now;
	s->hub->stats.lost += more;
	return report_lost(s, REC_LOST_MARK, more, tid);
}

static int report_map(struct sweep *s, struct mark_map *m)
{
	uint32_t used = __atomic_load_n(&m->shm->used, __ATOMIC_ACQUIRE);
	pid_t pid = m->process->pid;
	int err;

	err = report_counter(s, &m->shm->lost, &m->lost, pid);
	for (uint32_t i = 0; i < used && i < m->slots && !err; i++) {
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

/* ---- all ---- */

static int each_map(struct sweep *s, int (*fn)(struct sweep *s, struct mark_map *m))
{
	int err = 0;

	for (struct mark_process *p = s->hub->processes; p && !err; p = p->next)
		for (struct mark_map *m = p->maps; m && !err; m = m->next)
			err = fn(s, m);
	return err;
}

int mark_drain__sweep(struct mark_hub *h, int (*emit)(void *arg, const struct rec *rec), void *arg)
{
	struct sweep s = {.hub = h, .emit = emit, .arg = arg, .began_ns = mark_drain__now()};
	int err;

	h->horizon_ns = s.began_ns;
	h->fill_pct = 0;
	err = each_map(&s, drain_map);
	if (!err)
		err = flush(&s);
	if (!err)
		err = each_map(&s, report_map);
	h->arena.used = h->arena.nrefs = h->arena.nruns = 0;
	h->swept_ns = s.began_ns;
	if (err)
		return err;
	return s.count < INT_MAX ? (int)s.count : INT_MAX;
}
