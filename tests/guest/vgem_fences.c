// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fences of the driver vgem, which signals one when it is asked to: a second thread does after a
 * time that is known here, while the first waits. A last one is left to the driver, which signals
 * it when its file is closed. Prints "wait BEGIN END SIGNALLED", in nanoseconds of the monotonic
 * clock, and "left TIME".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* include/uapi/drm/drm.h, drm_mode.h and vgem_drm.h of the kernel, of which not all are installed
 */
struct create_dumb {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t size;
};

struct prime {
	uint32_t handle, flags;
	int32_t fd;
};

struct attach {
	uint32_t handle, flags, fence, pad;
};

struct signal_fence {
	uint32_t fence, flags;
};

#define CREATE_DUMB _IOWR('d', 0xb2, struct create_dumb)
#define TO_FD	    _IOWR('d', 0x2d, struct prime)
#define ATTACH	    _IOWR('d', 0x41, struct attach)
#define SIGNAL	    _IOW('d', 0x42, struct signal_fence)
#define WRITE_FENCE 1
#define NODE	    "/dev/dri/card0"

static int card;

struct later {
	long ms;
	uint32_t fence;
	long long signalled;
};

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *signal_later(void *arg)
{
	struct later *l = arg;
	struct signal_fence s = {.fence = l->fence};

	usleep(l->ms * 1000);
	l->signalled = now();
	if (ioctl(card, SIGNAL, &s))
		perror("cannot signal");
	return NULL;
}

static int fail(const char *what)
{
	fprintf(stderr, "cannot %s: %s\n", what, strerror(errno));
	return 1;
}

static int wait_for(uint32_t handle, int buf, long ms)
{
	struct dma_buf_sync sync = {.flags = DMA_BUF_SYNC_READ | DMA_BUF_SYNC_START};
	struct attach a = {.handle = handle, .flags = WRITE_FENCE};
	struct later l = {.ms = ms};
	long long begin, end;
	pthread_t thread;

	if (ioctl(card, ATTACH, &a))
		return fail("attach a fence");
	l.fence = a.fence;
	if (pthread_create(&thread, NULL, signal_later, &l))
		return fail("start a thread");
	begin = now();
	if (ioctl(buf, DMA_BUF_IOCTL_SYNC, &sync))
		return fail("wait");
	end = now();
	pthread_join(thread, NULL);
	printf("wait %lld %lld %lld\n", begin, end, l.signalled);
	return 0;
}

int main(void)
{
	static const long ms[] = {30, 5, 100, 60};
	struct create_dumb d = {.height = 16, .width = 16, .bpp = 32};
	struct prime p = {.flags = O_RDWR | O_CLOEXEC};
	struct attach last;
	size_t i;

	card = open(NODE, O_RDWR | O_CLOEXEC);
	if (card < 0)
		return fail("open '" NODE "'");
	if (ioctl(card, CREATE_DUMB, &d))
		return fail("make a buffer");
	p.handle = d.handle;
	if (ioctl(card, TO_FD, &p))
		return fail("share the buffer");
	for (i = 0; i < sizeof(ms) / sizeof(ms[0]); i++)
		if (wait_for(d.handle, p.fd, ms[i]))
			return 1;
	last = (struct attach){.handle = d.handle, .flags = WRITE_FENCE};
	if (ioctl(card, ATTACH, &last))
		return fail("attach a fence");
	printf("left %lld\n", now());
	return 0;
}
