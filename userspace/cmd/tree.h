/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole trees of processes: so that nothing that was started outlives its time. */
#ifndef XPUGAP_CMD_TREE_H
#define XPUGAP_CMD_TREE_H

#include <stddef.h>

/* Descendants whose parents end become our children from now on, not those of init. */
void tree__adopt(void);

/*
 * End all our children and, as they come to us in turn, all their descendants; those that are
 * about to end have a quarter of a second for it. What was killed is named in @names of @size
 * bytes ("sleep (123), sh (124)"). Returns how many that were; -1 if some could not be killed in
 * ten seconds (a process that hangs in a driver), who are named then.
 */
int tree__sweep(char *names, size_t size);

#endif
