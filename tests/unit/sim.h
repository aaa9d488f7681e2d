/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine made up: threads that run, wait, sleep, stop, fork, exit, mark steps and carry units
 * on a few cpus, the records that hooks and marks would emit for it, and the truth, which is
 * added up moment by moment as it happens and not from the records.
 */
#ifndef TESTS_UNIT_SIM_H
#define TESTS_UNIT_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/account/facts.h"
#include "analysis/steps.h"
#include "bpf/include/events.h"

#define SIM_THREADS 24
#define SIM_CPUS    4
#define SIM_STREAMS 2
#define SIM_STEPS   4096
#define SIM_UNITS   4096
#define SIM_LOADER  0x4c4f4144ULL /* NAME id of "loader" in these records */

struct sim_thread {
	bool alive;
	uint32_t tid, pid;
	enum host_state state;
	int cpu;     /* while it runs */
	int stream;  /* whose steps it carries, or -1 */
	int process; /* index of the stream its process belongs to */
	bool loader;
	uint64_t ioctl_since;
};

struct sim_step {
	uint64_t number, begin_ns, end_ns, items;
	struct facts facts[STEP_GROUPS];
};

struct sim_unit {
	uint64_t id, begin_ns, end_ns;
	int carrier; /* index of the thread */
	struct facts facts;
};

struct sim_stream {
	struct sim_step steps[SIM_STEPS];
	size_t n;  /* complete */
	bool open; /* steps[n] has begun */
	uint64_t next;
};

struct sim {
	uint64_t seed, now, sched_from;
	struct sim_thread threads[SIM_THREADS];
	int on_cpu[SIM_CPUS]; /* index of a thread, or -1 */
	struct sim_stream streams[SIM_STREAMS];
	struct sim_unit units[SIM_UNITS];
	size_t nunits;
	struct facts total; /* of all threads, from the beginning on */
	uint8_t *records;   /* struct sim_record, one behind the other */
	size_t used, size, nrecords;
};

struct sim_record {
	uint32_t ring, size;
	uint8_t bytes[]; /* a struct rec, size bytes, a multiple of 8 */
};

/* Play @events random things; free with sim__free(). */
struct sim *sim__play(uint64_t seed, size_t events);
void sim__free(struct sim *s);
uint64_t sim__random(struct sim *s, uint64_t below);

/* Append a record, as tests do that make their own. */
void sim__emit(struct sim *s, uint32_t ring, struct rec *rec, uint16_t type, size_t size,
	       uint32_t tid);
#define SIM_EMIT(s, ring, TYPE, type, tid, ...)                                                    \
	sim__emit(s, ring, &((struct rec_##type){__VA_ARGS__}).hdr, REC_##TYPE,                    \
		  sizeof(struct rec_##type), tid)
/* A record with a text tail. */
void sim__emit_text(struct sim *s, struct rec *rec, uint16_t type, size_t size, uint32_t tid,
		    const char *text);

#endif
