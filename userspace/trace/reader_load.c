// SPDX-License-Identifier: BSD-2-Clause
/* From the file to the rings: chunks are found, checked and queued. */
#include "userspace/trace/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct ring *find_ring(const struct trace_reader *r, uint16_t id)
{
	struct ring **page = r->rings[id / RINGS_PAGE];

	return page ? page[id % RINGS_PAGE] : NULL;
}

static struct ring *get_ring(struct trace_reader *r, uint16_t id)
{
	struct ring ***page = &r->rings[id / RINGS_PAGE];
	struct ring *ring = find_ring(r, id);

	if (ring)
		return ring;
	if (!*page)
		*page = calloc(RINGS_PAGE, sizeof(struct ring *));
	ring = *page ? calloc(1, sizeof(*ring)) : NULL;
	if (!ring)
		return NULL;
	ring->id = id;
	ring->last = &ring->first;
	ring->next_ring = r->all_rings;
	r->all_rings = ring;
	(*page)[id % RINGS_PAGE] = ring;
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
		reader__bad_chunk(r, head);
		return 0;
	}
	ring->read_ns = head->last_ns;
	r->held += head->count;
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
	return heap__push(r, ring);
}

static void remember_chunk(struct trace_reader *r, uint64_t offset)
{
	if (r->n_chunk_ends == CHUNK_ENDS)
		memmove(r->chunk_ends, r->chunk_ends + 1,
			--r->n_chunk_ends * sizeof(*r->chunk_ends));
	r->chunk_ends[r->n_chunk_ends++] = (struct chunk_end){offset, r->seq};
}

/* Is @e still the end of a chunk in a file of @size bytes? */
static bool is_chunk_end(const struct trace_reader *r, const struct chunk_end *e, uint64_t size)
{
	struct chunk_head head;

	if (e->offset >= size)
		return e->offset == size;
	return pread(r->in.fd, &head, sizeof(head), (off_t)e->offset) != sizeof(head) ||
	       (chunk__is_sane(&head) && head.seq == e->seq);
}

/*
 * A file that is followed was cut back. Go on where the chunk at hand began, or if no chunk begins
 * there any more, at the end of the last chunk that is still there: the recorder writes its end
 * behind it.
 */
static int go_back(struct trace_reader *r)
{
	struct chunk_end to = {r->in.offset, r->seq};
	struct stat st;

	if (fstat(r->in.fd, &st))
		return -errno;
	while (r->n_chunk_ends && !is_chunk_end(r, &to, (uint64_t)st.st_size))
		to = r->chunk_ends[--r->n_chunk_ends];
	if (!is_chunk_end(r, &to, (uint64_t)st.st_size))
		to = (struct chunk_end){sizeof(r->head), 0};
	r->seq = to.seq;
	r->went_back = true;
	return input__seek(&r->in, to.offset);
}

/* The file has no more: that is its end, or it was cut back. */
static int reach_end(struct trace_reader *r)
{
	if (r->in.shrunk)
		return go_back(r);
	r->at_end = true;
	r->limit_ns = UINT64_MAX;
	if (!r->complete)
		r->damage.truncated = true;
	return 0;
}

static void take_watermark(struct trace_reader *r, const struct chunk_head *head)
{
	if (head->last_ns < r->limit_ns && r->went_back)
		return;
	if (head->last_ns < r->limit_ns) {
		reader__bad_chunk(r, head);
		return;
	}
	r->limit_ns = head->last_ns;
	if (r->floor_ns < head->last_ns)
		r->floor_ns = head->last_ns;
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

static void check_seq(struct trace_reader *r, const struct chunk_head *head)
{
	if (!r->any_seq && head->seq > r->seq)
		r->damage.bad_chunks += head->seq - r->seq;
	r->any_seq = false;
	r->seq = head->seq + 1;
}

/* Pass over a chunk of which nothing is wanted. */
static void skip_chunk(struct trace_reader *r, const struct chunk_head *head)
{
	struct ring *ring = find_ring(r, head->ring);

	if (ring && ring->read_ns < head->last_ns)
		ring->read_ns = head->last_ns;
	r->held += head->count;
	input__take(&r->in, sizeof(*head));
	input__skip(&r->in, head->stored);
	check_seq(r, head);
	remember_chunk(r, r->in.offset);
}

/*
 * Bytes behind an END that is whole and whose payload of @stored bytes begins the input: something
 * was appended, the trace itself lacks nothing. Of a pipe only what has come already.
 */
static uint64_t behind_end(struct trace_reader *r, size_t stored)
{
	if (!r->complete)
		return 0;
	r->damage.truncated = false;
	if (r->in.follow)
		return 0; /* what lay there when it was opened may have been cut off */
	if (r->in.seekable)
		return r->in.size > r->in.offset + stored ? r->in.size - r->in.offset - stored : 0;
	return input__available(&r->in) - stored;
}

/* Deal with a chunk whose head was taken and whose payload is available. */
static int take_chunk(struct trace_reader *r, const struct chunk_head *head)
{
	uint64_t stray = 0;
	int err = 0;

	if (head->crc != crc32c(input__at(&r->in), head->stored)) {
		reader__bad_chunk(r, head);
	} else if (head->kind == CHUNK_RECORDS) {
		err = queue_chunk(r, head);
	} else if (head->kind == CHUNK_WATERMARK) {
		take_watermark(r, head);
	} else if (head->kind == CHUNK_END) {
		r->complete = head->last_ns == r->in.offset + head->stored;
		err = reach_end(r);
		stray = behind_end(r, head->stored);
	}
	remember_chunk(r, r->in.offset + head->stored);
	input__take(&r->in, head->stored);
	r->damage.skipped_bytes += stray;
	return err;
}

int reader__load(struct trace_reader *r)
{
	uint64_t limit = r->limit_ns;
	struct chunk_head head;
	bool skip;
	int err = 0;

	while (!err && !r->at_end && r->limit_ns == limit && r->held_bytes <= READER_MAX_BYTES) {
		if (!input__need(&r->in, sizeof(head))) {
			err = reach_end(r);
			continue;
		}
		memcpy(&head, input__at(&r->in), sizeof(head));
		if (!chunk__is_sane(&head)) {
			resync(r);
			continue;
		}
		skip = head.kind == CHUNK_RECORDS && !reader__wanted_types(r, &head);
		/* what is still being written may be cut back as long as it is not whole */
		if ((!skip || r->in.follow) && !input__need(&r->in, sizeof(head) + head.stored)) {
			err = reach_end(r);
			continue;
		}
		if (skip) {
			skip_chunk(r, &head);
			continue;
		}
		input__take(&r->in, sizeof(head));
		check_seq(r, &head);
		err = take_chunk(r, &head);
	}
	return err;
}
