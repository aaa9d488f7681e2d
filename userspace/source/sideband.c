// SPDX-License-Identifier: BSD-2-Clause
/* The source 'sideband': what targets map to be executed, by perf's events and by /proc. */
#include "userspace/source/sideband.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/lib/map.h"
#include "userspace/source/kernel.h"
#include "userspace/source/mapping.h"
#include "userspace/source/probe.h"
#include "userspace/source/proc.h"
#include "userspace/source/sideband_ring.h"
#include "userspace/source/source.h"

/* Cpus are some microseconds late with what they tell; orders between them are then right. */
#define HOLD_NS 5000000ULL

struct source {
	struct trace_writer *writer;
	struct sideband_rings *rings; /* NULL: refused, or not asked for */
	uint16_t ring;
	bool wanted, attach, everybody;
	struct map targets; /* by pid: since when, in ns */
	bool (*is_target)(void *arg, pid_t pid);
	void *arg;
	struct hook_report report;
	uint64_t swept_ns; /* up to here all has been told */
	uint64_t hits;
	struct source_stats stats;
};

void source_sideband__ask(struct source *s, bool (*is_target)(void *arg, pid_t pid), void *arg)
{
	s->is_target = is_target;
	s->arg = arg;
}

const struct hook_report *source_sideband__report(const struct source *s)
{
	return s->wanted ? &s->report : NULL;
}

/* ---- records ---- */

static int put(struct source *s, const struct rec *rec)
{
	s->stats.records++;
	return trace_writer__append(s->writer, s->ring, rec);
}

static int put_map(struct source *s, uint16_t ring, const struct mapping *m, uint32_t pid,
		   uint32_t tid, uint64_t time_ns, uint32_t flags)
{
	const char *const texts[] = {m->build_id, m->path};
	const struct rec_map rec = {
		.hdr = {.type = REC_MAP, .tid = tid, .time_ns = time_ns},
		.addr = m->addr,
		.len = m->len,
		.pgoff = m->pgoff,
		.inode = m->inode,
		.pid = pid,
		.dev = m->dev,
		.prot = m->prot,
		.mmap_flags = m->flags,
		.flags = flags,
	};

	s->stats.records++;
	return trace_writer__append_text(s->writer, ring, &rec.hdr, texts, 2);
}

static int write_count(struct source *s)
{
	const struct rec_hook_count rec = {
		.hdr = {.type = REC_HOOK_COUNT, .size = sizeof(rec), .time_ns = hostclock__now()},
		.hook = REC_HOOK_SIDEBAND,
		.cpu = REC_NO_CPU,
		.hits = s->hits,
		.records = s->stats.records,
		.lost = s->stats.lost,
	};

	return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
}

/* Of whom the lost ones were is not known. */
static int put_lost(struct source *s, const struct side_event *e, unsigned int cpu)
{
	const struct rec_lost rec = {
		.hdr = {.type = REC_LOST, .size = sizeof(rec), .time_ns = hostclock__now()},
		.hook = REC_HOOK_SIDEBAND,
		.cpu = cpu,
		.why = REC_LOST_RING,
		.count = e->lost,
		.since_ns = s->swept_ns,
	};

	s->stats.lost += e->lost;
	return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
}

/* What was lost last, on cpus where nothing happened after it. */
static int put_untold(struct source *s)
{
	struct side_event e = {.kind = SIDE_LOST};
	unsigned int cpu;
	int err = 0;

	while (!err && (e.lost = sideband_rings__untold(s->rings, &cpu)) > 0)
		err = put_lost(s, &e, cpu);
	return err;
}

/* ---- targets ---- */

static int put_target(struct source *s, pid_t pid, uint64_t since_ns)
{
	return map__put(&s->targets, pid, (void *)(uintptr_t)since_ns); /* never 0 */
}

/* It is created, by none of the targets: had somebody its id before, or was it made one since? */
static void forget_older(struct source *s, const struct side_event *e)
{
	if ((uintptr_t)map__get(&s->targets, e->pid) < e->time_ns)
		map__del(&s->targets, e->pid);
}

struct present {
	struct source *s;
	pid_t pid;
};

static int tell_present(void *arg, struct mapping *m)
{
	struct present *p = arg;

	mapping__complete(m, p->pid);
	return put_map(p->s, TRACE_RING_META, m, p->pid, p->pid, hostclock__now(), REC_MAP_PRESENT);
}

/* @pid is a target that runs already: tell what it has mapped, as far as we may see that. */
static int adopt(struct source *s, pid_t pid)
{
	struct present p = {s, pid};
	int err;

	if (map__get(&s->targets, pid))
		return 0;
	if (put_target(s, pid, hostclock__now()))
		return -ENOMEM;
	err = mapping__each(pid, tell_present, &p);
	return err == -ENOENT || err == -ESRCH || err == -EACCES || err == -EPERM ? 0 : err;
}

static int adopt_target(void *arg, pid_t pid)
{
	struct source *s = arg;

	if (pid == getpid() || !(s->everybody || (s->is_target && s->is_target(s->arg, pid))))
		return 0;
	return adopt(s, pid);
}

/* 1: @pid is a target; 0: it is none; -errno */
static int know(struct source *s, pid_t pid)
{
	int err;

	if (map__get(&s->targets, pid))
		return 1;
	if (!s->attach || !pid)
		return 0;
	err = adopt_target(s, pid);
	return err ? err : map__get(&s->targets, pid) != NULL;
}

/* ---- events ---- */

static int take_map(struct source *s, const struct side_event *e)
{
	struct mapping m = {
		.addr = e->addr,
		.len = e->len,
		.pgoff = e->pgoff,
		.inode = e->inode,
		.dev = e->dev,
		.prot = e->prot,
		.flags = e->mmap_flags,
		.path = e->path,
	};

	memcpy(m.build_id, e->build_id, sizeof(m.build_id));
	mapping__complete(&m, (pid_t)e->pid);
	return put_map(s, s->ring, &m, e->pid, e->tid, e->time_ns, 0);
}

static int take_comm(struct source *s, const struct side_event *e)
{
	struct rec_map_comm rec = {
		.hdr = {REC_MAP_COMM, sizeof(rec), e->tid, e->time_ns},
		.pid = e->pid,
		.flags = e->exec ? REC_MAP_EXEC : 0,
	};

	memcpy(rec.comm, e->path, strnlen(e->path, sizeof(rec.comm) - 1));
	return put(s, &rec.hdr);
}

/* A new process of a target is one; of somebody else it is not, whoever had its id before. */
static int take_fork(struct source *s, const struct side_event *e)
{
	const struct rec_map_fork rec = {
		.hdr = {REC_MAP_FORK, sizeof(rec), e->parent_tid, e->time_ns},
		.child_tid = e->tid,
		.child_pid = e->pid,
		.pid = e->parent_pid,
	};
	int known = know(s, (pid_t)e->parent_pid);

	if (known < 0)
		return known;
	if (e->pid != e->parent_pid) {
		if (!known)
			forget_older(s, e);
		else if (put_target(s, (pid_t)e->pid, e->time_ns))
			return -ENOMEM;
	}
	if (!known)
		return 0;
	s->hits++;
	return put(s, &rec.hdr);
}

static int take_exit(struct source *s, const struct side_event *e)
{
	const struct rec_map_exit rec = {
		.hdr = {REC_MAP_EXIT, sizeof(rec), e->tid, e->time_ns},
		.pid = e->pid,
	};

	return put(s, &rec.hdr);
}

static int take(struct source *s, const struct side_event *e, unsigned int cpu)
{
	int known;

	if (e->kind == SIDE_LOST)
		return put_lost(s, e, cpu);
	if (e->kind == SIDE_FORK)
		return take_fork(s, e);
	if (e->kind == SIDE_OTHER)
		return 0;
	known = know(s, (pid_t)e->pid);
	if (known <= 0)
		return known;
	s->hits++;
	return e->kind == SIDE_MAP    ? take_map(s, e)
	       : e->kind == SIDE_COMM ? take_comm(s, e)
				      : take_exit(s, e);
}

/* ---- the source ---- */

static void sideband_close(struct source *s)
{
	if (!s)
		return;
	sideband_rings__free(s->rings);
	map__free(&s->targets);
	free(s);
}

static void refuse(struct source *s, int err, const char *why)
{
	s->report.state = REC_HOOK_REFUSED;
	s->report.err = err;
	snprintf(s->report.reason, sizeof(s->report.reason), "%s", why);
}

static void refuse_rings(struct source *s, int err)
{
	char why[160];

	if (err == -EACCES || err == -EPERM)
		kernel__perf_lack(why, sizeof(why));
	else
		snprintf(why, sizeof(why), "%s", log__err(err));
	refuse(s, err, why);
}

static void open_rings(struct source *s)
{
	struct hook_report *r = &s->report;
	bool build_ids;

	snprintf(r->way, sizeof(r->way), "perf");
	if (!proc__in_first_namespace()) {
		refuse(s, -EXDEV,
		       "ids here are those of another PID namespace than the initial one");
		return;
	}
	s->rings = sideband_rings__new(&build_ids);
	if (!s->rings) {
		refuse_rings(s, -errno);
		return;
	}
	r->state = REC_HOOK_ATTACHED;
	if (build_ids)
		return;
	r->state = REC_HOOK_DEGRADED;
	r->rung = 1;
	snprintf(r->reason, sizeof(r->reason),
		 "the kernel tells no build ids (since 5.12): those of files that are gone when "
		 "they are looked into are missing");
}

void source_sideband__probe(struct hook_report *r)
{
	struct source s = {0};

	open_rings(&s);
	sideband_rings__free(s.rings);
	*r = s.report;
}

static int sideband_open(struct source **out, const struct source_ctx *ctx)
{
	struct source *s = calloc(1, sizeof(*s));
	int ring;

	if (!s)
		return -ENOMEM;
	s->writer = ctx->writer;
	s->attach = ctx->attach;
	s->wanted = probe__wants(ctx->probes, REC_HOOK_SIDEBAND);
	if (s->wanted) {
		ring = trace_writer__new_ring(s->writer);
		if (ring < 0) {
			sideband_close(s);
			return ring;
		}
		s->ring = (uint16_t)ring;
		open_rings(s);
	}
	*out = s;
	return 0;
}

static int sideband_start(struct source *s)
{
	int err;

	if (!s->wanted)
		return 0;
	s->swept_ns = hostclock__now();
	err = s->rings ? sideband_rings__start(s->rings) : 0;
	if (err)
		refuse(s, err, log__err(err));
	return hook_report__write(&s->report, s->writer, REC_HOOK_SIDEBAND, 0);
}

static int sideband_add(struct source *s, pid_t pid)
{
	if (!s->rings)
		return 0;
	if (s->attach)
		return proc__each(adopt_target, s);
	return put_target(s, pid, hostclock__now());
}

static int sideband_add_group(struct source *s, const struct cgroup_ref *g)
{
	if (!s->rings)
		return 0;
	s->everybody = !g;
	return proc__each(adopt_target, s);
}

static int drain(struct source *s, uint64_t until_ns)
{
	struct side_event e;
	unsigned int cpu;
	int err = 0, n = 0;

	sideband_rings__look(s->rings);
	while (!err && sideband_rings__next(s->rings, until_ns, &e, &cpu)) {
		err = take(s, &e, cpu);
		n++;
	}
	return err ? err : n;
}

static void say(const struct source *s, int err)
{
	struct trace_writer_stats stats;

	trace_writer__stats(s->writer, &stats);
	if (err < 0 && !stats.err)
		log_error("cannot record what is mapped: %s", log__err(err));
}

/* The same; what goes wrong is said, but for the writer's failures, which are said where it is. */
static int sweep(struct source *s, uint64_t until_ns)
{
	int n = drain(s, until_ns);

	say(s, n);
	return n;
}

static int sideband_poll(struct source *s)
{
	uint64_t until_ns;
	int n;

	if (!s->rings)
		return -ENODATA;
	until_ns = hostclock__now() - HOLD_NS;
	n = sweep(s, until_ns);
	if (n >= 0)
		s->swept_ns = until_ns;
	return n;
}

static int sideband_stop(struct source *s)
{
	int n = 0;

	if (!s->wanted)
		return 0;
	if (s->rings) {
		sideband_rings__stop(s->rings);
		n = sweep(s, UINT64_MAX);
	}
	if (n >= 0 && s->rings)
		n = put_untold(s);
	if (n >= 0)
		n = write_count(s);
	return n < 0 ? n : hook_report__write(&s->report, s->writer, REC_HOOK_SIDEBAND, 0);
}

static void sideband_stats(const struct source *s, struct source_stats *out)
{
	*out = s->stats;
}

static uint64_t sideband_horizon(const struct source *s, uint64_t swept_ns)
{
	return s->rings && s->swept_ns < swept_ns ? s->swept_ns : swept_ns;
}

static unsigned int sideband_fill(const struct source *s)
{
	return s->rings ? sideband_rings__fill(s->rings) : 0;
}

const struct source_ops source_sideband = {
	.name = "sideband",
	.summary = "what is mapped to be executed, by perf's events",
	.open = sideband_open,
	.start = sideband_start,
	.poll = sideband_poll,
	.stop = sideband_stop,
	.stats = sideband_stats,
	.close = sideband_close,
	.add = sideband_add,
	.add_group = sideband_add_group,
	.horizon = sideband_horizon,
	.fill = sideband_fill,
};
