// SPDX-License-Identifier: BSD-2-Clause
/*
 * The last minutes of a recording in memory: rounds of chunks, as they would be in a file. What is
 * let go of is looked through once for what the rest needs to be understood.
 */
#include "userspace/trace/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/caller.h"

#define PAD 8 /* bytes past a payload that its decoder may read */

/* A round, shared with the files that are being made of it. */
struct kept {
	struct kept *next;
	uint32_t refs;
	uint64_t watermark;
	size_t bytes;
	uint8_t chunks[];
};

struct window {
	uint64_t ns, max_bytes, bytes;
	struct kept *first, **last;
	uint64_t begin_ns;	   /* nothing that is kept is older; 0: nothing was let go of */
	struct trace_carry *carry; /* as it was then */
	struct decoder *decoder;
	struct decoded rows;
};

/* A file under way. What it is made of is let go of by its thread, or when it is released. */
struct window_dump {
	struct trace_writer *w;
	struct kept **rounds;
	size_t n, at;
	pthread_t thread;
	uint32_t ended;
	int err;
};

static void let_go(struct kept *k)
{
	if (k && __atomic_sub_fetch(&k->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(k);
}

void window__free(struct window *win)
{
	struct kept *k;

	if (!win)
		return;
	while ((k = win->first)) {
		win->first = k->next;
		let_go(k);
	}
	trace_carry__free(win->carry);
	decoder__free(win->decoder);
	free(win->rows.rows);
	free(win);
}

struct window *window__new(uint64_t ns, uint64_t bytes)
{
	struct window *win = calloc(1, sizeof(*win));

	if (!win)
		return NULL;
	win->ns = ns;
	win->max_bytes = bytes;
	win->last = &win->first;
	win->carry = trace_carry__new();
	win->decoder = decoder__new();
	if (win->carry && win->decoder)
		return win;
	window__free(win);
	return NULL;
}

uint64_t window__bytes(const struct window *win)
{
	return win->bytes;
}

/* ---- taking and letting go ---- */

/* What the records of a chunk define; one that cannot be decoded was made by ourselves. */
static int remember(struct window *win, const struct chunk_head *head, const uint8_t *payload)
{
	uint64_t types = head->types & trace_carry__types();
	const struct rec *rec;
	uint32_t at;
	int err;

	if (head->kind != CHUNK_RECORDS || !types)
		return 0;
	err = decoder__decode(win->decoder, head, payload, types, &win->rows);
	for (at = 0; !err && at < win->rows.bytes; at += rec->size) {
		rec = (const struct rec *)(win->rows.rows + at);
		if (trace_carry__wants(rec->type))
			err = trace_carry__feed(win->carry, rec);
	}
	return err;
}

/* Call @fn with each chunk of @k until it returns other than 0. */
static int each_chunk(const struct kept *k, void *arg,
		      int (*fn)(void *arg, const struct chunk_head *head, const uint8_t *payload))
{
	struct chunk_head head;
	size_t at = 0;
	int err = 0;

	for (; !err && at < k->bytes; at += sizeof(head) + head.stored) {
		memcpy(&head, k->chunks + at, sizeof(head));
		err = fn(arg, &head, k->chunks + at + sizeof(head));
	}
	return err;
}

static int remember_chunk(void *arg, const struct chunk_head *head, const uint8_t *payload)
{
	return remember(arg, head, payload);
}

static int let_first_go(struct window *win)
{
	struct kept *k = win->first;
	int err = each_chunk(k, win, remember_chunk);

	if (!err)
		err = trace_carry__settle(win->carry, k->watermark);
	win->begin_ns = k->watermark;
	win->bytes -= k->bytes;
	win->first = k->next;
	if (!win->first)
		win->last = &win->first;
	let_go(k);
	return err;
}

int window__take(struct trace_writer *w)
{
	struct window *win = w->window;
	struct kept *k = malloc(sizeof(*k) + w->out_used + PAD);
	int err = 0;

	if (!k)
		return writer__fail(w, -ENOMEM);
	k->next = NULL;
	k->refs = 1;
	k->watermark = w->watermark;
	k->bytes = w->out_used;
	memcpy(k->chunks, w->out, w->out_used);
	memset(k->chunks + k->bytes, 0, PAD);
	w->out_used = 0;
	*win->last = k;
	win->last = &k->next;
	win->bytes += k->bytes;
	while (!err && win->first != k &&
	       (win->bytes > win->max_bytes || win->first->watermark + win->ns < k->watermark))
		err = let_first_go(win);
	return err ? writer__fail(w, err) : 0;
}

/* ---- a file of what there is ---- */

static int write_chunk(void *arg, const struct chunk_head *head, const uint8_t *payload)
{
	return head->kind == CHUNK_RECORDS ? writer__emit_again(arg, head, payload) : 0;
}

static void *write_rounds(void *arg)
{
	struct window_dump *d = arg;
	int err = 0;

	caller__drop_caps();
	for (; !err && d->at < d->n; d->at++) {
		err = each_chunk(d->rounds[d->at], d->w, write_chunk);
		if (!err)
			err = writer__end_round(d->w, d->rounds[d->at]->watermark);
		let_go(d->rounds[d->at]);
	}
	d->err = trace_writer__finish(d->w);
	__atomic_store_n(&d->ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void free_dump(struct window_dump *d)
{
	for (; d->at < d->n; d->at++)
		let_go(d->rounds[d->at]);
	free(d->rounds);
	trace_writer__free(d->w);
	free(d);
}

bool window_dump__has_ended(struct window_dump *d)
{
	return __atomic_load_n(&d->ended, __ATOMIC_ACQUIRE);
}

int window_dump__finish(struct window_dump *d)
{
	int err;

	pthread_join(d->thread, NULL);
	err = d->err;
	free_dump(d);
	return err;
}

static int hold_rounds(struct window_dump *d, const struct window *win)
{
	struct kept *k;
	size_t n = 0;

	for (k = win->first; k; k = k->next)
		n++;
	d->rounds = calloc(n ? n : 1, sizeof(struct kept *));
	if (!d->rounds)
		return -ENOMEM;
	for (k = win->first; k; k = k->next) {
		__atomic_add_fetch(&k->refs, 1, __ATOMIC_RELAXED);
		d->rounds[d->n++] = k;
	}
	return 0;
}

/* Its thread must not take signals that are meant for the program. */
static int start(struct window_dump *d)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&d->thread, NULL, write_rounds, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static int prepare(struct window_dump *d, struct trace_writer *w, int fd, const char *const *facts)
{
	struct window *win = w->window;
	uint64_t begin_ns = win->begin_ns ? win->begin_ns : w->begin_ns;
	const struct trace_writer_opts opts = {
		.level = w->level,
		.sync = w->sync,
		.begin_ns = begin_ns,
	};
	int err;

	d->w = trace_writer__new(fd, &opts);
	if (!d->w)
		return -errno;
	err = writer__tell(d->w, win->carry, begin_ns, facts);
	if (!err)
		err = trace_writer__round(d->w, begin_ns, true);
	return err ? err : hold_rounds(d, win);
}

int window__dump(struct trace_writer *w, int fd, const char *const *facts, struct trace_part **done)
{
	struct trace_part *p = calloc(1, sizeof(*p));
	struct window_dump *d = calloc(1, sizeof(*d));
	int err = -ENOMEM;

	if (p && d)
		err = prepare(d, w, fd, facts);
	if (!err)
		err = start(d);
	if (err) {
		if (d)
			free_dump(d);
		free(p);
		return err;
	}
	p->dump = d;
	*done = p;
	return 0;
}
