// SPDX-License-Identifier: GPL-2.0-only
/*
 * The syscall hook by raw tracepoints. What user space was doing is laid out as ptrace() shows it,
 * which never changes. Not known here: which file a descriptor names, and 32-bit calls that a
 * 64-bit program makes.
 */
#include "bpf/include/agg.bpf.h"
#include "bpf/include/futex_args.bpf.h"
#include "bpf/include/plain.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile bool probe_ioctl = true;

__u32 detaching; /* the recorder says so before entries are no longer seen */

#if defined(__TARGET_ARCH_x86)

#define NR_IOCTL	16
#define NR_IOCTL_COMPAT 54
#define USER32_CS	0x23

struct regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs;
};

#define AT_NR __builtin_offsetof(struct regs, orig_ax)
#define MODE  cs

static __always_inline bool compat(const struct regs *r)
{
	return (__u32)r->cs == USER32_CS;
}

#define ARG0(r) (compat(r) ? (__u32)(r)->bx : (r)->di)
#define ARG1(r) (compat(r) ? (__u32)(r)->cx : (r)->si)
#define ARG2(r) (compat(r) ? (__u32)(r)->dx : (r)->dx)
#define ARG3(r) ((r)->r10)
#define ARG4(r) ((r)->r8)

#elif defined(__TARGET_ARCH_arm64)

#define NR_IOCTL	29
#define NR_IOCTL_COMPAT 54
#define PSR_MODE32	0x10

struct regs {
	__u64 x[31], sp, pc, pstate, orig_x0;
	__s32 syscallno, pad;
};

#define AT_NR __builtin_offsetof(struct regs, syscallno)
#define MODE  pstate

static __always_inline bool compat(const struct regs *r)
{
	return r->pstate & PSR_MODE32;
}

#define ARG0(r) (compat(r) ? (__u32)(r)->orig_x0 : (r)->orig_x0)
#define ARG1(r) (compat(r) ? (__u32)(r)->x[1] : (r)->x[1])
#define ARG2(r) (compat(r) ? (__u32)(r)->x[2] : (r)->x[2])
#define ARG3(r) ((r)->x[3])
#define ARG4(r) ((r)->x[4])

#endif

struct raw_args {
	__u64 args[2]; /* registers; number of the call or its result */
};

static __always_inline bool is_compat(const void *from)
{
	struct regs r;
	const void *at = from + __builtin_offsetof(struct regs, MODE);

	return bpf_probe_read_kernel(&r.MODE, sizeof(r.MODE), at) == 0 && compat(&r);
}

/* The registers of an ioctl with the number @nr; false when it is another call. */
static __always_inline bool read_ioctl(struct regs *r, const void *from, __s32 nr)
{
	if (nr != NR_IOCTL && nr != NR_IOCTL_COMPAT)
		return false;
	if (bpf_probe_read_kernel(r, sizeof(*r), from))
		return false;
	return nr == (compat(r) ? NR_IOCTL_COMPAT : NR_IOCTL);
}

static __always_inline void fill_call(struct call *call, const struct regs *r)
{
	call->fd = ARG0(r);
	call->cmd = ARG1(r);
	call->arg = ARG2(r);
}

/* Who owns what is waited for is not known here: the number in the word is of some namespace. */
static __always_inline void enter_futex(const void *from, __u64 nr)
{
	struct task_state *s = plain__find(plain__tid());
	struct futex_call *c;
	struct regs r;
	__u8 op;

	if (!s || bpf_probe_read_kernel(&r, sizeof(r), from) || compat(&r))
		return;
	c = &s->futex;
	op = futex__op_of(nr, ARG1(&r));
	if (op) {
		__u64 a[5] = {ARG0(&r), ARG1(&r), ARG2(&r), ARG3(&r), ARG4(&r)};

		__builtin_memset(c, 0, sizeof(*c));
		c->op = op;
		futex__fill(c, a);
	} else if (!futex__goes_on(c, nr, ARG0(&r))) {
		return;
	}
	c->start_ns = bpf_ktime_get_ns();
}

static __always_inline void exit_futex(long ret)
{
	struct hook_counts *h = counts__get(REC_HOOK_SYSCALL);
	struct task_state *s = plain__find(plain__tid());

	if (s && h && s->futex.start_ns)
		futex__end(h, &s->futex, plain__tid(), ret, 0);
}

SEC("raw_tp/sys_enter")
int sys_enter(struct raw_args *ctx)
{
	struct hook_counts *h;
	struct task_state *s;
	struct regs r;
	__u64 t;

	s = probe_agg ? plain__find(plain__tid()) : NULL;
	if (s)
		agg__enter(s, ctx->args[1], is_compat((void *)ctx->args[0]));
	if (probe_futex && futex__is_call(ctx->args[1]))
		enter_futex((void *)ctx->args[0], ctx->args[1]);
	if (!probe_ioctl || !read_ioctl(&r, (void *)ctx->args[0], ctx->args[1]))
		return 0;
	s = plain__find(plain__tid());
	h = counts__get(REC_HOOK_SYSCALL);
	if (!s || !h)
		return 0;
	t = cost__begin(h);
	fill_call(&s->call, &r);
	s->flags &= ~TASK_STATE_INSIDE;
	s->call.flags = 0;
	s->call.start_ns = bpf_ktime_get_ns();
	s->call.cost_ns = t ? s->call.start_ns - t : 0;
	return 0;
}

SEC("raw_tp/sys_exit")
int sys_exit(struct raw_args *ctx)
{
	__u64 start, now, t = 0;
	struct hook_counts *h;
	struct rec_ioctl *rec;
	struct task_state *s;
	struct regs r;
	__s32 nr = -1;

	if (probe_agg)
		agg__exit(plain__find(plain__tid()), plain__tid());
	bpf_probe_read_kernel(&nr, sizeof(nr), (void *)ctx->args[0] + AT_NR);
	if (probe_futex && futex__is_call(nr))
		exit_futex(ctx->args[1]);
	if (!probe_ioctl || !read_ioctl(&r, (void *)ctx->args[0], nr))
		return 0;
	s = plain__find(plain__tid());
	h = counts__get(REC_HOOK_SYSCALL);
	if (!s || !h)
		return 0;
	start = s->call.start_ns;
	if (!start) {
		/* answered by a seccomp filter, unless it began before its task was a target */
		if (s->flags & TASK_STATE_INSIDE) {
			s->flags &= ~TASK_STATE_INSIDE;
			return 0;
		}
		if (*(volatile __u32 *)&detaching)
			return 0;
		h->hits++;
		s->call.flags = 0;
		s->call.cost_ns = 0;
		fill_call(&s->call, &r);
	}
	if (s->call.cost_ns)
		t = bpf_ktime_get_ns() - s->call.cost_ns;
	s->call.start_ns = 0;
	rec = ring__reserve(h, REC_IOCTL, sizeof(*rec));
	if (!rec)
		return 0;
	now = bpf_ktime_get_ns();
	rec->hdr.tid = plain__tid();
	rec->hdr.time_ns = now;
	rec->duration_ns = start ? now - start : 0;
	rec->ret = ctx->args[1];
	rec->cmd = s->call.cmd;
	rec->fd = s->call.fd;
	rec->rdev = 0;
	rec->mode = 0;
	rec->inode = 0;
	rec->arg = s->call.arg;
	ring__submit(h, rec);
	cost__end(h, t);
	return 0;
}
