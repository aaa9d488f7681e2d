/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XPUGAP_MARK_COST_H
#define XPUGAP_MARK_COST_H

/*
 * What a span costs on this machine, in ns: the least mean over some batches, written by the code
 * that programs run, into memory of our own. 0 if that cannot be had. Takes less than a
 * millisecond and does not touch the state of this process's own marks.
 */
double mark_cost__measure(void);

#endif
