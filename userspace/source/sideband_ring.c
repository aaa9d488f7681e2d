// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/sideband_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "userspace/source/kernel.h"

#define RING_BYTES (256UL << 10)
#define MAX_RECORD 65536 /* their size is 16 bits */

/* ---- records ---- */

/* What each record ends with, by our sample_type. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
};

struct body_map {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		} file;
		struct {
			uint8_t size, reserved1;
			uint16_t reserved2;
			uint8_t id[20];
		} build;
	} u;
	uint32_t prot, flags;
};

/* The text of at most @bytes that ends a record, if it is terminated. */
static const char *text_of(const char *text, size_t bytes)
{
	return memchr(text, '\0', bytes) ? text : NULL;
}

static int parse_map(struct side_event *e, const char *body, size_t bytes, uint16_t misc)
{
	struct body_map m;

	if (bytes <= sizeof(m))
		return -EINVAL;
	memcpy(&m, body, sizeof(m));
	e->kind = SIDE_MAP;
	e->pid = m.pid;
	e->tid = m.tid;
	e->addr = m.addr;
	e->len = m.len;
	e->pgoff = m.pgoff;
	e->prot = m.prot;
	e->mmap_flags = m.flags;
	e->path = text_of(body + sizeof(m), bytes - sizeof(m));
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		if (m.u.build.size > BUILD_ID_MAX)
			return -EINVAL;
		build_id__print(e->build_id, m.u.build.id, m.u.build.size);
	} else {
		e->dev = m.u.file.major << 20 | (m.u.file.minor & 0xfffff);
		e->inode = m.u.file.inode;
	}
	return e->path ? 0 : -EINVAL;
}

static int parse_comm(struct side_event *e, const char *body, size_t bytes, uint16_t misc)
{
	uint32_t ids[2];

	if (bytes <= sizeof(ids))
		return -EINVAL;
	memcpy(ids, body, sizeof(ids));
	e->kind = SIDE_COMM;
	e->pid = ids[0];
	e->tid = ids[1];
	e->exec = misc & PERF_RECORD_MISC_COMM_EXEC;
	e->path = text_of(body + sizeof(ids), bytes - sizeof(ids));
	return e->path ? 0 : -EINVAL;
}

static int parse_task(struct side_event *e, const char *body, size_t bytes, enum side_kind kind)
{
	uint32_t ids[4]; /* pid, ppid, tid, ptid; a time follows */

	if (bytes < sizeof(ids) + sizeof(uint64_t))
		return -EINVAL;
	memcpy(ids, body, sizeof(ids));
	e->kind = kind;
	e->pid = ids[0];
	e->parent_pid = ids[1];
	e->tid = ids[2];
	e->parent_tid = ids[3];
	return 0;
}

static int parse_lost(struct side_event *e, const char *body, size_t bytes)
{
	uint64_t lost[2]; /* id, count */

	if (bytes < sizeof(lost))
		return -EINVAL;
	memcpy(lost, body, sizeof(lost));
	e->kind = SIDE_LOST;
	e->lost = lost[1];
	return 0;
}

int side_event__parse(struct side_event *e, const void *rec, uint32_t size)
{
	struct perf_event_header h;
	struct trailer t;
	const char *body;
	size_t bytes;

	*e = (struct side_event){.kind = SIDE_OTHER};
	if (size < sizeof(h) + sizeof(t))
		return -EINVAL;
	memcpy(&h, rec, sizeof(h));
	memcpy(&t, (const char *)rec + size - sizeof(t), sizeof(t));
	e->time_ns = t.time_ns;
	body = (const char *)rec + sizeof(h);
	bytes = size - sizeof(h) - sizeof(t);
	switch (h.type) {
	case PERF_RECORD_MMAP2:
		return parse_map(e, body, bytes, h.misc);
	case PERF_RECORD_COMM:
		return parse_comm(e, body, bytes, h.misc);
	case PERF_RECORD_FORK:
		return parse_task(e, body, bytes, SIDE_FORK);
	case PERF_RECORD_EXIT:
		return parse_task(e, body, bytes, SIDE_EXIT);
	case PERF_RECORD_LOST:
		return parse_lost(e, body, bytes);
	default:
		return 0;
	}
}

/* ---- rings ---- */

struct side_ring {
	unsigned int cpu;
	int fd;
	struct perf_event_mmap_page *page;
	const char *data;
	uint64_t pos, end; /* read up to here; looked at up to there */
	struct side_event event;
	bool has_event; /* at @pos, which is @event_bytes long */
	uint32_t event_bytes;
	char *copy;    /* of that, where it is broken by the ring's end */
	uint64_t lost; /* that events told of */
};

struct sideband_rings {
	struct side_ring *rings;
	unsigned int n;
	unsigned int fill;
	size_t page_bytes;
};

static int open_event(unsigned int cpu, bool build_ids, bool count_lost)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.build_id = build_ids,
		.read_format = count_lost ? PERF_FORMAT_LOST : 0,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_ring(struct sideband_rings *r, unsigned int cpu, bool *build_ids)
{
	struct side_ring *ring = &r->rings[r->n];
	void *p;

	ring->fd = open_event(cpu, *build_ids, *build_ids);
	if (ring->fd == -EINVAL && *build_ids) /* before 6.0 */
		ring->fd = open_event(cpu, true, false);
	if (ring->fd == -EINVAL && *build_ids) { /* before 5.12 */
		*build_ids = false;
		ring->fd = open_event(cpu, false, false);
	}
	if (ring->fd == -ENODEV)
		return 0; /* the cpu has just been taken off */
	if (ring->fd < 0)
		return ring->fd;
	ring->cpu = cpu;
	r->n++;
	ring->copy = malloc(MAX_RECORD);
	if (!ring->copy)
		return -ENOMEM;
	p = mmap(NULL, r->page_bytes + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	ring->page = p;
	ring->data = (const char *)p + r->page_bytes;
	return 0;
}

struct sideband_rings *sideband_rings__new(bool *build_ids)
{
	struct sideband_rings *r = calloc(1, sizeof(*r));
	struct kernel_facts *facts = malloc(sizeof(*facts));
	unsigned int cpu;
	int err = -ENOMEM;

	if (!r || !facts)
		goto out;
	kernel_facts__get(facts);
	r->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	r->rings = calloc(facts->cpus_possible, sizeof(*r->rings));
	if (!r->rings)
		goto out;
	*build_ids = true;
	err = 0;
	for (cpu = 0; !err && cpu < facts->cpus_possible; cpu++)
		if (cpu_mask__has(&facts->online, cpu))
			err = open_ring(r, cpu, build_ids);
out:
	free(facts);
	if (!err)
		return r;
	sideband_rings__free(r);
	errno = -err;
	return NULL;
}

int sideband_rings__start(struct sideband_rings *r)
{
	unsigned int i;

	for (i = 0; i < r->n; i++)
		if (ioctl(r->rings[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	return 0;
}

void sideband_rings__stop(struct sideband_rings *r)
{
	unsigned int i;

	for (i = 0; i < r->n; i++)
		ioctl(r->rings[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void sideband_rings__look(struct sideband_rings *r)
{
	unsigned int i, fill;

	r->fill = 0;
	for (i = 0; i < r->n; i++) {
		struct side_ring *ring = &r->rings[i];

		ring->end = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		fill = (unsigned int)((ring->end - ring->pos) * 100 / RING_BYTES);
		if (fill > r->fill)
			r->fill = fill;
	}
}

/* @bytes at @pos of the ring, put together if they are broken by its end. */
static const void *peek(struct side_ring *ring, uint32_t bytes)
{
	uint64_t at = ring->pos & (RING_BYTES - 1), first = RING_BYTES - at;

	if (bytes <= first)
		return ring->data + at;
	memcpy(ring->copy, ring->data + at, first);
	memcpy(ring->copy + first, ring->data, bytes - first);
	return ring->copy;
}

static void pass(struct side_ring *ring)
{
	ring->pos += ring->event_bytes;
	ring->has_event = false;
	__atomic_store_n(&ring->page->data_tail, ring->pos, __ATOMIC_RELEASE);
}

/* Make the ring's next record its event; what cannot be understood is passed over. */
static bool load(struct side_ring *ring)
{
	struct perf_event_header h;

	while (!ring->has_event && ring->pos < ring->end) {
		memcpy(&h, peek(ring, sizeof(h)), sizeof(h));
		if (h.size < sizeof(h) || h.size > ring->end - ring->pos) {
			ring->event_bytes = (uint32_t)(ring->end - ring->pos);
			pass(ring);
			break;
		}
		ring->event_bytes = h.size;
		ring->has_event = side_event__parse(&ring->event, peek(ring, h.size), h.size) == 0;
		if (!ring->has_event)
			pass(ring);
	}
	return ring->has_event;
}

int sideband_rings__next(struct sideband_rings *r, uint64_t until_ns, struct side_event *e,
			 unsigned int *cpu)
{
	struct side_ring *oldest = NULL;
	unsigned int i;

	for (i = 0; i < r->n; i++) {
		struct side_ring *ring = &r->rings[i];

		if (load(ring) && (!oldest || ring->event.time_ns < oldest->event.time_ns))
			oldest = ring;
	}
	if (!oldest || oldest->event.time_ns > until_ns)
		return 0;
	*e = oldest->event;
	*cpu = oldest->cpu;
	if (e->kind == SIDE_LOST)
		oldest->lost += e->lost;
	/* its text lies in the ring, or in the copy, and may be overwritten once it is passed */
	if (e->path) {
		size_t n = strnlen(e->path, MAX_RECORD - 1);

		memmove(oldest->copy, e->path, n + 1);
		e->path = oldest->copy;
	}
	pass(oldest);
	return 1;
}

uint64_t sideband_rings__untold(struct sideband_rings *r, unsigned int *cpu)
{
	struct {
		uint64_t value, lost;
	} count;
	uint64_t more;
	unsigned int i;

	for (i = 0; i < r->n; i++) {
		struct side_ring *ring = &r->rings[i];

		if (read(ring->fd, &count, sizeof(count)) != sizeof(count) ||
		    count.lost <= ring->lost)
			continue;
		more = count.lost - ring->lost;
		ring->lost = count.lost;
		*cpu = ring->cpu;
		return more;
	}
	return 0;
}

unsigned int sideband_rings__fill(const struct sideband_rings *r)
{
	return r->fill;
}

void sideband_rings__free(struct sideband_rings *r)
{
	unsigned int i;

	if (!r)
		return;
	for (i = 0; i < r->n; i++) {
		if (r->rings[i].page)
			munmap(r->rings[i].page, r->page_bytes + RING_BYTES);
		free(r->rings[i].copy);
		close(r->rings[i].fd);
	}
	free(r->rings);
	free(r);
}
