// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <string.h>

#include "userspace/lib/crc32c.h"

/* The examples of RFC 3720, B.4. */
Test(crc32c, published_values)
{
	uint8_t buf[32];
	int i;

	cr_assert_eq(crc32c("123456789", 9), 0xe3069283);
	memset(buf, 0, sizeof(buf));
	cr_assert_eq(crc32c(buf, sizeof(buf)), 0x8a9136aa);
	memset(buf, 0xff, sizeof(buf));
	cr_assert_eq(crc32c(buf, sizeof(buf)), 0x62a8ab43);
	for (i = 0; i < 32; i++)
		buf[i] = (uint8_t)i;
	cr_assert_eq(crc32c(buf, sizeof(buf)), 0x46dd794e);
	for (i = 0; i < 32; i++)
		buf[i] = (uint8_t)(31 - i);
	cr_assert_eq(crc32c(buf, sizeof(buf)), 0x113fdb5c);
}

Test(crc32c, instruction_and_table_agree)
{
	uint8_t buf[300];
	size_t i, n;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)(i * 167 + (i >> 3));
	for (n = 0; n < sizeof(buf) - 8; n++)
		cr_assert_eq(crc32c(buf + n % 8, n), crc32c_portable(buf + n % 8, n));
}
