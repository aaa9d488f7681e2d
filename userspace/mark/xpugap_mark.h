/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xpugap_mark: tell a profiler what a program is doing.
 *
 * Link with -lxpugap_mark (or load it by dlopen or ctypes). Every function is safe to call from
 * any thread, at any time, whether or not anything records; when nothing does, a call costs a
 * load and a branch. None of them fails, changes errno, or waits for the recorder. The first mark
 * of a thread gets it a ring: if other threads do the same just then it waits for them, half a
 * second at the most, and is dropped and counted as lost after that. A signal handler may mark; a
 * mark that interrupts another mark of the same thread is dropped and counted as lost.
 *
 * Names are copied the first time they are seen and should come from a small set; beyond 2,048
 * bytes they are cut. A forked or exec'ed program is recorded as its parent is.
 */
#ifndef XPUGAP_MARK_H
#define XPUGAP_MARK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XPUGAP_MARK_ABI 1

#define XPUGAP_API __attribute__((visibility("default")))

/* What a span of a device queue does; values as in the trace. */
enum xpugap_span_kind {
	XPUGAP_KERNEL = 0,
	XPUGAP_H2D = 1,
	XPUGAP_D2H = 2,
	XPUGAP_D2D = 3,
	XPUGAP_P2P = 4,
	XPUGAP_COLLECTIVE = 5,
};

/* Is anything recording this process? For callers whose arguments are dear to compute. */
XPUGAP_API bool xpugap_recording(void);

/*
 * For bindings of languages from which a call is dear: while *xpugap_wanted(0) is 0, no mark goes
 * to a recorder by shared memory; while *xpugap_wanted(1), (2) and (3) are, nobody has attached to
 * the probes of step, range_begin and range_end. A mark for which both are 0 need not be made,
 * but for xpugap_device(). They change at any time; NULL for what this library does not know.
 */
XPUGAP_API const volatile uint16_t *xpugap_wanted(unsigned int what);

/*
 * Attach to the recorder whose address is @address, as it stands in XPUGAP_MARK of the programs
 * that it starts. A program does so by itself at its first mark; this is for one that gets the
 * address in another way, or after another recording has ended. No-op while one is going on.
 * Returns xpugap_recording() of afterwards.
 */
XPUGAP_API bool xpugap_connect(const char *address);

/* CLOCK_MONOTONIC as records have it, in nanoseconds (corrected in a time namespace). */
XPUGAP_API uint64_t xpugap_now(void);

/*
 * A training step or iteration: call it between two steps. The step that just ended processed
 * @items (0 at the first call); step number @step begins now.
 */
XPUGAP_API void xpugap_step(uint64_t step, uint64_t items);
/* The last step ended and none begins. */
XPUGAP_API void xpugap_step_end(uint64_t items);

/* A unit of work with an id of its own that may hop threads and processes (a request). */
XPUGAP_API void xpugap_unit_begin(uint64_t unit, const char *kind);
/* The calling thread carries @unit from now on. */
XPUGAP_API void xpugap_unit_handover(uint64_t unit);
XPUGAP_API void xpugap_unit_end(uint64_t unit, uint64_t items);

/* A named range of the calling thread; ranges nest. */
XPUGAP_API void xpugap_range_begin(const char *name);
XPUGAP_API void xpugap_range_end(const char *name);

/*
 * A device that spans name: @device is a number of the caller's choice, unique in the process. It
 * may be named before anything records: 64 names are kept for a recorder that comes later.
 */
XPUGAP_API void xpugap_device(uint32_t device, const char *name);

/* A correlation id, unique in the recorded process tree; never 0, 1 while nobody records. */
XPUGAP_API uint64_t xpugap_correlation(void);
/* The calling thread hands work to a queue; the span with the same @corr follows. */
XPUGAP_API void xpugap_launch(uint32_t device, uint16_t queue, enum xpugap_span_kind kind,
			      const char *name, uint64_t corr);
/* Work of a device queue that has ended; times as xpugap_now(). @bytes: moved by a copy, or 0. */
XPUGAP_API void xpugap_span(uint32_t device, uint16_t queue, enum xpugap_span_kind kind,
			    const char *name, uint64_t start_ns, uint64_t end_ns, uint64_t corr,
			    uint64_t bytes);

/* What the calling thread does: "loader", "pin", "server", … */
XPUGAP_API void xpugap_role(const char *role);

/* A value of the program over time: "loss", "queue_depth", … */
XPUGAP_API void xpugap_counter(const char *name, double value);

#ifdef __cplusplus
}
#endif

#endif
