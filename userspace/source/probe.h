/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes: what can be asked for with -e. */
#ifndef XPUGAP_SOURCE_PROBE_H
#define XPUGAP_SOURCE_PROBE_H

#include <stdbool.h>

#include "bpf/include/events.h"

/* X(name, FAMILY of hooks, on by default, what it records) */
#define PROBE_TABLE(X)                                                                             \
	X(task, TASK, true, "processes and threads: created, running which program, ended")        \
	X(sched, SCHED, true, "context switches and wake-ups")                                     \
	X(ioctl, SYSCALL, true, "every ioctl: file, device, command, duration, result")            \
	X(syscall, SYSCALL, false,                                                                 \
	  "system calls, counted: totals by thread and number (syscall:agg)")                      \
	X(file, SYSCALL, true, "reads, writes and syncs of files: file, bytes, duration")          \
	X(futex, SYSCALL, true, "waits for locks of the program: owner and waker where known")     \
	X(stream, SYSCALL, false, "calls for pipes and sockets: both ends, bytes, duration")       \
	X(wait, SYSCALL, false, "calls that wait: poll, select, epoll, sleep, wait for children")  \
	X(io_uring, IO_URING, true,                                                                \
	  "requests through io_uring: operation, file, result, duration")                          \
	X(fault, FAULT, true, "page faults: address, kind, duration")                              \
	X(irq, IRQ, true, "interrupt handlers and softirqs that hold up or wake the target")       \
	X(lock, LOCK, true, "waits for the kernel's own locks, and who holds them")                \
	X(reclaim, RECLAIM, true, "memory freed by the target to get some: short, or at a limit")  \
	X(block, BLOCK, true, "requests to disks: bytes, file, time queued and in the device")     \
	X(fence, GPU, true, "work that devices were given: who waits, until when, which driver")   \
	X(job, GPU, true, "jobs of GPUs: time in the kernel's queue and in the device, ring")      \
	X(dma, GPU, false, "memory mapped for devices and unmapped: device, bytes, direction")     \
	X(sample, SAMPLE, false, "what runs on the cpus, with stacks (sample:HZ, 99 a second)")    \
	X(pmu, PMU, false, "counters, for each thread (pmu:NAME,..., see 'xpugap list counters')") \
	X(map, SIDEBAND, true, "files mapped to be executed, with their build ids")                \
	X(mark, MARK, true, "steps, units, ranges, spans and counters of the program itself")

struct probe {
	const char *name;
	enum rec_hook_id hook;
	bool on; /* by default */
	const char *what;
};

extern const struct probe probe_table[]; /* ends with a NULL name */

const struct probe *probe__find(const char *name);

/*
 * Is every name in the NULL-terminated @names a probe? 0, or -EINVAL after printing which is not
 * and what may be meant. NULL names nothing wrong.
 */
int probe__check(const char *const *names);

/*
 * The same for @names that are required of @probes (NULL: the defaults): one that is not among
 * those is wrong, too; but for 'task', which every recording has.
 */
int probe__check_required(const char *const *names, const char *const *probes);

/* Is the probe called @name among @names (NULL: among the defaults)? */
bool probe__wanted(const char *const *names, const char *name);

/* Is some probe of @hook among @names (NULL: among the defaults)? */
bool probe__wants(const char *const *names, enum rec_hook_id hook);

#endif
