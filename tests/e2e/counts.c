// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes and threads that do at once all that the kernel counts, and say what it counted:
 *
 *	counts DISK MEMORY
 *
 * DISK and MEMORY are directories for the files of the threads. Prints lines
 *	thread TID FIRST LAST IOCTLS MINOR MAJOR VOLUNTARY INVOLUNTARY
 *		by getrusage() between the ioctls (0x7802) with the arguments FIRST and LAST of that
 *		thread, both in hex; IOCTLS (0x7801) by itself; the first and the last fault
 *meanwhile are the thread's own kernel TID ADDRESS PAGES pages of fresh memory that a system call
 *wrote to first file TID INODE DEV READ WRITTEN bytes; the device in decimal, as the kernel holds
 *it disk BYTES read, by all of them, by /proc/self/io forks PROCESSES THREADS
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 4
#define THREADS	  3
#define ROUNDS	  40
#define CALLS	  50	      /* ioctls of a round */
#define PAGES	  32	      /* fresh ones of a round, of each kind */
#define PIECE	  (64U << 10) /* bytes of a call */

static const char *disk, *memory;
static size_t page;
static int null_fd, zero_fd;

__attribute__((noreturn)) static void die(const char *what)
{
	perror(what);
	_exit(1);
}

/* One write for each line: all processes have the same output. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char line[256];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		die("output");
}

static char *fresh(size_t pages)
{
	char *p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, pages * page, MADV_NOHUGEPAGE);
	return p;
}

static void touch(char *p, size_t pages)
{
	size_t i;

	for (i = 0; i < pages; i++)
		*(volatile char *)(p + i * page) = 1;
}

static bool same(const struct rusage *a, const struct rusage *b)
{
	return a->ru_nvcsw == b->ru_nvcsw && a->ru_nivcsw == b->ru_nivcsw &&
	       a->ru_minflt == b->ru_minflt && a->ru_majflt == b->ru_majflt;
}

/* A mark at a moment at which the counts are known: nothing happens between readings around it. */
static unsigned long mark(struct rusage *at)
{
	static _Atomic unsigned long marks;
	struct rusage before;
	unsigned long n;

	do {
		n = ((unsigned long)getpid() << 32) + ++marks;
		getrusage(RUSAGE_THREAD, &before);
		ioctl(null_fd, 0x7802, n);
		getrusage(RUSAGE_THREAD, at);
	} while (!same(&before, at));
	return n;
}

/* ---- files ---- */

static int make(const char *dir)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%d", dir, gettid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

static void say_file(int fd, uint64_t bytes_read, uint64_t written)
{
	struct stat st;

	if (fstat(fd, &st))
		die("fstat");
	say("file %d %ju %u %" PRIu64 " %" PRIu64 "\n", gettid(), (uintmax_t)st.st_ino,
	    major(st.st_dev) << 20 | minor(st.st_dev), bytes_read, written);
	close(fd);
}

static uint64_t read_stat(int fd, char *buf)
{
	ssize_t n = pread(fd, buf, PIECE, 0);

	if (n <= 0)
		die("/proc");
	return (uint64_t)n;
}

static void transfer(int fd, char *buf, int round)
{
	memset(buf, round + 1, PIECE);
	if (pwrite(fd, buf, PIECE, (off_t)round * PIECE) != PIECE)
		die("pwrite");
	if (round % 8 == 7 && fdatasync(fd))
		die("fdatasync");
	if (round % 8 == 7 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die("posix_fadvise");
	if (pread(fd, buf, PIECE, (off_t)(round / 2) * PIECE) != PIECE)
		die("pread");
}

/* What was written is read page by page where it is mapped, after it went from memory. */
static void fault_in(int fd)
{
	char *p = mmap(NULL, ROUNDS * PIECE, PROT_READ, MAP_SHARED, fd, 0);
	size_t at;

	if (p == MAP_FAILED || fdatasync(fd) ||
	    madvise(p, ROUNDS * PIECE, MADV_RANDOM) || /* neither read ahead nor map around */
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die("a mapped file");
	for (at = 0; at < ROUNDS * PIECE; at += page)
		(void)*(volatile char *)(p + at);
	munmap(p, ROUNDS * PIECE);
}

/* ---- work ---- */

static void call(void)
{
	int i;

	for (i = 0; i < CALLS; i++)
		ioctl(null_fd, 0x7801, i);
}

static void take_memory(char *kernel, int round)
{
	char *p = fresh(PAGES);
	int i;

	touch(p, PAGES);
	munmap(p, PAGES * page);
	for (i = 0; i < PAGES; i++)
		if (read(zero_fd, kernel + (size_t)(round * PAGES + i) * page, 1) != 1)
			die("/dev/zero");
}

static void leave_cpu(void)
{
	struct timespec nap = {.tv_nsec = 300000};
	struct timespec a, b;

	nanosleep(&nap, NULL);
	sched_yield();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 500000);
}

static void *work(void *arg)
{
	char *ends = fresh(2), *kernel = fresh((size_t)ROUNDS * PAGES), *buf = malloc(PIECE);
	int i, on_disk, in_memory, stat_fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	uint64_t of_stat = 0;
	struct rusage a, b;
	unsigned long first, last;

	if (!buf || stat_fd < 0)
		die("set-up");
	on_disk = make(disk);
	in_memory = make(memory);
	first = mark(&a);
	touch(ends, 1);
	for (i = 0; i < ROUNDS; i++) {
		call();
		take_memory(kernel, i);
		transfer(on_disk, buf, i);
		transfer(in_memory, buf, i);
		of_stat += read_stat(stat_fd, buf);
		leave_cpu();
	}
	fault_in(on_disk);
	touch(ends + page, 1);
	last = mark(&b);
	say("thread %d 0x%lx 0x%lx %d %ld %ld %ld %ld\n", gettid(), first, last, ROUNDS * CALLS,
	    b.ru_minflt - a.ru_minflt, b.ru_majflt - a.ru_majflt, b.ru_nvcsw - a.ru_nvcsw,
	    b.ru_nivcsw - a.ru_nivcsw);
	say("kernel %d 0x%lx %d\n", gettid(), (unsigned long)(uintptr_t)kernel, ROUNDS * PAGES);
	say_file(on_disk, (uint64_t)ROUNDS * PIECE, (uint64_t)ROUNDS * PIECE);
	say_file(in_memory, (uint64_t)ROUNDS * PIECE, (uint64_t)ROUNDS * PIECE);
	say_file(stat_fd, of_stat, 0);
	free(buf);
	return arg;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			die("pthread_create");
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* The kernel adds what children read when they are waited for. */
static void say_disk(void)
{
	unsigned long long value, bytes = 0;
	FILE *f = fopen("/proc/self/io", "re");
	char name[64];

	if (!f)
		die("/proc/self/io");
	while (fscanf(f, "%63s %llu", name, &value) == 2)
		if (strcmp(name, "read_bytes:") == 0)
			bytes = value;
	fclose(f);
	say("disk %llu\n", bytes);
}

int main(int argc, char **argv)
{
	int i, status;
	pid_t pid;

	if (argc != 3)
		return 2;
	disk = argv[1];
	memory = argv[2];
	page = (size_t)sysconf(_SC_PAGESIZE);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (null_fd < 0 || zero_fd < 0)
		die("/dev");
	for (i = 0; i < PROCESSES; i++) {
		pid = fork();
		if (pid < 0)
			die("fork");
		if (pid == 0) {
			run_threads();
			_exit(0);
		}
	}
	for (i = 0; i < PROCESSES; i++)
		if (wait(&status) < 0 || status)
			return 1;
	say_disk();
	say("forks %d %d\n", PROCESSES, PROCESSES * THREADS);
	return 0;
}
