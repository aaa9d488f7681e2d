// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workloads/data/fakeimagenet.h"
#include "workloads/data/jpeg.h"

static char root[64];

static void make_root(void)
{
	strcpy(root, "/tmp/xpugap-images.XXXXXX");
	cr_assert(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_root(void)
{
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(fakeimagenet, .init = make_root, .fini = remove_root);

static size_t read_image(const char *set, int i, uint8_t *buf, size_t room)
{
	char path[160];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%03d/%d.jpeg", set, i % 1000, i);
	f = fopen(path, "rb");
	cr_assert(f, "%s", path);
	n = fread(buf, 1, room, f);
	fclose(f);
	return n;
}

/* Bytes uniform in 0-255 have mean 127.5 and deviation 73.9; a JPEG of quality 75 keeps both. */
Test(fakeimagenet, images_are_random_and_of_the_right_size)
{
	static uint8_t data[1 << 20];
	struct jpeg_decoder *d = jpeg_decoder__new();
	double sum = 0, squares = 0, n = 384.0 * 384 * 3;
	const uint8_t *rgbx;
	uint32_t w, h, x, y, c;
	size_t len, stride;
	char set[128];

	cr_assert_eq(fakeimagenet__ensure(root, 3, NULL, set, sizeof(set)), 0);
	len = read_image(set, 2, data, sizeof(data));
	cr_assert_eq(jpeg_decoder__open(d, data, len, &w, &h), 0);
	cr_assert(w == 384 && h == 384);
	cr_assert_eq(jpeg_decoder__region(d, 0, 0, w, h, &rgbx, &stride), 0);
	for (y = 0; y < h; y++)
		for (x = 0; x < w; x++)
			for (c = 0; c < 3; c++) {
				sum += rgbx[y * stride + x * 4 + c] / n;
				squares += rgbx[y * stride + x * 4 + c] *
					   (double)rgbx[y * stride + x * 4 + c] / n;
			}
	cr_expect_float_eq(sum, 127.5, 2);
	cr_expect(squares - sum * sum > 40 * 40, "variance %f", squares - sum * sum);
	jpeg_decoder__free(d);
}

Test(fakeimagenet, what_is_there_is_kept_and_damage_is_made_good)
{
	static uint8_t before[1 << 20], after[1 << 20];
	struct stat whole, again;
	char set[128], path[192];
	size_t n;

	cr_assert_eq(fakeimagenet__ensure(root, 5, NULL, set, sizeof(set)), 0);
	snprintf(path, sizeof(path), "%s/001/1.jpeg", set);
	cr_assert_eq(stat(path, &whole), 0);
	n = read_image(set, 3, before, sizeof(before));
	cr_assert_eq(fakeimagenet__ensure(root, 5, NULL, set, sizeof(set)), 0);
	cr_assert_eq(stat(path, &again), 0);
	cr_expect_eq(again.st_ino, whole.st_ino, "a good file is made again");

	snprintf(path, sizeof(path), "%s/003/3.jpeg", set);
	cr_assert_eq(truncate(path, (off_t)n / 2), 0);
	snprintf(path, sizeof(path), "%s/004/4.jpeg", set);
	cr_assert_eq(unlink(path), 0);
	cr_redirect_stderr();
	cr_assert_eq(fakeimagenet__ensure(root, 5, NULL, set, sizeof(set)), 0);
	cr_expect_eq(read_image(set, 3, after, sizeof(after)), n);
	cr_expect_eq(memcmp(before, after, n), 0);
	cr_expect_eq(access(path, R_OK), 0);
}

Test(fakeimagenet, survives_kill_at_any_moment)
{
	char set[128], path[192];
	struct timespec pause;
	int i, left = 0;
	pid_t pid;

	for (i = 1; i <= 8; i++) {
		pid = fork();
		if (pid == 0)
			_exit(fakeimagenet__ensure(root, 40, NULL, set, sizeof(set)) ? 1 : 0);
		pause = (struct timespec){.tv_nsec = i * 10000000L};
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	cr_redirect_stderr();
	cr_assert_eq(fakeimagenet__ensure(root, 40, NULL, set, sizeof(set)), 0);
	for (i = 0; i < 40; i++) {
		struct jpeg_decoder *d = jpeg_decoder__new();
		static uint8_t data[1 << 20];
		const uint8_t *rgbx;
		size_t len, stride;
		uint32_t w, h;

		len = read_image(set, i, data, sizeof(data));
		cr_expect_eq(jpeg_decoder__open(d, data, len, &w, &h), 0);
		cr_expect_eq(jpeg_decoder__region(d, 0, 0, w, h, &rgbx, &stride), 0);
		jpeg_decoder__free(d);
		snprintf(path, sizeof(path), "%s/%03d/%d.jpeg.part", set, i, i);
		left += access(path, F_OK) == 0;
	}
	cr_expect_eq(left, 0, "%d half files are left", left);
}

Test(fakeimagenet, two_at_once_agree)
{
	char set[128];
	pid_t pids[2];
	int i, status;

	for (i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(fakeimagenet__ensure(root, 10, NULL, set, sizeof(set)) ? 1 : 0);
	}
	for (i = 0; i < 2; i++) {
		waitpid(pids[i], &status, 0);
		cr_expect_eq(status, 0);
	}
}

Test(fakeimagenet, a_place_that_cannot_be_written)
{
	char set[128], said[256];

	cr_redirect_stderr();
	cr_assert_eq(fakeimagenet__ensure("/proc/nowhere", 1, NULL, set, sizeof(set)), -ENOENT);
	fflush(stderr);
	cr_assert(fgets(said, sizeof(said), cr_get_redirected_stderr()));
	cr_expect(strstr(said, "cannot make the images in '/proc/nowhere/fakeimagenet-1'"), "%s",
		  said);
}
