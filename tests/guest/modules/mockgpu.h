/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a test asks the module mockgpu to do, by ioctl on /dev/mockgpu. */
#ifndef XPUGAP_MOCKGPU_H
#define XPUGAP_MOCKGPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Queue @jobs jobs, each of which keeps the device busy for @us; with @wait, wait for the last.
 * With
 * @hang the device never ends them.
 */
struct mockgpu_submit {
	__u32 us;
	__u32 jobs;
	__u32 wait;
	__u32 hang;
};

#define MOCKGPU_SUBMIT _IOW('M', 1, struct mockgpu_submit)

#endif
