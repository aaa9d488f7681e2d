/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls as the two architectures pass them. */
#ifndef XPUGAP_ARCH_BPF_H
#define XPUGAP_ARCH_BPF_H

#include "bpf/include/vmlinux.h"
#include <bpf/bpf_helpers.h>

#if defined(__TARGET_ARCH_x86)

#define NR_IOCTL	16
#define NR_IOCTL_COMPAT 54
#define TS_COMPAT	2

static __always_inline bool task__compat(const struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

/* -1 outside a system call: entries by interrupt and exception store that */
static __always_inline int regs__nr(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

static __always_inline __u64 regs__arg0(const struct pt_regs *regs, bool compat)
{
	return compat ? (__u32)regs->bx : regs->di;
}

static __always_inline __u64 regs__arg1(const struct pt_regs *regs, bool compat)
{
	return compat ? (__u32)regs->cx : regs->si;
}

static __always_inline __u64 regs__arg2(const struct pt_regs *regs, bool compat)
{
	return compat ? (__u32)regs->dx : regs->dx;
}

/* of 64-bit calls only */
static __always_inline __u64 regs__arg3(const struct pt_regs *regs)
{
	return regs->r10;
}

static __always_inline __u64 regs__arg4(const struct pt_regs *regs)
{
	return regs->r8;
}

static __always_inline bool event__in_kernel(const struct bpf_perf_event_data *ctx)
{
	return !(ctx->cs & 3);
}

/* bits of the processor's error code of a page fault */
#define FAULT_WRITE 0x2
#define FAULT_EXEC  0x10

#elif defined(__TARGET_ARCH_arm64)

#define NR_IOCTL	29
#define NR_IOCTL_COMPAT 54
#define TIF_32BIT	22

static __always_inline bool task__compat(const struct task_struct *task)
{
	return task->thread_info.flags & (1UL << TIF_32BIT);
}

static __always_inline int regs__nr(const struct pt_regs *regs)
{
	return regs->syscallno;
}

/* the first register is overwritten by the result */
static __always_inline __u64 regs__arg0(const struct pt_regs *regs, bool compat)
{
	return compat ? (__u32)regs->orig_x0 : regs->orig_x0;
}

static __always_inline __u64 regs__arg1(const struct pt_regs *regs, bool compat)
{
	return compat ? (__u32)regs->user_regs.regs[1] : regs->user_regs.regs[1];
}

static __always_inline __u64 regs__arg2(const struct pt_regs *regs, bool compat)
{
	return compat ? (__u32)regs->user_regs.regs[2] : regs->user_regs.regs[2];
}

static __always_inline __u64 regs__arg3(const struct pt_regs *regs)
{
	return regs->user_regs.regs[3];
}

static __always_inline __u64 regs__arg4(const struct pt_regs *regs)
{
	return regs->user_regs.regs[4];
}

static __always_inline bool event__in_kernel(const struct bpf_perf_event_data *ctx)
{
	return ctx->pstate & 0xf;
}

/* there are no such tracepoints */
#define FAULT_WRITE	0
#define FAULT_EXEC	0

#endif

/* Is system call @nr an ioctl of @task? The numbers of 32-bit calls mean others in 64-bit ones. */
static __always_inline bool is_ioctl(struct task_struct *task, int nr, bool *compat)
{
	*compat = task__compat(task);
	return nr == (*compat ? NR_IOCTL_COMPAT : NR_IOCTL);
}

#endif
