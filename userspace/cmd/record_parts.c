// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/record_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/lib/column.h"
#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/lib/opt.h"
#include "userspace/trace/trace.h"

#define DEFAULT_WINDOW_BYTES (64u << 20)
#define MOST_WINDOW_NS	     (24 * 3600 * 1000000000ULL)

bool record_parts__rotate(const struct record_parts *p)
{
	return p->opts && (p->opts->rotate_size || p->opts->rotate_ns);
}

bool record_parts__fly(const struct record_parts *p)
{
	return p->opts && p->opts->flight;
}

/* ---- options ---- */

static int parse_flight(struct record_parts *p, const char *text)
{
	const char *comma = strchr(text, ',');
	size_t n = comma ? (size_t)(comma - text) : strlen(text);
	char time[32] = "";

	p->window_bytes = DEFAULT_WINDOW_BYTES;
	if (n < sizeof(time))
		snprintf(time, sizeof(time), "%.*s", (int)n, text);
	if (opt__parse_time(time, &p->window_ns) ||
	    (comma && opt__parse_size(comma + 1, &p->window_bytes))) {
		log_error("record: --flight: '%s' is not understood, expected a time and perhaps a "
			  "size, such as 60s,64M",
			  text);
		return -EINVAL;
	}
	if (!p->window_ns || p->window_ns > MOST_WINDOW_NS ||
	    p->window_bytes < WINDOW_LEAST_BYTES) {
		log_error("record: --flight: '%s' is not possible: the time is at most a day, the "
			  "size at least 1M",
			  text);
		return -EINVAL;
	}
	return 0;
}

static int parse_condition(struct record_parts *p, const char *text)
{
	char why[160] = "";

	p->trigger = trigger__new(text, why, sizeof(why));
	if (p->trigger)
		return 0;
	if (errno == ENOMEM)
		log_error("record: out of memory");
	else
		log_error("record: --dump-on '%s': %s", text, why);
	return -errno;
}

static int refuse(const char *what)
{
	log_error("record: %s", what);
	return -EINVAL;
}

int record_parts__init(struct record_parts *p, const struct record_parts_opts *o,
		       const char *output, bool from_source)
{
	int err;

	*p = (struct record_parts){.opts = o};
	if (o->keep && !record_parts__used(p))
		return refuse("--keep needs --rotate-size, --rotate-time or --flight");
	if (o->dump_on && !o->flight)
		return refuse("--dump-on needs --flight");
	if (o->flight && record_parts__rotate(p))
		return refuse("--flight keeps a trace in memory: not with --rotate-size or "
			      "--rotate-time");
	if (o->keep > UINT32_MAX)
		return refuse("--keep must be less than 4,294,967,296");
	if (record_parts__used(p) && (strcmp(output, "-") == 0 || from_source))
		return refuse(from_source ? "numbered files are not made with --source"
					  : "numbered files are not made with -o -");
	err = o->flight ? parse_flight(p, o->flight) : 0;
	if (!err && o->dump_on)
		err = parse_condition(p, o->dump_on);
	return err;
}

void record_parts__free(struct record_parts *p)
{
	parts__free(&p->files);
	trigger__free(p->trigger);
}

/* ---- the beginning ---- */

int record_parts__open(struct record_parts *p, const char *output, bool force,
		       const struct caller *caller, struct recorder_opts *o)
{
	int err = parts__init(&p->files, output, force, p->opts->keep, caller);

	p->began_ns = hostclock__now();
	o->fd = -1;
	if (!err && record_parts__rotate(p))
		o->fd = parts__create(&p->files);
	if (err || (record_parts__rotate(p) && o->fd < 0))
		return err ? err : o->fd;
	o->parts = record_parts__rotate(p);
	o->window_ns = p->window_ns;
	o->window_bytes = p->window_bytes;
	return 0;
}

int record_parts__begin(struct record_parts *p, struct recorder *r)
{
	char size[32];

	if (record_parts__rotate(p))
		return recorder__meta(r, "part.number", "1");
	if (record_parts__fly(p))
		log_info("keeping the last %.3g s, at most %s; 'kill -USR1 %d' writes them to "
			 "'%s.NNNN"
			 ".xpt'",
			 (double)p->window_ns / 1e9,
			 format__bytes(size, sizeof(size), p->window_bytes), getpid(),
			 p->files.prefix);
	return 0;
}

/* ---- rotation ---- */

/* Is it time for another file? */
static bool is_full(const struct record_parts *p, struct recorder *r)
{
	struct recorder_stats stats;

	if (p->opts->rotate_ns && hostclock__now() - p->began_ns >= p->opts->rotate_ns)
		return true;
	if (!p->opts->rotate_size)
		return false;
	recorder__stats(r, &stats);
	return stats.bytes - p->began_bytes >= p->opts->rotate_size;
}

/* The file that takes no more stays the current one: it still gets its end. */
static int rotate(struct record_parts *p, struct recorder *r)
{
	struct part *before = p->files.current;
	char number[16];
	const char *const facts[] = {"part.number", number, NULL};
	struct recorder_stats stats;
	struct trace_part *done;
	int fd, err;

	fd = parts__create(&p->files);
	if (fd < 0)
		return fd;
	snprintf(number, sizeof(number), "%u", p->files.number);
	err = recorder__next_file(r, fd, facts, &done);
	if (!done) {
		parts__discard(&p->files, before);
		return err;
	}
	parts__ended(&p->files, before, done);
	recorder__stats(r, &stats);
	p->began_ns = hostclock__now();
	p->began_bytes = stats.bytes;
	return err;
}

/* ---- the last minutes ---- */

void record_parts__ask(struct record_parts *p)
{
	if (!record_parts__fly(p))
		return;
	p->asked = true;
	snprintf(p->cause, sizeof(p->cause), "SIGUSR1");
}

void record_parts__step(struct record_parts *p, const struct rec *rec)
{
	uint64_t now = rec->time_ns;
	struct trigger_hit hit;
	int n;

	if (!p->trigger || !trigger__step(p->trigger, rec, &hit) || p->asked)
		return;
	/* the file before has it already, or had room for it */
	if (p->triggered_ns && now - p->triggered_ns < p->window_ns)
		return;
	p->triggered_ns = now;
	p->asked = true;
	n = snprintf(p->cause, sizeof(p->cause), "step %llu of thread %u took %.3f ms",
		     (unsigned long long)hit.step, hit.tid, hit.step_ns / 1e6);
	if (!isnan(hit.p50_ns) && n > 0 && (size_t)n < sizeof(p->cause))
		snprintf(p->cause + n, sizeof(p->cause) - (size_t)n, " (p50 %.3f ms)",
			 hit.p50_ns / 1e6);
}

static int dump(struct record_parts *p, struct recorder *r)
{
	char number[16];
	const char *const facts[] = {"part.number", number, "part.cause", p->cause, NULL};
	struct trace_part *done = NULL;
	int fd = parts__create(&p->files), err;

	p->asked = false;
	if (fd < 0)
		return fd;
	snprintf(number, sizeof(number), "%u", p->files.number);
	err = recorder__next_file(r, fd, facts, &done);
	if (!done) {
		parts__discard(&p->files, NULL);
		return err;
	}
	log_info("writing '%s.%04u.xpt': %s", p->files.prefix, p->files.number, p->cause);
	parts__ended(&p->files, p->files.current, done);
	return err;
}

/* ---- both ---- */

int record_parts__poll(struct record_parts *p, struct recorder *r)
{
	int err;

	parts__look(&p->files);
	if (record_parts__rotate(p))
		return is_full(p, r) ? rotate(p, r) : 0;
	/* one after the other: each that is being written keeps what it is made of in memory */
	if (!p->asked || p->files.first)
		return 0;
	err = dump(p, r); /* was said; the next may be possible */
	if (!p->files.err)
		p->files.err = err;
	return 0;
}

int record_parts__stop(struct record_parts *p, struct recorder *r)
{
	if (!record_parts__fly(p))
		return 0;
	snprintf(p->cause, sizeof(p->cause), "the end of the recording");
	return dump(p, r);
}
