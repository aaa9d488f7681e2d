// SPDX-License-Identifier: BSD-2-Clause
/* Files whose paths others choose: only regular ones are opened. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/source/regular.h"

static char dir[] = "/tmp/xpugap-regular.XXXXXX";

static const char *at(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make(void)
{
	int fd;

	cr_assert(mkdtemp(dir));
	fd = open(at("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	cr_assert_eq(write(fd, "x", 1), 1);
	close(fd);
	cr_assert_eq(mkfifo(at("fifo"), 0600), 0);
	cr_assert_eq(symlink("file", at("link")), 0);
	cr_assert_eq(symlink("/dev/zero", at("device")), 0);
	cr_assert_eq(symlink("fifo", at("wait")), 0);
}

static void drop(void)
{
	static const char *const names[] = {"file", "fifo", "link", "device", "wait"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(at(names[i]));
	rmdir(dir);
}

static bool reads(int fd)
{
	char c = 0;
	bool ok = fd >= 0 && read(fd, &c, 1) == 1 && c == 'x';

	if (fd >= 0)
		close(fd);
	return ok;
}

Test(regular, kinds, .init = make, .fini = drop)
{
	cr_assert(reads(regular__open(at("file"))));
	cr_assert(reads(regular__open(at("link"))));
	cr_assert_eq(regular__open(at("fifo")), -EINVAL);
	cr_assert_eq(regular__open(at("wait")), -EINVAL);
	cr_assert_eq(regular__open(at("device")), -EINVAL);
	cr_assert_eq(regular__open(dir), -EINVAL);
	cr_assert_eq(regular__open(at("none")), -ENOENT);
}

/* What was just made has its names in memory. */
Test(regular, of_processes, .init = make, .fini = drop)
{
	cr_assert(reads(regular__open_of(0, at("file"))));
	cr_assert(reads(regular__open_of(getpid(), at("file"))));
	/* whoever follows a link first may have to write down when that was */
	cr_assert(reads(regular__open(at("link"))));
	cr_assert(reads(regular__open_of(getpid(), at("link"))));
	cr_assert_eq(regular__open_of(getpid(), at("fifo")), -EINVAL);
	cr_assert_lt(regular__open_of(getpid(), at("device")), 0);
	cr_assert_lt(regular__open_of(getpid(), at("none")), 0);
	cr_assert_lt(regular__open_of(0x7fffffff, at("file")), 0);
}

Test(regular, mapped, .init = make, .fini = drop)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open(at("file"), O_RDONLY | O_CLOEXEC);
	char *p = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);

	cr_assert_neq(p, MAP_FAILED);
	close(fd);
	if (geteuid() != 0)
		cr_skip_test("needs root");
	unlink(at("file"));
	cr_assert(reads(regular__open_mapped(getpid(), (uintptr_t)p, (uintptr_t)p + page)));
	munmap(p, page);
}
