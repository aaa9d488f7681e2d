// SPDX-License-Identifier: BSD-2-Clause
/* The worker's side of the loader: from a file's name to normalised pixels in a batch. */
#include "workloads/data/loader_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userspace/lib/log.h"
#include "userspace/mark/xpugap_mark.h"

struct worker_tools {
	struct jpeg_decoder *decoder;
	struct resizer *resizer;
	struct normaliser normaliser;
	uint8_t *file;
	size_t room;
};

struct worker_tools *worker_tools__new(const struct loader *l)
{
	struct worker_tools *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	normaliser__init(&t->normaliser);
	t->decoder = jpeg_decoder__new();
	t->resizer = resizer__new(l->opts.side);
	if (t->decoder && t->resizer)
		return t;
	worker_tools__free(t);
	errno = ENOMEM;
	return NULL;
}

void worker_tools__free(struct worker_tools *t)
{
	if (!t)
		return;
	jpeg_decoder__free(t->decoder);
	resizer__free(t->resizer);
	free(t->file);
	free(t);
}

static int reserve_file(struct worker_tools *t, size_t size)
{
	if (size <= t->room)
		return 0;
	free(t->file);
	t->room = 0;
	t->file = malloc(size);
	if (!t->file)
		return -ENOMEM;
	t->room = size;
	return 0;
}

/* The whole file to t->file; its length or -errno. */
static ssize_t read_file(struct worker_tools *t, int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0, err = 0;
	struct stat st;
	size_t len = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	else
		err = reserve_file(t, (size_t)st.st_size + 1);
	while (!err && len < t->room) {
		n = read(fd, t->file + len, t->room - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (!err && n < 0)
		err = -errno;
	close(fd);
	return err ?: (ssize_t)len;
}

/* One sample: where it comes from, where it goes, and what went wrong. */
struct sample {
	uint64_t epoch;
	uint64_t batch;
	uint32_t place; /* in the batch */
	const struct folder_file *file;
	struct rng rng;
	const char *reason;
};

static void find_sample(const struct loader *l, uint64_t number, struct sample *s)
{
	uint64_t place = number % l->epoch_samples, index = place;
	struct rng key;

	s->epoch = number / l->epoch_samples;
	s->batch = s->epoch * l->epoch_batches + place / l->opts.batch;
	s->place = (uint32_t)(place % l->opts.batch);
	if (l->opts.shuffle) {
		key = rng__of(l->opts.seed, s->epoch, UINT64_MAX);
		index = rng__permute(rng__u64(&key), place, l->folder.n);
	}
	s->file = &l->folder.files[index];
	s->rng = rng__of(l->opts.seed, s->epoch, index);
	s->reason = "";
}

/* Ends the stage that began at *@since, adds its time to @total, and returns the time now. */
static void end_stage(const char *name, uint64_t *since, _Atomic uint64_t *total)
{
	uint64_t now = xpugap_now();

	xpugap_range_end(name);
	atomic_fetch_add_explicit(total, now - *since, memory_order_relaxed);
	*since = now;
}

static int decode(struct worker_tools *t, struct sample *s, size_t len, struct crop *crop,
		  const uint8_t **rgbx, size_t *stride)
{
	uint32_t width, height;
	int err;

	err = jpeg_decoder__open(t->decoder, t->file, len, &width, &height);
	if (!err) {
		crop__choose(crop, &s->rng, width, height);
		err = jpeg_decoder__region(t->decoder, crop->x, crop->y, crop->w, crop->h, rgbx,
					   stride);
	}
	if (err)
		s->reason = jpeg_decoder__error(t->decoder);
	return err;
}

static int load(struct loader *l, struct worker_tools *t, struct sample *s)
{
	struct loader_totals *total = &l->shared->totals;
	uint64_t since = xpugap_now(), slot = s->batch % l->nslots;
	size_t pixels = (size_t)l->opts.side * l->opts.side, stride;
	const uint8_t *rgbx;
	struct crop crop;
	ssize_t len;
	int err;

	xpugap_range_begin("read");
	len = read_file(t, l->folder.fd, s->file->path);
	end_stage("read", &since, &total->read_ns);
	if (len < 0)
		return (int)len;
	xpugap_range_begin("decode");
	err = decode(t, s, (size_t)len, &crop, &rgbx, &stride);
	end_stage("decode", &since, &total->decode_ns);
	if (err)
		return err;
	xpugap_range_begin("augment");
	rgbx = resizer__run(t->resizer, &crop, rgbx, stride);
	end_stage("augment", &since, &total->augment_ns);
	if (!rgbx)
		return -errno;
	xpugap_range_begin("collate");
	normaliser__run(&t->normaliser,
			l->images + slot * l->slot_floats + (size_t)s->place * pixels * 3, rgbx,
			pixels, l->opts.layout);
	l->labels[slot * l->opts.batch + s->place] = s->file->label;
	end_stage("collate", &since, &total->collate_ns);
	atomic_fetch_add_explicit(&total->images, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&total->bytes, (uint64_t)len, memory_order_relaxed);
	if (jpeg_decoder__warnings(t->decoder))
		atomic_fetch_add_explicit(&total->warnings, 1, memory_order_relaxed);
	return 0;
}

/* The sample is accounted for, well or not; the batch's last one wakes the consumer. */
static void finish_sample(struct loader *l, const struct sample *s, int err)
{
	struct slot *slot = &l->shared->slots[s->batch % l->nslots];
	uint32_t good = LOADER_GOOD;
	uint64_t one = 1;

	if (err && atomic_compare_exchange_strong(&slot->bad, &good, s->place)) {
		slot->err = err;
		slot->file = (uint64_t)(s->file - l->folder.files);
		snprintf(slot->reason, sizeof(slot->reason), "%s",
			 *s->reason ? s->reason : log__err(err));
	}
	if (atomic_fetch_add(&slot->done, 1) + 1 == loader__batch_size(l, s->batch))
		while (write(l->ready_fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

void loader__wake_workers(struct loader_shared *s)
{
	atomic_fetch_add(&s->released, 1);
	futex(&s->released, FUTEX_WAKE, INT32_MAX);
}

/* Wait until batch @batch may be written; false: the loader stops. */
static bool wait_for_slot(struct loader *l, uint64_t batch)
{
	struct loader_shared *s = l->shared;
	uint32_t seen;

	for (;;) {
		seen = atomic_load(&s->released);
		if (atomic_load(&s->stop))
			return false;
		if (atomic_load(&s->slots[batch % l->nslots].batch) == batch)
			return true;
		futex(&s->released, FUTEX_WAIT, seen);
	}
}

int worker__sample(struct loader *l, struct worker_tools *t, bool wait)
{
	uint64_t number, end = l->opts.epochs * l->epoch_samples;
	struct sample s;

	if (!wait) {
		find_sample(l, atomic_load(&l->shared->next), &s);
		if (atomic_load(&l->shared->slots[s.batch % l->nslots].batch) != s.batch)
			return 0;
	}
	number = atomic_fetch_add(&l->shared->next, 1);
	if (end && number >= end)
		return 0;
	find_sample(l, number, &s);
	if (!wait_for_slot(l, s.batch))
		return 0;
	finish_sample(l, &s, load(l, t, &s));
	return 1;
}

void worker__run(struct loader *l, struct worker_tools *t)
{
	xpugap_role("loader");
	while (worker__sample(l, t, true) > 0)
		;
}
