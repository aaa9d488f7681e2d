// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workloads/data/augment.h"
#include "workloads/data/jpeg.h"
#include "workloads/data/loader.h"

#define FILES	23
#define CLASSES 5
#define SIDE	16

static char dir[64];

/* 23 files of different sizes in 5 classes, and what a loader has to pass over. */
static void make_folder(void)
{
	struct rng rng = rng__of(1, 1, 1);
	uint8_t *rgb = malloc(64 * 64 * 3), *data;
	char path[128];
	size_t len, i, j;
	FILE *f;

	strcpy(dir, "/tmp/xpugap-loader.XXXXXX");
	cr_assert(mkdtemp(dir));
	for (i = 0; i < FILES; i++) {
		for (j = 0; j < 64 * 64 * 3; j++)
			rgb[j] = (uint8_t)rng__u64(&rng);
		cr_assert_eq(jpeg__encode(rgb, 40 + (uint32_t)i, 64, 75, &data, &len), 0);
		snprintf(path, sizeof(path), "%s/class%zu", dir, i % CLASSES);
		mkdir(path, 0755);
		snprintf(path, sizeof(path), "%s/class%zu/%zu.%s", dir, i % CLASSES, i,
			 i % 2 ? "jpg" : "JPEG");
		f = fopen(path, "wb");
		cr_assert(f && fwrite(data, 1, len, f) == len && fclose(f) == 0);
		free(data);
	}
	free(rgb);
	snprintf(path, sizeof(path), "%s/class0/notes.txt", dir);
	fclose(fopen(path, "w"));
	snprintf(path, sizeof(path), "%s/manifest.json", dir);
	fclose(fopen(path, "w"));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_folder(void)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(loader, .init = make_folder, .fini = remove_folder);

static struct loader_opts base(void)
{
	return (struct loader_opts){
		.dir = dir, .batch = 4, .side = SIDE, .shuffle = true, .seed = 11, .epochs = 2};
}

static uint64_t hash(uint64_t h, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	return h;
}

/* All that a run delivers, in one number. */
static uint64_t digest(const struct loader_opts *opts, uint64_t *images)
{
	struct loader *l = loader__new(opts);
	uint64_t h = 0xcbf29ce484222325ULL, index = 0;
	struct loader_batch b;
	int got;

	cr_assert(l);
	*images = 0;
	while ((got = loader__next(l, &b)) > 0) {
		cr_assert_eq(b.index, index++);
		cr_assert_eq((uintptr_t)b.images % 64, 0);
		h = hash(h, b.labels, b.n * sizeof(*b.labels));
		h = hash(h, b.images, b.n * sizeof(float) * 3 * opts->side * opts->side);
		*images += b.n;
		loader__release(l, &b);
	}
	cr_assert_eq(got, 0);
	cr_assert_eq(loader__next(l, &b), 0, "the end stays the end");
	loader__free(l);
	cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a worker is left");
	return h;
}

Test(loader, same_batches_whatever_the_workers)
{
	static const uint32_t workers[] = {1, 2, 3, 40}, prefetch[] = {1, 2, 7};
	struct loader_opts opts = base();
	uint64_t want, images;
	size_t i, j;
	int kind;

	want = digest(&opts, &images);
	cr_assert_eq(images, 2 * FILES);
	for (kind = LOADER_THREADS; kind <= LOADER_PROCESSES; kind++)
		for (i = 0; i < 4; i++)
			for (j = 0; j < 3; j++) {
				opts.kind = (enum loader_kind)kind;
				opts.workers = workers[i];
				opts.prefetch = prefetch[j];
				cr_expect_eq(digest(&opts, &images), want, "%u %s, %u ahead",
					     workers[i], loader_kinds[kind], prefetch[j]);
			}
}

/* Of a size whose batches are no multiple of the alignment; digest() looks at every batch. */
Test(loader, odd_sizes_are_aligned_too)
{
	struct loader_opts opts = base();
	uint64_t want, images;

	opts.side = 7;
	opts.batch = 3;
	want = digest(&opts, &images);
	opts.workers = 2;
	cr_expect_eq(digest(&opts, &images), want);
	cr_expect_eq(images, 2 * FILES);
}

Test(loader, seed_and_shuffle_matter)
{
	struct loader_opts opts = base(), other = base(), straight = base();
	uint64_t n;

	other.seed = 12;
	straight.shuffle = false;
	cr_expect_neq(digest(&opts, &n), digest(&other, &n));
	cr_expect_neq(digest(&opts, &n), digest(&straight, &n));
}

/* The images of a batch are what decode, crop, resize and normalise make of the files. */
Test(loader, batch_holds_the_right_images)
{
	struct loader_opts opts = base();
	struct jpeg_decoder *d = jpeg_decoder__new();
	struct resizer *r = resizer__new(SIDE);
	static uint8_t data[1 << 16];
	float want[SIDE * SIDE * 3];
	struct normaliser norm;
	struct loader_batch b;
	struct loader *l;
	const uint8_t *rgbx;
	uint32_t w, h, i;
	struct crop crop;
	struct rng rng;
	size_t stride;
	char path[128];
	ssize_t n;
	int fd;
	/* in byte order of names: class0 holds 0, 10, 15, 20, 5 */
	static const char *const order[] = {"0.JPEG", "10.JPEG", "15.jpg", "20.JPEG"};

	opts.shuffle = false;
	opts.workers = 2;
	opts.layout = LOADER_NHWC;
	l = loader__new(&opts);
	cr_assert_eq(loader__next(l, &b), 1);
	for (i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/class0/%s", dir, order[i]);
		fd = open(path, O_RDONLY);
		n = read(fd, data, sizeof(data));
		close(fd);
		cr_assert_eq(jpeg_decoder__open(d, data, (size_t)n, &w, &h), 0);
		rng = rng__of(opts.seed, 0, i);
		crop__choose(&crop, &rng, w, h);
		jpeg_decoder__region(d, crop.x, crop.y, crop.w, crop.h, &rgbx, &stride);
		normaliser__init(&norm);
		normaliser__run(&norm, want, resizer__run(r, &crop, rgbx, stride), SIDE * SIDE,
				LOADER_NHWC);
		cr_expect_eq(b.labels[i], 0);
		cr_expect_eq(memcmp(b.images + i * SIDE * SIDE * 3, want, sizeof(want)), 0);
	}
	loader__release(l, &b);
	cr_assert_eq(loader__next(l, &b), 1);
	cr_assert_eq(b.labels[0], 0);
	cr_assert_eq(b.labels[1], 1);
	loader__free(l);
	resizer__free(r);
	jpeg_decoder__free(d);
}

Test(loader, epochs_shuffle_anew_and_are_whole)
{
	struct loader_opts opts = base();
	struct loader_stats stats;
	struct loader_batch b;
	struct loader *l;
	int32_t labels[2][FILES];
	int count[2][CLASSES] = {0}, c;
	uint32_t i, n[2] = {0};

	opts.workers = 2;
	l = loader__new(&opts);
	cr_assert_eq(loader__batches(l), 6);
	while (loader__next(l, &b) > 0) {
		cr_assert_eq(b.epoch, b.index / 6);
		cr_assert_eq(b.n, b.index % 6 == 5 ? 3 : 4);
		for (i = 0; i < b.n; i++) {
			labels[b.epoch][n[b.epoch]++] = b.labels[i];
			count[b.epoch][b.labels[i]]++;
		}
		loader__release(l, &b);
	}
	for (c = 0; c < CLASSES; c++)
		cr_expect(count[0][c] == (c < 3 ? 5 : 4) && count[1][c] == count[0][c]);
	cr_expect_neq(memcmp(labels[0], labels[1], sizeof(labels[0])), 0);
	loader__stats(l, &stats);
	cr_expect(stats.files == FILES && stats.classes == CLASSES && stats.images == 2 * FILES);
	cr_expect(stats.read_ns && stats.decode_ns && stats.augment_ns && stats.collate_ns);
	loader__free(l);
}

Test(loader, drops_the_last_batch_if_asked)
{
	struct loader_opts opts = base();
	uint64_t images;

	opts.drop_last = true;
	digest(&opts, &images);
	cr_expect_eq(images, 40);
	opts.batch = FILES + 1;
	cr_redirect_stderr();
	cr_expect_null(loader__new(&opts));
	cr_expect_eq(errno, EINVAL);
}

Test(loader, holds_two_batches_at_most)
{
	struct loader_opts opts = base();
	struct loader_batch a, b, c;
	struct loader *l;

	opts.workers = 1;
	l = loader__new(&opts);
	cr_redirect_stderr();
	cr_assert_eq(loader__next(l, &a), 1);
	cr_assert_eq(loader__next(l, &b), 1);
	cr_assert_eq(loader__next(l, &c), -EBUSY);
	loader__release(l, &a);
	cr_assert_eq(loader__next(l, &c), 1);
	cr_assert_eq(c.index, 2);
	loader__free(l);
}

/* ---- what goes wrong ---- */

static int run_to_error(enum loader_kind kind, uint32_t workers)
{
	struct loader_opts opts = base();
	struct loader_batch b;
	struct loader *l;
	int err, again;

	opts.kind = kind;
	opts.workers = workers;
	l = loader__new(&opts);
	cr_assert(l);
	while ((err = loader__next(l, &b)) > 0)
		loader__release(l, &b);
	again = loader__next(l, &b);
	cr_assert_eq(again, err, "an error stays");
	loader__free(l);
	return err;
}

static void expect_error(int want, const char *text)
{
	static const struct {
		enum loader_kind kind;
		uint32_t workers;
	} ways[] = {{LOADER_THREADS, 0}, {LOADER_THREADS, 2}, {LOADER_PROCESSES, 2}};
	char said[1024];
	size_t i, n;
	FILE *f;

	cr_redirect_stderr();
	for (i = 0; i < 3; i++)
		cr_expect_eq(run_to_error(ways[i].kind, ways[i].workers), want, "way %zu", i);
	fflush(stderr);
	f = cr_get_redirected_stderr();
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = '\0';
	cr_expect(strstr(said, text), "said: %s", said);
}

Test(loader, truncated_file_is_named)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/class2/7.jpg", dir);
	cr_assert_eq(truncate(path, 1000), 0);
	expect_error(-EBADMSG, "/class2/7.jpg': the file is truncated");
}

Test(loader, empty_file_is_named)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/class2/7.jpg", dir);
	cr_assert_eq(truncate(path, 0), 0);
	expect_error(-EBADMSG, "/class2/7.jpg': the file is empty");
}

Test(loader, other_contents_are_named)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/class2/7.jpg", dir);
	f = fopen(path, "w");
	fputs("no picture", f);
	fclose(f);
	expect_error(-EBADMSG, "/class2/7.jpg': Not a JPEG file");
}

Test(loader, dangling_file_is_named)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/class2/7.jpg", dir);
	unlink(path);
	cr_assert_eq(symlink("nowhere", path), 0);
	expect_error(-ENOENT, "/class2/7.jpg': no such file or directory");
}

Test(loader, folder_named_as_a_file_is_named)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/class2/7.jpg", dir);
	unlink(path);
	cr_assert_eq(mkdir(path, 0755), 0);
	expect_error(-EISDIR, "/class2/7.jpg': is a directory");
}

static void refuse(const char *path, int err, const char *text)
{
	struct loader_opts opts = base();
	char said[512] = "", want[256];

	opts.dir = path;
	cr_redirect_stderr();
	cr_assert_null(loader__new(&opts));
	cr_expect_eq(errno, err, "%d", errno);
	fflush(stderr);
	cr_assert(fgets(said, sizeof(said), cr_get_redirected_stderr()));
	snprintf(want, sizeof(want), text, path);
	cr_expect(strstr(said, want), "said: %s", said);
}

Test(loader, missing_folder)
{
	refuse("/nonexistent", ENOENT, "cannot open the data folder '%s': no such file");
}

Test(loader, empty_folder)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/new", dir);
	mkdir(path, 0755);
	refuse(path, ENODATA, "no images in '%s': expected a subfolder");
}

/* They are numbered too: labels may go beyond the number of classes that have files. */
Test(loader, empty_classes_are_numbered)
{
	static const char *const empty[] = {"a", "class0a", "z"};
	struct loader_opts opts = base();
	struct loader_stats stats;
	struct loader_batch b;
	struct loader *l;
	int32_t most = 0;
	char path[80];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, empty[i]);
		cr_assert_eq(mkdir(path, 0755), 0);
	}
	l = loader__new(&opts);
	cr_assert(l);
	loader__stats(l, &stats);
	cr_expect_eq(stats.classes, CLASSES);
	cr_expect_eq(stats.labels, CLASSES + 2);
	while (loader__next(l, &b) > 0) {
		for (uint32_t i = 0; i < b.n; i++)
			most = b.labels[i] > most ? b.labels[i] : most;
		loader__release(l, &b);
	}
	cr_expect_eq(most, CLASSES + 1);
	loader__free(l);
}

Test(loader, folder_of_empty_classes)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/new/a", dir);
	*strrchr(path, '/') = '\0';
	mkdir(path, 0755);
	path[strlen(path)] = '/';
	mkdir(path, 0755);
	*strrchr(path, '/') = '\0';
	refuse(path, ENODATA, "no JPEG files in the subfolders of '%s'");
}

static pid_t some_child(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "r");
	cr_assert(f && fscanf(f, "%d", &pid) == 1);
	fclose(f);
	return pid;
}

Test(loader, killed_worker_is_reported, .timeout = 30)
{
	struct loader_opts opts = base();
	struct loader_batch b;
	char want[96], said[256];
	struct loader *l;
	pid_t pid;
	int err;

	opts.kind = LOADER_PROCESSES;
	opts.workers = 1;
	opts.epochs = 0;
	l = loader__new(&opts);
	cr_assert_eq(loader__next(l, &b), 1);
	loader__release(l, &b);
	pid = some_child();
	kill(pid, SIGKILL);
	cr_redirect_stderr();
	while ((err = loader__next(l, &b)) > 0)
		loader__release(l, &b);
	cr_expect_eq(err, -ECHILD);
	fflush(stderr);
	cr_assert(fgets(said, sizeof(said), cr_get_redirected_stderr()));
	snprintf(want, sizeof(want), "loader worker 0 (process %d) was killed by signal 9", pid);
	cr_expect(strstr(said, want), "said: %s", said);
	loader__free(l);
	cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

Test(loader, stopping_early_leaves_nothing)
{
	struct loader_opts opts = base();
	int before = count_fds(), kind;
	struct loader_batch b;
	struct loader *l;

	opts.workers = 3;
	opts.epochs = 0;
	for (kind = LOADER_THREADS; kind <= LOADER_PROCESSES; kind++) {
		opts.kind = (enum loader_kind)kind;
		l = loader__new(&opts);
		cr_assert_eq(loader__next(l, &b), 1);
		loader__free(l);
	}
	cr_expect_eq(count_fds(), before);
	cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	loader__free(NULL);
}
