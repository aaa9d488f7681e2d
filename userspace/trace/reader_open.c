// SPDX-License-Identifier: BSD-2-Clause
/* Opening, filtering and describing a trace. */
#include "userspace/trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/lib/log.h"

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
	return chunk__is_sane(head) && head->kind == kind ? 0 : -EBADMSG;
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
	for (i = 0; i < sizeof(r->rings) / sizeof(r->rings[0]); i++)
		free(r->rings[i]);
	free(r->heap);
	decoder__free(r->decoder);
	input__destroy(&r->in);
	free(r->name);
	if (r->own_fd >= 0)
		close(r->own_fd);
	free(r);
}

/*
 * Where in the file the first record may lie that passes, 0 if there is no telling; and how many
 * lie before.
 */
static uint64_t find_offset(struct trace_reader *r, const struct trace_filter *f, uint64_t *before)
{
	struct chunk_head end, head;
	struct index_entry *index;
	uint64_t offset = 0;
	uint32_t i;

	if (!has_end(r, &end) || read_head_at(r, &head, end.first_ns, CHUNK_INDEX) || !head.count ||
	    head.count > INDEX_MAX || /* one that had no room has no entries */
	    head.stored != head.count * sizeof(*index))
		return 0;
	index = malloc(head.stored + 1);
	if (index && read_at(r->in.fd, index, head.stored, end.first_ns + sizeof(head)) == 0 &&
	    head.crc == crc32c(index, head.stored)) {
		for (i = 0; i < head.count; i++) {
			if (index[i].types &
			    (index[i].last_ns < f->from_ns ? f->before : f->types | f->before))
				break;
			*before += index[i].records;
		}
		offset = i < head.count ? index[i].offset : end.first_ns;
	}
	free(index);
	return offset < r->in.size ? offset : 0; /* an index may be wrong, too */
}

int trace_reader__filter(struct trace_reader *r, const struct trace_filter *filter)
{
	uint64_t offset, before = 0;

	r->filter = *filter;
	if (!filter->to_ns)
		r->filter.to_ns = UINT64_MAX;
	if (!filter->types)
		r->filter.types = ~0ULL;
	offset = find_offset(r, &r->filter, &before);
	if (offset <= r->in.offset)
		return 0;
	r->held += before;
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

bool trace_damage__any(const struct trace_damage *d)
{
	return d->bad_head || d->bad_chunks || d->skipped_bytes || d->truncated;
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
		.held = r->held,
		.complete = r->complete,
		.seekable = r->in.seekable,
	};
}
