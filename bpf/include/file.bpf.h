/* SPDX-License-Identifier: GPL-2.0-only */
/* The probe file: calls that move or sync the data of files, and what these files are. */
#ifndef XPUGAP_FILE_BPF_H
#define XPUGAP_FILE_BPF_H

#include "bpf/include/arch.bpf.h"
#include "bpf/include/calls.bpf.h"
#include "bpf/include/told.bpf.h"

#define MAX_PARTS     40
#define TEXT_MAX      1024 /* of type, mount point and path together; more is cut at the front */
#define PART_MAX      255
#define TYPE_MAX      64 /* kept free for the type */
#define MAX_VECTORS   8
#define MODE_TYPE     0170000
#define MODE_REGULAR  0100000
#define MODE_FOLDER   0040000
#define FILE_O_APPEND 02000

/* how a call passes its bytes: with its number, all that tells calls apart */
enum file_shape {
	SHAPE_PLAIN = 1 << 4,	/* fd, memory, bytes, offset */
	SHAPE_VECTOR = 2 << 4,	/* fd, vectors, how many, offset */
	SHAPE_NOTHING = 3 << 4, /* fd */
	SHAPE_RANGE = 4 << 4,	/* fd, offset, bytes */
	SHAPE_SEND = 5 << 4,	/* fd written to, fd read from, where the offset is, bytes */
	SHAPE_COPY = 6 << 4,	/* fd, where the offset is, fd written to, the same, bytes */
	SHAPE_OPEN = 7 << 4,	/* returns an fd */
};

const volatile bool probe_file = true;

#if defined(__TARGET_ARCH_x86)
#define FILE_O_DIRECT 040000
#define FILES_BY_NUMBER(X)                                                                         \
	X(0, READ, PLAIN)                                                                          \
	X(1, WRITE, PLAIN)                                                                         \
	X(2, OPEN, OPEN)                                                                           \
	X(17, PREAD, PLAIN)                                                                        \
	X(18, PWRITE, PLAIN)                                                                       \
	X(19, READ, VECTOR)                                                                        \
	X(20, WRITE, VECTOR)                                                                       \
	X(40, SENDFILE, SEND)                                                                      \
	X(74, FSYNC, NOTHING)                                                                      \
	X(75, FDATASYNC, NOTHING)                                                                  \
	X(257, OPEN, OPEN)                                                                         \
	X(277, SYNC_RANGE, RANGE)                                                                  \
	X(295, PREAD, VECTOR)                                                                      \
	X(296, PWRITE, VECTOR)                                                                     \
	X(326, COPY, COPY)                                                                         \
	X(327, PREAD, VECTOR)                                                                      \
	X(328, PWRITE, VECTOR)                                                                     \
	X(437, OPEN, OPEN)
#elif defined(__TARGET_ARCH_arm64)
#define FILE_O_DIRECT 0200000
#define FILES_BY_NUMBER(X)                                                                         \
	X(56, OPEN, OPEN)                                                                          \
	X(63, READ, PLAIN)                                                                         \
	X(64, WRITE, PLAIN)                                                                        \
	X(65, READ, VECTOR)                                                                        \
	X(66, WRITE, VECTOR)                                                                       \
	X(67, PREAD, PLAIN)                                                                        \
	X(68, PWRITE, PLAIN)                                                                       \
	X(69, PREAD, VECTOR)                                                                       \
	X(70, PWRITE, VECTOR)                                                                      \
	X(71, SENDFILE, SEND)                                                                      \
	X(82, FSYNC, NOTHING)                                                                      \
	X(83, FDATASYNC, NOTHING)                                                                  \
	X(84, SYNC_RANGE, RANGE)                                                                   \
	X(285, COPY, COPY)                                                                         \
	X(286, PREAD, VECTOR)                                                                      \
	X(287, PWRITE, VECTOR)                                                                     \
	X(437, OPEN, OPEN)
#endif

/* Where a path is put together, from its end. */
struct path_text {
	__u32 at; /* what is there begins here */
	char text[2 * TEXT_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct path_text);
} path_texts SEC(".maps");

/* ---- what a descriptor names ---- */

/*
 * LOAD(pointer, member): by a typed pointer without a helper call, where the kernel has what makes
 * a slot of the descriptor table one.
 */
#if defined(BY_READING)

#define LOAD(p, member) BPF_CORE_READ(p, member)

static __always_inline struct file *file__in(struct file **slot)
{
	struct file *file = NULL;

	bpf_probe_read_kernel(&file, sizeof(file), slot);
	return file;
}

#else

#define LOAD(p, member) ((p)->member)

extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym;

/*
 * A slot is a pointer to a pointer, which the verifier does not follow; seen as the vm_file
 * member of a vm_area_struct that would lie around it, it is a pointer to a struct file, and
 * everything behind it is read without a helper call.
 */
static __always_inline struct file *file__in(struct file **slot)
{
	void *around = (void *)slot - bpf_core_field_offset(struct vm_area_struct, vm_file);
	struct vm_area_struct *vma;

	vma = bpf_rdonly_cast(around, bpf_core_type_id_kernel(struct vm_area_struct));
	return vma->vm_file;
}

#endif

/* What descriptor @fd of @task, the current one, names; NULL if that is nothing. */
static __always_inline struct file *file__named(struct task_struct *task, __u32 fd)
{
	struct fdtable *fdt = task->files->fdt;

	return fd < fdt->max_fds ? file__in(fdt->fd + fd) : NULL;
}

static __always_inline __u32 file__type(struct file *file)
{
	struct inode *inode = LOAD(file, f_inode);

	return LOAD(inode, i_mode) & MODE_TYPE;
}

/* The same; NULL if it is no file on a disk. */
static __always_inline struct file *file__find(struct task_struct *task, __u32 fd)
{
	struct file *file = file__named(task, fd);
	__u32 type = file ? file__type(file) : 0;

	return type == MODE_REGULAR || type == MODE_FOLDER ? file : NULL;
}

/* ---- what a file is: told once ---- */

/* Put @before (0: nothing) and @name before what is there, of which @room is kept; false: full. */
static __always_inline bool prepend(struct path_text *t, const void *name, __u32 len, char before,
				    __u32 room)
{
	__u32 at = t->at;

	if (len > PART_MAX)
		len = PART_MAX;
	if (at > TEXT_MAX || at < len + 1 + room)
		return false;
	at -= len;
	if (len && bpf_probe_read_kernel(&t->text[at & (TEXT_MAX - 1)], len & PART_MAX, name))
		return false;
	if (before) {
		at--;
		t->text[at & (TEXT_MAX - 1)] = before;
	}
	t->at = at;
	return true;
}

/*
 * Put the path of @file together. Returns where in the text that below its mount point begins. What
 * is cut begins without '/'.
 */
static __always_inline __u32 put_path(struct path_text *t, struct file *file)
{
	struct vfsmount *mnt = BPF_CORE_READ(file, f_path.mnt);
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry), *up;
	struct mount *mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt), *above;
	__u32 below = 0;
	bool whole = false;
	int i;

	for (i = 0; i < MAX_PARTS; i++) {
		if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
			if (!below)
				below = t->at;
			above = BPF_CORE_READ(mount, mnt_parent);
			if (above == mount) {
				whole = true;
				break;
			}
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = above;
			continue;
		}
		up = BPF_CORE_READ(dentry, d_parent);
		/* its own parent and not its mount's root: it has no place in the tree */
		if (dentry == up || !prepend(t, BPF_CORE_READ(dentry, d_name.name),
					     BPF_CORE_READ(dentry, d_name.len), '/', TYPE_MAX))
			break;
		dentry = up;
	}
	if (!whole && t->at < TEXT_MAX)
		t->at++;
	return below > t->at ? below : t->at;
}

/* The type before the path: "ext4", "fuse.sshfs". */
static __always_inline void put_type(struct path_text *t, struct super_block *sb)
{
	const char *sub = BPF_CORE_READ(sb, s_subtype);
	char name[32];
	long n;

	n = sub ? bpf_probe_read_kernel_str(name, sizeof(name), sub) : 0;
	if (n > 1)
		prepend(t, name, n - 1, '.', 0);
	n = bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(sb, s_type, name));
	if (n > 1)
		prepend(t, name, n - 1, 0, 0);
}

/* The strings of @rec; the record becomes as long as they are. */
static __always_inline void put_texts(struct rec_file *rec, struct path_text *t, struct file *file)
{
	char *tail = (char *)(rec + 1);
	__u32 below, type_end, len;

	t->at = TEXT_MAX;
	below = put_path(t, file);
	type_end = t->at;
	put_type(t, BPF_CORE_READ(file, f_inode, i_sb));
	rec->fs_type_len = type_end - t->at;
	rec->mount_point_len = below - type_end;
	rec->path_len = TEXT_MAX - below;
	len = TEXT_MAX - t->at;
	if (len > TEXT_MAX)
		len = 0;
	*(__u64 *)(tail + (len & (2 * TEXT_MAX - 8))) = 0; /* what follows up to the end */
	bpf_probe_read_kernel(tail, len, &t->text[t->at & (TEXT_MAX - 1)]);
	rec->hdr.size = sizeof(*rec) + ((len + REC_ALIGN - 1) & ~(REC_ALIGN - 1));
}

/* Tell once what @file is, which @c of thread @tid is about. */
static __always_inline void tell_file(struct hook_counts *h, __u32 tid, struct file *file,
				      const struct file_call *c)
{
	struct file_key key = {.inode = c->inode, .dev = c->dev, .generation = c->generation};
	__u32 *told = bpf_map_lookup_elem(&told_files, &key), zero = 0, mount = c->mount;
	struct path_text *t;
	struct rec_file *rec;

	if (told && *told == mount)
		return;
	t = bpf_map_lookup_elem(&path_texts, &zero);
	if (!t)
		return;
	h->hits++;
	rec = ring__reserve(h, REC_FILE, sizeof(*rec) + TEXT_MAX + 8);
	if (!rec)
		return;
	rec->hdr.tid = tid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->inode = c->inode;
	rec->dev = c->dev;
	rec->mount = mount;
	rec->fs = c->fs;
	rec->mode = BPF_CORE_READ(file, f_inode, i_mode);
	rec->pad = 0;
	put_texts(rec, t, file);
	ring__submit(h, rec);
	bpf_map_update_elem(&told_files, &key, &mount, BPF_ANY);
}

/* ---- calls ---- */

static __always_inline void identify_file(struct file_call *c, struct file *file)
{
	struct vfsmount *mnt = LOAD(file, f_path.mnt);
	struct mount *mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
	struct inode *inode = LOAD(file, f_inode);
	struct super_block *sb = LOAD(inode, i_sb);
	__u32 flags = LOAD(file, f_flags);

	c->inode = LOAD(inode, i_ino);
	c->generation = LOAD(inode, i_generation);
	c->dev = LOAD(sb, s_dev);
	c->fs = LOAD(sb, s_magic);
	c->mount = BPF_CORE_READ(mount, mnt_id);
	if (flags & FILE_O_DIRECT)
		c->flags |= REC_FILE_DIRECT;
	if (flags & FILE_O_APPEND)
		c->flags |= REC_FILE_APPEND;
}

/*
 * The sum of the lengths of @n vectors at @from; 0 if they are too many or cannot be read. Not
 * inline, for the stack: kernels before 6.13 give 512 bytes to a program with all that it calls.
 */
static __noinline __u64 sum_vectors(__u64 from, __u64 n)
{
	struct {
		__u64 base, len;
	} v[MAX_VECTORS] = {0};
	__u64 sum = 0, bytes;
	int i;

	if (n > MAX_VECTORS)
		return 0;
	bytes = n * sizeof(v[0]);
	barrier_var(bytes); /* the verifier wants to see the bound of this */
	if (bytes > sizeof(v) || bpf_probe_read_user(v, bytes, (void *)from))
		return 0;
	for (i = 0; i < MAX_VECTORS; i++)
		sum += v[i].len;
	return sum;
}

/* An offset that the call passes, of which all bits set mean: where the file stands. */
static __always_inline void set_offset(struct file_call *c, struct file *file, __u64 offset)
{
	c->offset = offset == ~0ULL ? (__u64)LOAD(file, f_pos) : offset;
	c->flags |= REC_FILE_OFFSET;
}

/* One that lies in the program's memory, if anywhere. */
static __always_inline void fetch_offset(struct file_call *c, struct file *file, __u64 from)
{
	__u64 offset = ~0ULL;

	if (!from || !bpf_probe_read_user(&offset, sizeof(offset), (void *)from))
		set_offset(c, file, offset);
}

static __always_inline void read_arguments(struct file_call *c, struct file *file,
					   struct pt_regs *regs, __u8 shape)
{
	bool at = c->call == REC_FILE_PREAD || c->call == REC_FILE_PWRITE;

	switch (shape) {
	case SHAPE_PLAIN:
		c->asked = regs__arg2(regs, false);
		set_offset(c, file, at ? regs__arg3(regs) : ~0ULL);
		break;
	case SHAPE_VECTOR:
		c->asked = sum_vectors(regs__arg1(regs, false), regs__arg2(regs, false));
		set_offset(c, file, at ? regs__arg3(regs) : ~0ULL);
		break;
	case SHAPE_RANGE:
		c->asked = regs__arg2(regs, false);
		set_offset(c, file, regs__arg1(regs, false));
		break;
	case SHAPE_SEND:
		c->to_fd = regs__arg0(regs, false);
		c->asked = regs__arg3(regs);
		fetch_offset(c, file, regs__arg2(regs, false));
		break;
	case SHAPE_COPY:
		c->to_fd = regs__arg2(regs, false);
		c->asked = regs__arg4(regs);
		fetch_offset(c, file, regs__arg1(regs, false));
		break;
	}
}

static __always_inline void file__enter(struct hook_counts *h, struct task_struct *task,
					struct task_state *s, struct pt_regs *regs, __u8 known)
{
	/* its hit is counted at its end */
	__u64 t = (h->hits + 1) % COST_EVERY == 0 ? bpf_ktime_get_ns() : 0;
	struct file_call *c = &s->file;
	__u8 shape = known & SHAPE_OF;
	struct file *file = NULL;

	__builtin_memset(c, 0, sizeof(*c));
	c->call = known & CALL_OF;
	c->to_fd = -1;
	c->fd = -1;
	if (shape != SHAPE_OPEN) {
		c->fd = shape == SHAPE_SEND ? regs__arg1(regs, false) : regs__arg0(regs, false);
		file = file__find(task, c->fd);
		if (!file)
			return;
		identify_file(c, file);
		tell_file(h, task->pid, file, c);
		read_arguments(c, file, regs, shape);
	}
	c->start_ns = bpf_ktime_get_ns();
	c->cost_ns = t ? c->start_ns - t : 0;
}

/* The file that a call has opened: is it one to tell of? A failure always is. */
static __always_inline bool file__opened(struct hook_counts *h, struct task_struct *task,
					 struct file_call *c, long ret)
{
	struct file *file;

	c->fd = ret < 0 ? -1 : ret;
	if (ret < 0)
		return true;
	file = file__find(task, c->fd);
	if (!file)
		return false;
	identify_file(c, file);
	tell_file(h, task->pid, file, c);
	return true;
}

/* What FILE_IO and FILE_BLOCKED have in common, which are two types. */
#define COPY_CALL(rec, c)                                                                          \
	do {                                                                                       \
		(rec)->offset = (c)->offset;                                                       \
		(rec)->asked = (c)->asked;                                                         \
		(rec)->inode = (c)->inode;                                                         \
		(rec)->dev = (c)->dev;                                                             \
		(rec)->mount = (c)->mount;                                                         \
		(rec)->fs = (c)->fs;                                                               \
		(rec)->fd = (c)->fd;                                                               \
		(rec)->to_fd = (c)->to_fd;                                                         \
		(rec)->flags = (c)->flags;                                                         \
		(rec)->call = (c)->call;                                                           \
		(rec)->pad = 0;                                                                    \
	} while (0)

static __always_inline void file__end(struct hook_counts *h, struct task_struct *task,
				      const struct file_call *c, __u64 start, long ret)
{
	__u64 t = c->cost_ns ? bpf_ktime_get_ns() - c->cost_ns : 0;
	struct rec_file_io *rec;

	h->hits++;
	rec = ring__reserve(h, REC_FILE_IO, sizeof(*rec));
	if (!rec)
		return;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = rec->hdr.time_ns - start;
	rec->ret = ret;
	COPY_CALL(rec, c);
	ring__submit(h, rec);
	cost__end(h, t);
}

static __always_inline void file__exit(struct hook_counts *h, struct task_struct *task,
				       struct task_state *s, __u8 known, long ret)
{
	__u64 start = s->file.start_ns;

	s->file.start_ns = 0;
	if (!start || s->file.call != (known & CALL_OF)) /* it did not return in the usual way */
		return;
	if (s->file.call != REC_FILE_OPEN || file__opened(h, task, &s->file, ret))
		file__end(h, task, &s->file, start, ret);
}

/* The recording ends: tell of the call that @task is in, if it is in one. */
static __always_inline void file__blocked(struct task_struct *task, const struct file_call *c)
{
	struct hook_counts *h = counts__get(REC_HOOK_SYSCALL);
	__u64 start = c->start_ns;
	struct rec_file_blocked *rec;

	rec = call__reserve_open(h, task, start, REC_FILE_BLOCKED, sizeof(*rec));
	if (!rec)
		return;
	rec->start_ns = start;
	COPY_CALL(rec, c);
	call__submit_open(h, rec, start, &c->start_ns);
}

#endif
