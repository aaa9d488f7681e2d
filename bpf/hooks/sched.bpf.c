// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sched hook: when a target leaves or gets a cpu, and who wakes it.
 *
 * It also tells of two things that only it can see: an ioctl in which its task left the cpu, and
 * the end of a task, which is reported here because only at the last switch are the kernel's own
 * counts of the task final.
 */
#include "bpf/include/arch.bpf.h"
#include "bpf/include/futex_args.bpf.h"
#include "bpf/include/ioctl.bpf.h"
#include "bpf/include/task.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* what this kernel has, as the recorder found it in the kernel's type information */
const volatile bool switch_has_state = true; /* sched_switch passes the state: since 5.18 */

#define TASK_REPORT   0x7f /* the states that sched_switch reports */
#define TASK_FROZEN   0x8000
#define TASK_ASLEEP   0x9000 /* on a sleeping spinlock, or frozen: reported as uninterruptible */
#define TASK_IDLE     0x402
#define TASK_DEAD     0x80
#define REPORT_IDLE   0x80
#define REPORT_ASLEEP 2

#define JOBCTL_TRAP_FREEZE (1UL << 23)

/* bits of the preemption count: hard interrupt, NMI, and serving a soft one (not holding it off) */
#define IN_INTERRUPT (0x000f0000 | 0x00f00000 | 0x00000100)

/*
 * Whether an interrupt woke the task shows in the preemption count. arm64 keeps it with the task.
 * On x86-64 it is a per-cpu variable, in one of two places, or out of reach where kallsyms does
 * not list variables; then the beginnings and ends of interrupts are counted. An object that so
 * much as names a variable that is not there needs CAP_SYS_ADMIN (libbpf then looks for it in
 * modules), so there are three objects: this file, and two that include it with a name defined.
 */
#if defined(BY_PREEMPT_COUNT)
extern const int __preempt_count __ksym;
#elif defined(BY_PCPU_HOT)
extern const struct pcpu_hot pcpu_hot __ksym;
#endif

static __always_inline bool in_interrupt(struct cpu_state *c, struct task_struct *waker)
{
#if defined(BY_PREEMPT_COUNT)
	return *(int *)bpf_this_cpu_ptr(&__preempt_count) & IN_INTERRUPT;
#elif defined(BY_PCPU_HOT)
	return ((struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count & IN_INTERRUPT;
#elif defined(__TARGET_ARCH_arm64)
	return waker->thread_info.preempt.count & IN_INTERRUPT;
#else
	return c->interrupts;
#endif
}

#if defined(__TARGET_ARCH_x86) && !defined(BY_PREEMPT_COUNT) && !defined(BY_PCPU_HOT)

/*
 * Device interrupts, soft ones, and timers that expire in the timer interrupt: whatever else runs
 * in interrupts wakes nobody. Ends stand before beginnings so that they are attached first; a
 * count that went wrong is put right at the next switch, which is never in an interrupt.
 */
static __always_inline int count_interrupt(int n)
{
	struct cpu_state *c = cpu__get();

	if (c && (n > 0 || c->interrupts))
		c->interrupts += n;
	return 0;
}

#define COUNT_INTERRUPT(end, begin)                                                                \
	SEC("tp_btf/" #end) int end(void *ctx)                                                     \
	{                                                                                          \
		return count_interrupt(-1);                                                        \
	}                                                                                          \
	SEC("tp_btf/" #begin) int begin(void *ctx)                                                 \
	{                                                                                          \
		return count_interrupt(1);                                                         \
	}

COUNT_INTERRUPT(irq_handler_exit, irq_handler_entry)
COUNT_INTERRUPT(softirq_exit, softirq_entry)
COUNT_INTERRUPT(hrtimer_expire_exit, hrtimer_expire_entry)

#endif

/* One bit as sched_switch prints it; a preempted task counts as running. */
static __always_inline __u32 report_state(struct task_struct *prev, __u32 state, bool preempt)
{
	__u32 bits;

	if (preempt)
		return 0;
	if (state & TASK_ASLEEP)
		return REPORT_ASLEEP;
	if ((state & TASK_IDLE) == TASK_IDLE)
		return REPORT_IDLE;
	bits = (state | prev->exit_state) & TASK_REPORT;
	/* the highest bit */
	bits |= bits >> 1;
	bits |= bits >> 2;
	bits |= bits >> 4;
	return bits & ~(bits >> 1);
}

/*
 * Does @prev leave since its cgroup, or one above it, has no cpu time left? Since 6.18 a task runs
 * on until it returns to user space, and may be displaced by others before that.
 */
static __always_inline bool is_throttled(struct task_struct *prev)
{
	struct task_struct___throttled *task = (void *)prev;
	struct cfs_rq *queue;

	if (bpf_core_field_exists(task->throttled))
		return BPF_CORE_READ(task, throttled);
	if (!bpf_core_field_exists(prev->se.cfs_rq))
		return false;
	queue = prev->se.cfs_rq;
	return bpf_core_field_exists(queue->throttle_count) && queue->throttle_count > 0;
}

/* Why @prev leaves the cpu where its state alone does not tell. */
static __always_inline __u32 why(struct task_struct *prev, __u32 state, bool preempt)
{
	__u32 flags = 0;

	if (preempt || !state)
		flags |= REC_SCHED_PREEMPT | (is_throttled(prev) ? REC_SCHED_THROTTLED : 0);
	else if (state & TASK_FROZEN || prev->jobctl & JOBCTL_TRAP_FREEZE)
		flags |= REC_SCHED_FROZEN;
	return flags;
}

/* The system call that @task is in, which has just left the cpu. */
static __always_inline int task__nr(struct task_struct *task)
{
	struct pt_regs *regs;

	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return regs__nr(regs);
}

/* The call that @prev is in moves from the cpu to the task. */
static __always_inline void keep_call(struct cpu_state *c, struct task_struct *prev,
				      struct task_state *from)
{
	if (c->call.start_ns && c->task_pid == prev->pid && c->task_start == prev->start_time) {
		from->call = c->call;
		c->call.start_ns = 0;
	}
}

/* When @task was created there was no room to tell of it. */
static __always_inline void define_late(struct task_struct *task, struct task_state *s)
{
	struct hook_counts *h;

	if (s->flags & TASK_STATE_DEFINED)
		return;
	h = counts__get(REC_HOOK_TASK);
	if (h && task__define(h, task, REC_TASK_TARGET))
		s->flags |= TASK_STATE_DEFINED;
}

static __always_inline __u32 who(struct task_state *from, struct task_state *to)
{
	__u32 flags = 0;

	if (from)
		flags |= REC_SCHED_PREV_TARGET;
	if (to)
		flags |= REC_SCHED_NEXT_TARGET;
	barrier_var(flags); /* else the compiler computes with the pointers */
	return flags;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct task_state *from = filter__find(prev), *to = filter__find(next);
	__u32 flags = who(from, to), state;
	struct cpu_state *c = cpu__get();
	struct rec_sched_switch *rec;
	struct hook_counts *h;
	__u64 t;

	if (!c)
		return 0;
	c->interrupts = 0;
	if (!flags)
		return 0;
	h = &c->hook[REC_HOOK_SCHED];
	t = cost__begin(h);
	if (from) {
		keep_call(c, prev, from);
		ioctl__blocked(prev, &from->call);
		define_late(prev, from);
	}
	if (switch_has_state)
		state = ctx[3];
	else if (bpf_core_field_exists(prev->__state))
		state = prev->__state;
	else
		state = ((struct task_struct___state *)prev)->state;

	rec = ring__reserve(h, REC_SCHED_SWITCH, sizeof(*rec));
	if (rec) {
		rec->hdr.tid = prev->pid;
		rec->hdr.time_ns = bpf_ktime_get_ns();
		rec->next_tid = next->pid;
		rec->prev_state = report_state(prev, state, preempt);
		rec->prev_nr = task__nr(prev);
		rec->flags = flags | why(prev, state, preempt) |
			     (task__compat(prev) ? REC_SCHED_COMPAT : 0);
		ring__submit(h, rec);
	}
	if (!(flags & REC_SCHED_NEXT_TARGET) && next->pid)
		filter__neighbour(c, h, next);
	if (from && (state & TASK_DEAD)) {
		h = counts__get(REC_HOOK_TASK);
		if (h)
			task__exit(h, prev);
		return 0;
	}
	cost__end(h, t);
	return 0;
}

/*
 * @to waits for a futex: was it @waker's call that woke it, or its end, which wakes who joins it?
 * Whether that ended the wait shows when it returns.
 */
static __always_inline void woken(struct task_state *to, struct task_struct *waker)
{
	int nr;

	if (!to->futex.start_ns || task__compat(waker))
		return;
	nr = task__nr(waker);
	if (nr == NR_FUTEX || nr == NR_FUTEX_WAKE || nr == NR_FUTEX_REQUEUE || nr == NR_EXIT ||
	    nr == NR_EXIT_GROUP)
		to->futex.waker_tid = waker->pid;
}

static __always_inline int waking(struct task_struct *wakee, __u32 flags)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct cpu_state *c = cpu__get();
	struct rec_sched_waking *rec;
	struct task_state *from, *to;
	struct hook_counts *h;
	__u64 t;

	from = filter__find(waker);
	to = filter__find(wakee);
	flags |= who(from, to);
	if (!(flags & (REC_SCHED_PREV_TARGET | REC_SCHED_NEXT_TARGET)) || !c)
		return 0;
	h = &c->hook[REC_HOOK_SCHED];
	t = cost__begin(h);
	/* the idle task wakes nobody by itself */
	if (in_interrupt(c, waker) || !waker->pid)
		flags |= REC_SCHED_IRQ;
	if (probe_futex && to && !(flags & REC_SCHED_IRQ))
		woken(to, waker);
	if (flags & REC_SCHED_NEXT_TARGET)
		c->irq.woke = c->softirq.woke = 1;
	rec = ring__reserve(h, REC_SCHED_WAKING, sizeof(*rec));
	if (rec) {
		rec->hdr.tid = waker->pid;
		rec->hdr.time_ns = bpf_ktime_get_ns();
		rec->wakee_tid = wakee->pid;
		rec->wakee_pid = wakee->tgid;
		rec->cpu = wakee->thread_info.cpu;
		rec->flags = flags;
		ring__submit(h, rec);
	}
	if (!from && !(flags & REC_SCHED_IRQ))
		filter__neighbour(c, h, waker);
	cost__end(h, t);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *wakee)
{
	return waking(wakee, 0);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *wakee)
{
	return waking(wakee, REC_SCHED_NEW);
}
