// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads and writes of numbers that are known:
 *
 *	storage DIRECTORY
 *
 * Makes DIRECTORY/file and DIRECTORY/later, SIZE bytes each, and prints for each phase: name,
 *inode, device (decimal, as the kernel holds it), calls, bytes, when it began and ended, and what
 * /proc/self/io counted by then: bytes read from disks, bytes and calls read and written.
 * After the phase "later", whose pages nobody has written out, it waits for a line.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SIZE  (4U << 20)
#define PIECE (64U << 10)
#define SYNCS 5

static char *buf;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void say_counted(void)
{
	static const char *const names[] = {"read_bytes:", "rchar:", "wchar:", "syscr:", "syscw:"};
	unsigned long long values[5] = {0}, value;
	FILE *f = fopen("/proc/self/io", "re");
	char name[64];
	size_t i;

	while (f && fscanf(f, "%63s %llu", name, &value) == 2)
		for (i = 0; i < 5; i++)
			if (strcmp(name, names[i]) == 0)
				values[i] = value;
	if (f)
		fclose(f);
	for (i = 0; i < 5; i++)
		printf(" %llu", values[i]);
	printf("\n");
	fflush(stdout);
}

static void say(const char *phase, int fd, unsigned int calls, uint64_t bytes, uint64_t begin)
{
	struct stat st;

	if (fstat(fd, &st))
		die("fstat");
	printf("%s %ju %u %u %" PRIu64 " %" PRIu64 " %" PRIu64, phase, (uintmax_t)st.st_ino,
	       major(st.st_dev) << 20 | minor(st.st_dev), calls, bytes, begin, now());
	say_counted();
}

static int make(const char *dir, const char *name, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, flags | O_CLOEXEC, 0644);
	if (fd < 0 && (flags & O_DIRECT) && errno == EINVAL)
		return -1; /* a file system that has no such thing */
	if (fd < 0)
		die(path);
	return fd;
}

static void write_all(int fd)
{
	unsigned int at;

	for (at = 0; at < SIZE; at += PIECE) {
		memset(buf, at / PIECE + 1, PIECE);
		if (pwrite(fd, buf, PIECE, at) != PIECE)
			die("pwrite");
	}
}

static void read_all(int fd)
{
	unsigned int at;

	for (at = 0; at < SIZE; at += PIECE)
		if (pread(fd, buf, PIECE, at) != PIECE)
			die("pread");
}

static void sync_often(int fd)
{
	uint64_t begin = now();
	int i;

	for (i = 0; i < SYNCS; i++) {
		if (pwrite(fd, "x", 1, i * 4096) != 1)
			die("pwrite");
		if (i % 2 ? fdatasync(fd) : fsync(fd))
			die("fsync");
	}
	say("sync", fd, SYNCS, SYNCS, begin);
}

/* Every other call that moves bytes, PIECE bytes each. */
static void move_in_other_ways(int fd)
{
	struct iovec v[2] = {{buf, PIECE / 2}, {buf + PIECE / 2, PIECE / 2}};
	uint64_t begin = now();
	off_t from = 0, to = SIZE;
	int ok;

	ok = lseek(fd, 0, SEEK_SET) == 0 && read(fd, buf, PIECE) == PIECE &&
	     readv(fd, v, 2) == PIECE && preadv(fd, v, 2, 0) == PIECE &&
	     preadv2(fd, v, 2, 0, 0) == PIECE && lseek(fd, 0, SEEK_SET) == 0 &&
	     write(fd, buf, PIECE) == PIECE && writev(fd, v, 2) == PIECE &&
	     pwritev(fd, v, 2, 0) == PIECE && pwritev2(fd, v, 2, 0, 0) == PIECE &&
	     copy_file_range(fd, &from, fd, &to, PIECE, 0) == PIECE &&
	     sync_file_range(fd, 0, PIECE, SYNC_FILE_RANGE_WRITE) == 0;
	if (!ok)
		die("other ways");
	say("other", fd, 10, 9ULL * PIECE, begin);
}

int main(int argc, char **argv)
{
	uint64_t begin;
	int fd, direct;
	char line[8];

	if (argc != 2 || posix_memalign((void **)&buf, 4096, PIECE))
		return 2;
	fd = make(argv[1], "file", O_RDWR | O_CREAT | O_TRUNC);
	begin = now();
	write_all(fd);
	if (fsync(fd))
		die("fsync");
	say("write", fd, SIZE / PIECE, SIZE, begin);
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die("posix_fadvise");
	begin = now();
	read_all(fd);
	say("cold", fd, SIZE / PIECE, SIZE, begin);
	begin = now();
	read_all(fd);
	say("warm", fd, SIZE / PIECE, SIZE, begin);
	direct = make(argv[1], "file", O_RDONLY | O_DIRECT);
	if (direct >= 0) {
		begin = now();
		read_all(direct);
		say("direct", direct, SIZE / PIECE, SIZE, begin);
		close(direct);
	}
	sync_often(fd);
	move_in_other_ways(fd);
	close(fd);
	fd = make(argv[1], "later", O_RDWR | O_CREAT | O_TRUNC);
	begin = now();
	write_all(fd);
	say("later", fd, SIZE / PIECE, SIZE, begin);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	say("end", fd, 0, 0, begin);
	return 0;
}
