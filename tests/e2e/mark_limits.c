// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that marks under limits that do not let it make its rings, and ends well.
 *
 *	mark_limits files STEPS   it may open no file, though it could raise that
 *	mark_limits used STEPS    all descriptors that it may have are used
 *	mark_limits size STEPS    its files may have a page
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "userspace/mark/xpugap_mark.h"

#define FEW 64

static int limit(int resource, rlim_t soft, rlim_t hard)
{
	struct rlimit rl;

	if (getrlimit(resource, &rl))
		return 1;
	rl.rlim_cur = soft;
	rl.rlim_max = hard < rl.rlim_max ? hard : rl.rlim_max;
	return setrlimit(resource, &rl) != 0;
}

int main(int argc, char **argv)
{
	unsigned long steps = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	int err;

	if (!steps)
		return 2;
	if (strcmp(argv[1], "files") == 0)
		err = limit(RLIMIT_NOFILE, 0, RLIM_INFINITY);
	else if (strcmp(argv[1], "used") == 0)
		err = limit(RLIMIT_NOFILE, FEW, FEW);
	else
		err = limit(RLIMIT_FSIZE, 4096, RLIM_INFINITY);
	while (!err && strcmp(argv[1], "used") == 0 && dup(0) >= 0)
		;
	for (unsigned long i = 0; i < steps; i++)
		xpugap_step(i, 1);
	return err;
}
