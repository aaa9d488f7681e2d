// SPDX-License-Identifier: BSD-2-Clause
/*
 * Page faults of every kind, in numbers that are known:
 *
 *	faults FILE
 *
 * FILE is made with PAGES pages. Prints for each phase: name, first address, bytes, minor faults,
 * major faults (both by getrusage() of this thread), and last the counts from the first page of the
 * first phase to the last page of the last.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGES 500

static size_t page;
static struct rusage first;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static char *map(int flags, int fd)
{
	char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, PAGES * page, MADV_NOHUGEPAGE);
	return p;
}

static struct rusage usage(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r;
}

static void say(const char *name, const void *p, const struct rusage *before)
{
	struct rusage now = usage();

	printf("%s 0x%lx %zu %ld %ld\n", name, (unsigned long)(uintptr_t)p, PAGES * page,
	       now.ru_minflt - before->ru_minflt, now.ru_majflt - before->ru_majflt);
}

/* The program writes to fresh memory. */
static void touch(void)
{
	char *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct rusage before = usage();
	int i;

	first = before;
	for (i = 0; i < PAGES; i++)
		*(volatile char *)(p + i * page) = 1;
	say("write", p, &before);
}

/* A system call writes to fresh memory. */
static void read_into(void)
{
	char *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct rusage before = usage();
	int i, fd = open("/dev/zero", O_RDONLY);

	for (i = 0; i < PAGES; i++)
		if (read(fd, p + i * page, 1) != 1)
			die("read");
	close(fd);
	say("kernel", p, &before);
}

/* The kernel makes pages present without that anything faults. */
static void copy_into(void)
{
	char *from = malloc(page), *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct iovec local = {from, page}, remote = {p, page};
	struct rusage before;
	int i;

	memset(from, 1, page);
	before = usage();
	for (i = 0; i < PAGES; i++, remote.iov_base = (char *)remote.iov_base + page)
		if (process_vm_writev(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)page)
			die("process_vm_writev");
	free(from);
	say("unseen", p, &before);
}

/* A file that is not in memory, one page at a time. */
static void read_file(const char *path)
{
	int i, fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct rusage before;
	char *p, *data = calloc(1, page);

	if (fd < 0)
		die(path);
	for (i = 0; i < PAGES; i++)
		if (write(fd, data, page) != (ssize_t)page)
			die(path);
	if (fsync(fd))
		die("fsync");
	p = map(MAP_SHARED, fd);
	madvise(p, PAGES * page, MADV_RANDOM); /* neither read ahead nor map around */
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	before = usage();
	for (i = 0; i < PAGES; i++)
		(void)*(volatile char *)(p + i * page);
	say("file", p, &before);
	say("all", p, &first);
	close(fd);
	unlink(path);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	page = (size_t)sysconf(_SC_PAGESIZE);
	touch();
	read_into();
	copy_into();
	read_file(argv[1]);
	return 0;
}
