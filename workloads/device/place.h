/* SPDX-License-Identifier: BSD-2-Clause */
/* Placing blocks of memory that live at known times, so that dead ones make room. */
#ifndef XPUGAP_DEVICE_PLACE_H
#define XPUGAP_DEVICE_PLACE_H

#include <stddef.h>

struct place {
	size_t bytes;
	int first, last; /* alive at both and between */
	size_t offset;	 /* out: a multiple of PLACE_ALIGN */
	void *owner;
};

#define PLACE_ALIGN 64
static inline size_t place__align(size_t bytes)
{
	return (bytes + PLACE_ALIGN - 1) & ~(size_t)(PLACE_ALIGN - 1);
}

/*
 * Give each of @p an offset such that no two which are alive at the same time overlap: largest
 * first, each at the lowest gap that holds it. Reorders @p. Returns the bytes needed in all.
 */
size_t place__all(struct place *p, size_t n);

#endif
