/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace file: trace(5) describes it, nothing outside this folder knows it.
 *
 * A trace is written in rounds. In a round each ring that got records is sealed into one or more
 * chunks; a watermark ends the round and promises that no record older than it will follow. The
 * reader needs no more than one round of compressed chunks and one decoded chunk per ring.
 */
#ifndef XPUGAP_TRACE_TRACE_H
#define XPUGAP_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/include/events.h"

/* ---- writer ---- */

struct trace_writer;

struct trace_writer_opts {
	int level;	   /* of zstd; 0: the default, 1 */
	uint64_t round_ns; /* longest time between watermarks; 0: 250 ms */
	uint64_t begin_ns; /* when the recording began; 0: at its first record */
	bool sync;	   /* make each round durable (fdatasync) without stopping the caller */
	bool carry;	   /* remember what trace_writer__next_file() has to say again */
	/*
	 * If not 0: write nothing, but keep the last so much in memory, compressed. Then @fd is not
	 * used, and trace_writer__next_file() writes out what there is, and goes on.
	 */
	uint64_t window_ns;
	uint64_t window_bytes; /* and at most so much; at least WINDOW_LEAST_BYTES */
	/* Show @watch each record of @watch_type when it is appended. NULL: do not. */
	void (*watch)(void *arg, const struct rec *rec);
	uint16_t watch_type;
	/*
	 * Asked with @arg ten times a second while @fd is a pipe whose reader takes nothing; true:
	 * write no more, which is then an error (-ECANCELED). NULL: wait for it.
	 */
	bool (*give_up)(void *arg);
	void *arg;
};

#define WINDOW_LEAST_BYTES (1u << 20)

#define TRACE_RING_USER 0x4000 /* rings below are of the kernel and bear their cpu's number */
#define TRACE_RING_META 0xffff /* records of the recorder itself; always there */

/*
 * Begin a trace on @fd (a file, a pipe or a memfd; it stays the caller's); its first bytes are
 * written with the first record. NULL with errno. A writer belongs to one thread.
 */
struct trace_writer *trace_writer__new(int fd, const struct trace_writer_opts *opts);

/*
 * The recording began then by both clocks, which are not those of this machine now: for a trace
 * that is written again, before its first record.
 */
void trace_writer__began(struct trace_writer *w, uint64_t begin_ns, uint64_t realtime_ns);

/*
 * Append one record to @ring. Kernel rings have their cpu's number; other sources take numbers
 * from trace_writer__new_ring(). Records of a ring should come in order of time: one that is
 * late is moved to its place if its chunk is still open, else it gets the time of the watermark
 * and is counted (trace_writer_stats.clamped). 0 or -errno; after a failed write (disk full) all
 * further records are counted as lost and the first error is returned by every call. -EINVAL
 * for a record that is not well formed (see record__check()), which is not counted.
 */
int trace_writer__append(struct trace_writer *w, uint16_t ring, const struct rec *rec);

/*
 * Append a record with strings: @fixed is its head and fixed part, of which the size and the LEN
 * fields are set here; @texts are the @n strings of the tail. What does not fit is cut.
 */
int trace_writer__append_text(struct trace_writer *w, uint16_t ring, const struct rec *fixed,
			      const char *const *texts, unsigned int n);

/* A new ring number for a source of user space; -ENOSPC when all 49,151 are taken. */
int trace_writer__new_ring(struct trace_writer *w);

/* Append a META record: a fact of the recording. */
int trace_writer__meta(struct trace_writer *w, uint64_t time_ns, const char *key,
		       const char *value);

/*
 * End a round if the last is older than opts.round_ns or holds too much: call it after each
 * sweep over the sources with the time at which the sweep began. @force ends it in any case.
 */
int trace_writer__round(struct trace_writer *w, uint64_t swept_ns, bool force);

struct trace_writer_stats {
	uint64_t records;
	uint64_t bytes;	    /* in the file */
	uint64_t raw_bytes; /* of the records */
	uint64_t clamped;
	uint64_t lost; /* not written because the file took no more */
	int err;
};
void trace_writer__stats(const struct trace_writer *w, struct trace_writer_stats *out);

/*
 * Complete the file and go on in another, @fd, which opens alone: what trace_writer_opts.carry
 * remembers stands at its head. No record older than @swept_ns may follow; that is when the new
 * file begins. Rings keep their numbers. @facts are pairs of key and value about the new
 * file, NULL-terminated, or NULL. @done is the file that has its end now, but may not be
 * durable yet. 0 or -errno: the writer is then as after a failed write, and @fd was not used.
 *
 * With opts.window_ns, @fd becomes a file of what is kept, and @done is that file: a thread writes
 * it. A file that cannot be written is then no failure of the writer; trace_part__finish() says so.
 */
struct trace_part;
int trace_writer__next_file(struct trace_writer *w, int fd, uint64_t swept_ns,
			    const char *const *facts, struct trace_part **done);

/* What is told to be open from here on and not to have ended is so at the head of the next file. */
void trace_writer__ask(struct trace_writer *w);

/* Is it durable, so that trace_part__finish() does not wait? */
bool trace_part__is_durable(struct trace_part *p);
/* Release it once it is durable; its descriptor stays the caller's. 0 or -errno. NULL: 0. */
int trace_part__finish(struct trace_part *p);

/* Seal everything, write the index, wait until it is durable. 0 or the first error. */
int trace_writer__finish(struct trace_writer *w);
void trace_writer__free(struct trace_writer *w);

/* ---- reader ---- */

struct trace_reader;

/* One record; @rec is valid until the next call. @ring says whose: a cpu or a user ring. */
struct trace_event {
	const struct rec *rec;
	uint16_t ring;
};

/*
 * Open a trace; "-" reads standard input. The head is read and checked. NULL with errno, after
 * printing why (not a trace, newer version, empty, a directory, no such file).
 */
struct trace_reader *trace_reader__open(const char *path);
/* The same on an open file, which stays the caller's; @name is for messages. */
struct trace_reader *trace_reader__open_fd(int fd, const char *name);

/* Sets of types: a bit for each, the last for all types that have none of their own. */
#define TRACE_TYPE(type) (1ULL << ((type) < 63 ? (type) : 63))
/* Types that define what others name: tasks, strings, devices, clocks, facts of the recording. */
#define TRACE_DEFINITIONS                                                                          \
	(TRACE_TYPE(REC_META) | TRACE_TYPE(REC_CLOCK) | TRACE_TYPE(REC_HOOK) |                     \
	 TRACE_TYPE(REC_TASK) | TRACE_TYPE(REC_ROW) | TRACE_TYPE(REC_TASK_FORK) |                  \
	 TRACE_TYPE(REC_TASK_EXEC) | TRACE_TYPE(REC_TASK_EXIT) | TRACE_TYPE(REC_TASK_COMM) |       \
	 TRACE_TYPE(REC_NAME) | TRACE_TYPE(REC_ROLE) | TRACE_TYPE(REC_DEVICE))

struct trace_filter {
	uint64_t from_ns; /* deliver what is not older, ... */
	uint64_t to_ns;	  /* ... and not newer than this; 0: to the end */
	uint64_t types;	  /* and of these types; 0: all */
	uint64_t before;  /* of these types also what is older than from_ns */
};

/*
 * Deliver only what passes @filter; to be called before the first record. What cannot pass is not
 * decoded and, where possible, not even read; damage there is not noticed. 0 or -errno.
 */
int trace_reader__filter(struct trace_reader *r, const struct trace_filter *filter);

/* At the end of a file that is not complete, wait until the recorder has written more. */
void trace_reader__follow(struct trace_reader *r);

/* Call @idle before waiting for more, of a file that is followed or a pipe. */
void trace_reader__on_idle(struct trace_reader *r, void (*idle)(void *arg), void *arg);

/*
 * The next record over all rings in order of time. 1: @ev is set; 0: the end; -errno otherwise
 * (printed).
 * Damage inside the file is not an error: what can be read is read, trace_reader__damage() says
 * what could not.
 */
int trace_reader__next(struct trace_reader *r, struct trace_event *ev);

struct trace_damage {
	bool bad_head;		  /* begin_ns and realtime_ns are not known */
	bool truncated;		  /* the end is missing: no index */
	uint64_t bad_chunks;	  /* missing, or with a wrong checksum or contents */
	uint64_t bad_records;	  /* at least so many were in them */
	uint64_t skipped_bytes;	  /* that belong to no chunk */
	uint64_t unknown_records; /* of types newer than this reader: not delivered */
};
/* Is anything missing in the trace? Types that are newer than this program are not. */
bool trace_damage__any(const struct trace_damage *d);
void trace_reader__damage(const struct trace_reader *r, struct trace_damage *out);

struct trace_info {
	uint16_t version_major, version_minor;
	uint64_t bytes;	   /* read so far, or of the file where it has a size */
	uint64_t begin_ns; /* when the recording began, by both clocks */
	uint64_t realtime_ns;
	uint64_t records; /* delivered so far */
	uint64_t held;	  /* in what was read or passed over so far, whether delivered or not */
	bool complete;	  /* has an index: the recorder ended well */
	bool seekable;	  /* a file, not a pipe */
};
void trace_reader__info(const struct trace_reader *r, struct trace_info *out);
void trace_reader__free(struct trace_reader *r);

#endif
