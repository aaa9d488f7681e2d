// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file system by FUSE that is slow to a known extent:
 *
 *	fuse_delay DIRECTORY MILLISECONDS [FROM]
 *
 * DIRECTORY/slow has SIZE bytes; each read of it is answered after MILLISECONDS, but those of what
 * lies before FROM at once. Speaks the
 *kernel's own protocol on /dev/fuse, so no library is needed. Prints "ready" and its process id,
 *serves until SIGTERM, then says how often it was asked to read. Exits with 77 where it may not
 *mount.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SIZE	(1U << 20)
#define BUF	(1U << 18)
#define SLOW_ID 2

static volatile sig_atomic_t ended;
static unsigned long reads;
static long delay_ms;
static uint64_t delay_from;
static char data[BUF];

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

static void reply(int fd, const struct fuse_in_header *in, int err, const void *body, size_t len)
{
	struct fuse_out_header out = {.len = sizeof(out) + len, .error = err, .unique = in->unique};
	struct iovec v[2] = {{&out, sizeof(out)}, {(void *)(uintptr_t)body, len}};

	if (writev(fd, v, len ? 2 : 1) < 0 && errno != ENOENT) /* who asked was interrupted */
		perror("writev");
}

static struct fuse_attr attr_of(uint64_t id)
{
	struct fuse_attr a = {.ino = id, .nlink = 1, .blksize = 4096, .mode = S_IFDIR | 0755};

	if (id == SLOW_ID) {
		a.mode = S_IFREG | 0644;
		a.size = SIZE;
	}
	return a;
}

static void do_init(int fd, const struct fuse_in_header *in, const struct fuse_init_in *arg)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = arg->max_readahead,
		.max_write = 65536,
	};

	reply(fd, in, 0, &out, sizeof(out));
}

static void do_lookup(int fd, const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = {.nodeid = SLOW_ID,
				     .attr_valid = 60,
				     .entry_valid = 60,
				     .attr = attr_of(SLOW_ID)};

	if (strcmp(name, "slow") == 0)
		reply(fd, in, 0, &out, sizeof(out));
	else
		reply(fd, in, -ENOENT, NULL, 0);
}

static void do_read(int fd, const struct fuse_in_header *in, const struct fuse_read_in *arg)
{
	struct timespec t = {delay_ms / 1000, delay_ms % 1000 * 1000000};
	uint64_t left = arg->offset < SIZE ? SIZE - arg->offset : 0;
	size_t n = arg->size < left ? arg->size : left;

	reads++;
	while (arg->offset >= delay_from && nanosleep(&t, &t) && !ended)
		;
	reply(fd, in, 0, data, n < BUF ? n : BUF);
}

static void serve(int fd, const struct fuse_in_header *in, const void *arg)
{
	struct fuse_attr_out attr = {.attr_valid = 60, .attr = attr_of(in->nodeid)};
	struct fuse_open_out open = {.open_flags = FOPEN_DIRECT_IO};

	switch (in->opcode) {
	case FUSE_INIT:
		do_init(fd, in, arg);
		break;
	case FUSE_LOOKUP:
		do_lookup(fd, in, arg);
		break;
	case FUSE_GETATTR:
		reply(fd, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(fd, in, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		do_read(fd, in, arg);
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
		reply(fd, in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* nobody waits for an answer */
	default:
		reply(fd, in, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = end};
	static union {
		struct fuse_in_header head;
		char bytes[BUF];
	} in;
	char options[128];
	ssize_t n;
	int fd;

	if (argc != 3 && argc != 4)
		return 2;
	delay_ms = atol(argv[2]);
	delay_from = argc == 4 ? strtoull(argv[3], NULL, 0) : 0;
	memset(data, 'x', sizeof(data));
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (fd < 0 || mount("slow", argv[1], "fuse.delay", MS_NOSUID | MS_NODEV, options)) {
		perror("fuse");
		return 77;
	}
	sigaction(SIGTERM, &act, NULL);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (!ended) {
		n = read(fd, &in, sizeof(in));
		if (n >= (ssize_t)sizeof(in.head))
			serve(fd, &in.head, &in.head + 1);
		else if (errno == ENODEV)
			break; /* somebody else has unmounted it */
	}
	umount2(argv[1], MNT_DETACH);
	printf("reads %lu\n", reads);
	return 0;
}
