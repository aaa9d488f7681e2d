// SPDX-License-Identifier: BSD-2-Clause
/* perf's records, and files that are looked into for their build ids. */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace/source/build_id.h"
#include "userspace/source/sideband_ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char hex[BUILD_ID_HEX];
	struct side_event e;

	if (size <= UINT16_MAX && side_event__parse(&e, data, (uint32_t)size) == 0 && e.path)
		assert((const uint8_t *)e.path + strlen(e.path) < data + size);
	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	build_id__read(fd, hex);
	assert(strlen(hex) < BUILD_ID_HEX);
	return 0;
}
