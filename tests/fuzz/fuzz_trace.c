// SPDX-License-Identifier: BSD-2-Clause
/*
 * Traces of any content: read as a file and as a stream, filtered, printed. The first byte chooses
 * whether the checksums are left as they are, which few inputs survive, or made right first, so
 * that everything behind them meets everything.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace/cmd/print.h"
#include "userspace/lib/crc32c.h"
#include "userspace/lib/log.h"
#include "userspace/trace/format.h"
#include "userspace/trace/records.h"
#include "userspace/trace/trace.h"

#define PRINTED_MAX 100 /* records; more of them tell nothing new */
#define JSON_BYTES  (1u << 20)

/*
 * Made once and used for each input: files in memory (the second begins with a byte that is not
 * read, which makes it no better than a pipe), a buffer for what is printed, one for parsed JSON.
 */
static int file, stream_file, lines_file, nowhere;
static struct out out;
static char *json_memory;
static size_t json_used;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line's values need little memory, and all at once no more. */
static void *json_alloc(size_t size)
{
	char *p = json_memory + json_used;

	size = (size + 15) & ~(size_t)15;
	if (size > JSON_BYTES - json_used)
		abort();
	json_used += size;
	return p;
}

static void json_free(void *p)
{
	(void)p;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log__set_level(LOG_NONE);
	file = memfd_create("file", 0);
	stream_file = memfd_create("stream", 0);
	lines_file = memfd_create("lines", 0);
	nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	json_memory = malloc(JSON_BYTES);
	if (file < 0 || stream_file < 0 || lines_file < 0 || nowhere < 0 || !json_memory ||
	    write(stream_file, "", 1) != 1 || out__init(&out, nowhere))
		abort();
	json_set_alloc_funcs(json_alloc, json_free);
	return 0;
}

/* Make magics and checksums right, following the lengths as they are. */
static void mend(uint8_t *data, size_t size)
{
	struct trace_head head;
	struct chunk_head chunk;
	size_t at = sizeof(head), stored;

	if (size < sizeof(head))
		return;
	memcpy(&head, data, sizeof(head));
	memcpy(head.magic, TRACE_MAGIC, sizeof(head.magic));
	head.major = TRACE_VERSION_MAJOR;
	head.head_bytes = sizeof(head);
	head.crc = crc32c(&head, offsetof(struct trace_head, crc));
	memcpy(data, &head, sizeof(head));
	for (; size - at >= sizeof(chunk); at += stored) {
		memcpy(&chunk, data + at, sizeof(chunk));
		at += sizeof(chunk);
		stored = chunk.stored < size - at ? chunk.stored : size - at;
		chunk.magic = CHUNK_MAGIC;
		chunk.stored = (uint32_t)stored;
		if (chunk.codec == CODEC_NONE)
			chunk.raw = chunk.stored;
		chunk.crc = crc32c(data + at, stored);
		chunk.head_crc =
			crc32c((uint8_t *)&chunk + CHUNK_CRC_FROM, sizeof(chunk) - CHUNK_CRC_FROM);
		memcpy(data + at - sizeof(chunk), &chunk, sizeof(chunk));
	}
}

static void fill(int fd, off_t from, const uint8_t *data, size_t size)
{
	if (pwrite(fd, data, size, from) != (ssize_t)size || ftruncate(fd, from + (off_t)size))
		abort();
}

static void check_json(void)
{
	off_t size = lseek(lines_file, 0, SEEK_CUR);
	char *text = malloc((size_t)size + 1), *line, *end;
	json_t *root;

	if (!text || pread(lines_file, text, (size_t)size, 0) != size)
		abort();
	for (line = text; line < text + size; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + size - line));
		if (!end)
			abort();
		root = json_loadb(line, (size_t)(end - line),
				  JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
		if (!root)
			abort();
		json_decref(root);
		json_used = 0;
	}
	free(text);
}

/* What every record that a reader delivers promises. */
static void check_record(const struct trace_event *ev, uint64_t *last_ns)
{
	const struct record_desc *d = record__find(ev->rec->type);

	if (!d || record__check(ev->rec) || ev->rec->size < d->size || ev->rec->time_ns < *last_ns)
		abort();
	*last_ns = ev->rec->time_ns;
}

/* @max records are printed, which is checked if it is JSON. */
static uint64_t read_all(struct trace_reader *r, bool json, uint64_t max)
{
	struct trace_state *state = trace_state__new();
	struct trace_event ev;
	struct trace_info info;
	struct trace_damage damage;
	struct printer *p;
	uint64_t n = 0, last_ns = 0;
	int ret;

	trace_reader__info(r, &info);
	out.fd = json ? lines_file : nowhere;
	if (!state || lseek(lines_file, 0, SEEK_SET))
		abort();
	p = printer__new(&out, state, json, json ? PRINT_RELATIVE : PRINT_REAL, info.begin_ns,
			 info.realtime_ns);
	if (!p)
		abort();
	while ((ret = trace_reader__next(r, &ev)) == 1) {
		check_record(&ev, &last_ns);
		trace_state__feed(state, ev.rec);
		if (n++ < max)
			printer__print(p, &ev);
	}
	trace_reader__info(r, &info);
	trace_reader__damage(r, &damage);
	if (ret || info.records != n || out__flush(&out))
		abort();
	if (json && max)
		check_json();
	printer__free(p);
	trace_state__free(state);
	return n;
}

static uint64_t read_as(bool stream, const struct trace_filter *filter, uint64_t max)
{
	int fd = stream ? stream_file : file;
	struct trace_reader *r;
	uint64_t n = 0;

	if (lseek(fd, stream, SEEK_SET) != stream)
		abort();
	r = trace_reader__open_fd(fd, "fuzz");
	if (r) {
		if (filter && trace_reader__filter(r, filter))
			abort();
		n = read_all(r, !stream, max);
		trace_reader__free(r);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_filter filter = {0};
	uint8_t *copy;
	uint64_t n;

	if (size < 1 + sizeof(filter))
		return 0;
	copy = malloc(size);
	if (!copy)
		abort();
	size -= 1 + sizeof(filter);
	memcpy(copy, data + 1 + sizeof(filter), size);
	memcpy(&filter, data + 1, sizeof(filter));
	if (data[0] & 1)
		mend(copy, size);
	fill(file, 0, copy, size);
	fill(stream_file, 1, copy, size);
	n = read_as(false, NULL, PRINTED_MAX);
	if (read_as(true, NULL, PRINTED_MAX) != n)
		abort();
	/* what passes the filter is some of that: was all of it printed already? */
	read_as(data[0] & 2, &filter, n > PRINTED_MAX ? PRINTED_MAX : 0);
	free(copy);
	return 0;
}
