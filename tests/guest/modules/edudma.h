/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a test asks the module edudma to do, by ioctl on /dev/edudma. */
#ifndef XPUGAP_EDUDMA_H
#define XPUGAP_EDUDMA_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum edudma_op {
	EDUDMA_SINGLE = 1,   /* map and unmap @bytes */
	EDUDMA_LIST = 2,     /* a list of @parts, each of @bytes, by dma_map_sg_attrs() */
	EDUDMA_TABLE = 3,    /* the same by dma_map_sgtable() */
	EDUDMA_COHERENT = 4, /* allocate and free @bytes */
	EDUDMA_SYNC = 5, /* map @bytes, synchronise them for the cpu and for the device, unmap */
	EDUDMA_TRANSFER = 6, /* map @bytes, have the device read them; its interrupt unmaps */
};

/* dir is 1: to the device, 2: from it; addr: where the last lay, as the device sees it */
struct edudma {
	__u32 op;
	__u32 bytes;
	__u32 parts;
	__u32 dir;
	__u32 times;
	__u32 pad;
	__u64 addr;
};

#define EDUDMA_DO _IOWR('E', 1, struct edudma)

#endif
