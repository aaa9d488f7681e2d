// SPDX-License-Identifier: BSD-2-Clause
/* A recording in several files: each opens alone, together they hold each record once. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/cpu_times.h"
#include "tests/unit/trace_util.h"

static struct trace_writer *w;

static struct trace_writer *begin(int fd)
{
	const struct trace_writer_opts opts = {.round_ns = 1000, .carry = true};

	w = trace_writer__new(fd, &opts);
	cr_assert_not_null(w);
	return w;
}

static int file(void)
{
	int fd = memfd_create("part", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	return fd;
}

static void go_on(int fd, uint64_t swept_ns)
{
	struct trace_part *done;

	cr_assert_eq(trace_writer__next_file(w, fd, swept_ns, NULL, &done), 0);
	while (!trace_part__is_durable(done))
		;
	cr_assert_eq(trace_part__finish(done), 0);
}

#define PUT(at, ring, NAME, name, who, ...)                                                        \
	do {                                                                                       \
		const struct rec_##name rec_ = {.hdr = {REC_##NAME, sizeof(rec_), (who), (at)},    \
						__VA_ARGS__};                                      \
                                                                                                   \
		cr_assert_eq(trace_writer__append(w, (ring), &rec_.hdr), 0);                       \
	} while (0)

/* ---- nothing is lost or doubled ---- */

/* What is not of the recorder's own ring, where things are said again. */
static void add_file(int fd, struct sums *sums, uint64_t from_ns)
{
	struct trace_reader *r;
	struct trace_damage damage;
	struct trace_info info;
	struct trace_event ev;
	uint64_t last = from_ns;

	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	r = trace_reader__open_fd(fd, "part");
	cr_assert_not_null(r);
	while (trace_reader__next(r, &ev) == 1) {
		cr_assert_geq(ev.rec->time_ns, last, "before the file begins, or not in order");
		last = ev.rec->time_ns;
		if (ev.ring != TRACE_RING_META)
			sums__add(sums, ev.ring, ev.rec);
	}
	trace_reader__info(r, &info);
	trace_reader__damage(r, &damage);
	cr_assert(info.complete);
	cr_assert_not(trace_damage__any(&damage));
	cr_assert_eq(info.begin_ns, from_ns);
	trace_reader__free(r);
}

Test(trace_parts, hold_each_record_once)
{
	uint64_t buf[REC_MAX_SIZE / 8], time = 1000000000, seed = 3, types = 1, i, began[64];
	struct sums in = {0}, out = {0};
	struct trace_writer_stats stats;
	uint64_t bytes = 0;
	struct rec *rec;
	unsigned int ring;
	int fd[64], n = 1, f;
	size_t size;

	while (record__at(types))
		types++;
	fd[0] = file();
	begin(fd[0]);
	for (i = 0; i < 60000; i++) {
		time += rnd(&seed) % 2000;
		rec = random_record(buf, record__at(rnd(&seed) % types), time, &seed);
		ring = (unsigned int)(rnd(&seed) % SUM_RINGS);
		if (!i)
			began[0] = time;
		cr_assert_eq(trace_writer__append(w, (uint16_t)ring, rec), 0);
		sums__add(&in, ring, rec);
		if (i % 100 == 0)
			cr_assert_eq(trace_writer__round(w, time, false), 0);
		if (rnd(&seed) % 1500 == 0 && n < 64) {
			began[n] = time;
			fd[n] = file();
			go_on(fd[n++], time);
		}
	}
	cr_assert_eq(trace_writer__finish(w), 0);
	trace_writer__stats(w, &stats);
	trace_writer__free(w);
	cr_assert_geq(n, 20);
	for (f = 0; f < n; f++) {
		add_file(fd[f], &out, began[f]);
		free(whole_file(fd[f], &size));
		bytes += size;
		close(fd[f]);
	}
	cr_expect(sums__equal(&in, &out));
	cr_expect_eq(stats.bytes, bytes);
	cr_expect_geq(stats.records, in.count);
	sums__free(&in);
	sums__free(&out);
}

/* ---- what a later file says again ---- */

struct again {
	uint64_t types[128];
	struct rec_task task[8];
	unsigned int tasks;
	struct rec_map map[8];
	unsigned int maps;
	struct rec_range_open range[8];
	unsigned int ranges;
	struct rec_unit_open unit;
	struct rec_job_open job;
	struct rec_io_uring_open uring;
	uint64_t clock_ticks;
	char facts[256]; /* "key=value " */
};

static void look(int fd, struct again *a)
{
	struct trace_reader *r;
	struct trace_event ev;
	const char *key, *value;
	size_t nk, nv;

	memset(a, 0, sizeof(*a));
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	r = trace_reader__open_fd(fd, "part");
	cr_assert_not_null(r);
	while (trace_reader__next(r, &ev) == 1) {
		a->types[ev.rec->type]++;
		if (ev.rec->type == REC_TASK && a->tasks < 8)
			memcpy(&a->task[a->tasks++], ev.rec, sizeof(a->task[0]));
		else if (ev.rec->type == REC_MAP && a->maps < 8)
			memcpy(&a->map[a->maps++], ev.rec, sizeof(a->map[0]));
		else if (ev.rec->type == REC_RANGE_OPEN && a->ranges < 8)
			memcpy(&a->range[a->ranges++], ev.rec, sizeof(a->range[0]));
		else if (ev.rec->type == REC_UNIT_OPEN)
			memcpy(&a->unit, ev.rec, sizeof(a->unit));
		else if (ev.rec->type == REC_JOB_OPEN)
			memcpy(&a->job, ev.rec, sizeof(a->job));
		else if (ev.rec->type == REC_IO_URING_OPEN)
			memcpy(&a->uring, ev.rec, sizeof(a->uring));
		else if (ev.rec->type == REC_CLOCK)
			a->clock_ticks = ((const struct rec_clock *)ev.rec)->ticks;
		if (ev.rec->type != REC_META)
			continue;
		key = record__text(ev.rec, 0, &nk);
		value = record__text(ev.rec, 1, &nv);
		sprintf(a->facts + strlen(a->facts), "%.*s=%.*s ", (int)nk, key, (int)nv, value);
	}
	trace_reader__free(r);
}

static const struct rec_task *task_of(const struct again *a, uint32_t tid)
{
	unsigned int i;

	for (i = 0; i < a->tasks; i++)
		if (a->task[i].hdr.tid == tid)
			return &a->task[i];
	return NULL;
}

/* Go on in another file; what is in that one when it ends at once. */
static void next(uint64_t swept_ns, struct again *a)
{
	int second = file(), third = file();

	go_on(second, swept_ns);
	go_on(third, swept_ns + 1);
	look(second, a);
	close(second);
}

Test(trace_parts, say_again_who_lives)
{
	const struct rec_task *t;
	struct again a;

	begin(file());
	PUT(1000, 0, TASK, task, 10, .pid = 10, .ppid = 1, .uid = 7, .start_ns = 5, .cgroup = 9,
	    .flags = REC_TASK_TARGET, .comm = "sh");
	PUT(1100, 0, TASK_FORK, task_fork, 10, .child_tid = 11, .child_pid = 11, .start_ns = 1100,
	    .child_ns_tid = 3, .comm = "sh");
	PUT(1200, 1, TASK_COMM, task_comm, 11, .pid = 11, .comm = "python3");
	PUT(1300, 1, TASK_FORK, task_fork, 11, .child_tid = 12, .child_pid = 11, .comm = "worker");
	PUT(1300, 1, TASK_FORK, task_fork, 11, .child_tid = 13, .child_pid = 13, .comm = "gone");
	PUT(1400, 1, TASK_EXIT, task_exit, 13, .pid = 13);
	/* its ring is read before the one that tells of its beginning */
	PUT(1500, 0, TASK_EXIT, task_exit, 14, .pid = 14);
	PUT(1450, 1, TASK_FORK, task_fork, 11, .child_tid = 14, .child_pid = 14, .comm = "brief");
	/* and its id was taken again */
	PUT(1600, 1, TASK_FORK, task_fork, 11, .child_tid = 13, .child_pid = 13, .comm = "other");
	/* a name that is read before its task; an end after which other rings may still tell of
	 * before */
	PUT(1650, 0, TASK_COMM, task_comm, 15, .pid = 15, .comm = "named");
	PUT(1640, 1, TASK_FORK, task_fork, 11, .child_tid = 15, .child_pid = 15, .comm = "parent");
	PUT(2100, 0, TASK_EXIT, task_exit, 12, .pid = 11);
	PUT(2200, 0, TASK_EXIT, task_exit, 16, .pid = 16);
	PUT(1660, 1, TASK_FORK, task_fork, 11, .child_tid = 16, .child_pid = 16, .comm = "late");
	PUT(2300, 0, TASK_EXIT, task_exit, 17, .pid = 17); /* nothing else is known of it */
	next(2000, &a);
	cr_expect_eq(a.tasks, 6);
	t = task_of(&a, 15);
	cr_assert_not_null(t);
	cr_expect_str_eq(t->comm, "named");
	cr_expect_not_null(task_of(&a, 16));
	cr_expect_eq(a.types[REC_TASK_FORK] + a.types[REC_TASK_EXIT] + a.types[REC_TASK_COMM], 0);
	t = task_of(&a, 10);
	cr_assert_not_null(t);
	cr_expect(t->hdr.time_ns == 2000 && t->pid == 10 && t->ppid == 1 && t->start_ns == 5 &&
		  t->cgroup == 9 && t->uid == 7);
	t = task_of(&a, 11);
	cr_assert_not_null(t);
	cr_expect_str_eq(t->comm, "python3");
	cr_expect(t->pid == 11 && t->ppid == 10 && t->uid == 7 && t->ns_tid == 3 &&
		  t->start_ns == 1100 && t->flags == REC_TASK_TARGET);
	t = task_of(&a, 12);
	cr_assert_not_null(t);
	cr_expect(t->pid == 11 && t->ppid == 10);
	t = task_of(&a, 13);
	cr_assert_not_null(t);
	cr_expect_str_eq(t->comm, "other");
	trace_writer__free(w);
}

/* The hooks tell of a neighbour once, of its end never: the last 8,192 are enough. */
Test(trace_parts, forget_old_neighbours)
{
	struct again a;
	uint32_t i;

	begin(file());
	PUT(900, 0, TASK, task, 5, .pid = 5, .flags = REC_TASK_TARGET);
	for (i = 0; i < 10000; i++)
		PUT(1000 + i, 0, TASK, task, 100 + i, .pid = 100 + i, .flags = REC_TASK_NEIGHBOUR);
	next(20000, &a);
	cr_expect_eq(a.types[REC_TASK], 8193);
	trace_writer__free(w);
}

static void map(uint64_t at, uint32_t pid, uint64_t addr, uint64_t len, const char *path)
{
	const struct rec_map fixed = {.hdr = {REC_MAP, sizeof(fixed), pid, at},
				      .pid = pid,
				      .addr = addr,
				      .len = len};
	const char *const texts[] = {"ab", path};

	cr_assert_eq(trace_writer__append_text(w, 20000, &fixed.hdr, texts, 2), 0);
}

Test(trace_parts, say_again_what_is_mapped)
{
	unsigned int i, of[3] = {0};
	struct again a;

	begin(file());
	PUT(1000, 0, TASK, task, 10, .pid = 10);
	map(1010, 10, 0x1000, 0x1000, "/bin/a");
	map(1020, 10, 0x8000, 0x1000, "/lib/old");
	map(1030, 10, 0x7000, 0x3000, "/lib/new"); /* over it */
	PUT(1100, 0, TASK_FORK, task_fork, 10, .child_tid = 11, .child_pid = 11);
	PUT(1100, 20000, MAP_FORK, map_fork, 10, .child_tid = 11, .child_pid = 11, .pid = 10);
	PUT(1100, 0, TASK_FORK, task_fork, 10, .child_tid = 12, .child_pid = 12);
	PUT(1110, 20000, MAP_FORK, map_fork, 10, .child_tid = 12, .child_pid = 12, .pid = 10);
	PUT(1150, 20000, MAP_COMM, map_comm, 11, .pid = 11, .flags = REC_MAP_EXEC);
	map(1160, 11, 0x4000, 0x1000, "/bin/b");
	PUT(1200, 0, TASK_EXIT, task_exit, 12, .pid = 12);
	PUT(1200, 20000, MAP_EXIT, map_exit, 12, .pid = 12);
	next(2000, &a);
	cr_expect_eq(a.maps, 3);
	for (i = 0; i < a.maps; i++) {
		cr_expect_eq(a.map[i].flags, REC_MAP_AGAIN);
		cr_expect_eq(a.map[i].hdr.time_ns, 2000);
		of[0] += a.map[i].pid == 10 && a.map[i].addr == 0x1000;
		of[1] += a.map[i].pid == 10 && a.map[i].addr == 0x7000;
		of[2] += a.map[i].pid == 11 && a.map[i].addr == 0x4000;
	}
	cr_expect(of[0] == 1 && of[1] == 1 && of[2] == 1);
	trace_writer__free(w);
}

Test(trace_parts, say_again_what_was_defined)
{
	const struct rec_name name = {.hdr = {REC_NAME, sizeof(name), 10, 1100}, .id = 77};
	const char *const text[] = {"forward"};
	struct again a;

	begin(file());
	cr_assert_eq(trace_writer__meta(w, 1000, "host.name", "a"), 0);
	cr_assert_eq(trace_writer__meta(w, 1000, "part.number", "1"), 0);
	cr_assert_eq(trace_writer__meta(w, 1010, "host.name", "b"), 0);
	PUT(1020, TRACE_RING_META, CLOCK, clock, 0, .clock = 0, .ticks = 1);
	PUT(1030, TRACE_RING_META, CLOCK, clock, 0, .clock = 0, .ticks = 2);
	cr_assert_eq(trace_writer__append_text(w, 20000, &name.hdr, text, 1), 0);
	PUT(1200, 0, TASK, task, 10, .pid = 10);
	PUT(1200, 0, TASK, task, 11, .pid = 10);
	PUT(1300, 20000, ROLE, role, 10, .name = 77);
	PUT(1310, 20000, ROLE, role, 11, .name = 77);
	PUT(1320, 0, TASK_EXIT, task_exit, 11, .pid = 10);
	PUT(1500, 20000, MARK_STEP, mark_step, 10, .step = 5);
	PUT(1600, 20000, IOCTL, ioctl, 10, .duration_ns = 10);
	cr_assert_eq(trace_writer__round(w, 5000000000, true), 0); /* 11 is long gone */
	next(5000000000, &a);
	cr_expect_str_eq(a.facts, "host.name=b ");
	cr_expect_eq(a.clock_ticks, 2);
	cr_expect_eq(a.types[REC_CLOCK], 1);
	cr_expect_eq(a.types[REC_NAME], 1);
	cr_expect_eq(a.types[REC_ROLE], 1);
	cr_expect_eq(a.types[REC_MARK_STEP] + a.types[REC_IOCTL], 0);
	trace_writer__free(w);
}

/* How many records of @type @fd has of which @is is true. */
static unsigned int count(int fd, uint16_t type, bool (*is)(const struct rec *rec))
{
	struct trace_reader *r;
	struct trace_event ev;
	unsigned int n = 0;

	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	r = trace_reader__open_fd(fd, "part");
	cr_assert_not_null(r);
	while (trace_reader__next(r, &ev) == 1)
		n += ev.rec->type == type && is(ev.rec);
	trace_reader__free(r);
	return n;
}

static bool is_long_used_file(const struct rec *rec)
{
	const struct rec_file *f = (const void *)rec;

	return f->inode == 1 && f->dev == 8 && f->mount == 30;
}

static bool is_long_used_stream(const struct rec *rec)
{
	return ((const struct rec_stream *)rec)->inode <= 2; /* both ends of a sendfile */
}

static bool is_last_file(const struct rec *rec)
{
	return ((const struct rec_file *)rec)->inode == 70000;
}

static bool is_last_stream(const struct rec *rec)
{
	return ((const struct rec_stream *)rec)->inode == 70000;
}

/*
 * Of any number of pipes, sockets and files, of whose ends nobody tells, those that calls met last
 * are said again. They take no room from each other, and what goes out is not missed.
 */
static void meet_many(void)
{
	uint32_t i;

	PUT(900, 0, NAME, name, 1, .id = 5);
	PUT(900, 0, FILE, file, 1, .inode = 1, .dev = 8, .mount = 30);
	for (i = 1; i <= 70000; i++) {
		PUT(1000 + i, 0, STREAM, stream, 1, .inode = i, .dev = 9);
		if (i > 1)
			PUT(1000 + i, 0, FILE, file, 1, .inode = i, .dev = 8, .mount = 30);
		if (i % 1000)
			continue;
		PUT(1000 + i, 0, STREAM_IO, stream_io, 1, .inode = 1, .dev = 9, .to_inode = 2,
		    .to_dev = 9);
		PUT(1000 + i, 0, FILE_IO, file_io, 1, .inode = 1, .dev = 8, .mount = 30);
		/* the same inode elsewhere is another file */
		PUT(1000 + i, 0, FILE_IO, file_io, 1, .inode = 2, .dev = 8, .mount = 31);
	}
}

static void look_at_met(int fd, const char *facts)
{
	struct again a;

	look(fd, &a);
	cr_expect_eq(a.types[REC_STREAM], 32768);
	cr_expect_eq(a.types[REC_FILE], 65536);
	cr_expect_eq(a.types[REC_NAME], 1);
	cr_expect_str_eq(a.facts, facts); /* nothing was left out */
	cr_expect_eq(count(fd, REC_FILE, is_long_used_file), 1);
	cr_expect_eq(count(fd, REC_STREAM, is_long_used_stream), 2);
	cr_expect_eq(count(fd, REC_FILE, is_last_file), 1);
	cr_expect_eq(count(fd, REC_STREAM, is_last_stream), 1);
}

Test(trace_parts, say_again_what_was_met_last)
{
	int second = file(), third = file();

	begin(file());
	meet_many();
	go_on(second, 100000);
	go_on(third, 100001);
	look_at_met(second, "");
	close(second);
	trace_writer__free(w);
}

/* Whoever looks at one file knows what the cpus had done when it began. */
Test(trace_parts, say_again_what_cpus_did)
{
	struct cpu_times t = {0};
	struct trace_reader *r;
	struct trace_event ev;
	int second = file();
	unsigned int n = 0;

	begin(file());
	PUT(1000, TRACE_RING_META, CPU_STAT, cpu_stat, 0, .cpu = 0, .user_ns = 10, .steal_ns = 5);
	PUT(1000, TRACE_RING_META, CPU_STAT, cpu_stat, 0, .cpu = 1, .user_ns = 10, .steal_ns = 5);
	PUT(1500, TRACE_RING_META, CPU_STAT, cpu_stat, 0, .cpu = 0, .user_ns = 50, .steal_ns = 20);
	PUT(1500, TRACE_RING_META, CPU_STAT, cpu_stat, 0, .cpu = 1, .user_ns = 60, .steal_ns = 5);
	go_on(second, 1501);
	PUT(1900, TRACE_RING_META, CPU_STAT, cpu_stat, 0, .cpu = 0, .user_ns = 110, .steal_ns = 60);
	PUT(1900, TRACE_RING_META, CPU_STAT, cpu_stat, 0, .cpu = 1, .user_ns = 70, .steal_ns = 5);
	cr_assert_eq(trace_writer__finish(w), 0);
	cr_assert_eq(lseek(second, 0, SEEK_SET), 0);
	r = trace_reader__open_fd(second, "part");
	cr_assert_not_null(r);
	while (trace_reader__next(r, &ev) == 1) {
		if (ev.rec->type != REC_CPU_STAT)
			continue;
		cr_expect_eq(ev.rec->time_ns, n++ < 2 ? 1501 : 1900);
		cr_assert_eq(cpu_times__add(&t, (const void *)ev.rec), 0);
	}
	trace_reader__free(r);
	cr_assert_eq(n, 4);
	cr_assert_eq(t.n, 2);
	cr_expect(t.rows[0].user_ns == 60 && t.rows[0].steal_ns == 40);
	cr_expect_float_eq(t.rows[0].steal_pct, 40, 1e-9);
	cr_expect(t.rows[1].user_ns == 10 && t.rows[1].steal_ns == 0);
	cpu_times__free(&t);
	close(second);
	trace_writer__free(w);
}

Test(trace_parts, say_again_what_is_open)
{
	struct again a;

	begin(file());
	PUT(1000, 20000, RANGE_BEGIN, range_begin, 10, .name = 1);
	PUT(1100, 20000, RANGE_BEGIN, range_begin, 10, .name = 2);
	PUT(1200, 20000, RANGE_BEGIN, range_begin, 10, .name = 1);
	PUT(1300, 20000, RANGE_END, range_end, 10, .name = 1);
	PUT(1400, 20000, RANGE_BEGIN, range_begin, 11, .name = 1);
	PUT(1500, 20000, RANGE_END, range_end, 11, .name = 1);
	PUT(1000, 20000, UNIT_BEGIN, unit_begin, 10, .unit = 4, .kind = 9);
	PUT(1000, 20000, UNIT_BEGIN, unit_begin, 10, .unit = 5, .kind = 9);
	PUT(1050, 20000, UNIT_HANDOVER, unit_handover, 11, .unit = 4);
	PUT(1060, 20000, UNIT_END, unit_end, 10, .unit = 5);
	next(2000, &a);
	cr_assert_eq(a.ranges, 2);
	cr_expect(a.range[0].hdr.tid == 10 && a.range[0].name == 1 && a.range[0].start_ns == 1000);
	cr_expect(a.range[1].hdr.tid == 10 && a.range[1].name == 2 && a.range[1].start_ns == 1100);
	cr_expect_eq(a.types[REC_RANGE_BEGIN] + a.types[REC_RANGE_END] + a.types[REC_UNIT_BEGIN],
		     0);
	cr_expect_eq(a.types[REC_UNIT_OPEN], 1);
	cr_expect(a.unit.hdr.tid == 11 && a.unit.unit == 4 && a.unit.kind == 9 &&
		  a.unit.start_ns == 1000 && a.unit.hdr.time_ns == 2000);
	trace_writer__free(w);
}

/* Of the calls that the hooks tell of, those whose return came with them are not open. */
Test(trace_parts, say_again_which_calls_have_not_returned)
{
	struct again a;

	begin(file());
	PUT(1000, 0, IOCTL_BLOCKED, ioctl_blocked, 9, .start_ns = 900); /* before it was asked */
	trace_writer__ask(w);
	PUT(1900, 1, IOCTL, ioctl, 10, .duration_ns = 200);
	PUT(1800, 0, IOCTL_BLOCKED, ioctl_blocked, 10, .start_ns = 1700);
	PUT(1800, 0, IOCTL_BLOCKED, ioctl_blocked, 11, .start_ns = 1750);
	PUT(1760, 1, IOCTL, ioctl, 11, .duration_ns = 100);
	PUT(1800, 0, FILE_BLOCKED, file_blocked, 12, .start_ns = 1700);
	PUT(1800, 0, FUTEX_BLOCKED, futex_blocked, 13, .start_ns = 1600);
	PUT(1800, 0, FUTEX_BLOCKED, futex_blocked, 14, .start_ns = 1600);
	PUT(1900, 1, FUTEX_WAIT, futex_wait, 14, .duration_ns = 300);
	PUT(1800, 0, STREAM_BLOCKED, stream_blocked, 12, .start_ns = 1701); /* of one sendfile */
	PUT(1800, 0, STREAM_BLOCKED, stream_blocked, 16, .start_ns = 1700);
	PUT(1810, 1, STREAM_IO, stream_io, 16, .duration_ns = 110);
	PUT(1800, 0, WAIT_BLOCKED, wait_blocked, 17, .start_ns = 1700);
	PUT(1800, 0, WAIT_BLOCKED, wait_blocked, 18, .start_ns = 1700);
	PUT(1820, 1, WAIT, wait, 18, .duration_ns = 120);
	/* a wait for a futex that goes on after a signal is told of twice, and so is its end */
	PUT(1800, 0, FUTEX_BLOCKED, futex_blocked, 19, .start_ns = 1701, .flags = REC_FUTEX_AGAIN);
	PUT(1800, 0, WAIT_BLOCKED, wait_blocked, 19, .start_ns = 1700, .call = REC_WAIT_RESTART);
	PUT(1690, 1, FUTEX_WAIT, futex_wait, 19, .duration_ns = 90); /* before the signal */
	PUT(1800, 0, FUTEX_BLOCKED, futex_blocked, 20, .start_ns = 1701, .flags = REC_FUTEX_AGAIN);
	PUT(1800, 0, WAIT_BLOCKED, wait_blocked, 20, .start_ns = 1700, .call = REC_WAIT_RESTART);
	PUT(1900, 1, WAIT, wait, 20, .duration_ns = 200, .call = REC_WAIT_RESTART);
	PUT(1900, 1, FUTEX_WAIT, futex_wait, 20, .duration_ns = 199);
	next(2000, &a);
	cr_expect_eq(a.types[REC_IOCTL] + a.types[REC_STREAM_IO] + a.types[REC_WAIT], 0);
	cr_expect_eq(a.types[REC_IOCTL_BLOCKED], 1);
	cr_expect_eq(a.types[REC_FILE_BLOCKED], 1);
	cr_expect_eq(a.types[REC_FUTEX_BLOCKED], 2);
	cr_expect_eq(a.types[REC_FUTEX_WAIT], 0);
	cr_expect_eq(a.types[REC_STREAM_BLOCKED], 1);
	cr_expect_eq(a.types[REC_WAIT_BLOCKED], 2);
	next(3000, &a); /* nobody asked */
	cr_expect_eq(a.types[REC_IOCTL_BLOCKED] + a.types[REC_FILE_BLOCKED] +
			     a.types[REC_STREAM_BLOCKED] + a.types[REC_WAIT_BLOCKED] +
			     a.types[REC_FUTEX_BLOCKED],
		     0);
	trace_writer__free(w);
}

#define BLOCK_OPEN_AT(tid, start)                                                                  \
	PUT(1800, 0, BLOCK_OPEN, block_open, tid, .dev = 8, .start_ns = start)
#define OF_FENCE(n) .fence = 0xf0 + (n), .context = 4, .seqno = n

/* Of those, whose end comes after they were asked for is not open; one like it is. */
Test(trace_parts, say_again_which_requests_are_under_way)
{
	struct again a;

	begin(file());
	PUT(1000, 0, JOB_OPEN, job_open, 9, OF_FENCE(9), .queued_ns = 900); /* nobody had asked */
	trace_writer__ask(w);
	BLOCK_OPEN_AT(10, 1700);
	BLOCK_OPEN_AT(11, 1700);
	BLOCK_OPEN_AT(11, 1710);
	PUT(1900, 1, BLOCK, block, 11, .dev = 8, .queue_ns = 60, .device_ns = 130);
	PUT(1800, 0, FENCE_OPEN, fence_open, 10, OF_FENCE(1), .made_ns = 1500);
	PUT(1800, 0, FENCE_OPEN, fence_open, 10, OF_FENCE(2), .made_ns = 1500);
	PUT(1900, 1, FENCE, fence, 10, OF_FENCE(1), .made_ns = 1500, .signalled_ns = 1890);
	PUT(1800, 0, FENCE_BLOCKED, fence_blocked, 10, OF_FENCE(2), .start_ns = 1600);
	PUT(1800, 0, FENCE_BLOCKED, fence_blocked, 11, OF_FENCE(2), .start_ns = 1600);
	PUT(1900, 1, FENCE_WAIT, fence_wait, 11, OF_FENCE(2), .duration_ns = 300);
	PUT(1800, 0, JOB_OPEN, job_open, 10, OF_FENCE(3), .queued_ns = 1400, .begun_ns = 1450);
	PUT(1800, 0, JOB_OPEN, job_open, 10, OF_FENCE(4), .queued_ns = 1400);
	PUT(1900, 1, JOB, job, 10, OF_FENCE(4), .queue_ns = 400, .run_ns = 100);
	next(2000, &a);
	cr_expect_eq(a.types[REC_BLOCK_OPEN], 2);
	cr_expect_eq(a.types[REC_FENCE_OPEN], 1);
	cr_expect_eq(a.types[REC_FENCE_BLOCKED], 1);
	cr_expect_eq(a.types[REC_JOB_OPEN], 1);
	cr_expect_eq(a.types[REC_BLOCK] + a.types[REC_FENCE] + a.types[REC_JOB], 0);
	cr_expect(a.job.hdr.tid == 10 && a.job.seqno == 3 && a.job.queued_ns == 1400 &&
		  a.job.begun_ns == 1450 && a.job.hdr.time_ns == 2000);
	next(3000, &a); /* nobody asked */
	cr_expect_eq(a.types[REC_BLOCK_OPEN] + a.types[REC_FENCE_OPEN] + a.types[REC_JOB_OPEN], 0);
	trace_writer__free(w);
}

#define URING_OPEN_AT(start, ...)                                                                  \
	PUT(1800, 0, IO_URING_OPEN, io_uring_open, 10, .op = REC_IO_URING_OP_POLL_ADD,             \
	    .start_ns = start, __VA_ARGS__)
#define URING_AT(start, ...)                                                                       \
	PUT(1900, 1, IO_URING, io_uring, 10, .op = REC_IO_URING_OP_POLL_ADD, .start_ns = start,    \
	    .duration_ns = 1900 - (start), __VA_ARGS__)

/* One that was completed for once goes on, and the next file knows how often that was. */
Test(trace_parts, say_again_which_requests_of_io_uring_are_under_way)
{
	struct again a;

	begin(file());
	URING_OPEN_AT(1000, .nth = 1); /* nobody had asked */
	trace_writer__ask(w);
	URING_OPEN_AT(1500, .nth = 0);
	URING_OPEN_AT(1600, .nth = 2);
	PUT(1800, 0, IO_URING_OPEN, io_uring_open, 10, .op = REC_IO_URING_OP_READ,
	    .start_ns = 1500);
	URING_AT(1600, .nth = 3, .flags = REC_IO_URING_MORE);
	URING_AT(1500, .nth = 1);
	PUT(1900, 1, IO_URING, io_uring, 10, .op = REC_IO_URING_OP_READ, .start_ns = 1500,
	    .flags = REC_IO_URING_UNSEEN); /* how it ended is not known, but that */
	next(2000, &a);
	cr_expect_eq(a.types[REC_IO_URING], 0);
	cr_assert_eq(a.types[REC_IO_URING_OPEN], 1);
	cr_expect(a.uring.hdr.tid == 10 && a.uring.start_ns == 1600 && a.uring.nth == 3 &&
		  a.uring.hdr.time_ns == 2000 && a.uring.op == REC_IO_URING_OP_POLL_ADD);
	next(3000, &a); /* nobody asked */
	cr_expect_eq(a.types[REC_IO_URING_OPEN], 0);
	trace_writer__free(w);
}

/* ---- full disks ---- */

/* The file that takes no more has an end that says so; the ones before are as they were. */
static void check_full(const char *path, uint64_t limit)
{
	struct rlimit rl = {limit, limit};
	uint64_t i, n[2] = {0}, lost = 0;
	struct trace_reader *r;
	struct trace_event ev;
	struct trace_info info;
	struct trace_part *done;
	int fd[2], status, f;

	fd[0] = file();
	fd[1] = file();
	if (!fork()) {
		begin(fd[0]);
		for (i = 0; i < 2000; i++)
			PUT(1000 + i, 0, IOCTL, ioctl, 1, .arg = i * 0x9e3779b97f4a7c15);
		go_on(fd[1], 1000 + i);
		if (setrlimit(RLIMIT_FSIZE, &rl))
			_exit(2);
		for (; i < 60000; i++) {
			const struct rec_ioctl rec = {.hdr = {REC_IOCTL, sizeof(rec), 1, 1000 + i},
						      .arg = i * 0x9e3779b97f4a7c15};

			trace_writer__append(w, 0, &rec.hdr);
			trace_writer__round(w, 1000 + i, false);
		}
		if (trace_writer__next_file(w, fd[0], 1000 + i, NULL, &done) != -EFBIG || done)
			_exit(3);
		if (trace_writer__finish(w) != -EFBIG)
			_exit(4);
		_exit(0);
	}
	cr_assert_gt(wait(&status), 0);
	cr_assert_eq(status, 0, "%s: status 0x%x", path, status);
	for (f = 0; f < 2; f++) {
		cr_assert_eq(lseek(fd[f], 0, SEEK_SET), 0);
		r = trace_reader__open_fd(fd[f], path);
		cr_assert_not_null(r);
		while (trace_reader__next(r, &ev) == 1) {
			n[f] += ev.rec->type == REC_IOCTL;
			if (ev.rec->type == REC_LOST)
				lost += ((const struct rec_lost *)ev.rec)->count;
		}
		trace_reader__info(r, &info);
		cr_expect(info.complete, "limit %llu, file %d", (unsigned long long)limit, f);
		trace_reader__free(r);
		close(fd[f]);
	}
	cr_expect_eq(n[0], 2000);
	cr_expect_eq(n[1] + lost, 58000);
	cr_expect_gt(lost, 0);
}

Test(trace_parts, keep_the_earlier_ones_when_the_disk_is_full)
{
	check_full("part", 40000);
	check_full("part", 47777);
	check_full("part", 100001);
}

/* ---- the last minutes in memory ---- */

static struct trace_writer *begin_window(uint64_t ns, uint64_t bytes)
{
	const struct trace_writer_opts opts = {
		.round_ns = 1000,
		.window_ns = ns,
		.window_bytes = bytes,
	};

	w = trace_writer__new(-1, &opts);
	cr_assert_not_null(w);
	return w;
}

static int write_out(uint64_t now_ns)
{
	const char *const facts[] = {"part.number", "7", NULL};
	struct trace_part *done;
	int fd = file();

	cr_assert_eq(trace_writer__round(w, now_ns, true), 0);
	cr_assert_eq(trace_writer__next_file(w, fd, now_ns, facts, &done), 0);
	while (!trace_part__is_durable(done))
		;
	cr_assert_eq(trace_part__finish(done), 0);
	return fd;
}

/* Numbered ioctls, from @from to below @to, one each 10 ns. */
static void put_numbers(uint64_t from, uint64_t to)
{
	uint64_t i;

	for (i = from; i < to; i++) {
		PUT(1000 + 10 * i, i % 3, IOCTL, ioctl, 10, .arg = i,
		    .inode = i * 0x9e3779b97f4a7c15);
		if (i % 50 == 0)
			cr_assert_eq(trace_writer__round(w, 1000 + 10 * i, false), 0);
	}
}

/* The numbers in @fd are @to - 1, @to - 2 and so on: how many. */
static uint64_t last_numbers(int fd, uint64_t to)
{
	struct trace_reader *r;
	struct trace_damage damage;
	struct trace_info info;
	struct trace_event ev;
	uint64_t n = 0, first = 0, arg;

	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	r = trace_reader__open_fd(fd, "window");
	cr_assert_not_null(r);
	while (trace_reader__next(r, &ev) == 1) {
		if (ev.rec->type != REC_IOCTL)
			continue;
		arg = ((const struct rec_ioctl *)ev.rec)->arg;
		if (!n++)
			first = arg;
		cr_assert_eq(arg, first + n - 1);
	}
	trace_reader__info(r, &info);
	trace_reader__damage(r, &damage);
	cr_assert(info.complete);
	cr_assert_not(trace_damage__any(&damage));
	cr_assert_eq(first + n, to);
	trace_reader__free(r);
	return n;
}

Test(trace_window, keeps_so_long)
{
	int fd;

	begin_window(100000, 16u << 20);
	put_numbers(0, 50000);
	fd = write_out(1000 + 500000);
	/* 100,000 ns are 10,000 records; what is let go of are whole rounds of at least 100 */
	cr_expect_geq(last_numbers(fd, 50000), 10000);
	cr_expect_leq(last_numbers(fd, 50000), 10400);
	close(fd);
	put_numbers(50000, 54000); /* it goes on, and what was written is still kept */
	fd = write_out(1000 + 540000);
	cr_expect_geq(last_numbers(fd, 54000), 10000);
	close(fd);
	trace_writer__free(w);
}

Test(trace_window, keeps_so_much)
{
	struct trace_writer_stats stats;
	uint64_t i;
	int fd;

	begin_window(1000000000000, 1u << 20);
	for (i = 0; i < 20; i++) {
		put_numbers(i * 20000, (i + 1) * 20000);
		trace_writer__stats(w, &stats);
		cr_expect_leq(stats.bytes, (1u << 20) + (1u << 18)); /* and the round under way */
	}
	cr_expect_gt(stats.bytes, 900000);
	fd = write_out(1000 + 4000000);
	cr_expect_gt(last_numbers(fd, 400000), 10000);
	close(fd);
	/* what is there at once is all there is */
	trace_writer__free(w);
	begin_window(1000000000000, 1u << 20);
	put_numbers(0, 100);
	fd = write_out(3000);
	cr_expect_eq(last_numbers(fd, 100), 100);
	close(fd);
	trace_writer__free(w);
}

/* What is said at the head is what was so when the window begins, not what is so now. */
Test(trace_window, says_what_was_so_at_its_beginning)
{
	const struct rec_task *t;
	struct again a;
	int fd;

	begin_window(100000, 16u << 20);
	PUT(500, 0, TASK, task, 10, .pid = 10, .flags = REC_TASK_TARGET, .comm = "early");
	PUT(600, 0, TASK, task, 11, .pid = 10, .flags = REC_TASK_TARGET, .comm = "ends");
	PUT(700, 20000, RANGE_BEGIN, range_begin, 10, .name = 1);
	PUT(800, 20000, RANGE_BEGIN, range_begin, 10, .name = 2);
	PUT(900, 20000, RANGE_END, range_end, 10, .name = 2);
	cr_assert_eq(trace_writer__meta(w, 950, "host.name", "here"), 0);
	put_numbers(0, 48000);
	PUT(481500, 0, TASK_COMM, task_comm, 10, .pid = 10, .comm = "late");
	PUT(481500, 0, TASK_EXIT, task_exit, 11, .pid = 10);
	PUT(481500, 20000, RANGE_END, range_end, 10, .name = 1);
	put_numbers(48100, 50000);
	fd = write_out(501000);
	look(fd, &a);
	close(fd);
	cr_expect_str_eq(a.facts, "host.name=here part.number=7 ");
	t = task_of(&a, 10);
	cr_assert_not_null(t);
	cr_expect_str_eq(t->comm, "early");
	cr_expect_not_null(task_of(&a, 11));
	cr_assert_eq(a.ranges, 1);
	cr_expect(a.range[0].name == 1 && a.range[0].start_ns == 700);
	cr_expect_eq(a.types[REC_TASK_COMM], 1);
	cr_expect_eq(a.types[REC_RANGE_END], 1);
	trace_writer__free(w);
}

/* What calls met in what was let go of is known, too, and what was met last goes out last. */
Test(trace_window, says_what_was_met_last)
{
	uint64_t i;
	int fd;

	begin_window(1000, 16u << 20);
	meet_many();
	for (i = 0; i < 10; i++) {
		PUT(100000 + i * 1000, 0, IOCTL, ioctl, 1, .arg = i);
		cr_assert_eq(trace_writer__round(w, 100000 + i * 1000, true), 0);
	}
	fd = write_out(120000);
	look_at_met(fd, "part.number=7 ");
	close(fd);
	trace_writer__free(w);
}

/* A full disk costs that file its rest, not the window. */
Test(trace_window, outlives_a_full_disk)
{
	struct rlimit rl = {30000, RLIM_INFINITY}, back = {RLIM_INFINITY, RLIM_INFINITY};
	struct trace_part *done;
	int fd = file();

	begin_window(1000000000000, 16u << 20);
	put_numbers(0, 20000);
	cr_assert_eq(trace_writer__round(w, 201000, true), 0);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &back), 0);
	rl.rlim_max = back.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &rl), 0);
	cr_assert_eq(trace_writer__next_file(w, fd, 201000, NULL, &done), 0);
	cr_expect_eq(trace_part__finish(done), -EFBIG);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &back), 0);
	close(fd);
	put_numbers(20000, 21000);
	fd = write_out(211000);
	cr_expect_eq(last_numbers(fd, 21000), 21000);
	close(fd);
	trace_writer__free(w);
}
