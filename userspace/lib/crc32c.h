/* SPDX-License-Identifier: BSD-2-Clause */
/* CRC-32C (Castagnoli), by the processor's instruction where it has one. */
#ifndef XPUGAP_LIB_CRC32C_H
#define XPUGAP_LIB_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of @size bytes; crc32c("123456789", 9) is 0xe3069283 (RFC 3720, B.4). */
uint32_t crc32c(const void *data, size_t size);

/* The same without the instruction. */
uint32_t crc32c_portable(const void *data, size_t size);

#endif
