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

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log__set_level(LOG_NONE);
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

/* A file with the data; @stream: not from its beginning, which makes it no better than a pipe. */
static int file_of(const uint8_t *data, size_t size, bool stream)
{
	int fd = memfd_create("fuzz", 0);

	if (fd < 0 || (stream && write(fd, "", 1) != 1) || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, stream, SEEK_SET) != stream)
		abort();
	return fd;
}

static void check_json(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = malloc((size_t)size + 1), *line, *end;
	json_t *root;

	if (!text || pread(fd, text, (size_t)size, 0) != size)
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

static uint64_t read_all(struct trace_reader *r, bool json)
{
	int fd = memfd_create("lines", 0);
	struct trace_state *state = trace_state__new();
	struct trace_event ev;
	struct trace_info info;
	struct trace_damage damage;
	struct printer *p;
	uint64_t n = 0, last_ns = 0;
	struct out out;
	int ret;

	trace_reader__info(r, &info);
	if (fd < 0 || out__init(&out, fd) || !state)
		abort();
	p = printer__new(&out, state, json, json ? PRINT_RELATIVE : PRINT_REAL, info.begin_ns,
			 info.realtime_ns);
	if (!p)
		abort();
	while ((ret = trace_reader__next(r, &ev)) == 1) {
		check_record(&ev, &last_ns);
		trace_state__feed(state, ev.rec);
		if (n++ < PRINTED_MAX)
			printer__print(p, &ev);
	}
	trace_reader__info(r, &info);
	trace_reader__damage(r, &damage);
	if (ret || info.records != n || out__flush(&out))
		abort();
	if (json)
		check_json(fd);
	printer__free(p);
	trace_state__free(state);
	out__destroy(&out);
	close(fd);
	return n;
}

static uint64_t read_as(const uint8_t *data, size_t size, bool stream,
			const struct trace_filter *filter)
{
	int fd = file_of(data, size, stream);
	struct trace_reader *r = trace_reader__open_fd(fd, "fuzz");
	uint64_t n = 0;

	if (r) {
		if (filter && trace_reader__filter(r, filter))
			abort();
		n = read_all(r, !stream);
		trace_reader__free(r);
	}
	close(fd);
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
	n = read_as(copy, size, false, NULL);
	if (read_as(copy, size, true, NULL) != n)
		abort();
	read_as(copy, size, data[0] & 2, &filter);
	free(copy);
	return 0;
}
