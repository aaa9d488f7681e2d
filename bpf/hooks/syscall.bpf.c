// SPDX-License-Identifier: GPL-2.0-only
/*
 * The syscall hook: every ioctl of the target, from its entry to its return.
 *
 * Each call passes through here twice, so little is done and nothing twice: the entry finds out
 * which file the descriptor names (at the return it may be closed) and keeps that with the task;
 * the return makes the record.
 */
#include "bpf/include/arch.bpf.h"
#include "bpf/include/ioctl.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* this kernel has bpf_rdonly_cast(): since 6.2 */
const volatile bool has_cast = false;

extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

/*
 * The inode behind slot @fd of the descriptor table. A slot is a pointer to a pointer, which the
 * verifier does not follow; seen as the vm_file member of a vm_area_struct that would lie around
 * it, it is a pointer to a struct file, and everything behind it is read without a helper call.
 */
static __always_inline void identify_cast(struct task_state *s, struct file **slot)
{
	void *around = (void *)slot - bpf_core_field_offset(struct vm_area_struct, vm_file);
	struct vm_area_struct *vma;
	struct inode *inode;

	vma = bpf_rdonly_cast(around, bpf_core_type_id_kernel(struct vm_area_struct));
	inode = vma->vm_file->f_inode;
	s->mode = inode->i_mode;
	s->rdev = inode->i_rdev;
	s->inode = inode->i_ino;
}

static __always_inline void identify_read(struct task_state *s, struct file **slot)
{
	struct file *file = NULL;
	struct inode *inode;

	bpf_probe_read_kernel(&file, sizeof(file), slot);
	inode = BPF_CORE_READ(file, f_inode);
	s->mode = BPF_CORE_READ(inode, i_mode);
	s->rdev = BPF_CORE_READ(inode, i_rdev);
	s->inode = BPF_CORE_READ(inode, i_ino);
}

static __always_inline void identify(struct task_state *s, struct task_struct *task, __u32 fd)
{
	struct fdtable *fdt = task->files->fdt;

	if (fd >= fdt->max_fds) {
		s->mode = 0;
		s->rdev = 0;
		s->inode = 0;
		return;
	}
	if (has_cast)
		identify_cast(s, fdt->fd + fd);
	else
		identify_read(s, fdt->fd + fd);
}

/* Is system call @nr an ioctl of @task? The numbers of 32-bit calls mean others in 64-bit ones. */
static __always_inline bool is_ioctl(struct task_struct *task, int nr, bool *compat)
{
	*compat = task__compat(task);
	return nr == (*compat ? NR_IOCTL_COMPAT : NR_IOCTL);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task;
	struct task_state *s;
	struct hook_counts *h;
	bool compat;
	__u64 t;

	if (nr != NR_IOCTL && nr != NR_IOCTL_COMPAT)
		return 0;
	task = bpf_get_current_task_btf();
	if (!is_ioctl(task, nr, &compat))
		return 0;
	s = filter__find(task);
	h = counts__get(REC_HOOK_SYSCALL);
	if (!s || !h)
		return 0;
	t = cost__begin(h);
	s->fd = regs__arg0(regs, compat);
	s->cmd = regs__arg1(regs, compat);
	s->arg = regs__arg2(regs, compat);
	identify(s, task, s->fd);
	s->flags = (s->flags & ~(TASK_STATE_BLOCKED | TASK_STATE_SAMPLED)) |
		   (t ? TASK_STATE_SAMPLED : 0);
	s->start_ns = bpf_ktime_get_ns();
	if (t)
		h->cost_ns += s->start_ns - t;
	return 0;
}

/* A call that a seccomp filter answered was never entered: it begins and ends here. */
static __always_inline void enter_late(struct task_state *s, struct task_struct *task,
				       struct pt_regs *regs, bool compat)
{
	s->fd = regs__arg0(regs, compat);
	s->cmd = regs__arg1(regs, compat);
	s->arg = regs__arg2(regs, compat);
	identify(s, task, s->fd);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long ret)
{
	int nr = regs__nr(regs);
	struct task_struct *task;
	struct rec_ioctl *rec;
	struct task_state *s;
	struct hook_counts *h;
	__u64 start, now, t = 0;
	bool compat;

	if (nr != NR_IOCTL && nr != NR_IOCTL_COMPAT)
		return 0;
	task = bpf_get_current_task_btf();
	if (!is_ioctl(task, nr, &compat))
		return 0;
	s = filter__find(task);
	h = counts__get(REC_HOOK_SYSCALL);
	if (!s || !h)
		return 0;
	start = s->start_ns;
	if (!start) {
		if (!(s->flags & TASK_STATE_BORN))
			return 0; /* it began before the recording */
		h->hits++;
		enter_late(s, task, regs, compat);
	} else if (s->flags & TASK_STATE_SAMPLED) {
		t = bpf_ktime_get_ns();
	}
	s->start_ns = 0;
	rec = ring__reserve(h, REC_IOCTL, sizeof(*rec));
	if (!rec)
		return 0;
	now = bpf_ktime_get_ns();
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = now;
	rec->duration_ns = start ? now - start : 0;
	rec->ret = ret;
	rec->cmd = s->cmd;
	rec->fd = s->fd;
	rec->rdev = s->rdev;
	rec->mode = s->mode;
	rec->inode = s->inode;
	rec->arg = s->arg;
	ring__submit(h, rec);
	cost__end(h, t);
	return 0;
}

/* At the end of a recording, the calls that have not returned. */
SEC("iter/task")
int walk_open(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *s = task ? filter__find(task) : NULL;

	if (s)
		ioctl__blocked(task, s);
	return 0;
}
