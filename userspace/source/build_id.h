/* SPDX-License-Identifier: BSD-2-Clause */
/* The build id of an ELF file: by it the file, or its debug information, is found elsewhere. */
#ifndef XPUGAP_SOURCE_BUILD_ID_H
#define XPUGAP_SOURCE_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_MAX 20 /* bytes, as the kernel has it */
#define BUILD_ID_HEX (2 * BUILD_ID_MAX + 1)

/* Of the file, in hexadecimal; 0, -ENOENT if it has none, -ENOEXEC if it is no ELF file. */
int build_id__read(int fd, char hex[BUILD_ID_HEX]);

void build_id__print(char hex[BUILD_ID_HEX], const uint8_t *id, size_t n);

#endif
