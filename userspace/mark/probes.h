/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * USDT probes "xpugap:*", by which a recorder attaches to a process that was already running.
 * Each has a semaphore that the kernel raises while somebody is attached.
 *
 *     xpugap:step(step, items)  step is REC_NO_STEP if none begins
 *     xpugap:range_begin(id, name, length)  id as in NAME records
 *     xpugap:range_end(id, name, length)
 */
#ifndef XPUGAP_MARK_PROBES_H
#define XPUGAP_MARK_PROBES_H

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define PROBE_SEMAPHORE(name)                                                                      \
	__attribute__((section(".probes"), used,                                                   \
		       visibility("hidden"))) unsigned short xpugap_##name##_semaphore

#define PROBE_WANTED(name)                                                                         \
	__builtin_expect(__atomic_load_n(&xpugap_##name##_semaphore, __ATOMIC_RELAXED) != 0, 0)

#endif
