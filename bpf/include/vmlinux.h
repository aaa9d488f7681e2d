/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types, as far as the hooks look at them.
 *
 * Written by hand, never generated from a running kernel: a struct holds only the members that
 * are read, in any order, and CO-RE finds their places when the hooks are loaded. A type or
 * member that not every kernel has is asked for with bpf_core_field_exists() before it is read;
 * where a member changed its name, a flavour (struct x___old) has the other one.
 *
 * For x86-64 and arm64.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;

/* libbpf's helper declarations want these */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __sum16;
typedef __u32 __wsum;

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef int pid_t;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
};

enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

enum {
	BPF_RB_NO_WAKEUP = 1,
};

enum {
	BPF_F_USER_STACK = 256,
};

/* What bpf_perf_prog_read_value() tells. */
struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)

struct thread_info {
	unsigned int status;
	unsigned int cpu;
};

struct pt_regs {
	unsigned long bp;
	unsigned long bx;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
	unsigned long r8;
	unsigned long r10;
};

#elif defined(__TARGET_ARCH_arm64)

struct thread_info {
	unsigned long flags;
	unsigned int cpu;
	union {
		struct {
			unsigned int count;
		} preempt;
	};
};

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
};

struct pt_regs {
	struct user_pt_regs user_regs;
	__u64 orig_x0;
	int syscallno;
};

#else
#error "the hooks know x86-64 and arm64"
#endif

struct file_system_type {
	const char *name;
};

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
	struct file_system_type *s_type;
	const char *s_subtype;
};

struct inode {
	struct super_block *i_sb;
	unsigned short i_mode;
	unsigned long i_ino;
	unsigned int i_rdev;
	unsigned int i_generation;
};

struct qstr {
	unsigned int len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	int mnt_id;
};

/* sockets: with CONFIG_NET all but the addresses of IPv6 are there */
struct in6_addr {
	__u8 bytes[16]; /* only its address is taken */
};

typedef struct {
	struct net *net; /* with CONFIG_NET_NS */
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr; /* with CONFIG_IPV6 */
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	__u16 sk_protocol;
	__u16 sk_type;
	struct pid *sk_peer_pid;
};

struct socket {
	struct sock *sk;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	unsigned int f_flags;
	long long f_pos;
};

/* of io_uring; since 6.0 */
struct io_uring_sqe {
	__u8 opcode;
	__s32 fd;
};

struct io_uring_cqe {
	__u64 user_data;
	__s32 res;
	__u32 flags;
};

struct io_ring_ctx {
	unsigned int flags;
};

struct io_cqe {
	__u64 user_data;
	int fd;
};

/* its file lies where what its operation keeps does */
struct io_kiocb {
	struct file *file;
	__u8 opcode;
	unsigned int flags; /* since 6.8 twice as wide: the lower half is what is read */
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
};

struct kiocb {
	long long ki_pos;
};

struct io_rw {
	struct kiocb kiocb;
	__u32 len;
};

struct io_sr_msg {
	__u32 len; /* a plain int since some */
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct xarray {
	void *xa_head;
};

struct xa_node {
	unsigned char shift;
	void *slots[1];
};

struct idr {
	struct xarray idr_rt;
};

struct pid_namespace {
	struct idr idr;
	unsigned int level;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct hlist_head tasks[1]; /* the first: of threads */
	struct upid numbers[1];
};

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t uid;
};

enum cgroup_subsys_id {
	memory_cgrp_id = 4,
};

struct kernfs_node {
	__u64 id;
};

struct list_head {
	struct list_head *next;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct cgroup_root *root;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
	struct cgroup_subsys_state *subsys[1]; /* by enum cgroup_subsys_id */
	struct list_head cgrp_links;
};

struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link;
};

struct cfs_rq {
	int throttle_count; /* with CONFIG_CFS_BANDWIDTH */
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* with CONFIG_FAIR_GROUP_SCHED */
	__u64 sum_exec_runtime;
};

typedef struct {
	__s64 counter;
} atomic_long_t;

/* both keep the task that owns them, with flags in the lowest bits */
struct mutex {
	atomic_long_t owner;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct mm_struct {
	struct rw_semaphore mmap_lock;
	unsigned long start_code, end_code, start_data, end_data;
	unsigned long start_brk, brk, start_stack, mmap_base;
};

struct task_struct {
	struct mm_struct *mm;
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int exit_state;
	unsigned long jobctl;
	int exit_code;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct list_head children;
	struct list_head sibling;
	struct pid *thread_pid;
	struct hlist_node pid_links[1];
	__u64 start_time;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long min_flt;
	unsigned long maj_flt;
	struct sched_entity se;
	const struct cred *cred;
	char comm[16];
	struct files_struct *files;
	struct css_set *cgroups;
};

/* since 6.18, with CONFIG_CFS_BANDWIDTH */
struct task_struct___throttled {
	bool throttled;
};

/* before 5.14 */
struct task_struct___state {
	volatile long state;
};

/* its vm_file lets a typed pointer look like a slot of the descriptor table: see syscall.bpf.c */
struct vm_area_struct {
	struct file *vm_file;
};

/* 6.2 to 6.14 keep the preemption count in here, later and earlier ones in a variable */
struct pcpu_hot {
	int preempt_count;
};

struct irqaction {
	const char *name;
};

struct address_space {
	struct inode *host;
};

struct page {
	unsigned long compound_head;
	struct address_space *mapping;
};

/* from 5.16 on what has a mapping; it lies where its first page does */
struct folio {
	struct address_space *mapping;
};

struct bio_vec {
	struct page *bv_page;
};

struct bvec_iter {
	unsigned int bi_idx;
};

struct bio {
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	struct bio_vec *bi_io_vec;
};

struct gendisk {
	int major;
	int first_minor;
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio;
};

/* before 5.17 */
struct request___disk {
	struct gendisk *rq_disk;
};

/* the bits' places change */
enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
	__REQ_SWAP = 24,
};

struct kobject {
	const char *name;
};

struct device_driver {
	const char *name;
};

struct device {
	struct kobject kobj;
	const char *init_name;
	struct device_driver *driver;
	int numa_node; /* with CONFIG_NUMA */
};

struct scatterlist {
	unsigned long page_link;
	unsigned int length;
	__u64 dma_address; /* 32 bits on some 32-bit machines only */
};

struct sg_table {
	struct scatterlist *sgl;
	unsigned int nents;
	unsigned int orig_nents;
};

struct dma_fence {
	__u64 context;
	__u64 seqno;
	unsigned long flags;
	int error;
};

enum dma_fence_flag_bits {
	DMA_FENCE_FLAG_SIGNALED_BIT = 0,
};

typedef struct {
	int counter;
} atomic_t;

/* of module gpu-sched */
struct spsc_queue {
	atomic_t job_count;
};

struct drm_sched_entity {
	struct spsc_queue job_queue;
};

struct drm_gpu_scheduler {
	const char *name;
	struct device *dev;
};

struct drm_sched_fence {
	struct dma_fence finished;
	__u64 drm_client_id;
};

struct drm_sched_job {
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *s_fence;
	__u64 id; /* before 6.16 */
};

struct linux_binprm {
	const char *filename;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* What a perf event passes: of the fixed layout that user space sees, so nothing is relocated. */
struct bpf_perf_event_data {
#if defined(__TARGET_ARCH_x86)
	__u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax;
	__u64 ip, cs, flags, sp, ss;
#elif defined(__TARGET_ARCH_arm64)
	__u64 regs[31], sp, ip, pstate;
#endif
	__u64 sample_period;
	__u64 addr;
};

#endif /* __VMLINUX_H__ */
