// SPDX-License-Identifier: BSD-2-Clause
/* Which objects each family has, and the ladder of ways to attach it. */
#include <bpf/libbpf.h>
#include <errno.h>

#include "bpf/include/shared.h" /* skeletons use its types */

#include "bpf/hooks/block.skel.h"
#include "bpf/hooks/block_plain.skel.h"
#include "bpf/hooks/fault.skel.h"
#include "bpf/hooks/fault_plain.skel.h"
#include "bpf/hooks/irq.skel.h"
#include "bpf/hooks/irq_plain.skel.h"
#include "bpf/hooks/lock.skel.h"
#include "bpf/hooks/lock_plain.skel.h"
#include "bpf/hooks/pmu.skel.h"
#include "bpf/hooks/pmu_plain.skel.h"
#include "bpf/hooks/reclaim.skel.h"
#include "bpf/hooks/reclaim_plain.skel.h"
#include "bpf/hooks/sample.skel.h"
#include "bpf/hooks/sample_plain.skel.h"
#include "bpf/hooks/sched.skel.h"
#include "bpf/hooks/sched_count.skel.h"
#include "bpf/hooks/sched_hot.skel.h"
#include "bpf/hooks/sched_plain.skel.h"
#include "bpf/hooks/syscall.skel.h"
#include "bpf/hooks/syscall_plain.skel.h"
#include "bpf/hooks/syscall_read.skel.h"
#include "bpf/hooks/task.skel.h"
#include "bpf/hooks/task_plain.skel.h"
#include "userspace/source/hooks_priv.h"
#include "userspace/source/probe.h"
#include "userspace/source/tracefs.h"

/* ---- one function opens each object and sets its switches ---- */

#define OPEN(name, cannot, set) static OPEN_OBJECT(name, cannot, set)

static int set_task(const struct hooks *h, struct task_bpf *s)
{
	s->rodata->follows = h->opts.attach;
	bpf_program__set_autoload(s->progs.cgroup_attach_task, h->opts.attach);
	s->rodata->exit_by_sched = h->family[REC_HOOK_SCHED].obj != NULL;
	return 0;
}

OPEN(task, 0, set_task(h, s))

#define OPEN_SCHED(name, may)                                                                      \
	static int open_##name(struct hooks *h, struct family *f)                                  \
	{                                                                                          \
		struct name##_bpf *s = (may) ? name##_bpf__open() : NULL;                          \
                                                                                                   \
		if (!s)                                                                            \
			return (may) ? -errno : -ENOENT;                                           \
		s->rodata->switch_has_state = h->facts.switch_has_state;                           \
		s->rodata->probe_futex = probe__wanted(h->opts.probes, "futex");                   \
		ADOPT(f, s);                                                                       \
		return 0;                                                                          \
	}

/* the verifier refuses the first two where kallsyms does not list the variable */
OPEN_SCHED(sched_count, h->facts.var_preempt_count)
OPEN_SCHED(sched_hot, h->facts.var_pcpu_hot)
OPEN_SCHED(sched, true)

/* Calls are counted only where that is asked for: @on, in @map, of intervals that @turn tells. */
static int count_calls(struct hooks *h, struct bpf_map *map, bool *on, uint32_t *turn)
{
	h->agg_turn = NULL;
	*on = probe__wanted(h->opts.probes, "syscall");
	if (!*on)
		return 0;
	h->agg_turn = turn;
	return bpf_map__set_max_entries(map, AGG_PAIRS);
}

#define OPEN_SYSCALL(name, may)                                                                    \
	static int open_##name(struct hooks *h, struct family *f)                                  \
	{                                                                                          \
		struct name##_bpf *s = (may) ? name##_bpf__open() : NULL;                          \
                                                                                                   \
		if (!s)                                                                            \
			return (may) ? -errno : -ENOENT;                                           \
		s->rodata->keep_on_cpu = h->family[REC_HOOK_SCHED].obj != NULL;                    \
		s->rodata->probe_ioctl = probe__wanted(h->opts.probes, "ioctl");                   \
		s->rodata->probe_file = probe__wanted(h->opts.probes, "file");                     \
		s->rodata->probe_futex = probe__wanted(h->opts.probes, "futex");                   \
		s->rodata->probe_stream = probe__wanted(h->opts.probes, "stream");                 \
		s->rodata->probe_wait = probe__wanted(h->opts.probes, "wait");                     \
		ADOPT(f, s);                                                                       \
		h->detaching = &s->bss->detaching;                                                 \
		return count_calls(h, s->maps.agg, (bool *)&s->rodata->probe_agg,                  \
				   &s->data->agg_turn);                                            \
	}

OPEN_SYSCALL(syscall, h->facts.rdonly_cast)
OPEN_SYSCALL(syscall_read, true)

/* Set the switches of @s, a skeleton's read-only data, to where fields lie in @event. */
#define FIELD(h, event, field, to)                                                                 \
	do {                                                                                       \
		int err_ = tracefs__field((h)->facts.tracefs, event, field, to);                   \
                                                                                                   \
		if (err_)                                                                          \
			return err_;                                                               \
	} while (0)

static int set_task_fields(struct hooks *h, struct task_plain_bpf *s)
{
	FIELD(h, "task/task_newtask", "pid", (uint32_t *)&s->rodata->at_newtask_pid);
	FIELD(h, "task/task_newtask", "clone_flags", (uint32_t *)&s->rodata->at_newtask_flags);
	FIELD(h, "sched/sched_process_exec", "filename", (uint32_t *)&s->rodata->at_exec_filename);
	FIELD(h, "sched/sched_process_exec", "pid", (uint32_t *)&s->rodata->at_exec_pid);
	FIELD(h, "sched/sched_process_exec", "old_pid", (uint32_t *)&s->rodata->at_exec_old_pid);
	FIELD(h, "sched/sched_process_exit", "pid", (uint32_t *)&s->rodata->at_exit_pid);
	FIELD(h, "sched/sched_process_free", "pid", (uint32_t *)&s->rodata->at_free_pid);
	FIELD(h, "task/task_rename", "pid", (uint32_t *)&s->rodata->at_rename_pid);
	FIELD(h, "task/task_rename", "newcomm", (uint32_t *)&s->rodata->at_rename_newcomm);
	return 0;
}

OPEN(task_plain, NO_TRACEFS(h), set_task_fields(h, s))

static int set_sched_fields(struct hooks *h, struct sched_plain_bpf *s)
{
	FIELD(h, "sched/sched_switch", "prev_pid", (uint32_t *)&s->rodata->at_prev_pid);
	FIELD(h, "sched/sched_switch", "prev_state", (uint32_t *)&s->rodata->at_prev_state);
	FIELD(h, "sched/sched_switch", "next_pid", (uint32_t *)&s->rodata->at_next_pid);
	FIELD(h, "sched/sched_switch", "next_comm", (uint32_t *)&s->rodata->at_next_comm);
	FIELD(h, "sched/sched_waking", "pid", (uint32_t *)&s->rodata->at_waking_pid);
	FIELD(h, "sched/sched_waking", "target_cpu", (uint32_t *)&s->rodata->at_waking_cpu);
	FIELD(h, "sched/sched_wakeup_new", "pid", (uint32_t *)&s->rodata->at_new_pid);
	FIELD(h, "sched/sched_wakeup_new", "target_cpu", (uint32_t *)&s->rodata->at_new_cpu);
	return 0;
}

OPEN(sched_plain, NO_TRACEFS(h), set_sched_fields(h, s))

static int open_syscall_plain(struct hooks *h, struct family *f)
{
	bool ioctl = probe__wanted(h->opts.probes, "ioctl");
	bool futex = probe__wanted(h->opts.probes, "futex");
	struct syscall_plain_bpf *s;

	if (!ioctl && !futex && !probe__wanted(h->opts.probes, "syscall"))
		return -EOPNOTSUPP; /* calls for files are not told in this way */
	s = syscall_plain_bpf__open();
	if (!s)
		return -errno;
	ADOPT(f, s);
	s->rodata->probe_ioctl = ioctl;
	s->rodata->probe_futex = futex;
	h->detaching = &s->bss->detaching;
	return count_calls(h, s->maps.agg, (bool *)&s->rodata->probe_agg, &s->data->agg_turn);
}

static int set_fault(const struct hooks *h, struct fault_bpf *s)
{
	bpf_program__set_autoload(s->progs.page_fault_user, h->facts.trace_page_fault);
	bpf_program__set_autoload(s->progs.page_fault_kernel, h->facts.trace_page_fault);
	return 0;
}

OPEN(fault, 0, set_fault(h, s))
OPEN(fault_plain, 0, 0)
OPEN(irq, 0, 0)

static int set_irq_fields(struct hooks *h, struct irq_plain_bpf *s)
{
	FIELD(h, "irq/irq_handler_entry", "irq", (uint32_t *)&s->rodata->at_entry_irq);
	FIELD(h, "irq/irq_handler_entry", "name", (uint32_t *)&s->rodata->at_entry_name);
	FIELD(h, "irq/irq_handler_exit", "irq", (uint32_t *)&s->rodata->at_exit_irq);
	FIELD(h, "irq/irq_handler_exit", "ret", (uint32_t *)&s->rodata->at_exit_ret);
	FIELD(h, "irq/softirq_entry", "vec", (uint32_t *)&s->rodata->at_entry_vec);
	FIELD(h, "irq/softirq_exit", "vec", (uint32_t *)&s->rodata->at_exit_vec);
	return 0;
}

OPEN(irq_plain, NO_TRACEFS(h), set_irq_fields(h, s))
OPEN(lock, 0, 0)

static int set_lock_fields(struct hooks *h, struct lock_plain_bpf *s)
{
	FIELD(h, "lock/contention_begin", "lock_addr", (uint32_t *)&s->rodata->at_begin_lock);
	FIELD(h, "lock/contention_begin", "flags", (uint32_t *)&s->rodata->at_begin_flags);
	FIELD(h, "lock/contention_end", "lock_addr", (uint32_t *)&s->rodata->at_end_lock);
	FIELD(h, "lock/contention_end", "ret", (uint32_t *)&s->rodata->at_end_ret);
	return 0;
}

OPEN(lock_plain, NO_TRACEFS(h), set_lock_fields(h, s))

static int set_reclaim(const struct hooks *h, struct reclaim_bpf *s)
{
	bpf_program__set_autoload(s->progs.memcg_begin, h->facts.trace_memcg_reclaim);
	bpf_program__set_autoload(s->progs.memcg_end, h->facts.trace_memcg_reclaim);
	return 0;
}

OPEN(reclaim, 0, set_reclaim(h, s))

#define DIRECT_END "vmscan/mm_vmscan_direct_reclaim_end"
#define MEMCG_END  "vmscan/mm_vmscan_memcg_reclaim_end"

static int set_reclaim_fields(struct hooks *h, struct reclaim_plain_bpf *s)
{
	FIELD(h, DIRECT_END, "nr_reclaimed", (uint32_t *)&s->rodata->at_direct_pages);
	if (tracefs__field(h->facts.tracefs, MEMCG_END, "nr_reclaimed",
			   (uint32_t *)&s->rodata->at_memcg_pages))
		return 0; /* a kernel without memory cgroups */
	bpf_program__set_autoload(s->progs.memcg_begin, true);
	bpf_program__set_autoload(s->progs.memcg_end, true);
	return 0;
}

OPEN(reclaim_plain, NO_TRACEFS(h), set_reclaim_fields(h, s))

static int set_block(const struct hooks *h, struct block_bpf *s)
{
	s->rodata->rq_after_queue = h->facts.rq_after_queue;
	s->rodata->rq_status = h->facts.rq_status;
	bpf_program__set_autoload(s->progs.block_rq_merge, h->facts.rq_merge);
	return 0;
}

OPEN(block, 0, set_block(h, s))

static int set_block_fields(struct hooks *h, struct block_plain_bpf *s)
{
	FIELD(h, "block/block_rq_insert", "dev", (uint32_t *)&s->rodata->at_insert_dev);
	FIELD(h, "block/block_rq_insert", "sector", (uint32_t *)&s->rodata->at_insert_sector);
	FIELD(h, "block/block_rq_insert", "bytes", (uint32_t *)&s->rodata->at_insert_bytes);
	FIELD(h, "block/block_rq_insert", "rwbs", (uint32_t *)&s->rodata->at_insert_rwbs);
	FIELD(h, "block/block_rq_issue", "dev", (uint32_t *)&s->rodata->at_issue_dev);
	FIELD(h, "block/block_rq_issue", "sector", (uint32_t *)&s->rodata->at_issue_sector);
	FIELD(h, "block/block_rq_issue", "bytes", (uint32_t *)&s->rodata->at_issue_bytes);
	FIELD(h, "block/block_rq_issue", "rwbs", (uint32_t *)&s->rodata->at_issue_rwbs);
	FIELD(h, "block/block_rq_complete", "dev", (uint32_t *)&s->rodata->at_complete_dev);
	FIELD(h, "block/block_rq_complete", "sector", (uint32_t *)&s->rodata->at_complete_sector);
	FIELD(h, "block/block_rq_complete", "error", (uint32_t *)&s->rodata->at_complete_error);
	return 0;
}

OPEN(block_plain, NO_TRACEFS(h), set_block_fields(h, s))

/* The kernel runs no program at a classic tracepoint inside of another such one or of perf's. */
#define SKIPPED ", nor what happens while another hook's program runs"

#define NO_CYCLES "the kernel has no counter of the processor's cycles (no PMU, as in most guests)"

/*
 * Samples by cycles or by a clock: of the object's two programs one is loaded. The clock is tried
 * where there are no cycles to count.
 */
#define OPEN_SAMPLE(name)                                                                          \
	static int open_##name##_as(struct hooks *h, struct family *f, bool cycles)                \
	{                                                                                          \
		struct name##_bpf *s = name##_bpf__open();                                         \
                                                                                                   \
		if (!s)                                                                            \
			return -errno;                                                             \
		ADOPT(f, s);                                                                       \
		s->rodata->sample_event = cycles ? REC_SAMPLE_CYCLES : REC_SAMPLE_CPU_CLOCK;       \
		s->rodata->max_frames = perf_hooks__max_frames(s->rodata->max_frames);             \
		bpf_program__set_autoload(s->progs.sample_cycles, cycles);                         \
		bpf_program__set_autoload(s->progs.sample_clock, !cycles);                         \
		return 0;                                                                          \
	}                                                                                          \
	static int open_##name##_cycles(struct hooks *h, struct family *f)                         \
	{                                                                                          \
		int err = perf_hooks__try_cycles();                                                \
                                                                                                   \
		if (err && err != -EACCES && err != -EPERM)                                        \
			f->lack = NO_CYCLES;                                                       \
		return err ? err : open_##name##_as(h, f, true);                                   \
	}                                                                                          \
	static int open_##name##_clock(struct hooks *h, struct family *f)                          \
	{                                                                                          \
		return open_##name##_as(h, f, false);                                              \
	}

OPEN_SAMPLE(sample)
OPEN_SAMPLE(sample_plain)

static int open_pmu(struct hooks *h, struct family *f)
{
	int err = pmu_hooks__open(h, f);
	struct pmu_bpf *s = err ? NULL : pmu_bpf__open();

	if (!s)
		return err ? err : -errno;
	ADOPT(f, s);
	s->rodata->n_counters = pmu_hooks__count(h, (uint8_t *)s->rodata->counter_numbers);
	return bpf_map__set_max_entries(s->maps.pmu_events, h->ncpus * PMU_COUNTERS);
}

static int open_pmu_plain(struct hooks *h, struct family *f)
{
	int err = *h->facts.tracefs ? pmu_hooks__open(h, f) : -ENODEV;
	struct pmu_plain_bpf *s = err ? NULL : pmu_plain_bpf__open();

	if (!s)
		return err ? err : -errno;
	ADOPT(f, s);
	s->rodata->n_counters = pmu_hooks__count(h, (uint8_t *)s->rodata->counter_numbers);
	FIELD(h, "sched/sched_switch", "prev_pid", (uint32_t *)&s->rodata->at_prev_pid);
	FIELD(h, "sched/sched_switch", "next_pid", (uint32_t *)&s->rodata->at_next_pid);
	return bpf_map__set_max_entries(s->maps.pmu_events, h->ncpus * PMU_COUNTERS);
}

#define CLOCK_LACKS "where time goes while interrupts are off: such samples fall right behind"

/* The sched hook stands first: what the others do depends on it. */
const struct ladder ladders[] = {
	{REC_HOOK_SCHED,
	 {{"tp_btf", "", .open = {open_sched_count, open_sched_hot, open_sched}},
	  {"tracepoint", "the system call of who leaves the cpu and wake-ups by interrupts" SKIPPED,
	   .plain = true, .open = {open_sched_plain}}}},
	{REC_HOOK_TASK,
	 {{"tp_btf", "", .open = {open_task}},
	  {"tracepoint", "ids in namespaces and totals at a task's end" SKIPPED, .plain = true,
	   .open = {open_task_plain}}}},
	{REC_HOOK_SYSCALL,
	 {{"tp_btf", "", .open = {open_syscall, open_syscall_read}},
	  {"raw_tp",
	   "the file behind a descriptor, 32-bit calls of 64-bit programs, other calls than "
	   "ioctl and futex, who owns a futex or wakes its waiters",
	   .without = "file,stream,wait", .plain = true, .open = {open_syscall_plain}}}},
	{REC_HOOK_FAULT,
	 {{"perf_event", "", .open = {open_fault}},
	  {"perf_event", "the duration of faults, and where in the program they lie", .plain = true,
	   .open = {open_fault_plain}}}},
	{REC_HOOK_IRQ,
	 {{"tp_btf", "", .open = {open_irq}},
	  {"tracepoint", "what happens while another hook's program runs", .plain = true,
	   .open = {open_irq_plain}}}},
	{REC_HOOK_LOCK,
	 {{"tp_btf", "", .open = {open_lock}},
	  {"tracepoint", "who holds a lock, and which is that of the address space" SKIPPED,
	   .plain = true, .open = {open_lock_plain}}}},
	{REC_HOOK_RECLAIM,
	 {{"tp_btf", "", .open = {open_reclaim}},
	  {"tracepoint", "whose limit was hit" SKIPPED, .plain = true,
	   .open = {open_reclaim_plain}}}},
	{REC_HOOK_SAMPLE,
	 {{"cycles", "", .open = {open_sample_cycles}},
	  {"cpu-clock", CLOCK_LACKS, .open = {open_sample_clock}},
	  {"cycles", "", .plain = true, .open = {open_sample_plain_cycles}},
	  {"cpu-clock", CLOCK_LACKS, .plain = true, .open = {open_sample_plain_clock}}}},
	{REC_HOOK_PMU,
	 {{"tp_btf", "", .ready = pmu_hooks__give, .open = {open_pmu}},
	  {"tracepoint", "what happens while another hook's program runs", .plain = true,
	   .ready = pmu_hooks__give, .open = {open_pmu_plain}}}},
	{REC_HOOK_BLOCK,
	 {{"tp_btf", "", .open = {open_block}},
	  {"tracepoint", "the file, the disk's name, what workers write later, and flushes" SKIPPED,
	   .plain = true, .open = {open_block_plain}}}},
	{REC_HOOK_IO_URING,
	 {{"tp_btf", "", .open = {open_io_uring, open_io_uring_read}},
	  {"tracepoint", "the file of a request, and what it asked for" SKIPPED, .plain = true,
	   .open = {open_io_uring_plain}}}},
	{REC_HOOK_GPU,
	 {{"tp_btf", "", .open = {open_gpu_fence}},
	  {"tp_btf", "drivers and timelines of fences", .open = {open_gpu_fence_nameless}},
	  {"tracepoint", "errors, and fences that get their number late from their beginning on",
	   .plain = true, .open = {open_gpu_fence_plain}}},
	 .probe = "fence",
	 .place = FAMILY_FENCE},
	{REC_HOOK_GPU,
	 {{"tp_btf", "", .open = {open_gpu_job}},
	  {"tracepoint", "the device of a job, or its fence", .plain = true,
	   .open = {open_gpu_job_plain}}},
	 .probe = "job",
	 .place = FAMILY_JOB},
	{REC_HOOK_GPU,
	 {{"tp_btf", "", .open = {open_gpu_dma}},
	  {"fentry", "", .open = {open_gpu_dma_func}},
	  {"kprobe", "", .open = {open_gpu_dma_kprobe}},
	  {"tracepoint", "drivers of devices, and lists of more than 128 parts as a whole",
	   .plain = true, .open = {open_gpu_dma_plain}}},
	 .probe = "dma",
	 .place = FAMILY_DMA},
	{0},
};
