// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fault hook: page faults of the target, when they are resolved.
 *
 * Only the kernel's own counting at the end of a fault tells minor from major ones and passes those
 * in kernel mode, and of all kernels' hooks only perf's software events stand there. Where the
 * architecture has tracepoints at the beginning, these give the duration.
 */
#include "bpf/include/arch.bpf.h"
#include "bpf/include/filter.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* the stack may grow below the pointer that a program has, and the arguments lie above */
#define STACK_MAX (1ULL << 30)

static __always_inline int begin_fault(unsigned long code)
{
	struct task_state *s = filter__find(bpf_get_current_task_btf());

	if (s) {
		s->fault_ns = bpf_ktime_get_ns();
		s->fault_code = code;
	}
	return 0;
}

SEC("?tp_btf/page_fault_user")
int BPF_PROG(page_fault_user, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	return begin_fault(code);
}

SEC("?tp_btf/page_fault_kernel")
int BPF_PROG(page_fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	return begin_fault(code);
}

static __always_inline bool within(__u64 address, __u64 begin, __u64 end)
{
	return address >= begin && address < end;
}

static __always_inline __u8 area_of(struct task_struct *task, __u64 address)
{
	struct mm_struct *mm = task->mm;

	if (address >> 63)
		return REC_AREA_KERNEL;
	if (!mm)
		return REC_AREA_UNKNOWN;
	if (within(address, mm->start_code, mm->end_code))
		return REC_AREA_CODE;
	if (within(address, mm->start_data, mm->end_data))
		return REC_AREA_DATA;
	if (within(address, mm->start_brk, mm->brk))
		return REC_AREA_HEAP;
	if (address >= mm->mmap_base)
		return within(address, mm->start_stack - STACK_MAX, mm->start_stack + STACK_MAX)
			       ? REC_AREA_STACK
			       : REC_AREA_UNKNOWN;
	return address < mm->end_data ? REC_AREA_UNKNOWN : REC_AREA_MMAP;
}

static __always_inline __u16 flags_of(struct bpf_perf_event_data *ctx, struct task_state *s)
{
	__u16 flags = 0;

	if (event__in_kernel(ctx))
		flags |= REC_FAULT_KERNEL;
	if (s->fault_ns && s->fault_code & FAULT_WRITE)
		flags |= REC_FAULT_WRITE;
	if (s->fault_ns && s->fault_code & FAULT_EXEC)
		flags |= REC_FAULT_EXEC;
	return flags;
}

static __always_inline int end_fault(struct bpf_perf_event_data *ctx, __u16 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *s = filter__find(task);
	struct hook_counts *h = counts__get(REC_HOOK_FAULT);
	struct rec_fault *rec;
	__u64 t, faults, begin_ns, unseen;

	if (!s || !h)
		return 0;
	t = cost__begin(h);
	faults = task->min_flt + task->maj_flt;
	unseen = faults > s->faults ? faults - s->faults - 1 : 0; /* not where that is unknown */
	s->faults = faults;
	flags |= flags_of(ctx, s);
	begin_ns = s->fault_ns;
	s->fault_ns = 0;
	rec = ring__reserve(h, REC_FAULT, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->address = ctx->addr;
	rec->ip = ctx->ip;
	rec->duration_ns = begin_ns ? rec->hdr.time_ns - begin_ns : 0;
	rec->unseen = unseen;
	rec->flags = flags;
	rec->area = area_of(task, rec->address);
	rec->pad = 0;
	ring__submit(h, rec);
	cost__end(h, t);
	return 0;
}

SEC("perf_event")
int fault_minor(struct bpf_perf_event_data *ctx)
{
	return end_fault(ctx, 0);
}

SEC("perf_event")
int fault_major(struct bpf_perf_event_data *ctx)
{
	return end_fault(ctx, REC_FAULT_MAJOR);
}
