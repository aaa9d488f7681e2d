/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the loader: what consumer and workers share.
 *
 * All of it lies in one mapping that forked workers inherit, so that threads and processes run
 * the same code. Samples are numbered over all epochs; a worker takes the next number, waits
 * until the slot of its batch is free, and puts the image in its place there. The last one to
 * finish wakes the consumer. Slots are few: that bounds how far workers run ahead.
 */
#ifndef XPUGAP_DATA_LOADER_IMPL_H
#define XPUGAP_DATA_LOADER_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "workloads/data/augment.h"
#include "workloads/data/folder.h"
#include "workloads/data/jpeg.h"
#include "workloads/data/loader.h"

#define LOADER_HELD  2	/* batches that the consumer may hold */
#define LOADER_ALIGN 64 /* of images */
#define LOADER_GOOD  UINT32_MAX

struct slot {
	_Atomic uint64_t batch; /* the one that may be written or read here now */
	_Atomic uint32_t done;	/* of its samples */
	_Atomic uint32_t bad;	/* a sample of the batch that failed, or LOADER_GOOD */
	/* why, valid when bad is set and done is complete */
	int err;
	uint64_t file;
	char reason[200];
};

/* Totals of all workers, as loader_stats. */
struct loader_totals {
	_Atomic uint64_t images, bytes, warnings;
	_Atomic uint64_t read_ns, decode_ns, augment_ns, collate_ns;
};

struct loader_shared {
	_Atomic uint64_t next;	   /* sample that the next worker to ask takes */
	_Atomic uint32_t released; /* futex: changes when a slot is freed or stop is set */
	_Atomic uint32_t stop;
	struct loader_totals totals;
	struct slot slots[];
};

struct worker {
	struct loader *loader;
	struct worker_tools *tools;
	uint32_t number;
	pthread_t thread;
	pid_t pid;
	int pidfd;
};

struct loader {
	struct loader_opts opts;
	struct folder folder;
	uint64_t epoch_samples; /* that an epoch takes */
	uint64_t epoch_batches;
	uint32_t nslots;

	struct loader_shared *shared;
	size_t shared_size;
	size_t slot_floats; /* of a batch's images, rounded up so that the next is aligned */
	float *images;	    /* in the mapping: nslots batches, each slot_floats apart */
	int32_t *labels;    /* in the mapping */
	int ready_fd;	    /* eventfd: a batch is complete, or a worker gave up */

	struct worker *workers;
	uint32_t nworkers;	  /* started */
	struct worker_tools *own; /* the consumer's, where there are no workers */

	uint64_t batch; /* that the consumer gets next */
	_Atomic uint32_t held;
	uint64_t wait_ns;
	int err;
};

/* Decoder, filters and buffers of one worker; NULL with errno. */
struct worker_tools *worker_tools__new(const struct loader *l);
void worker_tools__free(struct worker_tools *t);

/*
 * Take the next sample and load it. 1: done; 0: there is none, or the loader stops. Where the
 * slot is not free, waits if @wait, else returns 0.
 */
int worker__sample(struct loader *l, struct worker_tools *t, bool wait);

/* The whole life of a worker thread or process. */
void worker__run(struct loader *l, struct worker_tools *t);

/* Images in batch @batch of the run. */
uint32_t loader__batch_size(const struct loader *l, uint64_t batch);

void loader__wake_workers(struct loader_shared *s);

#endif
