// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/lib/crc32c.h"

#include <string.h>

#define POLY 0x82f63b78u /* bits reversed */

static uint32_t update_portable(uint32_t crc, const uint8_t *p, size_t size)
{
	/* sixteen entries: small enough to be made on the spot, four bits at a time */
	uint32_t table[16], c;
	int i, k;

	for (i = 0; i < 16; i++) {
		c = (uint32_t)i;
		for (k = 0; k < 4; k++)
			c = c & 1 ? c >> 1 ^ POLY : c >> 1;
		table[i] = c;
	}
	while (size--) {
		crc ^= *p++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

uint32_t crc32c_portable(const void *data, size_t size)
{
	return ~update_portable(~0u, data, size);
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t update_fast(uint32_t crc, const uint8_t *p,
							      size_t size)
{
	uint64_t c = crc, word;

	for (; size >= 8; size -= 8, p += 8) {
		memcpy(&word, p, 8);
		c = __builtin_ia32_crc32di(c, word);
	}
	for (; size; size--, p++)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p);
	return (uint32_t)c;
}

static int has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

#elif defined(__aarch64__)

#include <asm/hwcap.h>
#include <sys/auxv.h>

__attribute__((target("+crc"))) static uint32_t update_fast(uint32_t crc, const uint8_t *p,
							    size_t size)
{
	uint64_t word;

	for (; size >= 8; size -= 8, p += 8) {
		memcpy(&word, p, 8);
		crc = __builtin_aarch64_crc32cx(crc, word);
	}
	for (; size; size--, p++)
		crc = __builtin_aarch64_crc32cb(crc, *p);
	return crc;
}

static int has_instruction(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}

#else

#define update_fast update_portable

static int has_instruction(void)
{
	return 0;
}

#endif

uint32_t crc32c(const void *data, size_t size)
{
	return has_instruction() ? ~update_fast(~0u, data, size) : crc32c_portable(data, size);
}
