// SPDX-License-Identifier: BSD-2-Clause
/*
 * All that happens rarely: a process meets its recorder, a thread gets a ring and gives it back,
 * a process forks, a ring is full.
 */
#include "userspace/lib/hostclock.h"
#include "userspace/mark/region.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RETRY_NS (1000 * 1000)	      /* after the first failed attempt to attach */
#define PROBE_NS (1000 * 1000 * 1000) /* between looks whether a full ring's recorder lives */
#define LOCK_NS	 (500 * 1000 * 1000)  /* to wait for another thread that attaches */

/* Wiped by a fork: the child is then a process that has not attached. */
struct process {
	uint32_t lock;
	uint32_t nregions;
	uint32_t free; /* rings that no thread holds */
	uint32_t devices_sent;
	uint64_t early;	  /* marks lost while there was no region, of which nobody was told */
	uint32_t excused; /* the recorder knows that there is none */
	uint64_t retry_ns;
	uint32_t retries;
	uint64_t probed_ns;
	uint64_t corr;
	uint64_t salt; /* of the names seen: another one for each recorder */
	struct mark_map region[MARK_REGIONS_MAX];
	uint64_t seen[MARK_SEEN];
};

enum mark_state mark_state = MARK_TRY;
int64_t mark_time_offset;
uint64_t *mark_seen;
__thread struct mark_tls mark_tls __attribute__((tls_model("initial-exec")));

static struct process *process;
static struct mark_where where;
static pthread_key_t thread_key;
static bool env_read;
static uint32_t once; /* 1: the key and the fork handler are there */

/* Copies that survive a fork, for on_fork_child() only. */
static struct mark_map mapped[MARK_REGIONS_MAX];
static uint32_t nmapped;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static bool make_process(void)
{
	struct process *mine, *theirs = NULL;

	if (__atomic_load_n(&process, __ATOMIC_ACQUIRE))
		return true;
	mine = mark__wiped_memory(sizeof(*mine));
	if (!mine)
		return false;
	if (!__atomic_compare_exchange_n(&process, &theirs, mine, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		munmap(mine, sizeof(*mine));
		return true;
	}
	return true;
}

bool mark__lock(void)
{
	uint64_t until = 0;

	if (!make_process())
		return false;
	for (unsigned int i = 1; __atomic_exchange_n(&process->lock, 1, __ATOMIC_ACQUIRE); i++) {
		sched_yield();
		if (i % 64)
			continue;
		if (!until)
			until = now_ns() + LOCK_NS;
		else if (now_ns() > until)
			return false;
	}
	return true;
}

void mark__unlock(void)
{
	__atomic_store_n(&process->lock, 0, __ATOMIC_RELEASE);
}

void mark__count_lost(void)
{
	struct process *p = process;

	if (!p || mark__state() == MARK_OFF)
		return;
	if (__atomic_load_n(&p->nregions, __ATOMIC_ACQUIRE))
		__atomic_fetch_add(&p->region[0].shm->lost, 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&p->early, 1, __ATOMIC_RELAXED);
}

/*
 * A signal handler that interrupted a mark may fork; when it returns in the child, the mark goes
 * on into memory that the child does not have. Give it some.
 */
static void on_fork_child(void)
{
	for (uint32_t i = 0; i < nmapped; i++) {
		const struct mark_map *r = &mapped[i];

		if (mark_tls.busy)
			(void)mmap(r->shm, r->bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		else
			munmap(r->threads, mark_region__threads_bytes(r));
	}
	nmapped = 0;
	mark_tls.thread = NULL;
	pthread_setspecific(thread_key, NULL);
	if (process->nregions) /* a kernel that knows no MADV_WIPEONFORK */
		memset(process, 0, sizeof(*process));
}

static void release_thread(void *arg)
{
	struct mark_thread *t = arg;

	mark_tls.thread = NULL;
	if (!t->ring)
		return;
	__atomic_store_n(&t->held, 0, __ATOMIC_RELEASE);
	__atomic_fetch_add(&process->free, 1, __ATOMIC_RELAXED);
}

static bool make_once(void)
{
	if (once)
		return true;
	if (pthread_key_create(&thread_key, release_thread))
		return false;
	if (pthread_atfork(NULL, NULL, on_fork_child)) {
		pthread_key_delete(thread_key);
		return false;
	}
	once = 1;
	return true;
}

static int add_region(struct process *p)
{
	struct mark_map *r = &p->region[p->nregions];
	int err = mark_region__new(r, &where);

	if (err)
		return err;
	mapped[p->nregions] = *r;
	nmapped = p->nregions + 1;
	__atomic_fetch_add(&p->free, r->slots, __ATOMIC_RELAXED);
	__atomic_store_n(&p->nregions, nmapped, __ATOMIC_RELEASE);
	p->retries = 0;
	__atomic_fetch_add(&r->shm->lost, __atomic_exchange_n(&p->early, 0, __ATOMIC_RELAXED),
			   __ATOMIC_RELAXED);
	return 0;
}

/*
 * Ids are told apart by the process's: its pid, and ten random bits where another pid namespace
 * or a later process has the same.
 */
static uint64_t first_correlation(void)
{
	uint16_t salt = 0;

	if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) != sizeof(salt))
		salt = (uint16_t)(now_ns() >> 10);
	return ((uint64_t)getpid() & 0x3fffff) << 42 | (uint64_t)(salt & 0x3ff) << 32 | 1;
}

/* Ever less often, as each attempt costs what some thousand marks do. */
static void try_later(struct process *p, uint64_t now)
{
	p->retry_ns = now + ((uint64_t)RETRY_NS << p->retries);
	if (p->retries < 10)
		p->retries++;
}

/* Once; before our constructor too, if another library's constructor marks. */
static void read_env(void)
{
	if (!env_read && mark_where__parse(&where, secure_getenv(MARK_ENV)))
		mark__set_state(MARK_OFF);
	env_read = true;
}

/* There is no region, and perhaps never will be: marks that are lost by it must not go untold. */
static void excuse(struct process *p, int err)
{
	struct mark_excuse e = {
		.magic = MARK_EXCUSE,
		.abi = MARK_ABI,
		.err = (uint32_t)-err,
		.pid = (uint32_t)getpid(),
		.first = !p->excused,
	};

	e.lost = __atomic_exchange_n(&p->early, 0, __ATOMIC_RELAXED);
	if (mark_excuse__send(&where, &e))
		__atomic_fetch_add(&p->early, e.lost, __ATOMIC_RELAXED);
	else
		p->excused = 1;
}

/* Errors of an attempt to attach that the next one will meet too. */
static bool is_final(int err)
{
	return err == -ECONNREFUSED || err == -EFBIG || err == -EPERM || err == -EACCES ||
	       err == -ENOSYS || err == -EPROTOTYPE || err == -EAFNOSUPPORT || err == -EINVAL;
}

static int attach(struct process *p)
{
	uint64_t now = now_ns();
	int err;

	if (now < p->retry_ns)
		return -EAGAIN;
	read_env();
	if (!where.address[0] || !make_once()) {
		mark__set_state(MARK_OFF);
		return -ENOTCONN;
	}
	err = add_region(p);
	if (err && err != -ECONNREFUSED &&
	    (is_final(err) || __atomic_load_n(&p->early, __ATOMIC_RELAXED)))
		excuse(p, err);
	if (err && is_final(err))
		mark__set_state(MARK_OFF);
	else if (err)
		try_later(p, now);
	if (err)
		return err;
	mark_time_offset = hostclock__offset();
	p->corr = first_correlation();
	mark_seen = p->seen;
	mark__set_state(MARK_ON);
	return 0;
}

/* A ring that no thread holds, the emptiest: what others left in it may not be drained yet. */
static struct mark_thread *free_slot(struct mark_map *r)
{
	struct mark_thread *best = NULL;
	uint64_t fill, least = UINT64_MAX;

	for (uint32_t i = 0; i < r->slots && least; i++) {
		struct mark_thread *t = &r->threads[i];

		if (__atomic_load_n(&t->held, __ATOMIC_ACQUIRE))
			continue;
		fill = t->head - __atomic_load_n(&t->ring->tail, __ATOMIC_RELAXED);
		if (fill < least) {
			least = fill;
			best = t;
		}
	}
	if (best && r->shm->used <= best - r->threads)
		__atomic_store_n(&r->shm->used, (uint32_t)(best - r->threads) + 1,
				 __ATOMIC_RELEASE);
	return best;
}

static struct mark_thread *take_slot(struct process *p)
{
	struct mark_thread *t = NULL;

	if (!p->nregions && attach(p))
		return NULL;
	for (uint32_t i = 0; i < p->nregions && !t; i++)
		t = free_slot(&p->region[i]);
	if (!t && p->nregions < MARK_REGIONS_MAX && now_ns() >= p->retry_ns) {
		if (!add_region(p))
			t = free_slot(&p->region[p->nregions - 1]);
		else
			try_later(p, now_ns());
	}
	if (!t || pthread_setspecific(thread_key, t))
		return NULL;
	t->held = 1;
	t->tid = (uint32_t)syscall(SYS_gettid);
	t->corr = t->corr_end = 0;
	t->salt = p->salt;
	__atomic_fetch_sub(&p->free, 1, __ATOMIC_RELAXED);
	return t;
}

static bool is_closed(const struct mark_ring *ring)
{
	return __atomic_load_n(&ring->closed, __ATOMIC_RELAXED);
}

/* Does the ring that @t had belong to this recording, not to one before mark__connect()? */
static bool is_current(const struct process *p, const struct mark_thread *t)
{
	for (uint32_t i = 0; i < p->nregions; i++)
		if (t >= p->region[i].threads && t < p->region[i].threads + p->region[i].slots)
			return true;
	return false;
}

static struct mark_thread *claim(struct mark_thread *had)
{
	struct process *p = process;
	struct mark_thread *t = NULL;
	bool first;

	if (!had && p->nregions == MARK_REGIONS_MAX && !__atomic_load_n(&p->free, __ATOMIC_RELAXED))
		return NULL;
	if (!mark__lock())
		return NULL;
	if (had && had->ring && is_closed(had->ring) && is_current(p, had))
		mark__set_state(MARK_OFF);
	else
		t = take_slot(p);
	first = t && !p->devices_sent;
	if (first)
		p->devices_sent = 1;
	mark__unlock();
	mark_tls.thread = t;
	if (first)
		mark_devices__send(t);
	return t;
}

struct mark_thread *mark__claim(void)
{
	struct mark_thread *t = mark_tls.thread;
	int saved = errno, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	t = make_process() ? claim(t) : NULL;
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return t;
}

/*
 * The recorder died without a word: close what it would have closed, so that threads leave their
 * rings as soon as there is another recorder, and give back what the marks took.
 */
static void abandon(struct process *p)
{
	mark__set_state(MARK_OFF);
	for (uint32_t i = 0; i < p->nregions; i++) {
		const struct mark_map *r = &p->region[i];
		uint64_t head = mark_region__data(r->slots);

		for (uint32_t k = 0; k < r->slots; k++)
			__atomic_store_n(&r->shm->ring[k].closed, 1, __ATOMIC_RELEASE);
		madvise((char *)r->shm + head, r->bytes - head, MADV_REMOVE);
	}
}

/* One that was killed says nothing and closes nothing. */
static void look_for_recorder(struct process *p)
{
	int fd = mark_region__connect(&where);

	if (fd >= 0)
		close(fd);
	else if (fd == -ECONNREFUSED)
		abandon(p);
}

void mark__ring_full(struct mark_thread *t)
{
	struct process *p = process;
	uint64_t lost = t->ring->lost + 1, now, last;
	int saved = errno, cancel;

	__atomic_store_n(&t->ring->lost, lost, __ATOMIC_RELAXED);
	if (lost % 256)
		return;
	now = now_ns();
	last = __atomic_load_n(&p->probed_ns, __ATOMIC_RELAXED);
	if (now < last + PROBE_NS ||
	    !__atomic_compare_exchange_n(&p->probed_ns, &last, now, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	look_for_recorder(p);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

uint64_t mark__correlation_block(uint64_t n)
{
	if (!process || !__atomic_load_n(&process->corr, __ATOMIC_RELAXED))
		return 1; /* not attached */
	return __atomic_fetch_add(&process->corr, n, __ATOMIC_RELAXED);
}

void mark__attach_now(void)
{
	if (mark_tls.busy)
		return;
	mark_tls.busy = 1;
	__asm__ volatile("" ::: "memory");
	if (!mark__has_ring(mark_tls.thread))
		mark__claim();
	__asm__ volatile("" ::: "memory");
	mark_tls.busy = 0;
}

/* The next one knows neither our devices nor our names. */
static void forget_recorder(struct process *p)
{
	p->nregions = p->free = p->devices_sent = p->excused = 0;
	p->retries = 0;
	p->retry_ns = 0;
	p->salt += MARK_SALT;
	memset(p->seen, 0, sizeof(p->seen));
	mark__set_state(MARK_TRY);
}

bool mark__connect(const char *address)
{
	struct process *p;
	struct mark_where w;
	int saved = errno;

	if (!mark_where__parse(&w, address) && mark__lock()) {
		p = process;
		if (mark__state() == MARK_ON)
			look_for_recorder(p);
		if (!p->nregions || is_closed(p->region[0].shm->ring) ||
		    mark__state() == MARK_OFF) {
			where = w;
			env_read = true;
			forget_recorder(p);
		}
		mark__unlock();
		mark__attach_now();
	}
	errno = saved;
	return mark__state() == MARK_ON;
}

__attribute__((constructor)) static void at_start(void)
{
	read_env();
}

/* A last attempt to tell of marks that found no ring. */
__attribute__((destructor)) static void at_end(void)
{
	struct process *p = process;

	if (!p || mark__state() != MARK_TRY || !__atomic_load_n(&p->early, __ATOMIC_RELAXED))
		return;
	p->retry_ns = 0;
	mark__attach_now();
}
