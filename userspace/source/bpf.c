// SPDX-License-Identifier: BSD-2-Clause
/* The source 'bpf': what the hooks in the kernel record. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/source/agg.h"
#include "userspace/source/bpf.h"
#include "userspace/source/hooks.h"
#include "userspace/source/mark_live.h"
#include "userspace/source/probe.h"
#include "userspace/source/proc.h"
#include "userspace/source/source.h"

#define COUNT_EVERY_NS 1000000000ULL
#define BUSY_SPINS     2000 /* a record being filled takes some 100 ns, unless its cpu is held up */
#define LAST_WAITS     100  /* milliseconds, at the end, for one whose cpu is */

/* What was told of a hook's counters on a cpu. */
struct told {
	uint64_t lost_ring;
	uint64_t lost_state;
	uint64_t lost; /* of both, in the last HOOK_COUNT */
	uint64_t hits;
	uint64_t records;
};

struct source {
	struct trace_writer *writer;
	struct hooks *hooks;
	struct mark_live *marks; /* of what ran before; NULL: not asked for */
	struct agg *agg;	 /* NULL: no calls are counted */
	bool agg_failed;	 /* was said */
	struct told *told;	 /* [cpu][hook] */
	uint64_t nested[REC_HOOK_MAX];
	uint64_t checked_ns; /* when the loss counters were last looked at */
	uint64_t counted_ns; /* when HOOK_COUNT records were last written */
	uint64_t held_ns;    /* 0, or the time after which a record may still come */
	uint64_t *last_ns;   /* [cpu]: of the newest record moved */
	unsigned int fill;
	bool stopped;
	bool look_failed; /* who came was not found, the last time */
	bool (*interrupted)(void *arg);
	void *arg; /* of it */
	struct source_stats stats;
};

static int put(struct source *s, void *rec, uint16_t type, uint16_t size, uint64_t time_ns)
{
	struct rec *hdr = rec;

	hdr->type = type;
	hdr->size = size;
	hdr->tid = 0;
	hdr->time_ns = time_ns;
	return trace_writer__append(s->writer, TRACE_RING_META, hdr);
}

/* ---- HOOK, HOOK_COUNT and LOST records ---- */

/* Mean run time of the hook's programs per hit; 0: not measured. */
static double cost_of(const struct source *s, enum rec_hook_id hook)
{
	uint64_t ns = 0, hits = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < hooks__ncpus(s->hooks); cpu++) {
		const struct hook_counts *c = hooks__counts(s->hooks, cpu, hook);

		ns += c->cost_ns;
		hits += c->cost_hits;
	}
	return hits ? (double)ns / hits : 0;
}

static int write_hook(struct source *s, enum rec_hook_id hook, const struct hook_report *r)
{
	return hook_report__write(r, s->writer, hook, cost_of(s, hook));
}

static int write_hooks(struct source *s)
{
	const struct hook_report *r;
	int hook, err = 0;

	for (hook = 0; !err && hook < REC_HOOK_MAX; hook++) {
		r = hooks__report(s->hooks, hook);
		if (r)
			err = write_hook(s, hook, r);
	}
	return err;
}

static int write_counter(struct source *s, unsigned int number, const struct hook_counter *c)
{
	const char *const texts[] = {c->event.name, c->event.unit, c->event.by, c->why};
	const struct rec_pmu_counter rec = {
		.hdr = {.type = REC_PMU_COUNTER, .time_ns = hostclock__now()},
		.counter = number,
		.err = c->err,
		.scale = c->event.scale,
		.config = c->event.attr.config,
		.config1 = c->event.attr.config1,
		.type = c->event.attr.type,
	};

	return trace_writer__append_text(s->writer, TRACE_RING_META, &rec.hdr, texts, 4);
}

static int write_counters(struct source *s)
{
	const struct hook_counter *c;
	unsigned int i;
	int err = 0;

	for (i = 0; !err && (c = hooks__counter(s->hooks, i)); i++)
		err = write_counter(s, i, c);
	return err;
}

static int write_marks(struct source *s)
{
	return s->marks ? write_hook(s, REC_HOOK_MARK, mark_live__report(s->marks)) : 0;
}

/* @since: before the counter was read the time before; it has been read again by now. */
static int write_lost(struct source *s, enum rec_hook_id hook, unsigned int cpu,
		      enum rec_lost_why why, uint64_t count, uint64_t since)
{
	struct rec_lost rec = {
		.hook = hook, .cpu = cpu, .why = why, .count = count, .since_ns = since};

	s->stats.lost += count;
	return put(s, &rec, REC_LOST, sizeof(rec), hostclock__now());
}

static struct told *told_of(const struct source *s, unsigned int cpu, enum rec_hook_id hook)
{
	return &s->told[cpu * REC_HOOK_MAX + hook];
}

static int check_loss(struct source *s, unsigned int cpu, enum rec_hook_id hook)
{
	const struct hook_counts *c = hooks__counts(s->hooks, cpu, hook);
	uint64_t ring = __atomic_load_n(&c->lost_ring, __ATOMIC_RELAXED);
	uint64_t state = __atomic_load_n(&c->lost_state, __ATOMIC_RELAXED);
	struct told *t = told_of(s, cpu, hook);
	int err = 0;

	if (ring != t->lost_ring)
		err = write_lost(s, hook, cpu, REC_LOST_RING, ring - t->lost_ring, s->checked_ns);
	if (!err && state != t->lost_state)
		err = write_lost(s, hook, cpu, REC_LOST_STATE, state - t->lost_state,
				 s->checked_ns);
	t->lost_ring = ring;
	t->lost_state = state;
	return err;
}

static int check_losses(struct source *s)
{
	uint64_t now = hostclock__now();
	unsigned int cpu;
	int hook, err = 0;

	for (cpu = 0; cpu < hooks__ncpus(s->hooks); cpu++)
		for (hook = 0; !err && hook < REC_HOOK_MAX; hook++)
			err = check_loss(s, cpu, hook);
	s->checked_ns = now;
	return err;
}

static int write_count(struct source *s, unsigned int cpu, enum rec_hook_id hook, uint64_t now)
{
	const struct hook_counts *c = hooks__counts(s->hooks, cpu, hook);
	struct told *t = told_of(s, cpu, hook);
	struct rec_hook_count rec = {
		.hook = hook,
		.cpu = cpu,
		.hits = __atomic_load_n(&c->hits, __ATOMIC_RELAXED),
		.records = __atomic_load_n(&c->records, __ATOMIC_RELAXED),
		.lost = t->lost_ring + t->lost_state,
	};

	if (rec.hits == t->hits && rec.records == t->records && rec.lost == t->lost)
		return 0;
	t->hits = rec.hits;
	t->records = rec.records;
	t->lost = rec.lost;
	return put(s, &rec, REC_HOOK_COUNT, sizeof(rec), now);
}

/*
 * What calls were counted since the last time. Before Linux 5.19 nobody without rights may read
 * maps, whoever made them, where kernel.unprivileged_bpf_disabled is set.
 */
static int read_agg(struct source *s)
{
	int err = s->agg ? agg__read(s->agg, s->hooks, s->writer) : 0;

	if (err != -EPERM)
		return err;
	if (!s->agg_failed)
		log_warning("cannot read how many system calls were counted: %s (this kernel lets "
			    "only who has CAP_BPF, as with record -a)",
			    log__err(err));
	s->agg_failed = true;
	return write_lost(s, REC_HOOK_SYSCALL, REC_NO_CPU, REC_LOST_STATE, 1, s->counted_ns);
}

/* The kernel skips a program that is hit while it runs on the same cpu, and counts that. */
static int check_nested(struct source *s, enum rec_hook_id hook)
{
	uint64_t n = hooks__nested(s->hooks, hook), more = n - s->nested[hook];

	if (n <= s->nested[hook])
		return 0;
	s->nested[hook] = n;
	hooks__distrust(s->hooks, hook, hostclock__now());
	return write_lost(s, hook, REC_NO_CPU, REC_LOST_NESTED, more, s->counted_ns);
}

static int write_counts(struct source *s)
{
	uint64_t now = hostclock__now();
	unsigned int cpu;
	int hook, err = 0;

	for (cpu = 0; cpu < hooks__ncpus(s->hooks); cpu++)
		for (hook = 0; !err && hook < REC_HOOK_MAX; hook++)
			err = write_count(s, cpu, hook, now);
	for (hook = 0; !err && hook < REC_HOOK_MAX; hook++)
		err = check_nested(s, hook);
	s->counted_ns = now;
	return err;
}

/* The TASK record of a task, where the kernel's programs cannot make it. */
static int tell_task(void *arg, pid_t pid, pid_t tid)
{
	struct source *s = arg;
	struct rec_task rec = {.pid = pid, .flags = REC_TASK_TARGET};
	struct proc_stat st;

	rec.hdr = (struct rec){.type = REC_TASK,
			       .size = sizeof(rec),
			       .tid = tid,
			       .time_ns = hostclock__now()};
	if (proc__stat(pid, tid, &st) == 0) {
		rec.ppid = (uint32_t)st.ppid;
		rec.start_ns = proc_stat__start_ns(&st);
		memcpy(rec.comm, st.comm, sizeof(rec.comm));
	}
	proc__uid(tid, &rec.uid);
	return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
}

/* Marks of what runs already: by the probes in its files. */
static int attach_marks(struct source *s)
{
	int err = s->marks ? mark_live__attach(s->marks) : 0;

	return err ? err : write_marks(s);
}

/* ---- the source ---- */

static void bpf_close(struct source *s)
{
	if (!s)
		return;
	mark_live__free(s->marks);
	agg__free(s->agg);
	hooks__free(s->hooks);
	free(s->told);
	free(s->last_ns);
	free(s);
}

static bool is_interrupted(void *arg)
{
	const struct source *s = arg;

	return s->interrupted && s->interrupted(s->arg);
}

static int bpf_open(struct source **out, const struct source_ctx *ctx)
{
	struct hooks_opts opts = {.probes = ctx->probes,
				  .args = ctx->args,
				  .memory_bytes = ctx->memory_bytes,
				  .attach = ctx->attach,
				  .no_btf = ctx->no_btf,
				  .found = tell_task,
				  .interrupted = is_interrupted};
	struct source *s = calloc(1, sizeof(*s));
	unsigned int n;

	if (!s)
		goto nomem;
	opts.arg = s;
	s->writer = ctx->writer;
	s->interrupted = ctx->interrupted;
	s->arg = ctx->arg;
	s->hooks = hooks__new(&opts);
	if (!s->hooks && errno == EINTR) {
		bpf_close(s);
		return -EINTR;
	}
	if (!s->hooks)
		goto nomem;
	n = hooks__ncpus(s->hooks) + 1;
	s->told = calloc(n * REC_HOOK_MAX, sizeof(*s->told));
	s->last_ns = calloc(n, sizeof(*s->last_ns));
	if (!s->told || !s->last_ns)
		goto nomem;
	if (ctx->attach && probe__wants(ctx->probes, REC_HOOK_MARK)) {
		s->marks = mark_live__new(s->hooks);
		if (!s->marks)
			goto nomem;
	}
	*out = s;
	return 0;
nomem:
	log_error("cannot prepare the probes: out of memory");
	bpf_close(s);
	return -ENOMEM;
}

static int bpf_start(struct source *s)
{
	int err;

	s->checked_ns = s->counted_ns = hostclock__now();
	err = hooks__attach(s->hooks);
	if (err)
		return err;
	if (hooks__counts_calls(s->hooks)) {
		s->agg = agg__new(s->checked_ns);
		if (!s->agg)
			return -ENOMEM;
	}
	return write_counters(s) ?: write_hooks(s);
}

static int bpf_add(struct source *s, pid_t pid)
{
	int err = hooks__add(s->hooks, pid);

	return err ? err : attach_marks(s);
}

static int bpf_add_group(struct source *s, const struct cgroup_ref *g)
{
	int err = hooks__add_group(s->hooks, g);

	return err ? err : attach_marks(s);
}

/* Records are filled within some 100 ns: wait that long for one, not longer. */
static bool still_busy(struct ring *r, unsigned long end)
{
	const uint32_t *head = (const uint32_t *)(r->data + (r->pos & (r->bytes - 1)));
	int i;

	for (i = 0; i < BUSY_SPINS && r->pos < end; i++)
		if (!(__atomic_load_n(head, __ATOMIC_ACQUIRE) & RING_BUSY))
			return false;
	return true;
}

static int drain(struct source *s, unsigned int cpu)
{
	struct ring *r = hooks__ring(s->hooks, cpu);
	unsigned long end = ring__begin(r), used = end - r->pos;
	const struct rec *rec;
	int n = 0, err = 0;

	if (!used)
		return 0;
	if (used * 100 / r->bytes > s->fill)
		s->fill = used * 100 / r->bytes;
	do {
		while (!err && (rec = ring__next(r, end))) {
			s->last_ns[cpu] = rec->time_ns;
			s->stats.bytes += rec->size;
			err = trace_writer__append(s->writer, cpu, rec);
			if (!err && s->agg)
				err = agg__saw(s->agg, rec);
			n++;
		}
	} while (!err && r->busy && !still_busy(r, end));
	ring__release(r);
	s->stats.records += n;
	if (r->busy && s->last_ns[cpu] < s->held_ns)
		s->held_ns = s->last_ns[cpu];
	return err ? err : n;
}

/* Look who came, if somebody may have. A look that fails is repeated; its first failure counts. */
static int look(struct source *s)
{
	bool failed_before = s->look_failed;
	int err;

	if (s->stopped || !hooks__came(s->hooks))
		return 0;
	err = hooks__look(s->hooks);
	s->look_failed = err != 0;
	if (!err || failed_before)
		return 0;
	log_warning("cannot look who came into what is recorded: %s", log__err(err));
	return write_lost(s, REC_HOOK_TASK, REC_NO_CPU, REC_LOST_STATE, 1, s->checked_ns);
}

static int bpf_poll(struct source *s)
{
	unsigned int cpu;
	int n, moved = 0;

	n = look(s);
	if (n)
		return n;
	s->fill = 0;
	s->held_ns = UINT64_MAX;
	for (cpu = 0; cpu < hooks__ncpus(s->hooks); cpu++) {
		n = drain(s, cpu);
		if (n < 0)
			return n;
		moved += n;
	}
	n = check_losses(s);
	if (!n && s->checked_ns - s->counted_ns >= COUNT_EVERY_NS)
		n = read_agg(s) ?: write_counts(s);
	return n < 0 ? n : moved;
}

static uint64_t bpf_horizon(const struct source *s, uint64_t swept_ns)
{
	return s->held_ns < swept_ns ? s->held_ns : swept_ns;
}

static unsigned int bpf_fill(const struct source *s)
{
	return s->fill;
}

/* Tell of a call that has not returned, of which the kernel's programs cannot tell. */
static int tell_open(void *arg, uint32_t tid, const struct call *call)
{
	struct source *s = arg;
	struct rec_ioctl_blocked rec = {
		.hdr = {.type = REC_IOCTL_BLOCKED,
			.size = sizeof(rec),
			.tid = tid,
			.time_ns = hostclock__now()},
		.start_ns = call->start_ns,
		.cmd = call->cmd,
		.fd = call->fd,
		.rdev = call->rdev,
		.mode = call->mode,
		.inode = call->inode,
	};

	if (call->flags & CALL_TOLD)
		return 0;
	return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
}

static int tell_open_futex(void *arg, uint32_t tid, const struct futex_call *c)
{
	struct source *s = arg;
	struct rec_futex_blocked rec = {
		.hdr = {.type = REC_FUTEX_BLOCKED,
			.size = sizeof(rec),
			.tid = tid,
			.time_ns = hostclock__now()},
		.start_ns = c->start_ns,
		.address = c->address,
		.owner_tid = c->owner_tid,
		.word = c->word,
		.futexes = c->futexes,
		.flags = c->flags,
		.op = c->op,
	};

	return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
}

static int tell_request(void *arg, const void *key, const void *value)
{
	const struct disk_request *r = value;
	struct source *s = arg;
	struct rec_block_open rec = {
		.hdr = {.type = REC_BLOCK_OPEN,
			.size = sizeof(rec),
			.tid = r->tid,
			.time_ns = hostclock__now()},
		.start_ns = r->start_ns,
		.issue_ns = r->issue_ns,
		.sector = r->sector,
		.inode = r->inode,
		.inode_dev = r->inode_dev,
		.dev = r->dev,
		.bytes = r->bytes,
		.by = r->by,
		.flags = r->flags,
		.op = r->op,
	};

	(void)key;
	if (!r->tid)
		return 0; /* of others */
	return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
}

static int tell_fence(void *arg, const void *key, const void *value)
{
	const struct gpu_fence *f = value;
	struct source *s = arg;
	struct rec_fence_open rec = {
		.hdr = {.type = REC_FENCE_OPEN,
			.size = sizeof(rec),
			.tid = f->tid,
			.time_ns = hostclock__now()},
		.fence = f->fence,
		.context = f->context,
		.seqno = f->seqno,
		.driver = f->driver,
		.timeline = f->timeline,
		.made_ns = f->made_ns,
		.emitted_ns = f->emitted_ns,
		.flags = f->flags,
	};

	(void)key;
	if (f->state & GPU_FENCE_TOLD || f->signalled_ns || !f->flags)
		return 0;
	return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
}

static int tell_fence_wait(void *arg, const void *key, const void *value)
{
	const struct fence_wait_key *k = key;
	const struct fence_wait *w = value;
	struct source *s = arg;
	struct rec_fence_blocked rec = {
		.hdr = {.type = REC_FENCE_BLOCKED,
			.size = sizeof(rec),
			.tid = k->tid,
			.time_ns = hostclock__now()},
		.start_ns = w->start_ns,
		.fence = w->fence,
		.context = w->context,
		.seqno = w->seqno,
		.driver = w->driver,
		.timeline = w->timeline,
		.made_by = w->made_by,
		.flags = w->flags,
	};

	return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
}

static int tell_job(void *arg, const void *key, const void *value)
{
	const struct gpu_job *j = value;
	struct source *s = arg;
	struct rec_job_open rec = {
		.hdr = {.type = REC_JOB_OPEN,
			.size = sizeof(rec),
			.tid = j->tid,
			.time_ns = hostclock__now()},
		.queued_ns = j->queued_ns,
		.begun_ns = j->begun_ns,
		.fence = j->fence,
		.context = j->context,
		.seqno = j->seqno,
		.id = j->id,
		.ring = j->ring,
		.device = j->device,
	};

	(void)key;
	return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
}

/* What IO_URING and IO_URING_OPEN have in common, which are two types. */
#define OF_URING(r)                                                                                \
	.start_ns = (r)->start_ns, .offset = (r)->offset, .inode = (r)->inode,                     \
	.asked = (r)->asked, .dev = (r)->dev, .mount = (r)->mount, .fs = (r)->fs,                  \
	.mode = (r)->mode, .fd = (r)->fd, .op = (r)->op

/* It ended, but the kernel said so without telling which request it was. */
static int tell_uring_late(struct source *s, const struct uring_request *r,
			   const struct uring_result *late)
{
	struct rec_io_uring rec = {
		.hdr = {.type = REC_IO_URING,
			.size = sizeof(rec),
			.tid = r->tid,
			.time_ns = hostclock__now()},
		OF_URING(r),
		.duration_ns = late->mixed ? 0 : late->end_ns - r->start_ns,
		.ret = late->mixed ? 0 : late->ret,
		.nth = r->nth + 1,
		.flags = r->flags | REC_IO_URING_OVERFLOW | (late->mixed ? REC_IO_URING_UNSEEN : 0),
	};

	return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
}

static int tell_uring(void *arg, const void *key, const void *value)
{
	const struct uring_request *r = value;
	struct source *s = arg;
	struct rec_io_uring_open rec = {
		.hdr = {.type = REC_IO_URING_OPEN,
			.size = sizeof(rec),
			.tid = r->tid,
			.time_ns = hostclock__now()},
		OF_URING(r),
		.nth = r->nth,
		.flags = r->flags,
	};
	struct uring_result late;

	(void)key;
	if (!hooks__io_uring_late(s->hooks, r, &late))
		return trace_writer__append(s->writer, TRACE_RING_META, &rec.hdr);
	/* while the hooks run they tell of it when its place is used again */
	return s->stopped ? tell_uring_late(s, r, &late) : 0;
}

/* Until the rings are empty: nothing new comes, but a record may still be being filled. */
static int drain_all(struct source *s)
{
	const struct timespec t = {.tv_nsec = 1000000};
	int n, waits = 0;

	for (;;) {
		n = bpf_poll(s);
		if (n < 0)
			return n;
		if (n > 0)
			continue;
		if (s->held_ns == UINT64_MAX || waits++ == LAST_WAITS)
			return 0;
		nanosleep(&t, NULL);
	}
}

/* What never became whole: its cpu was held up in the middle of it, and so is what lies behind. */
static int tell_unfinished(struct source *s)
{
	unsigned int cpu;
	int err = 0;

	for (cpu = 0; !err && cpu < hooks__ncpus(s->hooks); cpu++)
		if (hooks__ring(s->hooks, cpu)->busy)
			err = write_lost(s, REC_HOOK_META, cpu, REC_LOST_RING, 1, s->last_ns[cpu]);
	return err;
}

/* Requests to disks, GPUs and io_uring that have begun and not ended, and waits for these. */
static void tell_under_way(struct source *s)
{
	int err = hooks__tell_requests(s->hooks, tell_request, s);

	if (err)
		log_debug("cannot tell of all open requests: %s", log__err(err));
	err = hooks__tell_fences(s->hooks, tell_fence, tell_fence_wait, s);
	if (err)
		log_debug("cannot tell of all open fences: %s", log__err(err));
	err = hooks__tell_jobs(s->hooks, tell_job, s);
	if (err)
		log_debug("cannot tell of all open jobs: %s", log__err(err));
	err = hooks__tell_io_uring(s->hooks, tell_uring, s);
	if (err)
		log_debug("cannot tell of all open requests of io_uring: %s", log__err(err));
}

static int bpf_stop(struct source *s)
{
	const struct call_teller teller = {tell_open, tell_open_futex, s};
	int n;

	s->stopped = true;
	mark_live__detach(s->marks);
	hooks__detach(s->hooks);
	n = hooks__tell_open(s->hooks, &teller);
	if (n)
		log_debug("cannot tell of all open calls: %s", log__err(n));
	tell_under_way(s);
	n = drain_all(s);
	if (!n)
		n = tell_unfinished(s);
	if (n)
		return n;
	n = read_agg(s) ?: write_counts(s);
	if (!n)
		n = write_hooks(s);
	return n ? n : write_marks(s);
}

static int bpf_tell_open(struct source *s)
{
	const struct call_teller teller = {tell_open, tell_open_futex, s};
	int err = hooks__tell_open_now(s->hooks, &teller), e;

	tell_under_way(s);
	e = read_agg(s) ?: write_counts(s);
	return err ? err : e;
}

static void bpf_stats(const struct source *s, struct source_stats *out)
{
	*out = s->stats;
}

int64_t source_bpf__live(const struct source *s)
{
	return hooks__live(s->hooks);
}

bool source_bpf__is_target(void *arg, pid_t pid)
{
	const struct source *s = arg;

	return hooks__is_target(s->hooks, pid);
}

uint64_t source_bpf__ring_bytes(const struct source *s)
{
	return hooks__ncpus(s->hooks) ? hooks__ring(s->hooks, 0)->bytes : 0;
}

const struct hook_report *source_bpf__report(const struct source *s, enum rec_hook_id hook)
{
	if (hook == REC_HOOK_MARK)
		return s->marks ? mark_live__report(s->marks) : NULL;
	return hooks__report(s->hooks, hook);
}

const struct hook_report *source_bpf__probe_report(const struct source *s, const struct probe *p)
{
	return hooks__probe_report(s->hooks, p);
}

const struct source_ops source_bpf = {
	.name = "bpf",
	.summary = "eBPF programs in the running kernel",
	.open = bpf_open,
	.start = bpf_start,
	.poll = bpf_poll,
	.stop = bpf_stop,
	.stats = bpf_stats,
	.close = bpf_close,
	.add = bpf_add,
	.add_group = bpf_add_group,
	.tell_open = bpf_tell_open,
	.horizon = bpf_horizon,
	.fill = bpf_fill,
};
