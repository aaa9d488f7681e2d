// SPDX-License-Identifier: BSD-2-Clause
/* Traces that are cut off, changed, of other versions, or no traces at all. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/trace_util.h"
#include "userspace/lib/crc32c.h"
#include "userspace/trace/chunk.h"
#include "userspace/trace/format.h"
#include "userspace/trace/pack.h"

#define RECORDS 300

static struct trace_reader *open_bytes(const uint8_t *data, size_t size)
{
	int fd = memory_file(data, size);
	struct trace_reader *r = trace_reader__open_fd(fd, "memory");

	if (!r)
		close(fd);
	return r;
}

static void close_bytes(struct trace_reader *r, int fd)
{
	trace_reader__free(r);
	close(fd);
}

static bool is_noticed(const struct trace_damage *d)
{
	return d->bad_head || d->bad_chunks || d->skipped_bytes || d->truncated;
}

/* Where each chunk of @data begins; returns how many there are, the last is the end of the file. */
static size_t find_chunks(const uint8_t *data, size_t size, size_t *at, size_t max)
{
	struct chunk_head head;
	size_t pos = sizeof(struct trace_head), n = 0;

	for (; pos < size && n < max; pos += sizeof(head) + head.stored) {
		memcpy(&head, data + pos, sizeof(head));
		cr_assert_eq(head.magic, CHUNK_MAGIC);
		at[n++] = pos;
	}
	cr_assert_eq(pos, size);
	at[n] = size;
	return n;
}

/* Cut off at every byte: all whole chunks are read, nothing is called damaged but the end. */
Test(trace_damage, truncated_at_every_byte)
{
	struct sums in = {0}, out;
	struct trace_damage d;
	struct trace_info info;
	struct trace_reader *r;
	struct trace_event ev;
	size_t size, n, at[4096] = {0}, chunk = 0, k;
	struct chunk_head head;
	uint64_t expected = 0;
	uint8_t *data = random_trace(RECORDS, 1, &in, &size);
	int fd;

	cr_redirect_stderr();
	find_chunks(data, size, at, 4095);
	for (n = 0; n <= size; n++) {
		if (n == at[chunk + 1]) { /* one more chunk is whole */
			memcpy(&head, data + at[chunk++], sizeof(head));
			expected += head.kind == CHUNK_RECORDS ? head.count : 0;
		}
		fd = memory_file(data, n);
		r = trace_reader__open_fd(fd, "memory");
		if (n < sizeof(struct trace_head)) {
			cr_assert_null(r);
			cr_assert_eq(errno, EBADMSG);
			close(fd);
			continue;
		}
		cr_assert_not_null(r);
		out = (struct sums){0};
		cr_assert_eq(read_all(r, &out), 0);
		cr_assert_eq(out.count, expected, "%zu bytes", n);
		cr_assert(sums__prefix(&out, &in));
		trace_reader__damage(r, &d);
		trace_reader__info(r, &info);
		cr_assert_eq(d.truncated, n < size);
		cr_assert_eq(info.complete, n == size);
		cr_assert_eq(d.bad_chunks + d.skipped_bytes + d.bad_records, 0);
		cr_assert_eq(trace_reader__next(r, &ev), 0);
		close_bytes(r, fd);
		sums__free(&out);
	}
	cr_assert_eq(expected, RECORDS);
	for (k = 0; k < SUM_RINGS; k++)
		cr_assert_gt(in.ring[k].n, 0);
	free(data);
	sums__free(&in);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Read @r; every record must be one of the @n with these checksums. Returns how many came. */
static uint64_t read_known(struct trace_reader *r, const uint64_t *known, size_t n)
{
	struct trace_event ev;
	uint64_t count = 0, last = 0, h;

	for (; trace_reader__next(r, &ev) == 1; count++) {
		h = fnv(ev.ring, ev.rec, ev.rec->size);
		cr_assert_not_null(bsearch(&h, known, n, sizeof(h), compare_u64));
		cr_assert_geq(ev.rec->time_ns, last);
		last = ev.rec->time_ns;
	}
	return count;
}

/* Any changed bit anywhere is noticed, costs no more than its chunk, and invents nothing. */
Test(trace_damage, every_flipped_bit)
{
	struct trace_reader *r;
	struct trace_damage d;
	struct trace_event ev;
	size_t size, bit, n = 0, at[4096], chunks, chunk;
	uint8_t *data = random_trace(RECORDS, 2, NULL, &size);
	uint64_t known[RECORDS], count, least;
	struct chunk_head head;
	int fd;

	cr_redirect_stderr();
	r = open_bytes(data, size);
	for (; trace_reader__next(r, &ev) == 1; n++)
		known[n] = fnv(ev.ring, ev.rec, ev.rec->size);
	trace_reader__free(r);
	cr_assert_eq(n, RECORDS);
	qsort(known, n, sizeof(*known), compare_u64);
	chunks = find_chunks(data, size, at, 4095);
	for (bit = 0; bit < size * 8; bit += 13) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		fd = memory_file(data, size);
		r = trace_reader__open_fd(fd, "memory");
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (!r) { /* the magic, and nothing else */
			cr_assert_lt(bit / 8, 8);
			close(fd);
			continue;
		}
		for (chunk = 0; chunk < chunks && at[chunk + 1] <= bit / 8; chunk++)
			;
		memcpy(&head, data + at[chunk], sizeof(head));
		least = RECORDS;
		if (bit / 8 >= sizeof(struct trace_head) && head.kind == CHUNK_RECORDS)
			least -= head.count;
		count = read_known(r, known, n);
		cr_assert_geq(count, least, "bit %zu", bit);
		cr_assert_leq(count, RECORDS);
		trace_reader__damage(r, &d);
		cr_assert(is_noticed(&d), "bit %zu", bit);
		close_bytes(r, fd);
	}
	free(data);
}

/* Bytes that are missing or too many in the middle: reading goes on behind them. */
Test(trace_damage, holes_and_rubbish)
{
	struct trace_reader *r;
	struct trace_damage d;
	struct trace_event ev;
	size_t size, n = 0, from, len, total;
	uint8_t *data = random_trace(20000, 3, NULL, &size), *copy = malloc(size * 2);
	uint64_t *known = malloc(20000 * sizeof(*known)), seed = 8, count;
	unsigned int round;

	cr_redirect_stderr();
	r = open_bytes(data, size);
	for (; trace_reader__next(r, &ev) == 1; n++)
		known[n] = fnv(ev.ring, ev.rec, ev.rec->size);
	trace_reader__free(r);
	qsort(known, n, sizeof(*known), compare_u64);
	for (round = 0; round < 200; round++) {
		from = sizeof(struct trace_head) + rnd(&seed) % (size - 2000);
		len = rnd(&seed) % 1000 + 1;
		memcpy(copy, data, from);
		if (round % 2) { /* a hole */
			total = size - len;
			memcpy(copy + from, data + from + len, total - from);
		} else {
			total = size + len;
			memset(copy + from, (int)rnd(&seed), len);
			memcpy(copy + from + len, data + from, size - from);
		}
		r = open_bytes(copy, total);
		cr_assert_not_null(r);
		count = read_known(r, known, n);
		cr_assert_gt(count, n * 9 / 10);
		trace_reader__damage(r, &d);
		cr_assert(d.bad_chunks || d.skipped_bytes);
		trace_reader__free(r);
	}
	free(data);
	free(copy);
	free(known);
}

/* What was appended to a whole trace, another one even, is said; the trace itself lacks nothing. */
Test(trace_damage, bytes_behind_the_end)
{
	struct sums in = {0}, out = {0};
	struct trace_damage d;
	struct trace_info info;
	struct trace_reader *r;
	size_t size, more;
	uint8_t *data = random_trace(RECORDS, 5, &in, &size), *longer = malloc(2 * size);

	cr_redirect_stderr();
	memcpy(longer, data, size);
	memcpy(longer + size, data, size);
	for (more = 1; more <= size; more += size - 1) {
		r = open_bytes(longer, size + more);
		cr_assert_not_null(r);
		out = (struct sums){0};
		cr_assert_eq(read_all(r, &out), 0);
		cr_expect(sums__equal(&in, &out));
		sums__free(&out);
		trace_reader__damage(r, &d);
		trace_reader__info(r, &info);
		cr_expect_eq(d.skipped_bytes, more);
		cr_expect_eq(d.bad_chunks + d.bad_records, 0);
		cr_expect(!d.truncated);
		cr_expect(info.complete);
		trace_reader__free(r);
	}
	free(data);
	free(longer);
	sums__free(&in);
}

static void set_head(uint8_t *data, uint16_t major, uint16_t minor, uint32_t head_bytes)
{
	struct trace_head head;

	memcpy(&head, data, sizeof(head));
	head.major = major;
	head.minor = minor;
	head.head_bytes = head_bytes;
	head.crc = crc32c(&head, offsetof(struct trace_head, crc));
	memcpy(data, &head, sizeof(head));
}

Test(trace_damage, versions)
{
	struct sums in = {0}, out = {0};
	struct trace_reader *r;
	struct trace_damage d;
	size_t size;
	uint8_t *data = random_trace(RECORDS, 4, &in, &size), *longer = calloc(1, size + 200);

	cr_redirect_stderr();
	set_head(data, 2, 0, sizeof(struct trace_head));
	cr_assert_null(open_bytes(data, size));
	cr_assert_eq(errno, EPROTONOSUPPORT);
	/* a later minor version, with a longer head */
	set_head(data, 1, 7, sizeof(struct trace_head) + 200);
	memcpy(longer, data, sizeof(struct trace_head));
	memcpy(longer + sizeof(struct trace_head) + 200, data + sizeof(struct trace_head),
	       size - sizeof(struct trace_head));
	r = open_bytes(longer, size + 200);
	cr_assert_not_null(r);
	cr_assert_eq(read_all(r, &out), 0);
	cr_assert(sums__equal(&in, &out));
	trace_reader__damage(r, &d);
	cr_assert_eq(d.bad_chunks + d.skipped_bytes, 0);
	trace_reader__free(r);
	set_head(data, 1, 7, 1u << 30);
	cr_assert_null(open_bytes(data, size));
	free(data);
	free(longer);
	sums__free(&in);
	sums__free(&out);
}

Test(trace_damage, no_traces)
{
	static const char text[] = "#!/bin/sh\necho this is a script, and longer than a head of 64 "
				   "bytes: the first that is read\n";
	char dir[] = "/tmp/xpugap-test-XXXXXX";

	cr_redirect_stderr();
	cr_assert_null(open_bytes((const uint8_t *)text, 0));
	cr_assert_eq(errno, EBADMSG);
	cr_assert_null(open_bytes((const uint8_t *)text, 5));
	cr_assert_null(open_bytes((const uint8_t *)text, sizeof(text)));
	cr_assert_eq(errno, EBADMSG);
	cr_assert_null(trace_reader__open("/nonexistent/x.xpt"));
	cr_assert_eq(errno, ENOENT);
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_null(trace_reader__open(dir));
	cr_assert_eq(errno, EISDIR);
	rmdir(dir);
}

/* Two columns of 8 bytes where this program's counter has them, and @more after or instead. */
static int decode_counter(unsigned int columns, struct decoded *out)
{
	struct packer *p = calloc(1, sizeof(*p));
	struct decoder *d = decoder__new();
	uint64_t v[3] = {0, 10, 20}, values[3];
	struct chunk_head head = {.kind = CHUNK_RECORDS, .count = 3, .first_ns = 1000};
	uint8_t buf[512] = {0}, *end = buf;
	unsigned int i;
	int err;

	head.last_ns = 1020;
	end = pack__column(p, end, v, 3, 8, PACK_RISING, NULL, NULL);
	end = pack__constant(end, 55, 4);
	end = pack__varint(end, 1);
	end = pack__varint(end, REC_COUNTER);
	end = pack__varint(end, 3);
	end = pack__varint(end, columns * 8);
	end = pack__varint(end, 0);
	for (i = 0; i < columns; i++) {
		values[0] = 100 * i + 1;
		values[1] = 100 * i + 2;
		values[2] = 100 * i + 3;
		end = pack__column(p, end, values, 3, 8, PACK_PLAIN, NULL, NULL);
	}
	head.stored = head.raw = (uint32_t)(end - buf);
	err = decoder__decode(d, &head, buf, ~0ULL, out);
	decoder__free(d);
	free(p);
	return err;
}

/* Fixed parts of other versions: longer ones lose what is unknown, shorter ones get zeros. */
Test(trace_damage, fixed_parts_of_other_versions)
{
	static const unsigned int columns[] = {0, 1, 2, 3, 5};
	struct decoded out = {0};
	const struct rec_counter *r;
	uint64_t value;
	unsigned int k, i;

	for (k = 0; k < 5; k++) {
		cr_assert_eq(decode_counter(columns[k], &out), 0);
		cr_assert_eq(out.count, 3);
		cr_assert_eq(out.bytes, 3 * sizeof(*r));
		for (i = 0; i < 3; i++) {
			r = (const struct rec_counter *)out.rows + i;
			cr_assert_eq(r->hdr.type, REC_COUNTER);
			cr_assert_eq(r->hdr.size, sizeof(*r));
			cr_assert_eq(r->hdr.tid, 55);
			cr_assert_eq(r->hdr.time_ns, 1000 + i * 10);
			cr_assert_eq(r->name, columns[k] > 0 ? 1 + i : 0);
			memcpy(&value, &r->value, sizeof(value));
			cr_assert_eq(value, columns[k] > 1 ? 101 + i : 0);
		}
	}
	free(out.rows);
}
