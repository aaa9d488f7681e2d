/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a marked program and its recorder share: the environment variable, the hello, and the
 * memory that the marks go through.
 *
 * XPUGAP_MARK=@NAME[;ring=BYTES][;slots=N] names an abstract unix socket (SOCK_SEQPACKET) of the
 * recorder. At its first mark a process makes a memfd, maps it, connects, sends one struct
 * mark_hello with the memfd, and closes everything: it waits for no answer, needs no descriptor
 * from then on, and its marks are kept even if it ends before the recorder has looked. The
 * socket vanishes with the recorder and the memory with the last process that maps it, so that
 * nothing is left behind however either of them ends.
 *
 * The memory is a region of @slots rings, each with one producer (the thread that holds the
 * slot) and one consumer (the recorder). It is sparse: a ring that nobody used costs nothing.
 *
 *     struct mark_region      counters of the region
 *     struct mark_ring[slots] positions of each ring
 *     (MARK_DATA_ALIGN)
 *     data[slots][ring_bytes]
 *
 * A ring holds records of events.h as they are, with tid as the program sees it. A record never
 * wraps: what is left at the end is filled by a record of type MARK_PAD, of which only the first
 * eight bytes are there if no more fit. Positions are running byte counts; position modulo
 * ring_bytes is where it lies. While a record is being written its ring's head has MARK_WRITING
 * set, from before the clock is read: the recorder then knows that something older than its look
 * may still come.
 *
 * The recorder believes nothing that it finds here; see userspace/source/mark_ring.h.
 */
#ifndef XPUGAP_MARK_ABI_H
#define XPUGAP_MARK_ABI_H

#include <stdint.h>

#include "bpf/include/events.h"

#define MARK_ENV "XPUGAP_MARK"
/* the file of the library, for bindings that load it */
#define MARK_LIB_ENV "XPUGAP_MARK_LIB"
#define MARK_MAGIC   0x6b72616d67707578ULL /* "xupgmark" */
#define MARK_EXCUSE  0x6573756367707578ULL /* "xupgcuse" */
#define MARK_ABI     1

#define MARK_RING_BYTES	    (1U << 20) /* unless the variable says otherwise */
#define MARK_RING_BYTES_MIN (1U << 13) /* the longest record fits wherever the head is */
#define MARK_RING_BYTES_MAX (1U << 26)
#define MARK_SLOTS	    64U
#define MARK_SLOTS_MAX	    1024U
#define MARK_REGIONS_MAX    64U /* of one process: slots x regions threads can mark at once */
#define MARK_ADDRESS_MAX    100U

#define MARK_PAD	0     /* type of a record that fills the end of a ring */
#define MARK_NAME_MAX	2048U /* longer names are cut; also the longest tail of any record */
#define MARK_DATA_ALIGN 4096U

#define MARK_WRITING 1U /* a bit of mark_ring.head; positions are multiples of 8 */

/* The kernel's seals that the recorder insists on: the file can never be cut under its feet. */
#define MARK_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/*
 * @image: tells an exec'ed program from the one that had its pid before
 * @pid: as the program sees it; differs from the peer's in another pid namespace
 */
struct mark_hello {
	uint64_t magic;
	uint32_t abi;
	uint32_t image;
	uint32_t pid;
	uint32_t slots;
	uint64_t ring_bytes;
};

/*
 * In place of a hello, from a process that could not make its memory.
 * @err: why, as errno
 * @first: of this process to this recorder
 * @lost: marks that found no ring, since the excuse before
 */
struct mark_excuse {
	uint64_t magic;
	uint32_t abi;
	uint32_t err;
	uint32_t pid;
	uint32_t first;
	uint64_t lost;
};

struct mark_ring {
	/* written by the program */
	uint64_t head;
	uint64_t lost; /* marks for which there was no room */
	uint64_t pad0[6];
	/* written by the recorder */
	uint64_t tail;
	uint32_t closed; /* nothing is recorded any more */
	uint32_t pad1[13];
};

struct mark_region {
	uint64_t lost; /* marks of threads that got no ring, or came while they were marking */
	uint32_t used; /* rings from 0 to used - 1 were ever held */
	uint32_t pad[29];
	struct mark_ring ring[];
};

_Static_assert(sizeof(struct mark_ring) == 128, "two cache lines");
_Static_assert(sizeof(struct mark_region) == 128, "two cache lines");

static inline uint64_t mark_region__data(uint32_t slots)
{
	uint64_t head = sizeof(struct mark_region) + (uint64_t)slots * sizeof(struct mark_ring);

	return (head + MARK_DATA_ALIGN - 1) & ~(uint64_t)(MARK_DATA_ALIGN - 1);
}

static inline uint64_t mark_region__bytes(uint32_t slots, uint64_t ring_bytes)
{
	return mark_region__data(slots) + slots * ring_bytes;
}

#endif
