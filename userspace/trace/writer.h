/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the writer share: writer.c, writer_chunk.c, writer_round.c. */
#ifndef XPUGAP_TRACE_WRITER_H
#define XPUGAP_TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "userspace/trace/carry.h"
#include "userspace/trace/chunk.h"
#include "userspace/trace/format.h"
#include "userspace/trace/sink.h"
#include "userspace/trace/trace.h"

struct ring {
	uint8_t *rows;
	uint32_t used, cap;
	uint32_t limit; /* look at making room from here on */
	uint32_t count;
	uint64_t floor;	 /* no record may be older: the last of the chunk before */
	uint64_t newest; /* of the open chunk, or the floor */
	bool unsorted;
	bool touched; /* in this round */
	uint16_t id;
	struct ring *next; /* of all */
};

struct round {
	uint64_t offset;
	uint64_t first_ns, last_ns;
	uint64_t records;
	uint64_t types;
	uint64_t bytes;
	uint32_t chunks;
};

/* The state of the file at the end of a whole chunk. */
struct place {
	uint64_t written;
	uint64_t watermark;
	uint64_t records;
	uint64_t round_records; /* of them since the watermark */
	uint32_t round_chunks;
	uint32_t seq; /* of the next chunk */
};

struct window;

#define PLACES 8 /* together longer than what ends a file, but for the index */

struct trace_writer {
	struct sink *sink;
	struct encoder *encoder;
	uint64_t round_ns;
	uint64_t begin_ns;
	uint64_t realtime_ns;		    /* when it began; 0: by the clocks of this machine */
	struct ring *rings[UINT16_MAX + 1]; /* sparse: mostly never touched */
	struct ring *all_rings;
	uint16_t *touched; /* rings with records since the last watermark */
	uint32_t n_touched, cap_touched;
	uint32_t next_ring;
	/* chunks sealed but not written */
	uint8_t *out;
	size_t out_used, out_cap;
	struct place file;	     /* what is whole of it */
	struct place places[PLACES]; /* before each of the last chunks */
	uint32_t n_places;
	uint32_t seq;
	struct round round;
	uint64_t watermark, newest, last_round;
	struct index_entry *index;
	uint32_t n_index;
	uint32_t index_step; /* rounds in an entry of the index */
	uint32_t index_fill; /* in the last one */
	uint64_t lost_since, lost_until;
	bool finished;
	bool rest_indexed; /* what is at the end of the file stands in the index */
	bool sync;
	struct trace_writer_stats stats;
	struct trace_writer_stats before; /* of the files before this one */
	struct window *window;		  /* NULL: it is written */
	uint64_t round_max, round_cut;	  /* bytes, see ROUND_MAX_BYTES */
	void (*watch)(void *arg, const struct rec *rec);
	void *watch_arg;
	uint16_t watch_type;
	int level;
	struct trace_carry *carry; /* NULL: there will be no next file */
	bool telling;		   /* what it remembers is being written */
};

/* ---- writer_chunk.c ---- */

/* Remember for the next file what must be said there again. 0 or -ENOMEM, which has failed it. */
int writer__remember(struct trace_writer *w, const struct rec *rec);

/* From here on nothing more is written; what is not yet is lost. Returns the first error. */
int writer__fail(struct trace_writer *w, int err);
void writer__count_lost(struct trace_writer *w, uint64_t n, uint64_t from_ns, uint64_t to_ns);

/* The head of the file; @time_ns is its beginning if the options gave none. */
int writer__begin(struct trace_writer *w, uint64_t time_ns);

/* Add a chunk to what will be written; @head gets its magic, number and checksums here. */
int writer__emit(struct trace_writer *w, struct chunk_head *head, const void *payload);
int writer__flush(struct trace_writer *w);

/* Make chunks of the ring's records. */
int writer__seal(struct trace_writer *w, struct ring *r);

/* ---- writer_round.c ---- */

/* End the round although the caller did not, because it has become too long. */
int writer__cut_round(struct trace_writer *w);

/* The watermark @until_ns ends the round, which is written. */
int writer__end_round(struct trace_writer *w, uint64_t until_ns);

/* A chunk that was made before comes again, with another number. */
int writer__emit_again(struct trace_writer *w, const struct chunk_head *head, const void *payload);

/* ---- writer_part.c ---- */

/* Say at @time_ns what @c remembers, and the @facts of this file. */
int writer__tell(struct trace_writer *w, struct trace_carry *c, uint64_t time_ns,
		 const char *const *facts);

/* A file that has its end, or will have when its thread has written it. */
struct trace_part {
	struct sink *sink;
	struct window_dump *dump; /* instead */
};

/* ---- writer_window.c ---- */

struct window *window__new(uint64_t ns, uint64_t bytes);
void window__free(struct window *win);

/* Keep the round that has ended, and let go of what is too old or too much. 0 or -ENOMEM. */
int window__take(struct trace_writer *w);
uint64_t window__bytes(const struct window *win);

/* A thread writes what is kept to @fd. */
int window__dump(struct trace_writer *w, int fd, const char *const *facts,
		 struct trace_part **done);
bool window_dump__has_ended(struct window_dump *d);
int window_dump__finish(struct window_dump *d);

/* ---- writer_round.c ---- */

/* Write all that is still here, and the end of the file. 0 or -errno: it has failed. */
int writer__end_file(struct trace_writer *w);

static inline uint64_t timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

#endif
