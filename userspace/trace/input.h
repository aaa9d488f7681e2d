/* SPDX-License-Identifier: BSD-2-Clause */
/* A window on a file or pipe that is read from front to back. Private to this folder. */
#ifndef XPUGAP_TRACE_INPUT_H
#define XPUGAP_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input {
	int fd;
	bool seekable;
	bool eof;
	int err;	 /* of a failed read, which then looks like an end */
	uint64_t offset; /* in the file, of the window's first byte that was not taken */
	uint64_t size;	 /* of the file, if seekable */
	uint8_t *buf;
	size_t cap, from, to;
	bool follow; /* the end of a file is not the end: wait for more */
	bool shrunk; /* a followed file was cut back before where we are: see input__seek() */
	void (*idle)(void *arg); /* before waiting */
	void *idle_arg;
};

int input__init(struct input *in, int fd);
void input__destroy(struct input *in);

/* Make @n bytes available at input__at(); false if the file ends before. */
bool input__need(struct input *in, size_t n);

static inline const uint8_t *input__at(const struct input *in)
{
	return in->buf + in->from;
}

static inline size_t input__available(const struct input *in)
{
	return in->to - in->from;
}

/* Take @n available bytes off the front. */
void input__take(struct input *in, size_t n);

/* Take @n bytes that need not be available, without reading them where that can be avoided. */
void input__skip(struct input *in, uint64_t n);

/* Go to @offset of a seekable file. */
int input__seek(struct input *in, uint64_t offset);

#endif
