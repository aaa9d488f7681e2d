// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the trace costs by itself: bytes and nanoseconds per record, to write and to read again,
 * for streams like those of a real recording. Nothing but the codec: records come from memory,
 * the trace goes to a file in memory.
 *
 *   trace [STREAM [RECORDS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "userspace/trace/trace.h"

#define RINGS	 2
#define REPEATS	 30
#define SWEEP_NS 1000000 /* a recorder looks at its rings so often */

struct stream {
	const char *name;
	void (*make)(void *buf, uint64_t time_ns, unsigned int ring, uint64_t *seed);
	uint64_t every_ns; /* in each ring */
};

static uint64_t rnd(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* Around @middle with the long tail that durations have. */
static uint64_t noisy(uint64_t middle, uint64_t *seed)
{
	uint64_t r = rnd(seed), v = middle;

	v += (r & 0x3f) * middle / 256 + (r >> 6 & 0x3f) * middle / 256 + (r >> 12 & 0x1f);
	if ((r >> 32) % 50 == 0)
		v += (r >> 40) % (8 * middle);
	if ((r >> 32) % 2000 == 0)
		v += (r >> 40) % 4000000;
	return v;
}

static struct rec head(uint16_t type, size_t size, uint32_t tid, uint64_t time_ns)
{
	return (struct rec){.type = type, .size = (uint16_t)size, .tid = tid, .time_ns = time_ns};
}

/* A program that calls one ioctl as fast as it can, the worst that a ring will see. */
static void make_ioctl_loop(void *buf, uint64_t time_ns, unsigned int ring, uint64_t *seed)
{
	struct rec_ioctl *r = buf;

	*r = (struct rec_ioctl){
		.hdr = head(REC_IOCTL, sizeof(*r), 4000 + ring, time_ns),
		.duration_ns = noisy(400, seed),
		.cmd = 0x5401,
		.fd = 3,
		.ret = -25,
		.rdev = 1 << 20 | 3,
		.mode = 0020666,
		.inode = 4,
		.arg = 0x7ffd12345670,
	};
}

/* A device driver's user: threads, several commands and files, buffers on stack and heap. */
static void make_ioctl_device(void *buf, uint64_t time_ns, unsigned int ring, uint64_t *seed)
{
	static const uint32_t cmds[] = {0xc0104629, 0xc020462a, 0xc0304627, 0x4008ae6a,
					0xc01046a3, 0xc0384b07, 0x80084b06, 0xc0184b0c};
	struct rec_ioctl *r = buf;
	uint64_t x = rnd(seed);
	unsigned int cmd = x % 100 < 60 ? 0 : x % 8;

	*r = (struct rec_ioctl){
		.hdr = head(REC_IOCTL, sizeof(*r), (uint32_t)(4000 + ring * 8 + (x >> 8) % 8),
			    time_ns),
		.duration_ns = noisy(300 + 500 * cmd, seed),
		.cmd = cmds[cmd],
		.fd = (int)(8 + cmd / 3),
		.ret = (x >> 16) % 100 ? 0 : -11,
		.rdev = 195 << 20 | (cmd / 3),
		.mode = 0020666,
		.inode = 1000 + cmd / 3,
		.arg = (x >> 20) % 4 ? 0x7ffd12345670 + cmd * 64ull
				     : 0x55aa00000000 + (x >> 30) % 64 * 4096,
	};
}

/* What the scheduler emits beside it. */
static void make_sched(void *buf, uint64_t time_ns, unsigned int ring, uint64_t *seed)
{
	struct rec_sched_switch *s = buf;
	struct rec_sched_waking *w = buf;
	uint64_t x = rnd(seed);
	uint32_t tid = (uint32_t)(x % 3 ? 4000 + (x >> 4) % 12 : 17);

	if (x >> 63) {
		*w = (struct rec_sched_waking){
			.hdr = head(REC_SCHED_WAKING, sizeof(*w), tid, time_ns),
			.wakee_tid = (uint32_t)(4000 + (x >> 10) % 12),
			.wakee_pid = 4000,
			.cpu = (uint32_t)((x >> 20) % 2),
			.flags = (x >> 24) % 8 ? 6 : 22,
		};
		return;
	}
	*s = (struct rec_sched_switch){
		.hdr = head(REC_SCHED_SWITCH, sizeof(*s), tid, time_ns),
		.next_tid = (uint32_t)(4000 + (x >> 10) % 12),
		.prev_state = (x >> 20) % 4 ? 1 : 0,
		.prev_nr = (x >> 24) % 3 ? 202 : -1,
		.flags = (uint32_t)((x >> 28) % 8),
	};
}

/* A training program: launches, spans, ranges. */
static void make_marks(void *buf, uint64_t time_ns, unsigned int ring, uint64_t *seed)
{
	static uint64_t corr;
	struct rec_launch *l = buf;
	struct rec_span *s = buf;
	uint64_t x = rnd(seed), name = (x % 200 + 1) * 0x9e3779b97f4a7c15ULL;

	if (x >> 63) {
		*l = (struct rec_launch){
			.hdr = head(REC_LAUNCH, sizeof(*l), 4000 + ring, time_ns),
			.corr = ++corr,
			.name = name,
			.queue = (uint16_t)(x >> 50 & 1),
		};
		return;
	}
	*s = (struct rec_span){
		.hdr = head(REC_SPAN, sizeof(*s), 4010 + ring, time_ns),
		.end_ns = time_ns - noisy(300, seed),
		.corr = corr - (x >> 40) % 16,
		.name = name,
		.bytes = x % 5 ? 0 : (x >> 30) % 64 * 4096,
		.tier = 'A',
	};
	s->start_ns = s->end_ns - noisy(20000, seed);
}

static void make_mixed(void *buf, uint64_t time_ns, unsigned int ring, uint64_t *seed)
{
	uint64_t x = rnd(seed) % 100;

	if (x < 60)
		make_ioctl_device(buf, time_ns, ring, seed);
	else if (x < 90)
		make_sched(buf, time_ns, ring, seed);
	else
		make_marks(buf, time_ns, ring, seed);
}

static const struct stream streams[] = {
	{"ioctl-loop", make_ioctl_loop, 700}, {"ioctl-device", make_ioctl_device, 2500},
	{"sched", make_sched, 4000},	      {"marks", make_marks, 10000},
	{"mixed", make_mixed, 2000},
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The records of one ring, one after the other. */
struct ring {
	uint8_t *rows;
	size_t size, at;
	uint64_t time_ns;
};

static void fill(const struct stream *s, struct ring *r, unsigned int ring, uint64_t n)
{
	uint64_t seed = 88172645463325252ULL + ring, i;
	struct rec *rec;

	r->rows = malloc(n * 96);
	r->size = r->at = 0;
	r->time_ns = 1000000000;
	if (!r->rows)
		die("malloc");
	for (i = 0; i < n; i++) {
		r->time_ns += noisy(s->every_ns, &seed);
		rec = (struct rec *)(r->rows + r->size);
		s->make(rec, r->time_ns, ring, &seed);
		r->size += rec->size;
	}
}

/* As a recorder does: sweep after sweep, each ring up to the same time. */
static void write_all(struct trace_writer *w, struct ring *rings)
{
	uint64_t until = 1000000000 + SWEEP_NS;
	const struct rec *rec;
	unsigned int i, left;

	for (left = RINGS; left; until += SWEEP_NS) {
		for (i = 0, left = 0; i < RINGS; i++) {
			while (rings[i].at < rings[i].size) {
				rec = (const struct rec *)(rings[i].rows + rings[i].at);
				if (rec->time_ns > until)
					break;
				if (trace_writer__append(w, (uint16_t)i, rec))
					die("append");
				rings[i].at += rec->size;
			}
			left += rings[i].at < rings[i].size;
		}
		if (trace_writer__round(w, until, false))
			die("round");
	}
}

struct result {
	double write_ns, read_ns; /* per record */
	double raw_bytes, bytes;
};

static void write_and_read(struct ring *rings, int level, struct result *best)
{
	const struct trace_writer_opts opts = {.level = level, .begin_ns = 1};
	struct trace_writer_stats stats;
	struct trace_reader *r;
	struct trace_writer *w;
	struct trace_event ev;
	double t0, t1, t2;
	uint64_t read = 0;
	int fd = memfd_create("trace", 0);

	w = trace_writer__new(fd, &opts);
	if (fd < 0 || !w)
		die("trace");
	t0 = now();
	write_all(w, rings);
	if (trace_writer__finish(w))
		die("finish");
	t1 = now();
	trace_writer__stats(w, &stats);
	trace_writer__free(w);
	lseek(fd, 0, SEEK_SET);
	r = trace_reader__open_fd(fd, "memory");
	if (!r)
		die("open");
	while (trace_reader__next(r, &ev) == 1)
		read++;
	t2 = now();
	if (!read || read != stats.records)
		die("records are missing");
	trace_reader__free(r);
	close(fd);
	best->raw_bytes = (double)stats.raw_bytes / (double)read;
	best->bytes = (double)stats.bytes / (double)read;
	if (!best->write_ns || (t1 - t0) * 1e9 / (double)read < best->write_ns)
		best->write_ns = (t1 - t0) * 1e9 / (double)read;
	if (!best->read_ns || (t2 - t1) * 1e9 / (double)read < best->read_ns)
		best->read_ns = (t2 - t1) * 1e9 / (double)read;
}

/* The best of some repetitions: what disturbs only ever makes it slower. */
static void measure(const struct stream *s, uint64_t n, int level)
{
	struct ring rings[RINGS];
	struct result best = {0};
	unsigned int i, k;

	for (i = 0; i < RINGS; i++)
		fill(s, &rings[i], i, n / RINGS);
	for (k = 0; k < REPEATS; k++) {
		for (i = 0; i < RINGS; i++)
			rings[i].at = 0;
		write_and_read(rings, level, &best);
	}
	printf("%-14s %5d %10.2f %10.2f %10.1f %10.1f\n", s->name, level, best.raw_bytes,
	       best.bytes, best.write_ns, best.read_ns);
	for (i = 0; i < RINGS; i++)
		free(rings[i].rows);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
	size_t i;

	printf("%-14s %5s %10s %10s %10s %10s\n", "stream", "zstd", "raw B/rec", "B/rec",
	       "write ns", "read ns");
	for (i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		if (argc > 1 && strcmp(argv[1], "all") != 0 &&
		    strcmp(argv[1], streams[i].name) != 0)
			continue;
		measure(&streams[i], n, -1);
		measure(&streams[i], n, 1);
	}
	return 0;
}
