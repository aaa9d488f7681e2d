/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's own state. What is per process and per thread lies in memory that a fork wipes
 * (MADV_WIPEONFORK), so that a child finds itself unattached whichever way it was made, at no
 * cost to the marks.
 */
#ifndef XPUGAP_MARK_STATE_H
#define XPUGAP_MARK_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/mark/abi.h"

#pragma GCC visibility push(hidden)

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum mark_state {
	MARK_OFF = 0, /* nobody records: marks return at once */
	MARK_TRY = 1, /* the next mark attaches */
	MARK_ON = 2,
};

/*
 * A name that a thread used lately and that went out: names are nearly always literals, so where
 * one is tells what it is, and comparing it costs less than hashing it.
 */
struct mark_known {
	const char *where;
	uint64_t id;
	char text[240]; /* longer names are hashed each time */
};

#define MARK_KNOWN 64U /* a power of two */

/* The producer's side of a ring. @ring is NULL after a fork, all else is then meaningless. */
struct mark_thread {
	struct mark_ring *ring;
	unsigned char *data;
	uint64_t head;
	uint64_t tail; /* as it was when last looked at */
	uint64_t bytes;
	struct mark_known *known;
	uint64_t corr, corr_end; /* correlation ids set aside for this thread */
	uint64_t salt;		 /* of the names seen, see mark_seen */
	uint32_t tid;
	uint32_t held; /* by a living thread */
} __attribute__((aligned(64)));

/* The thread that marks has busy set: a signal handler's mark in the middle of it is counted. */
struct mark_tls {
	struct mark_thread *thread;
	uint32_t busy;
};

extern enum mark_state mark_state;
extern int64_t mark_time_offset;
/*
 * MARK_SEEN ids of names that went out, each combined with the salt of the thread that sent it:
 * one that still writes to the recorder before tells nothing to the next. Wiped by a fork.
 */
extern uint64_t *mark_seen;
extern __thread struct mark_tls mark_tls __attribute__((tls_model("initial-exec")));

#define MARK_SEEN 4096U
#define MARK_SALT 0x9E3779B97F4A7C15ULL

static inline enum mark_state mark__state(void)
{
	return __atomic_load_n(&mark_state, __ATOMIC_RELAXED);
}

static inline void mark__set_state(enum mark_state s)
{
	__atomic_store_n(&mark_state, s, __ATOMIC_RELEASE);
}

/* Can @t be written to? */
static inline bool mark__has_ring(const struct mark_thread *t)
{
	return t && t->ring && !__atomic_load_n(&t->ring->closed, __ATOMIC_RELAXED);
}

/* attach.c; all keep errno. A ring for the calling thread, or NULL: what was a mark is to be
 * counted. */
struct mark_thread *mark__claim(void);
/* A mark found no ring to count itself in. */
void mark__count_lost(void);
void mark__ring_full(struct mark_thread *t);
uint64_t mark__correlation_block(uint64_t n);
/* Attach if that was not tried yet, so that xpugap_now() has its offset. */
void mark__attach_now(void);
bool mark__connect(const char *where);
/* The lock of the process's state; it may fail where its holder does not get on. */
bool mark__lock(void);
void mark__unlock(void);

/* env.c */
struct mark_where {
	char address[MARK_ADDRESS_MAX + 1]; /* without the @ */
	uint32_t slots;
	uint64_t ring_bytes;
};
/* 0 or -EINVAL; @where may be NULL */
int mark_where__parse(struct mark_where *w, const char *where);
/* Tells an image of a program from the next that the same process executes. */
uint32_t mark__image(void);

/* devices.c: what DEVICE records said, for children of fork, whose spans name them too. */
void mark_devices__remember(uint32_t device, const char *name);
void mark_devices__send(struct mark_thread *t);

/* mark.c */
bool mark__emit_device(struct mark_thread *t, uint32_t device, const char *name);

#pragma GCC visibility pop

#endif
