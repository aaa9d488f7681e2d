// SPDX-License-Identifier: BSD-2-Clause
/*
 * Asks the module edudma for known numbers of mappings; prints what it asked for and where the last
 * of each lay: "OP TIMES BYTES PARTS DIR ADDRESS".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/guest/modules/edudma.h"

static const struct edudma wanted[] = {
	{.op = EDUDMA_SINGLE, .bytes = 1000, .dir = 1, .times = 17},
	{.op = EDUDMA_SINGLE, .bytes = 4096, .dir = 2, .times = 9},
	{.op = EDUDMA_LIST, .bytes = 512, .parts = 5, .dir = 1, .times = 6},
	{.op = EDUDMA_LIST, .bytes = 256, .parts = 700, .dir = 2, .times = 2}, /* chained */
	{.op = EDUDMA_TABLE, .bytes = 128, .parts = 3, .dir = 2, .times = 4},
	{.op = EDUDMA_COHERENT, .bytes = 8192, .times = 5},
	{.op = EDUDMA_SYNC, .bytes = 300, .dir = 2, .times = 7},
	{.op = EDUDMA_TRANSFER, .bytes = 2000, .dir = 1, .times = 3},
};

int main(void)
{
	int fd = open("/dev/edudma", O_RDWR | O_CLOEXEC);
	size_t i;

	if (fd < 0) {
		fprintf(stderr, "cannot open '/dev/edudma': %s\n", strerror(errno));
		return 1;
	}
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct edudma d = wanted[i];

		if (ioctl(fd, EDUDMA_DO, &d)) {
			fprintf(stderr, "operation %u: %s\n", d.op, strerror(errno));
			return 1;
		}
		printf("%u %u %u %u %u %llx\n", d.op, d.times, d.bytes, d.parts, d.dir,
		       (unsigned long long)d.addr);
	}
	close(fd);
	return 0;
}
