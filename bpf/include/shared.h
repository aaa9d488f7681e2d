/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the hooks and the recorder share besides records: counters and the state of a task. */
#ifndef XPUGAP_SHARED_H
#define XPUGAP_SHARED_H

#include "bpf/include/events.h"

#define HOOK_SEATS	32 /* families that the counters have room for */
#define TOLD_NEIGHBOURS 16 /* a power of two */

#define PMU_COUNTERS 8 /* that a recording can have: a power of two */

#define COST_EVERY 256 /* every so many hits a hook measures its own run time */

_Static_assert(REC_HOOK_MAX <= HOOK_SEATS, "no seat for the last hook family");

/* What tells a file from all others that hooks have met. */
struct file_key {
	__u64 inode;
	__u32 dev;
	__u32 generation; /* a file that is made may get the number of one that is gone */
};

/*
 * struct hook_counts - totals of a hook family on a cpu
 * @hits: events of the target that the hook saw
 * @records: what it put into the ring
 * @lost_ring: records for which the ring had no room
 * @lost_state: events missed because their beginning was not kept, or not to be trusted
 * @cost_ns, @cost_hits: run time of the programs over that many hits
 * @skipped_ns: until then the kernel skipped programs: of what began before, the end may have gone
 *		unseen. The recorder writes it
 *
 * All else is written on its cpu only. Programs at tracepoints run with preemption off, and those
 *of one family do not run in each other's interrupts, so plain additions do for their hits and
 *records; programs that may be preempted, and all losses, are counted atomically.
 */
struct hook_counts {
	__u64 hits;
	__u64 records;
	__u64 lost_ring;
	__u64 lost_state;
	__u64 cost_ns;
	__u64 cost_hits;
	__u64 skipped_ns;
};

enum call_flags {
	CALL_TOLD = 1, /* IOCTL_BLOCKED told of it */
};

/*
 * struct call - an ioctl that has not returned
 * @start_ns: when it began; 0: there is none
 * @cost_ns: what the hook took at its entry; 0: not measured
 */
struct call {
	__u64 start_ns;
	__u64 inode;
	__u64 arg;
	__u32 cmd;
	__s32 fd;
	__u32 rdev;
	__u32 mode;
	__u32 flags;
	__u32 cost_ns;
};

/*
 * struct handling - an interrupt or softirq that a cpu is handling
 * @start_ns: when that began; 0: it is handling none
 * @woke: it woke a target
 */
struct handling {
	__u64 start_ns;
	__u32 nr;
	__u32 woke;
};

/*
 * struct file_call - a call about a file's data that has not returned; fields as in FILE_IO
 * @start_ns: when it began; 0: there is none
 */
struct file_call {
	__u64 start_ns;
	__u64 offset;
	__u64 asked;
	__u64 inode;
	__u32 dev;
	__u32 mount;
	__u32 fs;
	__s32 fd;
	__s32 to_fd;
	__u16 flags;
	__u8 call;
	__u8 pad;
	__u32 cost_ns;	  /* what the hook took at its entry; 0: not measured */
	__u32 generation; /* of the inode */
};

/*
 * struct futex_call - a wait for a futex that has not returned; fields as in FUTEX_WAIT
 * @start_ns: when it began; 0: there is none
 * @nvcsw: how often the task had left the cpu of its own will then
 * @restart: it was ended by a signal, and may go on
 */
struct futex_call {
	__u64 start_ns;
	__u64 address;
	__u64 nvcsw;
	__u32 word;
	__u32 owner_tid;
	__u32 waker_tid;
	__u32 futexes;
	__u16 flags;
	__u8 op;
	__u8 restart;
	__u32 cost_ns; /* what the hook took at its entry; 0: not measured */
};

/*
 * struct stream_call - a call about a pipe or socket that has not returned; fields as in STREAM_IO
 * @start_ns: when it began; 0: there is none
 * @messages: where the messages are whose bytes the kernel will put there; 0: none
 */
struct stream_call {
	__u64 start_ns;
	__u64 asked;
	__u64 inode;
	__u64 to_inode;
	__u64 messages;
	__u32 dev;
	__u32 to_dev;
	__s32 fd;
	__s32 to_fd;
	__u16 flags;
	__u8 call;
	__u8 kind;
	__u32 cost_ns;	  /* what the hook took at its entry; 0: not measured */
	__u32 generation; /* of the inode, of a FIFO */
	__u32 pad;
};

/*
 * struct wait_call - a call that waits; fields as in WAIT
 * @start_ns: when it began; 0: there is none
 * @polled: where poll will say what is ready; 0: nowhere
 */
struct wait_call {
	__u64 start_ns;
	__u64 timeout_ns;
	__u64 polled;
	__u32 count;
	__s32 fd;
	__s32 pid;
	__u16 flags;
	__u8 call;
	__u8 pad;
	__u32 cost_ns; /* what the hook took at its entry; 0: not measured */
	__u32 pad2;
};

/*
 * struct cpu_state - what hooks keep for a cpu; all but @targets is written on that cpu only
 * @call: of the task that is on the cpu. Task storage would be its natural place, but to look that
 *	  up twice costs a fifth of what a traced ioctl costs; so a call lives here until its task
 *	  leaves the cpu, and the sched hook then moves it to the task
 * @task_start, @task_pid: the task that the two below are about, and perhaps @call
 * @is_target: what task storage said of it
 * @generation: of the targets then
 * @targets: generation of the targets now; the recorder counts it up when it adds some
 * @told: the neighbours last told of here, by their tids' low bits: saves asking the table
 * @interrupts: that are being handled, where the sched hook has to count them
 * @irq, @softirq: for the irq hook
 */
struct cpu_state {
	struct call call;
	__u64 task_start;
	__u32 task_pid;
	__u32 is_target;
	__u64 generation;
	__u64 targets;
	__u64 interrupts;
	struct handling irq;
	struct handling softirq;
	struct {
		__u64 start_ns;
		__u64 tid;
	} told[TOLD_NEIGHBOURS];
	struct hook_counts hook[HOOK_SEATS];
};

enum counted {
	COUNTED_NOT = 0,
	COUNTED_ON = 1,
	COUNTED_OFF = 2, /* it has ended */
};

/*
 * struct follow - who becomes a target without being created by one
 * @attaching: a tree of processes is being added that runs already
 * @everybody: all tasks
 * @except: the recorder's own process, which the walks set: never a target
 * @group: who is in the control group whose directory has inode @group_id, or below it, in the
 *	   hierarchy that /proc/cgroups gives the number @hierarchy (0: version 2)
 *
 * Written by the recorder.
 */
struct follow {
	__u64 group_id;
	__u32 hierarchy;
	__u32 attaching;
	__u32 everybody;
	__u32 except;
	__u32 group;
	__u32 pad;
};

enum task_state_flags {
	TASK_STATE_DEFINED = 1, /* a TASK or TASK_FORK record told of it */
	TASK_STATE_INSIDE = 2,	/* may be in a call that began before it was a target */
	TASK_STATE_ENDED = 4,	/* only of targets known by their thread ids */
};

/*
 * struct lock_wait - a lock of the kernel that a task waits for
 * @lock: its address; 0: none
 */
struct lock_wait {
	__u64 lock;
	__u64 start_ns;
	__u32 holder_tid;
	__u32 flags;
};

#define FAULTS_UNKNOWN (~0ULL) /* it ran before, and nobody has looked yet */

#define AGG_BUCKETS 32
#define AGG_PAIRS   32768 /* of threads and numbers that are counted at a time */
#define AGG_COMPAT  0x80000000u
#define AGG_NONE    0xffffffffu /* a number below 0: who traces a thread took the call away */

/*
 * struct agg_key - whose calls of which number are counted together
 * @nr: with AGG_COMPAT for 32-bit calls
 */
struct agg_key {
	__u32 tid;
	__u32 nr;
};

/*
 * struct agg_value - totals, written by the thread itself, so by one cpu at a time; they only grow
 * @max_ns: the longest in the interval @turn; the recorder counts intervals
 * @before_ns: the same of the interval @before, the last that had any
 * @log2: by the place of the highest bit of their durations
 */
struct agg_value {
	__u64 count;
	__u64 total_ns;
	__u64 max_ns;
	__u64 before_ns;
	__u32 turn;
	__u32 before;
	__u32 log2[AGG_BUCKETS];
};

#define LOCK_WAITS 2 /* a spinlock inside the wait for a sleeping lock */

/*
 * struct task_state - what is kept for each task of the target; having one makes it a target
 * @call: while the task is off the cpu, or always, without the sched hook
 * @file, @stream, @wait: the call of that kind that it is in
 * @futex: the wait for a futex that it is in
 * @counted: among those that live: enum counted
 * @fault_ns, @fault_code: the page fault that it is in: when it began, how the processor called it
 * @faults: of the task as the kernel counts them, when a record last told of one, or FAULTS_UNKNOWN
 * @waits: locks of the kernel
 * @reclaim_ns: when it began to free memory
 * @agg_ns, @agg_nr: the system call that it is in, where calls are counted
 */
struct task_state {
	struct call call;
	struct file_call file;
	struct futex_call futex;
	struct stream_call stream;
	struct wait_call wait;
	__u32 flags;
	__u32 counted;
	__u64 fault_ns;
	__u64 fault_code;
	__u64 faults;
	__u64 reclaim_ns;
	__u64 agg_ns;
	__u64 agg_nr;
	struct lock_wait waits[LOCK_WAITS];
};

enum disk_request_state {
	DISK_REQUEST_OTHERS =
		1, /* of no target: kept so that its issue is not taken for a beginning */
};

/* What a request in flight is known by: its address, or sector and device. */
struct disk_request_key {
	__u64 a;
	__u64 b;
};

/*
 * struct disk_request - a request in flight
 * @start_ns: when it was queued, or issued where it never was queued
 * @issue_ns: when the driver got it, 0 if it has not
 * @state: enum disk_request_state
 * @cost_ns: what the hook took at its beginning; 0: not measured
 * @generation: of the inode
 * all else: as in BLOCK records
 */
struct disk_request {
	__u64 start_ns;
	__u64 issue_ns;
	__u64 sector;
	__u64 inode;
	__u32 inode_dev;
	__u32 dev;
	__u32 bytes;
	__u32 tid;
	__u32 by;
	__u16 flags;
	__u8 op;
	__u8 state;
	__u32 cost_ns;
	__u32 generation;
};

/*
 * struct dma_at, struct dma_list_at - offsets of fields in the data of a classic tracepoint for
 * memory of devices, 0 for those that it does not have
 */
struct dma_at {
	__u32 device;
	__u32 addr;
	__u32 size;
	__u32 dir;
	__u32 attrs;
	__u32 pages;
};

struct dma_list_at {
	__u32 device;
	__u32 entries;
	__u32 segments;
	__u32 truncated;
	__u32 phys;
	__u32 addrs;
	__u32 lengths;
	__u32 dir;
};

/* What a fence or a job is known by: its address, or two numbers. */
struct gpu_key {
	__u64 a;
	__u64 b;
};

enum gpu_fence_state {
	GPU_FENCE_TOLD = 1, /* a FENCE told of it */
};

/*
 * struct gpu_fence - a fence that lives; fields as in FENCE
 * @fence: its address, 0 where that is not known
 * @tid: who made it, 0: that was not seen
 */
struct gpu_fence {
	__u64 fence;
	__u64 context;
	__u64 seqno;
	__u64 driver;
	__u64 timeline;
	__u64 made_ns;
	__u64 emitted_ns;
	__u64 signalled_ns;
	__u32 tid;
	__u32 flags;
	__s32 err;
	__u32 state;
};

struct fence_wait_key {
	struct gpu_key fence;
	__u32 tid;
	__u32 pad;
};

/* struct fence_wait - a wait of a target; fields as in FENCE_WAIT */
struct fence_wait {
	__u64 start_ns;
	__u64 fence;
	__u64 context;
	__u64 seqno;
	__u64 driver;
	__u64 timeline;
	__u32 made_by;
	__u32 flags;
};

/* struct gpu_job - a job that has not ended; fields as in JOB and JOB_OPEN */
struct gpu_job {
	__u64 queued_ns;
	__u64 begun_ns;
	__u64 fence;
	__u64 context;
	__u64 seqno;
	__u64 id;
	__u64 ring;
	__u64 device;
	__u64 client;
	__u32 ahead;
	__u32 tid;
};

enum uring_state {
	URING_MANY = 1, /* it may be completed more than once, and is known by its user_data, too */
};

/*
 * struct uring_request - a request of io_uring that has not been completed; fields as in IO_URING
 * @ring, @user_data: by which completions tell it that do not pass its address
 * @nth: completions that there were
 * @state: enum uring_state
 * @cost_ns: what the hook took at its beginning; 0: not measured
 * @generation: of the inode
 */
struct uring_request {
	__u64 start_ns;
	__u64 ring;
	__u64 user_data;
	__u64 offset;
	__u64 inode;
	__u32 asked;
	__u32 dev;
	__u32 mount;
	__u32 fs;
	__u32 mode;
	__s32 fd;
	__u32 tid;
	__u32 nth;
	__u16 flags;
	__u8 op;
	__u8 state;
	__u32 cost_ns;
	__u32 generation;
	__u32 pad;
};

/* What a completion without its request's address tells: whose it may be. */
struct uring_key {
	__u64 ring;
	__u64 user_data;
};

/*
 * struct uring_result - completions for which the queue had no room
 * @end_ns, @ret: of the first
 * @n: requests that have not been found yet
 * @mixed: there were several at a time: which is whose cannot be told
 */
struct uring_result {
	__u64 end_ns;
	__s32 ret;
	__u32 n;
	__u32 mixed;
	__u32 pad;
};

/* struct job_at - offsets of fields in a classic tracepoint's data, 0 for those it does not have */
struct job_at {
	__u32 fence;
	__u32 context;
	__u32 seqno;
	__u32 name;
	__u32 dev;
	__u32 id;
	__u32 client;
	__u32 ahead;
};

#endif
