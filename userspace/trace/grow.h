/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to this folder. */
#ifndef XPUGAP_TRACE_GROW_H
#define XPUGAP_TRACE_GROW_H

#include <errno.h>
#include <stdlib.h>

/* Make the array at *@array one of @n elements of @size bytes; on -ENOMEM it stays as it was. */
static inline int grow(void *array, size_t n, size_t size)
{
	void **a = array, *p = realloc(*a, n * size);

	if (!p)
		return -ENOMEM;
	*a = p;
	return 0;
}

#endif
