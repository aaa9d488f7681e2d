// SPDX-License-Identifier: BSD-2-Clause
/*
 * Gives the module mockgpu jobs and waits for them; prints how long that took by its own clock:
 * "run JOBS US NANOSECONDS". The last job never ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/modules/mockgpu.h"

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int submit(int fd, struct mockgpu_submit s)
{
	long long begin = now();

	if (ioctl(fd, MOCKGPU_SUBMIT, &s)) {
		fprintf(stderr, "cannot submit: %s\n", strerror(errno));
		return 1;
	}
	printf("run %u %u %lld\n", s.jobs, s.us, now() - begin);
	return 0;
}

int main(void)
{
	int err, fd = open("/dev/mockgpu", O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "cannot open '/dev/mockgpu': %s\n", strerror(errno));
		return 1;
	}
	err = submit(fd, (struct mockgpu_submit){.us = 50000, .jobs = 5, .wait = 1});
	if (!err)
		err = submit(fd, (struct mockgpu_submit){.us = 1000, .jobs = 20, .wait = 1});
	if (!err)
		err = submit(fd, (struct mockgpu_submit){.us = 1, .jobs = 1, .hang = 1});
	usleep(300000); /* until the device has it */
	close(fd);
	return err;
}
