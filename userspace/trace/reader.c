// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/lib/crc32c.h"
#include "userspace/lib/log.h"
#include "userspace/trace/chunk.h"
#include "userspace/trace/format.h"
#include "userspace/trace/input.h"

#define SPARES 16 /* buffers kept for the next decoded chunk */
#define PAD    8  /* bytes past a payload that its decoder may read */

/* A chunk that waits to be decoded. */
struct waiting {
	struct waiting *next;
	struct chunk_head head;
	uint8_t payload[];
};

struct ring {
	uint16_t id;
	bool open; /* rows holds a decoded chunk, at is in it */
	uint32_t at;
	struct decoded rows;
	struct waiting *first, **last;
	uint64_t next_ns;	/* of its next record */
	uint64_t read_ns;	/* of the last chunk that was read */
	struct ring *next_ring; /* of all */
};

struct trace_reader {
	struct input in;
	int own_fd;
	char *name;
	struct trace_head head;
	struct decoder *decoder;
	struct ring *rings[UINT16_MAX + 1]; /* sparse: mostly never touched */
	struct ring *all_rings;
	struct ring **heap; /* rings that have records, the oldest first */
	uint32_t n_heap, cap_heap;
	struct decoded spare[SPARES];
	uint32_t n_spare;
	bool delivered;	     /* the first of the heap is at the record that the caller has */
	uint64_t bound_ns;   /* until before this the first of the heap stays the first */
	uint64_t limit_ns;   /* records up to here may be delivered: the watermark */
	uint64_t floor_ns;   /* no record may be older */
	uint64_t held_bytes; /* waiting */
	uint64_t open_bytes; /* decoded */
	uint32_t seq;	     /* of the next chunk */
	bool any_seq;	     /* ... is not known */
	bool at_end;
	struct trace_filter filter;
	uint64_t records;
	bool complete;
	struct trace_damage damage;
};

/* ---- the heap of rings ---- */

static bool before(const struct ring *a, const struct ring *b)
{
	return a->next_ns != b->next_ns ? a->next_ns < b->next_ns : a->id < b->id;
}

static void sift_down(struct trace_reader *r)
{
	struct ring *moved = r->heap[0];
	uint32_t i = 0, child;

	for (;;) {
		child = 2 * i + 1;
		if (child >= r->n_heap)
			break;
		if (child + 1 < r->n_heap && before(r->heap[child + 1], r->heap[child]))
			child++;
		if (!before(r->heap[child], moved))
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = moved;
}

static int push_heap(struct trace_reader *r, struct ring *ring)
{
	uint32_t i = r->n_heap, parent, cap = r->cap_heap ? r->cap_heap * 2 : 64;
	struct ring **heap;

	if (r->n_heap == r->cap_heap) {
		heap = realloc(r->heap, cap * sizeof(*heap));
		if (!heap)
			return -ENOMEM;
		r->heap = heap;
		r->cap_heap = cap;
	}
	r->n_heap++;
	for (; i; i = parent) {
		parent = (i - 1) / 2;
		if (!before(ring, r->heap[parent]))
			break;
		r->heap[i] = r->heap[parent];
	}
	r->heap[i] = ring;
	return 0;
}

static void pop_heap(struct trace_reader *r)
{
	r->heap[0] = r->heap[--r->n_heap];
	if (r->n_heap)
		sift_down(r);
}

/* Until when the first ring of the heap can deliver without a look at the others. */
static void set_bound(struct trace_reader *r)
{
	uint64_t bound = r->limit_ns == UINT64_MAX ? UINT64_MAX : r->limit_ns + 1;
	uint32_t i;

	for (i = 1; i < 3 && i < r->n_heap; i++)
		if (r->heap[i]->next_ns < bound)
			bound = r->heap[i]->next_ns;
	r->bound_ns = bound;
}

/* ---- chunks ---- */

static void bad_chunk(struct trace_reader *r, const struct chunk_head *head)
{
	r->damage.bad_chunks++;
	if (head->kind == CHUNK_RECORDS)
		r->damage.bad_records += head->count;
}

static struct ring *get_ring(struct trace_reader *r, uint16_t id)
{
	struct ring *ring = r->rings[id];

	if (ring)
		return ring;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	ring->id = id;
	ring->last = &ring->first;
	ring->next_ring = r->all_rings;
	r->all_rings = ring;
	r->rings[id] = ring;
	return ring;
}

/* Put a chunk of records, whose payload begins the input, into its ring's queue. */
static int queue_chunk(struct trace_reader *r, const struct chunk_head *head)
{
	struct ring *ring = get_ring(r, head->ring);
	struct waiting *w;

	if (!ring)
		return -ENOMEM;
	if (!head->count || head->first_ns < ring->read_ns || head->first_ns < r->floor_ns) {
		bad_chunk(r, head);
		return 0;
	}
	ring->read_ns = head->last_ns;
	w = malloc(sizeof(*w) + head->stored + PAD);
	if (!w)
		return -ENOMEM;
	w->next = NULL;
	w->head = *head;
	memcpy(w->payload, input__at(&r->in), head->stored);
	memset(w->payload + head->stored, 0, PAD);
	*ring->last = w;
	ring->last = &w->next;
	r->held_bytes += sizeof(*w) + head->stored;
	if (ring->open || ring->first != w)
		return 0;
	ring->next_ns = head->first_ns;
	return push_heap(r, ring);
}

static void take_watermark(struct trace_reader *r, const struct chunk_head *head)
{
	if (head->last_ns < r->limit_ns) {
		bad_chunk(r, head);
		return;
	}
	r->limit_ns = head->last_ns;
	if (r->floor_ns < head->last_ns)
		r->floor_ns = head->last_ns;
}

static bool head_is_sane(const struct chunk_head *h)
{
	return h->magic == CHUNK_MAGIC &&
	       h->head_crc ==
		       crc32c((const uint8_t *)h + CHUNK_CRC_FROM, sizeof(*h) - CHUNK_CRC_FROM) &&
	       h->stored <= CHUNK_MAX_BYTES && h->raw <= CHUNK_MAX_BYTES &&
	       (h->kind != CHUNK_RECORDS ||
		(h->count <= CHUNK_MAX_COUNT && h->first_ns <= h->last_ns));
}

/* Go to the next place that looks like a chunk, at least a byte further. */
static void resync(struct trace_reader *r)
{
	static const uint32_t magic = CHUNK_MAGIC;
	const uint8_t *found;
	size_t n = 1;

	do {
		input__take(&r->in, n);
		r->damage.skipped_bytes += n;
		if (!input__need(&r->in, sizeof(magic))) {
			n = input__available(&r->in);
			input__take(&r->in, n);
			r->damage.skipped_bytes += n;
			return;
		}
		found = memmem(input__at(&r->in), input__available(&r->in), &magic, sizeof(magic));
		n = found ? (size_t)(found - input__at(&r->in))
			  : input__available(&r->in) - sizeof(magic) + 1;
	} while (!found || n);
}

static void reach_end(struct trace_reader *r)
{
	r->at_end = true;
	r->limit_ns = UINT64_MAX;
	if (!r->complete)
		r->damage.truncated = true;
}

static void check_seq(struct trace_reader *r, const struct chunk_head *head)
{
	if (!r->any_seq && head->seq > r->seq)
		r->damage.bad_chunks += head->seq - r->seq;
	r->any_seq = false;
	r->seq = head->seq + 1;
}

/* Which of its records can pass the filter? */
static uint64_t wanted_types(const struct trace_reader *r, const struct chunk_head *head)
{
	const struct trace_filter *f = &r->filter;
	uint64_t types = 0;

	if (head->first_ns > f->to_ns)
		return 0;
	if (head->last_ns >= f->from_ns)
		types = f->types;
	if (head->first_ns < f->from_ns)
		types |= f->before;
	return types & head->types;
}

/* Pass over a chunk of which nothing is wanted. */
static void skip_chunk(struct trace_reader *r, const struct chunk_head *head)
{
	struct ring *ring = r->rings[head->ring];

	if (ring && ring->read_ns < head->last_ns)
		ring->read_ns = head->last_ns;
	input__take(&r->in, sizeof(*head));
	input__skip(&r->in, head->stored);
	check_seq(r, head);
}

/* Deal with a chunk whose head was taken and whose payload is available. */
static int take_chunk(struct trace_reader *r, const struct chunk_head *head)
{
	int err = 0;

	if (head->crc != crc32c(input__at(&r->in), head->stored)) {
		bad_chunk(r, head);
	} else if (head->kind == CHUNK_RECORDS) {
		err = queue_chunk(r, head);
	} else if (head->kind == CHUNK_WATERMARK) {
		take_watermark(r, head);
	} else if (head->kind == CHUNK_END) {
		r->complete = head->last_ns == r->in.offset + head->stored;
		reach_end(r);
	}
	input__take(&r->in, head->stored);
	return err;
}

/* Read on up to the next watermark, the end, or as much as may be held. */
static int load(struct trace_reader *r)
{
	uint64_t limit = r->limit_ns;
	struct chunk_head head;
	int err = 0;

	while (!err && !r->at_end && r->limit_ns == limit && r->held_bytes <= READER_MAX_BYTES) {
		if (!input__need(&r->in, sizeof(head))) {
			reach_end(r);
			break;
		}
		memcpy(&head, input__at(&r->in), sizeof(head));
		if (!head_is_sane(&head)) {
			resync(r);
			continue;
		}
		if (head.kind == CHUNK_RECORDS && !wanted_types(r, &head)) {
			skip_chunk(r, &head);
			continue;
		}
		if (!input__need(&r->in, sizeof(head) + head.stored)) {
			reach_end(r);
			break;
		}
		input__take(&r->in, sizeof(head));
		check_seq(r, &head);
		err = take_chunk(r, &head);
	}
	return err;
}

/* ---- records ---- */

static void close_rows(struct trace_reader *r, struct ring *ring)
{
	ring->open = false;
	r->open_bytes -= ring->rows.size;
	if (r->n_spare < SPARES)
		r->spare[r->n_spare++] = ring->rows;
	else
		free(ring->rows.rows);
	ring->rows = (struct decoded){0};
}

static const struct rec *current(const struct ring *ring)
{
	return (const struct rec *)(ring->rows.rows + ring->at);
}

/* Decode the ring's next chunk. 1: it has records; 0: it brought none; -errno. */
static int open_rows(struct trace_reader *r, struct ring *ring)
{
	struct waiting *w = ring->first;
	int err = -EBADMSG;

	ring->first = w->next;
	if (!ring->first)
		ring->last = &ring->first;
	r->held_bytes -= sizeof(*w) + w->head.stored;
	if (r->n_spare)
		ring->rows = r->spare[--r->n_spare];
	if (r->open_bytes + ring->rows.size < READER_MAX_BYTES)
		err = decoder__decode(r->decoder, &w->head, w->payload, wanted_types(r, &w->head),
				      &ring->rows);
	if (err == -EBADMSG)
		bad_chunk(r, &w->head);
	else
		r->damage.unknown_records += ring->rows.unknown;
	free(w);
	r->open_bytes += ring->rows.size;
	ring->open = !err && ring->rows.count;
	ring->at = 0;
	if (ring->open) {
		ring->next_ns = current(ring)->time_ns;
		return 1;
	}
	close_rows(r, ring);
	return err == -EBADMSG ? 0 : err;
}

/* Move the first ring of the heap to its next record, or its next chunk. */
static void advance(struct trace_reader *r)
{
	struct ring *ring = r->heap[0];

	if (ring->open) {
		ring->at += current(ring)->size;
		if (ring->at >= ring->rows.bytes)
			close_rows(r, ring);
	}
	if (ring->open) {
		ring->next_ns = current(ring)->time_ns;
		sift_down(r);
	} else if (ring->first) {
		ring->next_ns = ring->first->head.first_ns;
		sift_down(r);
	} else {
		pop_heap(r);
	}
}

static int deliver(struct trace_reader *r, struct trace_event *ev)
{
	struct ring *ring = r->heap[0];

	ev->rec = current(ring);
	ev->ring = ring->id;
	r->delivered = true;
	r->records++;
	return 1;
}

static bool passes(const struct trace_filter *f, const struct rec *rec)
{
	uint64_t types = rec->time_ns < f->from_ns ? f->before : f->types;

	return types & type_bit(rec->type) && rec->time_ns <= f->to_ns;
}

/* The record after the delivered one, if it is in the same chunk and older than all others. */
static bool next_nearby(struct trace_reader *r)
{
	struct ring *ring = r->heap[0];
	const struct rec *rec;
	uint32_t at = ring->at + current(ring)->size;

	if (at >= ring->rows.bytes)
		return false;
	rec = (const struct rec *)(ring->rows.rows + at);
	if (rec->time_ns >= r->bound_ns || !passes(&r->filter, rec))
		return false;
	ring->at = at;
	return true;
}

/* May the first of the heap be delivered, or must more be read before? */
static bool may_deliver(const struct trace_reader *r)
{
	return r->n_heap &&
	       (r->heap[0]->next_ns <= r->limit_ns || r->held_bytes > READER_MAX_BYTES);
}

static int next_slowly(struct trace_reader *r, struct trace_event *ev)
{
	struct ring *ring;
	int err;

	if (r->delivered) {
		if (r->floor_ns < current(r->heap[0])->time_ns)
			r->floor_ns = current(r->heap[0])->time_ns;
		advance(r);
	}
	r->delivered = false;
	for (;;) {
		while (!may_deliver(r)) {
			if (r->at_end)
				return r->in.err;
			err = load(r);
			if (err)
				return err;
		}
		ring = r->heap[0];
		if (ring->next_ns > r->filter.to_ns)
			return 0;
		if (!ring->open) {
			err = open_rows(r, ring);
			if (err < 0)
				return err;
			if (err)
				sift_down(r); /* what came first may have been left out */
			else
				advance(r);
			continue;
		}
		if (!passes(&r->filter, current(ring))) {
			advance(r);
			continue;
		}
		set_bound(r);
		return deliver(r, ev);
	}
}

int trace_reader__next(struct trace_reader *r, struct trace_event *ev)
{
	int ret;

	if (r->delivered && next_nearby(r))
		return deliver(r, ev);
	ret = next_slowly(r, ev);
	if (ret < 0)
		log_error("cannot read trace '%s': %s", r->name, log__err(ret));
	return ret;
}

/* ---- opening ---- */

static int complain(const struct trace_reader *r, const char *why)
{
	log_error("'%s' %s", r->name, why);
	return -EBADMSG;
}

static int check_head(struct trace_reader *r)
{
	struct trace_head *h = &r->head;
	size_t n;

	input__need(&r->in, sizeof(*h));
	if (r->in.err) {
		log_error("cannot read trace '%s': %s", r->name, log__err(r->in.err));
		return r->in.err;
	}
	n = input__available(&r->in);
	n = n < sizeof(*h) ? n : sizeof(*h);
	if (!n)
		return complain(r, "is empty: nothing was recorded");
	memcpy(h, input__at(&r->in), n);
	if (memcmp(h->magic, TRACE_MAGIC, n < sizeof(h->magic) ? n : sizeof(h->magic)) != 0)
		return complain(r, "is not a trace of xpugap");
	if (n < sizeof(*h))
		return complain(r, "ends before the end of its head: nothing was recorded");
	if (h->crc != crc32c(h, offsetof(struct trace_head, crc))) {
		/* what it says is of use, but not needed */
		memset(h, 0, sizeof(*h));
		r->damage.bad_head = true;
		input__take(&r->in, sizeof(*h));
		return 0;
	}
	if (h->major > TRACE_VERSION_MAJOR) {
		log_error(
			"trace '%s' has version %u.%u, this program reads up to %u.x (use a newer "
			"xpugap)",
			r->name, h->major, h->minor, TRACE_VERSION_MAJOR);
		return -EPROTONOSUPPORT;
	}
	if (h->head_bytes < sizeof(*h) || h->head_bytes > TRACE_HEAD_MAX)
		return complain(r, "has a damaged head");
	input__skip(&r->in, h->head_bytes);
	return 0;
}

static int read_at(int fd, void *buf, size_t size, uint64_t offset)
{
	return pread(fd, buf, size, (off_t)offset) == (ssize_t)size ? 0 : -EIO;
}

static int read_head_at(struct trace_reader *r, struct chunk_head *head, uint64_t offset,
			enum chunk_kind kind)
{
	if (offset + sizeof(*head) > r->in.size || read_at(r->in.fd, head, sizeof(*head), offset))
		return -EIO;
	return head_is_sane(head) && head->kind == kind ? 0 : -EBADMSG;
}

/* Does a file end as a whole trace does? */
static bool has_end(struct trace_reader *r, struct chunk_head *end)
{
	return r->in.seekable && r->in.size > sizeof(*end) &&
	       read_head_at(r, end, r->in.size - sizeof(*end), CHUNK_END) == 0 &&
	       end->last_ns == r->in.size;
}

static int init(struct trace_reader *r, int fd, const char *name)
{
	struct chunk_head end;
	int err;

	r->filter = (struct trace_filter){.to_ns = UINT64_MAX, .types = ~0ULL};
	r->name = strdup(name);
	r->decoder = decoder__new();
	if (!r->name || !r->decoder)
		return -ENOMEM;
	err = input__init(&r->in, fd);
	if (err)
		return err;
	err = check_head(r);
	if (err)
		return err;
	r->complete = has_end(r, &end);
	r->damage.truncated = r->in.seekable && !r->complete;
	return 0;
}

struct trace_reader *trace_reader__open_fd(int fd, const char *name)
{
	struct trace_reader *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	if (r) {
		r->own_fd = -1;
		err = init(r, fd, name);
	}
	if (!err)
		return r;
	if (err == -ENOMEM)
		log_error("cannot open trace '%s': out of memory", name);
	trace_reader__free(r);
	errno = -err;
	return NULL;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		return fd;
	err = fd < 0 ? errno : EISDIR;
	log_error("cannot open trace '%s': %s", path, log__err(err));
	if (fd >= 0)
		close(fd);
	return -err;
}

struct trace_reader *trace_reader__open(const char *path)
{
	struct trace_reader *r;
	int fd, err;

	if (strcmp(path, "-") == 0) {
		if (!isatty(STDIN_FILENO))
			return trace_reader__open_fd(STDIN_FILENO, "standard input");
		log_error("standard input is a terminal, expected a trace");
		errno = EINVAL;
		return NULL;
	}
	fd = open_file(path);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	r = trace_reader__open_fd(fd, path);
	if (r) {
		r->own_fd = fd;
		return r;
	}
	err = errno;
	close(fd);
	errno = err;
	return NULL;
}

static void free_ring(struct ring *ring)
{
	struct waiting *w;

	while ((w = ring->first)) {
		ring->first = w->next;
		free(w);
	}
	free(ring->rows.rows);
	free(ring);
}

void trace_reader__free(struct trace_reader *r)
{
	struct ring *ring;
	uint32_t i;

	if (!r)
		return;
	while ((ring = r->all_rings)) {
		r->all_rings = ring->next_ring;
		free_ring(ring);
	}
	for (i = 0; i < r->n_spare; i++)
		free(r->spare[i].rows);
	free(r->heap);
	decoder__free(r->decoder);
	input__destroy(&r->in);
	free(r->name);
	if (r->own_fd >= 0)
		close(r->own_fd);
	free(r);
}

/* Where in the file the first record may lie that passes; 0 if there is no telling. */
static uint64_t find_offset(struct trace_reader *r, const struct trace_filter *f)
{
	struct chunk_head end, head;
	struct index_entry *index;
	uint64_t offset = 0;
	uint32_t i;

	if (!has_end(r, &end) || read_head_at(r, &head, end.first_ns, CHUNK_INDEX) ||
	    head.count > INDEX_MAX || head.stored != head.count * sizeof(*index))
		return 0;
	index = malloc(head.stored + 1);
	if (index && read_at(r->in.fd, index, head.stored, end.first_ns + sizeof(head)) == 0 &&
	    head.crc == crc32c(index, head.stored)) {
		for (i = 0; i < head.count; i++)
			if (index[i].types &
			    (index[i].last_ns < f->from_ns ? f->before : f->types | f->before))
				break;
		offset = i < head.count ? index[i].offset : end.first_ns;
	}
	free(index);
	return offset;
}

int trace_reader__filter(struct trace_reader *r, const struct trace_filter *filter)
{
	uint64_t offset;

	r->filter = *filter;
	if (!filter->to_ns)
		r->filter.to_ns = UINT64_MAX;
	if (!filter->types)
		r->filter.types = ~0ULL;
	offset = find_offset(r, &r->filter);
	if (offset <= r->in.offset)
		return 0;
	r->any_seq = true;
	return input__seek(&r->in, offset);
}

void trace_reader__follow(struct trace_reader *r)
{
	r->in.follow = r->in.seekable && !r->complete;
	if (r->in.follow)
		r->damage.truncated = false;
}

void trace_reader__on_idle(struct trace_reader *r, void (*idle)(void *arg), void *arg)
{
	r->in.idle = idle;
	r->in.idle_arg = arg;
}

void trace_reader__damage(const struct trace_reader *r, struct trace_damage *out)
{
	*out = r->damage;
}

void trace_reader__info(const struct trace_reader *r, struct trace_info *out)
{
	*out = (struct trace_info){
		.version_major = r->head.major,
		.version_minor = r->head.minor,
		.bytes = r->in.seekable ? r->in.size : r->in.offset,
		.begin_ns = r->head.begin_ns,
		.realtime_ns = r->head.realtime_ns,
		.records = r->records,
		.complete = r->complete,
		.seekable = r->in.seekable,
	};
}
