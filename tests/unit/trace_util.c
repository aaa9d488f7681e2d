// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/trace_util.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t rnd(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

uint64_t fnv(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *p = data;

	while (size--)
		hash = (hash ^ *p++) * 0x100000001b3ULL;
	return hash;
}

static uint64_t typical(enum record_format format, uint64_t time_ns, uint64_t *state)
{
	uint64_t r = rnd(state);

	switch (format) {
	case REC_FMT_TIME:
		return time_ns - r % 1000000;
	case REC_FMT_NS:
		return 300 + r % 700;
	case REC_FMT_RET:
		return r % 4 ? 0 : (uint64_t)-11;
	case REC_FMT_NAME:
		return (r % 20 + 1) * 0x9e3779b97f4a7c15ULL;
	case REC_FMT_TID:
		return 1000 + r % 50;
	default:
		return r % 6;
	}
}

static size_t random_tail(uint8_t *buf, const struct record_desc *desc, uint64_t *state)
{
	size_t at = desc->size, i;
	unsigned int f;
	uint32_t len;

	for (f = 0; f < desc->n_fields; f++) {
		if (!record_format__is_length(desc->fields[f].format))
			continue;
		len = (uint32_t)(rnd(state) % (rnd(state) % 64 ? 30 : 600));
		memcpy(buf + desc->fields[f].offset, &len, sizeof(len));
		for (i = 0; i < len; i++)
			buf[at++] = (uint8_t)('a' + rnd(state) % 26);
	}
	for (; at % REC_ALIGN; at++)
		buf[at] = 0;
	return at;
}

struct rec *random_record(void *buf, const struct record_desc *desc, uint64_t time_ns,
			  uint64_t *state)
{
	const struct record_field *f;
	struct rec *rec = buf;
	uint64_t v;

	memset(buf, 0, desc->size);
	for (f = desc->fields; f < desc->fields + desc->n_fields; f++) {
		if (f->format == REC_FMT_COMM) {
			memcpy((char *)buf + f->offset, rnd(state) % 2 ? "python3" : "worker", 6);
			continue;
		}
		v = rnd(state) % 8 ? typical(f->format, time_ns, state) : rnd(state);
		memcpy((char *)buf + f->offset, &v, f->width);
	}
	rec->type = desc->type;
	rec->size = (uint16_t)(desc->has_tail ? random_tail(buf, desc, state) : desc->size);
	rec->tid = (uint32_t)(1000 + rnd(state) % 8);
	rec->time_ns = time_ns;
	return rec;
}

int memory_file(const void *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, data, size), (ssize_t)size);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

uint8_t *whole_file(int fd, size_t *size)
{
	struct stat st;
	uint8_t *data;

	cr_assert_eq(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	data = malloc(*size + 1);
	cr_assert_not_null(data);
	cr_assert_eq(pread(fd, data, *size, 0), (ssize_t)*size);
	return data;
}

void sums__add(struct sums *s, unsigned int ring, const struct rec *rec)
{
	struct ring_sums *r = &s->ring[ring];

	if (r->n + 2 > r->cap) {
		r->cap = r->cap ? 2 * r->cap : 1024;
		r->after = realloc(r->after, r->cap * sizeof(*r->after));
		cr_assert_not_null(r->after);
		r->after[0] = r->n ? r->after[0] : 0;
	}
	r->after[r->n + 1] = fnv(r->after[r->n], rec, rec->size);
	r->n++;
	s->count++;
}

void sums__free(struct sums *s)
{
	unsigned int i;

	for (i = 0; i < SUM_RINGS; i++)
		free(s->ring[i].after);
	memset(s, 0, sizeof(*s));
}

bool sums__prefix(const struct sums *a, const struct sums *b)
{
	unsigned int i;

	for (i = 0; i < SUM_RINGS; i++) {
		if (a->ring[i].n > b->ring[i].n)
			return false;
		if (a->ring[i].n &&
		    a->ring[i].after[a->ring[i].n] != b->ring[i].after[a->ring[i].n])
			return false;
	}
	return true;
}

bool sums__equal(const struct sums *a, const struct sums *b)
{
	return a->count == b->count && sums__prefix(a, b);
}

void write_random(struct trace_writer *w, uint64_t n, uint64_t seed, struct sums *sums)
{
	uint64_t buf[REC_MAX_SIZE / 8], time = 1000000000, i, types = 1;
	const struct record_desc *desc;
	struct rec *rec;
	unsigned int ring;

	while (record__at(types))
		types++;
	for (i = 0; i < n; i++) {
		time += rnd(&seed) % 2000;
		desc = record__at(rnd(&seed) % types);
		rec = random_record(buf, desc, time, &seed);
		ring = (unsigned int)(rnd(&seed) % SUM_RINGS);
		cr_assert_eq(trace_writer__append(w, (uint16_t)ring, rec), 0);
		if (sums)
			sums__add(sums, ring, rec);
		if (i % 100 == 0)
			cr_assert_eq(trace_writer__round(w, time, false), 0);
	}
	cr_assert_eq(trace_writer__finish(w), 0);
}

uint8_t *random_trace(uint64_t n, uint64_t seed, struct sums *sums, size_t *size)
{
	const struct trace_writer_opts opts = {.round_ns = 1000000};
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct trace_writer *w = trace_writer__new(fd, &opts);
	uint8_t *data;

	cr_assert_not_null(w);
	write_random(w, n, seed, sums);
	trace_writer__free(w);
	data = whole_file(fd, size);
	close(fd);
	return data;
}

int read_all(struct trace_reader *r, struct sums *sums)
{
	struct trace_event ev;
	uint64_t last = 0;
	int ret;

	while ((ret = trace_reader__next(r, &ev)) == 1) {
		cr_assert_geq(ev.rec->time_ns, last);
		last = ev.rec->time_ns;
		cr_assert_lt(ev.ring, SUM_RINGS);
		sums__add(sums, ev.ring, ev.rec);
	}
	return ret;
}
