// SPDX-License-Identifier: GPL-2.0-only
/*
 * The syscall hook: every ioctl of the target, from its entry to its return, and the calls of the
 * probes file, futex, stream and wait (bpf/include/file.bpf.h, ...).
 *
 * Each call passes through here twice, so little is done and nothing twice: the entry finds out
 * which file the descriptor names (at the return it may be closed) and keeps that with the task;
 * the return makes the record.
 */
#include "bpf/include/agg.bpf.h"
#include "bpf/include/arch.bpf.h"
#include "bpf/include/file.bpf.h"
#include "bpf/include/futex.bpf.h"
#include "bpf/include/ioctl.bpf.h"
#include "bpf/include/stream.bpf.h"
#include "bpf/include/wait.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* the sched hook is there and moves a call from the cpu to its task when that is switched out */
const volatile bool keep_on_cpu = false;
const volatile bool probe_ioctl = true;

__u32 detaching; /* the recorder says so before entries are no longer seen */

/* The inode behind slot @fd of the descriptor table. */
static __always_inline void identify_slot(struct call *call, struct file **slot)
{
	struct file *file = file__in(slot);
	struct inode *inode = LOAD(file, f_inode);

	call->mode = LOAD(inode, i_mode);
	call->rdev = LOAD(inode, i_rdev);
	call->inode = LOAD(inode, i_ino);
}

static __always_inline void identify(struct call *call, struct task_struct *task, __u32 fd)
{
	struct fdtable *fdt = task->files->fdt;

	if (fd < fdt->max_fds) {
		identify_slot(call, fdt->fd + fd);
	} else {
		call->mode = 0;
		call->rdev = 0;
		call->inode = 0;
	}
}

/* Is @task, the current one, a target? The answer is kept until another task asks. */
static __always_inline bool is_target(struct cpu_state *c, struct task_struct *task)
{
	struct task_state *s;

	if (c->task_pid != task->pid || c->task_start != task->start_time ||
	    c->generation != c->targets) {
		c->generation = c->targets;
		c->task_pid = task->pid;
		c->task_start = task->start_time;
		s = filter__find(task);
		c->is_target = s != NULL;
		if (s)
			s->flags &= ~TASK_STATE_INSIDE;
		c->call.start_ns = 0;
	}
	return c->is_target;
}

/* Where the call that @task begins is kept; NULL where it is no target. */
static __always_inline struct call *new_call(struct cpu_state *c, struct task_struct *task)
{
	struct task_state *s;

	if (keep_on_cpu)
		return is_target(c, task) ? &c->call : NULL;
	s = filter__find(task);
	if (!s)
		return NULL;
	s->flags &= ~TASK_STATE_INSIDE;
	return &s->call;
}

static __always_inline void fill_call(struct call *call, struct task_struct *task,
				      struct pt_regs *regs, bool compat)
{
	call->fd = regs__arg0(regs, compat);
	call->cmd = regs__arg1(regs, compat);
	call->arg = regs__arg2(regs, compat);
	identify(call, task, call->fd);
}

/* What the probes file, stream and wait make of a call, each with a byte of its own; 0: nothing. */
struct known {
	__u8 file, stream, wait, pad;
};

/* by the numbers of calls of a 64-bit program */
static const volatile struct known calls_by_number[MAX_NR] = {
#define X(nr, call, shape) [nr].file = REC_FILE_##call | SHAPE_##shape,
	FILES_BY_NUMBER(X)
#undef X
#define X(nr, call, shape) [nr].stream = REC_STREAM_##call | STREAM_##shape,
		STREAMS_BY_NUMBER(X)
#undef X
#define X(nr, call, shape) [nr].wait = REC_WAIT_##call | WAIT_##shape,
			WAITS_BY_NUMBER(X)
#undef X
};

/* The state of @task, the current one, if it is a target and @nr a call that is asked for; else
 * NULL. */
static __always_inline struct task_state *look_up(struct known *k, struct task_struct *task,
						  __u64 nr)
{
	__u64 i = nr & (MAX_NR - 1);

	barrier_var(i); /* the verifier wants to see the bound */
	if (i != nr)
		return NULL;
	k->file = probe_file ? calls_by_number[i].file : 0;
	k->stream = probe_stream ? calls_by_number[i].stream : 0;
	k->wait = probe_wait ? calls_by_number[i].wait : 0;
	if ((!k->file && !k->stream && !k->wait) || task__compat(task))
		return NULL;
	return filter__find(task);
}

static __always_inline void enter_other(struct pt_regs *regs, __u64 nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct known k;
	struct task_state *s = look_up(&k, task, nr);
	struct hook_counts *h = s ? counts__get(REC_HOOK_SYSCALL) : NULL;

	if (!h)
		return;
	if (probe_file && k.file)
		file__enter(h, task, s, regs, k.file);
	/* what sendfile writes to may be a stream as well */
	if (probe_stream && k.stream &&
	    (!k.file || !s->file.start_ns || s->file.call == REC_FILE_SENDFILE))
		stream__enter(h, task, s, regs, k.stream);
	if (probe_wait && k.wait)
		wait__enter(h, s, regs, k.wait);
}

static __always_inline void exit_other(__u64 nr, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct known k;
	struct task_state *s = look_up(&k, task, nr);
	struct hook_counts *h = s ? counts__get(REC_HOOK_SYSCALL) : NULL;

	if (!h)
		return;
	if (probe_file && k.file)
		file__exit(h, task, s, k.file, ret);
	if (probe_stream && k.stream)
		stream__exit(h, task, s, k.stream, ret);
	if (probe_wait && k.wait)
		wait__exit(h, task, &s->wait, k.wait, ret);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task;
	struct hook_counts *h;
	struct task_state *s;
	struct cpu_state *c;
	struct call *call;
	bool compat;
	__u64 t;

	if (probe_agg) {
		task = bpf_get_current_task_btf();
		s = filter__find(task);
		if (s)
			agg__enter(s, nr, task__compat(task));
	}
	if (nr != NR_IOCTL && nr != NR_IOCTL_COMPAT) {
		enter_other(regs, nr);
		if (probe_futex)
			futex__enter(regs, nr);
		return 0;
	}
	task = bpf_get_current_task_btf();
	if (!probe_ioctl || !is_ioctl(task, nr, &compat))
		return 0;
	c = cpu__get();
	if (!c)
		return 0;
	call = new_call(c, task);
	if (!call)
		return 0;
	h = &c->hook[REC_HOOK_SYSCALL];
	t = cost__begin(h);
	fill_call(call, task, regs, compat);
	call->flags = 0;
	call->start_ns = bpf_ktime_get_ns();
	call->cost_ns = t ? call->start_ns - t : 0;
	return 0;
}

static __always_inline int end_call(struct hook_counts *h, struct task_struct *task,
				    struct call *call, long ret)
{
	__u64 start = call->start_ns, now, t = 0;
	struct rec_ioctl *rec;

	if (call->cost_ns)
		t = bpf_ktime_get_ns() - call->cost_ns;
	call->start_ns = 0;
	rec = ring__reserve(h, REC_IOCTL, sizeof(*rec));
	if (!rec)
		return 0;
	now = bpf_ktime_get_ns();
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = now;
	rec->duration_ns = start ? now - start : 0;
	rec->ret = ret;
	rec->cmd = call->cmd;
	rec->fd = call->fd;
	rec->rdev = call->rdev;
	rec->mode = call->mode;
	rec->inode = call->inode;
	rec->arg = call->arg;
	ring__submit(h, rec);
	cost__end(h, t);
	return 0;
}

/*
 * The return of a call that was kept with the task, or that was never entered: a seccomp filter
 * answered it, so it begins and ends here; unless it began before its task became a target, or when
 * entries were no longer seen.
 */
static __always_inline int end_other(struct hook_counts *h, struct task_struct *task,
				     struct pt_regs *regs, long ret, bool compat)
{
	struct task_state *s = filter__find(task);

	if (!s)
		return 0;
	if (!s->call.start_ns) {
		if (s->flags & TASK_STATE_INSIDE) {
			s->flags &= ~TASK_STATE_INSIDE;
			return 0;
		}
		if (*(volatile __u32 *)&detaching)
			return 0;
		h->hits++;
		s->call.flags = 0;
		s->call.cost_ns = 0;
		fill_call(&s->call, task, regs, compat);
	}
	return end_call(h, task, &s->call, ret);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long ret)
{
	int nr = regs__nr(regs);
	struct task_struct *task;
	struct hook_counts *h;
	struct cpu_state *c;
	bool compat;

	if (probe_agg) {
		task = bpf_get_current_task_btf();
		agg__exit(filter__find(task), task->pid);
	}
	if (nr != NR_IOCTL && nr != NR_IOCTL_COMPAT) {
		exit_other(nr, ret);
		if (probe_futex)
			futex__exit(nr, ret);
		return 0;
	}
	task = bpf_get_current_task_btf();
	if (!probe_ioctl || !is_ioctl(task, nr, &compat))
		return 0;
	c = cpu__get();
	if (!c)
		return 0;
	h = &c->hook[REC_HOOK_SYSCALL];
	if (keep_on_cpu && c->task_pid == task->pid && c->task_start == task->start_time) {
		if (c->call.start_ns)
			return end_call(h, task, &c->call, ret);
		if (!c->is_target)
			return 0;
	}
	return end_other(h, task, regs, ret, compat);
}

/* At the end of a recording, the calls that have not returned. */
SEC("iter/task")
int walk_open(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *s = task ? filter__find(task) : NULL;

	if (!s)
		return 0;
	ioctl__blocked(task, &s->call);
	file__blocked(task, &s->file);
	futex__blocked(task, &s->futex);
	stream__blocked(task, &s->stream);
	wait__blocked(task, &s->wait);
	return 0;
}

/* While it goes on, where another file of the trace begins. */
SEC("iter/task")
int walk_now(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *s = task ? filter__find(task) : NULL;

	if (!s)
		return 0;
	ioctl__open_now(task, &s->call);
	file__blocked(task, &s->file);
	futex__blocked(task, &s->futex);
	stream__blocked(task, &s->stream);
	wait__blocked(task, &s->wait);
	return 0;
}
