// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/suite/datafile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/lib/json.h"
#include "userspace/lib/log.h"
#include "userspace/lib/text.h"

/*
 * Lines gather in memory and go out whole, in one write, so that a kill does not leave half a
 * line. What does not fit on the disk is cut after the last line that does.
 *
 * @ends: where the lines of observations end in text
 * @observations: those in the file
 */
struct datafile {
	int fd;
	char *path;
	FILE *out; /* into text */
	char *text;
	size_t size;
	size_t *ends;
	size_t nends, max_ends;
	uint64_t observations;
	int err;
};

struct datafile *datafile__new(const char *path)
{
	struct datafile *d = calloc(1, sizeof(*d));
	int err = 0;

	if (!d) {
		log_error("out of memory");
		return NULL;
	}
	d->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
	if (d->fd < 0) {
		err = errno;
		log_error("cannot create '%s': %s", path, log__err(err));
		goto out;
	}
	d->path = strdup(path);
	d->out = open_memstream(&d->text, &d->size);
	if (d->path && d->out)
		return d;
	err = ENOMEM;
	log_error("out of memory");
out:
	datafile__close(d);
	errno = err;
	return NULL;
}

static void begin(struct datafile *d, const char *event)
{
	fprintf(d->out, "{\"event\": \"%s\", \"data\": ", event);
}

static void end(struct datafile *d, const char *pipe)
{
	if (pipe)
		fprintf(d->out, ", \"pipe\": \"%s\"}\n", pipe);
	else
		fputs(", \"pipe\": null}\n", d->out);
}

static void write_str(struct datafile *d, const char *s, size_t n)
{
	struct json j;

	json__init(&j, d->out, 0);
	json__strn(&j, NULL, s, n);
}

void datafile__event(struct datafile *d, const char *event, json_t *data, const char *pipe)
{
	struct json j;

	/* the event's name may come from the program: it is written as a string */
	json__init(&j, d->out, 0);
	fputs("{\"event\": ", d->out);
	json__str(&j, NULL, event);
	fputs(", \"data\": ", d->out);
	if (!data || json_dumpf(data, d->out, JSON_ENSURE_ASCII | JSON_ENCODE_ANY) < 0)
		fputs("null", d->out);
	end(d, pipe);
	json_decref(data);
}

static bool is_utf8(const char *s, size_t n)
{
	size_t len;

	for (; n; s += len, n -= len)
		if (utf8__decode(s, n, &len) == UTF8_REPLACEMENT &&
		    !(len == 3 && memcmp(s, "\xef\xbf\xbd", 3) == 0))
			return false;
	return true;
}

static void write_bytes(FILE *out, const char *s, size_t n)
{
	size_t i;

	fputc('"', out);
	for (i = 0; i < n; i++)
		fprintf(out, "\\u%04x", (unsigned char)s[i]);
	fputc('"', out);
}

void datafile__line(struct datafile *d, const char *pipe, const char *line, size_t n)
{
	if (is_utf8(line, n)) {
		begin(d, "line");
		write_str(d, line, n);
	} else {
		begin(d, "binary");
		write_bytes(d->out, line, n);
	}
	end(d, pipe);
}

static void note_observation(struct datafile *d)
{
	size_t max = d->max_ends ? 2 * d->max_ends : 64;
	long at = ftell(d->out);
	size_t *ends;

	if (d->nends == d->max_ends) {
		ends = realloc(d->ends, max * sizeof(*ends));
		if (!ends && !d->err)
			d->err = -ENOMEM;
		if (!ends)
			return;
		d->ends = ends;
		d->max_ends = max;
	}
	d->ends[d->nends++] = (size_t)at;
}

void datafile__record(struct datafile *d, const struct voir_record *r, const char *line, size_t n)
{
	switch (r->kind) {
	case VOIR_DATA:
		while (n && isspace((unsigned char)line[n - 1]))
			n--;
		begin(d, "data");
		fwrite(line, 1, n, d->out);
		break;
	case VOIR_EVENT:
		datafile__event(d, r->event, json_incref(r->data), "data");
		return;
	case VOIR_BAD:
		begin(d, "format_error");
		fputs("{\"line\": ", d->out);
		write_str(d, line, n);
		fputs(", \"type\": ", d->out);
		write_str(d, r->type, strlen(r->type));
		fputs(", \"message\": ", d->out);
		write_str(d, r->message, strlen(r->message));
		fputc('}', d->out);
		break;
	}
	end(d, "data");
	if (r->kind == VOIR_DATA && r->has_rate)
		note_observation(d);
}

/* Take half a line away again; @done bytes of the text were written. How many are left. */
static size_t cut(struct datafile *d, size_t done)
{
	off_t at = lseek(d->fd, 0, SEEK_CUR);
	size_t half = 0;

	while (half < done && d->text[done - half - 1] != '\n')
		half++;
	if (half && (at < 0 || ftruncate(d->fd, at - (off_t)half)))
		log_debug("'%s' ends with half a line", d->path);
	return done - half;
}

static int write_out(struct datafile *d)
{
	size_t done = 0, i;
	int err = 0;
	ssize_t n;

	while (done < d->size && !err) {
		n = write(d->fd, d->text + done, d->size - done);
		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			err = -errno;
	}
	if (err)
		done = cut(d, done);
	for (i = 0; i < d->nends; i++)
		d->observations += d->ends[i] <= done;
	return err;
}

int datafile__flush(struct datafile *d)
{
	if (fflush(d->out) != 0 && !d->err)
		d->err = -ENOMEM;
	if (d->size == 0)
		return d->err;
	if (!d->err) {
		d->err = write_out(d);
		if (d->err)
			log_error("cannot write '%s': %s", d->path, log__err(d->err));
	}
	rewind(d->out);
	d->nends = 0;
	return d->err;
}

uint64_t datafile__observations(const struct datafile *d)
{
	return d->observations;
}

int datafile__close(struct datafile *d)
{
	int err = 0;

	if (!d)
		return 0;
	if (d->out) {
		err = datafile__flush(d);
		fclose(d->out);
	}
	if (d->fd >= 0 && close(d->fd) < 0 && !err) {
		err = -errno;
		log_error("cannot write '%s': %s", d->path, log__err(err));
	}
	free(d->text);
	free(d->ends);
	free(d->path);
	free(d);
	return err;
}
