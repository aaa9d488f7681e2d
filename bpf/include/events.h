/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every record of xpugap, once.
 *
 * A record is a header and a payload, little-endian, 8-byte aligned. The kernel's rings, the mark
 * rings, the trace file (after decoding) and the analyses see the same bytes. The lists below
 * generate the structs, the ids, the names and the tables by which records are encoded, printed
 * and exported; nothing else in the tree may describe a record.
 *
 * Rules that keep old traces readable:
 *  - ids and hook numbers are append-only, never reused;
 *  - a record may grow at its end, never shrink or move a field; readers accept longer payloads,
 *    fill shorter ones with zeros and skip types that they do not know;
 *  - fields leave no implicit padding (checked at compile time).
 *
 * Times are nanoseconds of CLOCK_MONOTONIC of the initial time namespace. Thread and process ids
 * are those of the initial PID namespace.
 */
#ifndef XPUGAP_EVENTS_H
#define XPUGAP_EVENTS_H

#ifndef __VMLINUX_H__ /* the hooks' vmlinux.h defines the __u64 family itself */
#include <linux/types.h>
#endif

typedef __u8 rec_u8;
typedef __u16 rec_u16;
typedef __u32 rec_u32;
typedef __u64 rec_u64;
typedef __s32 rec_s32;
typedef __s64 rec_s64;
typedef double rec_f64;

#define REC_COMM_LEN 16
#define REC_ALIGN    8
#define REC_MAX_SIZE 65528 /* of a whole record: the largest multiple of 8 that fits a u16 */

/*
 * struct rec - the head of every record
 * @type: one of enum rec_type
 * @size: of the whole record in bytes, a multiple of 8
 * @tid: the thread that the record is about, which is nearly always the one that emitted it
 * @time_ns: when it was emitted; within a ring it never decreases
 */
struct rec {
	__u16 type;
	__u16 size;
	__u32 tid;
	__u64 time_ns;
};

/*
 * Hook families: X(number, NAME, name, what it records).
 * 'mark', 'meta' and 'sideband' are sources of user space that count losses in the same way.
 */
#define REC_HOOKS(X)                                                                               \
	X(0, META, meta, "the recorder itself")                                                    \
	X(1, TASK, task, "fork, exec, exit and names of tasks")                                    \
	X(2, SCHED, sched, "context switches and wake-ups")                                        \
	X(3, SYSCALL, syscall, "system calls, ioctl first of all")                                 \
	X(4, MARK, mark, "steps, units, ranges, spans and counters of the program itself")         \
	X(5, FAULT, fault, "page faults")                                                          \
	X(6, BLOCK, block, "requests to disks")                                                    \
	X(7, GPU, gpu, "memory for devices, fences and jobs, as the kernel itself sees them")      \
	X(8, IRQ, irq, "interrupts and softirqs that hold up or wake the target")                  \
	X(9, LOCK, lock, "waits for the kernel's own locks, and who holds them")                   \
	X(10, RECLAIM, reclaim, "memory that a target must free before it gets some")              \
	X(11, SAMPLE, sample, "what the target runs on the cpus, with stacks, at a frequency")     \
	X(12, PMU, pmu, "counters of the processor and of the kernel, for each thread")            \
	X(13, SIDEBAND, sideband, "what is mapped to be executed")                                 \
	X(14, IO_URING, io_uring, "requests that programs make through io_uring")

enum rec_hook_id {
#define X(num, NAME, name, what) REC_HOOK_##NAME = num,
	REC_HOOKS(X)
#undef X
		REC_HOOK_MAX
};

/*
 * How a field is printed: it says nothing about its storage.
 *   DEC HEX         a number
 *   NS              a duration in nanoseconds
 *   TIME            a moment, as rec.time_ns
 *   BYTES           a size
 *   DEV             a device number as the kernel holds it: major << 20 | minor; 0 is none
 *   MODE            the type and permission bits of an inode
 *   RET             the return value of a system call: negative is -errno
 *   NAME            id of a NAME record (a 64-bit hash of the string)
 *   TID             a thread id
 *   STATE           a task state as sched_switch reports it
 *   FLAGS           bits, printed in hexadecimal
 *   REAL            a double
 *   HOOK            number of a hook family
 *   WHY             enum rec_lost_why
 *   HOOK_STATE      enum rec_hook_state
 *   ROW_STATE       enum rec_row_state
 *   SPAN_KIND       enum rec_span_kind
 *   FAULT_AREA      enum rec_fault_area
 *   SOFTIRQ         number of a softirq, as include/linux/interrupt.h counts them
 *   BLOCK_OP        enum rec_block_op
 *   FILE_CALL       enum rec_file_call
 *   STREAM_CALL     enum rec_stream_call
 *   STREAM_KIND     enum rec_stream_kind
 *   SOCKET_STATE    enum rec_socket_state
 *   WAIT_CALL       enum rec_wait_call
 *   DMA_CALL        enum rec_dma_call
 *   DMA_DIR         enum rec_dma_dir
 *   CHAR            a letter
 *   CPU             number of a cpu, REC_NO_CPU if none in particular
 *   FUTEX_OP        enum rec_futex_op
 *   SAMPLE_EVENT    enum rec_sample_event
 *   STACK_KIND      enum rec_stack_kind
 *   STACK_BY        enum rec_stack_by
 *   IO_URING_OP     enum rec_io_uring_op
 *   LEN             length in bytes of a part of the tail, a string, printed with the tail only
 *   ADDRS           the same of a part that is no string but a list of u64 addresses
 *   PAD             not printed
 *
 * F(type, name, format) is a number, A(name) is REC_COMM_LEN bytes of text, NUL padded.
 *
 * R(id, NAME, name, hook, tail, what)
 *   tail: NONE; TEXT, where the bytes after the fixed part are strings, each with its LEN field,
 *   or lists with their ADDRS fields, in the order of those fields, not NUL terminated, padded with
 *   zeros to REC_ALIGN.
 */
#define REC_RECORDS(R)                                                                             \
	R(1, META, meta, META, TEXT, "a fact of the recording: key and value")                     \
	R(2, CLOCK, clock, META, NONE, "one reading of two clocks")                                \
	R(3, LOST, lost, META, NONE, "records that were not recorded, and when")                   \
	R(4, HOOK, hook, META, TEXT, "which way a hook was attached, or why it was not")           \
	R(5, HOOK_COUNT, hook_count, META, NONE, "running totals of a hook on a cpu")              \
	R(6, TASK, task, TASK, NONE, "a task that exists")                                         \
	R(7, ROW, row, META, TEXT, "a workload of the suite begins or ends")                       \
	R(8, CPU_STAT, cpu_stat, META, NONE, "what a cpu did since boot, as the kernel counts it") \
	R(10, TASK_FORK, task_fork, TASK, NONE, "tid created a task")                              \
	R(11, TASK_EXEC, task_exec, TASK, TEXT, "tid runs another program")                        \
	R(12, TASK_EXIT, task_exit, TASK, NONE, "tid ended, with the kernel's own counts")         \
	R(13, TASK_COMM, task_comm, TASK, NONE, "tid took another name")                           \
	R(20, SCHED_SWITCH, sched_switch, SCHED, NONE, "tid left the cpu, next_tid got it")        \
	R(21, SCHED_WAKING, sched_waking, SCHED, NONE, "tid wakes wakee_tid")                      \
	R(31, IOCTL, ioctl, SYSCALL, NONE, "an ioctl returned")                                    \
	R(32, IOCTL_BLOCKED, ioctl_blocked, SYSCALL, NONE, "tid left the cpu inside an ioctl")     \
	R(33, FILE_IO, file_io, SYSCALL, NONE,                                                     \
	  "a call that moves or syncs a file's data returned")                                     \
	R(34, FILE, file, SYSCALL, TEXT, "the file behind an inode of a device")                   \
	R(35, FILE_BLOCKED, file_blocked, SYSCALL, NONE, "the recording ended inside such a call") \
	R(37, SYSCALL_AGG, syscall_agg, SYSCALL, NONE, "calls of a number by tid, counted")        \
	R(38, SYSCALL_HIST, syscall_hist, SYSCALL, NONE, "how many of these took how long")        \
	R(40, NAME, name, MARK, TEXT, "the string behind a NAME id")                               \
	R(41, MARK_STEP, mark_step, MARK, NONE, "a step ended and the next began")                 \
	R(42, UNIT_BEGIN, unit_begin, MARK, NONE, "a unit of work began on tid")                   \
	R(43, UNIT_HANDOVER, unit_handover, MARK, NONE, "tid carries the unit from now on")        \
	R(44, UNIT_END, unit_end, MARK, NONE, "a unit of work ended")                              \
	R(45, RANGE_BEGIN, range_begin, MARK, NONE, "a named range opened on tid")                 \
	R(46, RANGE_END, range_end, MARK, NONE, "the innermost range of that name closed on tid")  \
	R(47, SPAN, span, MARK, NONE, "work of a device queue")                                    \
	R(48, LAUNCH, launch, MARK, NONE, "tid handed work to a device queue")                     \
	R(49, ROLE, role, MARK, NONE, "what tid does in the program")                              \
	R(50, COUNTER, counter, MARK, NONE, "a value that the program reports")                    \
	R(51, DEVICE, device, MARK, TEXT, "a device that spans name")                              \
	R(52, RANGE_OPEN, range_open, MARK, NONE, "tid is in a range that an earlier file began")  \
	R(53, UNIT_OPEN, unit_open, MARK, NONE, "tid carries a unit that an earlier file began")   \
	R(60, FAULT, fault, FAULT, NONE, "a page fault of tid was resolved")                       \
	R(64, BLOCK, block, BLOCK, NONE, "a request to a disk that tid caused was completed")      \
	R(65, BLOCK_OPEN, block_open, BLOCK, NONE, "the recording ended before a request did")     \
	R(66, DISK, disk, BLOCK, TEXT, "a disk that requests go to")                               \
	R(70, DMA, dma, GPU, NONE, "memory was made reachable for a device, or no longer is")      \
	R(71, DMA_DEVICE, dma_device, GPU, NONE, "a device that memory is mapped for")             \
	R(73, FENCE, fence, GPU, NONE, "a fence that a target made or waits for was signalled")    \
	R(74, FENCE_OPEN, fence_open, GPU, NONE, "the recording ended before a fence was")         \
	R(75, FENCE_WAIT, fence_wait, GPU, NONE, "tid waited for a fence")                         \
	R(76, FENCE_BLOCKED, fence_blocked, GPU, NONE, "the recording ended in such a wait")       \
	R(77, JOB, job, GPU, NONE, "a job that tid put into a queue of a GPU was done")            \
	R(78, JOB_OPEN, job_open, GPU, NONE, "a job of which no end was seen")                     \
	R(80, IRQ, irq, IRQ, NONE, "a device's interrupt was handled while tid was on the cpu")    \
	R(81, SOFTIRQ, softirq, IRQ, NONE, "a softirq ran while tid was on the cpu")               \
	R(82, IRQ_NAME, irq_name, IRQ, TEXT, "the handler of an interrupt")                        \
	R(84, LOCK_WAIT, lock_wait, LOCK, NONE, "tid waited for a lock of the kernel")             \
	R(85, FUTEX_WAIT, futex_wait, SYSCALL, NONE, "a wait for a lock of the program returned")  \
	R(86, FUTEX_BLOCKED, futex_blocked, SYSCALL, NONE, "the recording ended in such a wait")   \
	R(88, RECLAIM, reclaim, RECLAIM, NONE, "tid freed memory to get some")                     \
	R(90, SAMPLE, sample, SAMPLE, NONE, "tid was on the cpu when a sample was due")            \
	R(91, STACK, stack, SAMPLE, TEXT, "the frames behind the id of a stack")                   \
	R(94, PMU_COUNTER, pmu_counter, PMU, TEXT,                                                 \
	  "a counter: what it counts, or why it does not")                                         \
	R(95, PMU_READ, pmu_read, PMU, NONE,                                                       \
	  "what tid made a counter count since it was last read")                                  \
	R(100, MAP, map, SIDEBAND, TEXT, "tid mapped something to be executed")                    \
	R(101, MAP_COMM, map_comm, SIDEBAND, NONE, "tid took another name or program")             \
	R(102, MAP_FORK, map_fork, SIDEBAND, NONE, "tid created a task")                           \
	R(103, MAP_EXIT, map_exit, SIDEBAND, NONE, "tid ended")                                    \
	R(110, STREAM_IO, stream_io, SYSCALL, NONE, "a call about a pipe or a socket returned")    \
	R(111, STREAM, stream, SYSCALL, TEXT, "the pipe or socket behind an inode")                \
	R(112, STREAM_BLOCKED, stream_blocked, SYSCALL, NONE,                                      \
	  "the recording ended inside such a call")                                                \
	R(113, WAIT, wait, SYSCALL, NONE, "a call that waits returned")                            \
	R(114, WAIT_BLOCKED, wait_blocked, SYSCALL, NONE, "the recording ended in such a call")    \
	R(115, IO_URING, io_uring, IO_URING, NONE, "a request through io_uring was completed")     \
	R(116, IO_URING_OPEN, io_uring_open, IO_URING, NONE,                                       \
	  "the recording ended before such a request did")

/* clang-format off */

/* key and value are UTF-8 */
#define REC_FIELDS_meta(F, A) F(u32, key_len, LEN) F(u32, value_len, LEN)

/* clock 0 is CLOCK_REALTIME; others are device numbers of DEVICE records */
#define REC_FIELDS_clock(F, A) \
	F(u32, clock, DEC) F(u32, uncertainty_ns, NS) F(u64, host_ns, TIME) F(u64, ticks, DEC)

/* the interval is since_ns..time_ns; why is enum rec_lost_why */
#define REC_FIELDS_lost(F, A) \
	F(u32, hook, HOOK) F(u32, cpu, CPU) F(u32, why, WHY) F(u32, pad, PAD) F(u64, count, DEC) \
	F(u64, since_ns, TIME)

/* state is enum rec_hook_state; cost_ns is per hit, measured in place, 0 = not measured */
#define REC_FIELDS_hook(F, A) \
	F(u32, hook, HOOK) F(u32, state, HOOK_STATE) F(u32, rung, DEC) F(s32, err, RET) \
	F(f64, cost_ns, REAL) F(u32, way_len, LEN) F(u32, reason_len, LEN)

#define REC_FIELDS_hook_count(F, A) \
	F(u32, hook, HOOK) F(u32, cpu, DEC) F(u64, hits, DEC) F(u64, records, DEC) \
	F(u64, lost, DEC)

/* start_ns tells two tasks with the same tid apart; flags is enum rec_task_flags */
#define REC_FIELDS_task(F, A) \
	F(u32, pid, TID) F(u32, ppid, TID) F(u32, ns_tid, DEC) F(u32, ns_pid, DEC) \
	F(u32, uid, DEC) F(u32, flags, FLAGS) F(u64, start_ns, TIME) F(u64, cgroup, DEC) A(comm)

/* state is enum rec_row_state, status an exit status as waitpid() reports it */
#define REC_FIELDS_row(F, A) \
	F(u32, pid, TID) F(u32, state, ROW_STATE) F(s32, status, DEC) F(u32, repeat, DEC) \
	F(u32, name_len, LEN) F(u32, device_len, LEN)

/*
 * the line of /proc/stat in nanoseconds; steal_ns is what the hypervisor gave to others; the guests'
 * time is part of user_ns and nice_ns; iowait_ns may become less
 */
#define REC_FIELDS_cpu_stat(F, A) \
	F(u32, cpu, DEC) F(u32, pad, PAD) F(u64, user_ns, NS) F(u64, nice_ns, NS) \
	F(u64, system_ns, NS) F(u64, idle_ns, NS) F(u64, iowait_ns, NS) F(u64, irq_ns, NS) \
	F(u64, softirq_ns, NS) F(u64, steal_ns, NS) F(u64, guest_ns, NS) F(u64, guest_nice_ns, NS)

#define REC_FIELDS_task_fork(F, A) \
	F(u32, child_tid, TID) F(u32, child_pid, TID) F(u32, child_ns_tid, DEC) \
	F(u32, child_ns_pid, DEC) F(u64, start_ns, TIME) F(u64, clone_flags, FLAGS) A(comm)

/* old_tid differs from tid where a thread other than the leader called exec */
#define REC_FIELDS_task_exec(F, A) \
	F(u32, pid, TID) F(u32, old_tid, TID) F(u32, file_len, LEN) F(u32, pad, PAD)

/* totals of the thread's life as the kernel counted them */
#define REC_FIELDS_task_exit(F, A) \
	F(u32, pid, TID) F(s32, code, DEC) F(u64, run_ns, NS) F(u64, voluntary, DEC) \
	F(u64, involuntary, DEC) F(u64, minor_faults, DEC) F(u64, major_faults, DEC)

#define REC_FIELDS_task_comm(F, A) F(u32, pid, TID) F(u32, pad, PAD) A(comm)

/* prev_nr: the system call that tid is in, -1 when it is in none, or REC_NR_UNKNOWN; flags is enum rec_sched_flags */
#define REC_FIELDS_sched_switch(F, A) \
	F(u32, next_tid, TID) F(u32, prev_state, STATE) F(s32, prev_nr, DEC) F(u32, flags, FLAGS)

/* cpu is where the wakee last ran; flags is enum rec_sched_flags */
#define REC_FIELDS_sched_waking(F, A) \
	F(u32, wakee_tid, TID) F(u32, wakee_pid, TID) F(u32, cpu, DEC) F(u32, flags, FLAGS)

/* rdev is 0 unless the file is a device; inode is its number in its own file system */
#define REC_FIELDS_ioctl(F, A) \
	F(u64, duration_ns, NS) F(s64, ret, RET) F(u32, cmd, HEX) F(s32, fd, DEC) \
	F(u32, rdev, DEV) F(u32, mode, MODE) F(u64, inode, DEC) F(u64, arg, HEX)

#define REC_FIELDS_ioctl_blocked(F, A) \
	F(u64, start_ns, TIME) F(u32, cmd, HEX) F(s32, fd, DEC) F(u32, rdev, DEV) \
	F(u32, mode, MODE) F(u64, inode, DEC)

/*
 * ret: bytes done, of 'open' the descriptor; offset: where in the file, if REC_FILE_OFFSET is set;
 * asked: bytes, 0 where not known; fs: what statfs() calls f_type; to_fd: where sendfile and
 * copy_file_range write, else -1; flags is enum rec_file_flags
 */
#define REC_FIELDS_file_io(F, A) \
	F(u64, duration_ns, NS) F(s64, ret, RET) F(u64, offset, DEC) F(u64, asked, BYTES) \
	F(u64, inode, DEC) F(u32, dev, DEV) F(u32, mount, DEC) F(u32, fs, HEX) F(s32, fd, DEC) \
	F(s32, to_fd, DEC) F(u16, flags, FLAGS) F(u8, call, FILE_CALL) F(u8, pad, PAD)

/*
 * fs_type as /proc/mounts has it, mount_point where it is mounted ("": at the root), path from there;
 * a path that begins without '/' is the end of one too long
 */
#define REC_FIELDS_file(F, A) \
	F(u64, inode, DEC) F(u32, dev, DEV) F(u32, mount, DEC) F(u32, fs, HEX) F(u32, mode, MODE) \
	F(u32, fs_type_len, LEN) F(u32, mount_point_len, LEN) F(u32, path_len, LEN) \
	F(u32, pad, PAD)

#define REC_FIELDS_file_blocked(F, A) \
	F(u64, start_ns, TIME) F(u64, offset, DEC) F(u64, asked, BYTES) F(u64, inode, DEC) \
	F(u32, dev, DEV) F(u32, mount, DEC) F(u32, fs, HEX) F(s32, fd, DEC) F(s32, to_fd, DEC) \
	F(u16, flags, FLAGS) F(u8, call, FILE_CALL) F(u8, pad, PAD)

/*
 * of the calls that returned from since_ns to until_ns; nr is the number of the call; flags is enum
 * rec_agg_flags; max_ns: the longest
 */
#define REC_FIELDS_syscall_agg(F, A) \
	F(u64, since_ns, TIME) F(u64, until_ns, TIME) F(u64, count, DEC) F(u64, total_ns, NS) \
	F(u64, max_ns, NS) F(s32, nr, DEC) F(u32, flags, FLAGS)

/* log2_ns n: from 2^n ns to below 2^(n+1), 0 also less, 31 also more; none where count would be 0 */
#define REC_FIELDS_syscall_hist(F, A) \
	F(u64, since_ns, TIME) F(u64, until_ns, TIME) F(u64, count, DEC) F(s32, nr, DEC) \
	F(u32, flags, FLAGS) F(u32, log2_ns, DEC) F(u32, pad, PAD)

#define REC_FIELDS_name(F, A) F(u64, id, HEX) F(u32, name_len, LEN) F(u32, pad, PAD)

/*
 * step: number of the step that begins now, REC_NO_STEP if none does;
 * items: processed by the step that ended now, 0 at the first mark
 */
#define REC_FIELDS_mark_step(F, A) F(u64, step, DEC) F(u64, items, DEC)

#define REC_FIELDS_unit_begin(F, A) F(u64, unit, DEC) F(u64, kind, NAME)
#define REC_FIELDS_unit_handover(F, A) F(u64, unit, DEC)
#define REC_FIELDS_unit_end(F, A) F(u64, unit, DEC) F(u64, items, DEC)
#define REC_FIELDS_range_begin(F, A) F(u64, name, NAME)
#define REC_FIELDS_range_end(F, A) F(u64, name, NAME)

/* start_ns: when the range or unit began, before the file that tells of it */
#define REC_FIELDS_range_open(F, A) F(u64, name, NAME) F(u64, start_ns, TIME)
#define REC_FIELDS_unit_open(F, A) F(u64, unit, DEC) F(u64, kind, NAME) F(u64, start_ns, TIME)

/* kind is enum rec_span_kind; tier is 'A', 'B', 'C' or 'D', how good the evidence is */
#define REC_FIELDS_span(F, A) \
	F(u64, start_ns, TIME) F(u64, end_ns, TIME) F(u64, corr, DEC) F(u64, name, NAME) \
	F(u64, bytes, BYTES) F(u32, device, DEC) F(u16, queue, DEC) F(u8, kind, SPAN_KIND) \
	F(u8, tier, CHAR)

#define REC_FIELDS_launch(F, A) \
	F(u64, corr, DEC) F(u64, name, NAME) F(u32, device, DEC) F(u16, queue, DEC) \
	F(u8, kind, SPAN_KIND) F(u8, pad, PAD)

#define REC_FIELDS_role(F, A) F(u64, name, NAME)
#define REC_FIELDS_counter(F, A) F(u64, name, NAME) F(f64, value, REAL)
#define REC_FIELDS_device(F, A) F(u32, device, DEC) F(u32, name_len, LEN)

/*
 * duration_ns is 0 where the beginning was not seen; ip is what faulted, in the kernel with
 * REC_FAULT_KERNEL; unseen: faults that the kernel counted for tid since the record before without
 * an exception, so without a record (get_user_pages); flags is enum rec_fault_flags
 */
#define REC_FIELDS_fault(F, A) \
	F(u64, address, HEX) F(u64, ip, HEX) F(u64, duration_ns, NS) F(u32, unseen, DEC) \
	F(u16, flags, FLAGS) F(u8, area, FAULT_AREA) F(u8, pad, PAD)

/* time_ns is the end of the handler; flags is enum rec_irq_flags */
#define REC_FIELDS_irq(F, A) F(u64, duration_ns, NS) F(u32, irq, DEC) F(u32, flags, FLAGS)
#define REC_FIELDS_softirq(F, A) F(u64, duration_ns, NS) F(u32, vec, SOFTIRQ) F(u32, flags, FLAGS)
#define REC_FIELDS_irq_name(F, A) F(u32, irq, DEC) F(u32, name_len, LEN)

/*
 * lock is the address of the lock; holder_tid is who held it for writing when the wait began, 0 if
 * that cannot be told; ret is 0, or why the wait ended without the lock; flags is enum rec_lock_flags
 */
#define REC_FIELDS_lock_wait(F, A) \
	F(u64, duration_ns, NS) F(u64, lock, HEX) F(u32, holder_tid, TID) F(u32, flags, FLAGS) \
	F(s32, ret, RET) F(u32, pad, PAD)

/*
 * address: of the word that is waited for, of the first of several; word: what it held, as the
 * caller passed it and the kernel found it if the wait slept, or, of the PI operations, as it was
 * read at the beginning; owner_tid: who owned the lock when the call began, waker_tid: who ended the
 * wait, each 0 where that is not known; futexes: how many are waited for; flags is enum
 * rec_futex_flags
 */
#define REC_FIELDS_futex_wait(F, A) \
	F(u64, duration_ns, NS) F(u64, address, HEX) F(u32, owner_tid, TID) F(u32, waker_tid, TID) \
	F(s32, ret, RET) F(u32, word, HEX) F(u32, futexes, DEC) F(u16, flags, FLAGS) \
	F(u8, op, FUTEX_OP) F(u8, pad, PAD)

#define REC_FIELDS_futex_blocked(F, A) \
	F(u64, start_ns, TIME) F(u64, address, HEX) F(u32, owner_tid, TID) F(u32, word, HEX) \
	F(u32, futexes, DEC) F(u16, flags, FLAGS) F(u8, op, FUTEX_OP) F(u8, pad, PAD)

/*
 * pages: that were freed; cgroup: that tid's memory is charged to, whose limit or a parent's was
 * hit, by its inode number; 0: the machine's memory was short
 */
#define REC_FIELDS_reclaim(F, A) \
	F(u64, duration_ns, NS) F(u64, pages, DEC) F(u64, cgroup, DEC)

/*
 * queue_ns: before the driver got it, 0 if at once; device_ns: from then until it was completed;
 * inode and inode_dev: the file whose cached pages are moved, where there is one; by: the task that
 * handed it in, if that is not tid; flags is enum rec_block_flags
 */
#define REC_FIELDS_block(F, A) \
	F(u64, sector, DEC) F(u64, queue_ns, NS) F(u64, device_ns, NS) F(u64, inode, DEC) \
	F(u32, inode_dev, DEV) F(u32, dev, DEV) F(u32, bytes, BYTES) F(u32, by, TID) \
	F(s32, err, RET) F(u16, flags, FLAGS) F(u8, op, BLOCK_OP) F(u8, pad, PAD)

/* start_ns: when it was queued; issue_ns: when the driver got it, 0 if it has not */
#define REC_FIELDS_block_open(F, A) \
	F(u64, start_ns, TIME) F(u64, issue_ns, TIME) F(u64, sector, DEC) F(u64, inode, DEC) \
	F(u32, inode_dev, DEV) F(u32, dev, DEV) F(u32, bytes, BYTES) F(u32, by, TID) \
	F(u32, pad, PAD) F(u16, flags, FLAGS) F(u8, op, BLOCK_OP) F(u8, pad2, PAD)

/*
 * tid: who mapped it, also where it is undone by another or by an interrupt; addr: as the device sees
 * it, of a list its first part's; entries and segments: parts of a list in memory, and as the device
 * sees them; held_ns: since it was mapped, 0 where that was not seen; by: the task that undid or
 * synchronised it, if that is not tid; flags is enum rec_dma_flags
 */
#define REC_FIELDS_dma(F, A) \
	F(u64, device, NAME) F(u64, addr, HEX) F(u64, bytes, BYTES) F(u64, held_ns, NS) \
	F(u32, entries, DEC) F(u32, segments, DEC) F(u32, by, TID) F(u16, flags, FLAGS) \
	F(u8, call, DMA_CALL) F(u8, dir, DMA_DIR)

/* driver is 0 where there is none, or where it is not known; node is that of the memory near it, or -1 */
#define REC_FIELDS_dma_device(F, A) \
	F(u64, device, NAME) F(u64, driver, NAME) F(s32, node, DEC) F(u32, pad, PAD)

/*
 * tid: who made it, 0 if that was not seen; fence: its address; emitted_ns: when its driver handed
 * the work to the device, 0 where it does not say so; signalled_ns: 0 if it never was; err: that its
 * driver set; flags is enum rec_fence_flags
 */
#define REC_FIELDS_fence(F, A) \
	F(u64, fence, HEX) F(u64, context, DEC) F(u64, seqno, DEC) F(u64, driver, NAME) \
	F(u64, timeline, NAME) F(u64, made_ns, TIME) F(u64, emitted_ns, TIME) \
	F(u64, signalled_ns, TIME) F(s32, err, RET) F(u32, flags, FLAGS)

#define REC_FIELDS_fence_open(F, A) \
	F(u64, fence, HEX) F(u64, context, DEC) F(u64, seqno, DEC) F(u64, driver, NAME) \
	F(u64, timeline, NAME) F(u64, made_ns, TIME) F(u64, emitted_ns, TIME) F(u32, flags, FLAGS) \
	F(u32, pad, PAD)

/* made_by: the task that made the fence, 0 if that was not seen; flags is enum rec_fence_wait_flags */
#define REC_FIELDS_fence_wait(F, A) \
	F(u64, duration_ns, NS) F(u64, fence, HEX) F(u64, context, DEC) F(u64, seqno, DEC) \
	F(u64, driver, NAME) F(u64, timeline, NAME) F(u32, made_by, TID) F(u32, flags, FLAGS)

#define REC_FIELDS_fence_blocked(F, A) \
	F(u64, start_ns, TIME) F(u64, fence, HEX) F(u64, context, DEC) F(u64, seqno, DEC) \
	F(u64, driver, NAME) F(u64, timeline, NAME) F(u32, made_by, TID) F(u32, flags, FLAGS)

/*
 * queue_ns: until its driver handed it to the device; run_ns: from there to its end, with what lay
 * before it in the device's own queue; fence: which is signalled then, with its context and seqno,
 * each 0 where it is not known; id, client: that the scheduler gave it and its file, where it does;
 * ahead: jobs before it in the queue when it came
 */
#define REC_FIELDS_job(F, A) \
	F(u64, queue_ns, NS) F(u64, run_ns, NS) F(u64, fence, HEX) F(u64, context, DEC) \
	F(u64, seqno, DEC) F(u64, id, DEC) F(u64, ring, NAME) F(u64, device, NAME) \
	F(u64, client, DEC) F(u32, ahead, DEC) F(u32, pad, PAD)

/* begun_ns: when its driver handed it to the device, 0 if that was not seen */
#define REC_FIELDS_job_open(F, A) \
	F(u64, queued_ns, TIME) F(u64, begun_ns, TIME) F(u64, fence, HEX) F(u64, context, DEC) \
	F(u64, seqno, DEC) F(u64, id, DEC) F(u64, ring, NAME) F(u64, device, NAME)

#define REC_FIELDS_disk(F, A) F(u32, dev, DEV) F(u32, name_len, LEN)

/*
 * ip: where tid was, in the kernel with REC_SAMPLE_KERNEL; kernel_stack, user_stack: ids of STACK
 * records, 0: none; period: what the sample stands for, in units of event; missed: samples that were
 * due on this cpu since the one before, of whomever, and did not come; flags is enum
 * rec_sample_flags
 */
#define REC_FIELDS_sample(F, A) \
	F(u64, ip, HEX) F(u64, kernel_stack, HEX) F(u64, user_stack, HEX) F(u64, period, DEC) \
	F(u32, missed, DEC) F(u16, flags, FLAGS) F(u8, event, SAMPLE_EVENT) F(u8, pad, PAD)

/*
 * frames: the ip itself, then where each caller goes on, outwards; user addresses are those of the
 * process of whoever is sampled with it. It may follow its first use, and be told again; flags is
 * enum rec_stack_flags
 */
#define REC_FIELDS_stack(F, A) \
	F(u64, id, HEX) F(u32, frames_len, ADDRS) F(u16, flags, FLAGS) F(u8, kind, STACK_KIND) \
	F(u8, by, STACK_BY)

/*
 * counter: the number by which PMU_READ calls it, if err is 0; the count times
 * scale is in unit ("": events); type, config and config1 as perf_event_open() takes them; by: who
 * knew the name; why: it is refused
 */
#define REC_FIELDS_pmu_counter(F, A) \
	F(u32, counter, DEC) F(s32, err, RET) F(f64, scale, REAL) F(u64, config, HEX) \
	F(u64, config1, HEX) F(u32, type, DEC) F(u32, name_len, LEN) F(u32, unit_len, LEN) \
	F(u32, by_len, LEN) F(u32, why_len, LEN) F(u32, pad, PAD)

/*
 * of the time from since_ns to time_ns, in which tid was on the cpu all the time; the counter was
 * there for running_ns of enabled_ns: where these differ, several shared what the processor has
 */
#define REC_FIELDS_pmu_read(F, A) \
	F(u64, since_ns, TIME) F(u64, value, DEC) F(u64, enabled_ns, NS) F(u64, running_ns, NS) \
	F(u32, counter, DEC) F(u32, pad, PAD)

/*
 * dev and inode are 0 where not known; prot and mmap_flags as mmap() takes them; flags is enum
 * rec_map_flags; build_id is in hexadecimal, "" where there is none or it cannot be read; path is
 * in the file system as tid's process sees it, or "[vdso]", or "//anon"
 */
#define REC_FIELDS_map(F, A) \
	F(u64, addr, HEX) F(u64, len, HEX) F(u64, pgoff, HEX) F(u64, inode, DEC) \
	F(u32, pid, TID) F(u32, dev, DEV) F(u32, prot, FLAGS) F(u32, mmap_flags, FLAGS) \
	F(u32, flags, FLAGS) F(u32, build_id_len, LEN) F(u32, path_len, LEN) F(u32, pad, PAD)

/* flags is enum rec_map_flags */
#define REC_FIELDS_map_comm(F, A) F(u32, pid, TID) F(u32, flags, FLAGS) A(comm)
#define REC_FIELDS_map_fork(F, A) \
	F(u32, child_tid, TID) F(u32, child_pid, TID) F(u32, pid, TID) F(u32, pad, PAD)
#define REC_FIELDS_map_exit(F, A) F(u32, pid, TID) F(u32, pad, PAD)

/*
 * inode and dev: what fd names, to_inode and to_dev: what to_fd names, which splice, tee and sendfile
 * write to and accept returns; 0 where that is no stream, to_fd -1 of other calls. peer_tid: the
 * target that was last met at the other end, 0: none; bytes: moved; asked: 0 where not known; flags is
 * enum rec_stream_flags
 */
#define REC_FIELDS_stream_io(F, A) \
	F(u64, duration_ns, NS) F(s64, ret, RET) F(u64, bytes, BYTES) F(u64, asked, BYTES) \
	F(u64, inode, DEC) F(u64, to_inode, DEC) F(u32, dev, DEV) F(u32, to_dev, DEV) \
	F(s32, fd, DEC) F(s32, to_fd, DEC) F(u32, peer_tid, TID) F(u16, flags, FLAGS) \
	F(u8, call, STREAM_CALL) F(u8, kind, STREAM_KIND)

/*
 * peer_inode: of the socket at the other end; peer_pid: the process that made or listened at it, as
 * SO_PEERCRED has it; both 0 where not known. local and remote: names of unix sockets, one that
 * begins with '@' is in no file system; or address and port, of IPv6 in full. family, type, protocol
 * as socket() takes them, 0 of pipes
 */
#define REC_FIELDS_stream(F, A) \
	F(u64, inode, DEC) F(u32, dev, DEV) F(u32, peer_pid, TID) F(u64, peer_inode, DEC) \
	F(u16, family, DEC) F(u16, type, DEC) F(u16, protocol, DEC) F(u8, kind, STREAM_KIND) \
	F(u8, state, SOCKET_STATE) F(u32, local_len, LEN) F(u32, remote_len, LEN)

#define REC_FIELDS_stream_blocked(F, A) \
	F(u64, start_ns, TIME) F(u64, asked, BYTES) F(u64, inode, DEC) F(u64, to_inode, DEC) \
	F(u32, dev, DEV) F(u32, to_dev, DEV) F(s32, fd, DEC) F(s32, to_fd, DEC) \
	F(u32, peer_tid, TID) F(u16, flags, FLAGS) F(u8, call, STREAM_CALL) F(u8, kind, STREAM_KIND)

/*
 * timeout_ns: at most so long, if REC_WAIT_TIMEOUT is set; count: descriptors, of select one more than
 * the highest, of epoll events that there is room for; fd: of poll the first that is ready, of epoll
 * its own, else -1; pid: of wait4 and waitid the child as the caller names it; flags is enum
 * rec_wait_flags
 */
#define REC_FIELDS_wait(F, A) \
	F(u64, duration_ns, NS) F(s64, ret, RET) F(u64, timeout_ns, NS) F(u32, count, DEC) \
	F(s32, fd, DEC) F(s32, pid, DEC) F(u16, flags, FLAGS) F(u8, call, WAIT_CALL) F(u8, pad, PAD)

#define REC_FIELDS_wait_blocked(F, A) \
	F(u64, start_ns, TIME) F(u64, timeout_ns, NS) F(u32, count, DEC) F(s32, fd, DEC) \
	F(s32, pid, DEC) F(u16, flags, FLAGS) F(u8, call, WAIT_CALL) F(u8, pad, PAD)

/*
 * tid: who submitted it, at start_ns; duration_ns: from then to its completion, 0 where that was not
 * seen; ret: the result that the program gets; offset: if REC_IO_URING_OFFSET is set; asked: bytes, 0
 * where not known; inode, dev, mount, fs, mode: the file that it was about, 0 where there is none or
 * it is not known; fd: that names the file, of the ring's own table with REC_IO_URING_FIXED, else -1;
 * nth: of the request's completions, from 1; by: the task in which it was completed, if that is not
 * tid; flags is enum rec_io_uring_flags
 */
#define REC_FIELDS_io_uring(F, A) \
	F(u64, start_ns, TIME) F(u64, duration_ns, NS) F(s64, ret, RET) F(u64, offset, DEC) \
	F(u64, inode, DEC) F(u32, asked, BYTES) F(u32, dev, DEV) F(u32, mount, DEC) \
	F(u32, fs, HEX) F(u32, mode, MODE) F(s32, fd, DEC) F(u32, nth, DEC) F(u32, by, TID) \
	F(u32, pad, PAD) F(u16, flags, FLAGS) F(u8, op, IO_URING_OP) F(u8, pad2, PAD)

/* nth: completions that there were */
#define REC_FIELDS_io_uring_open(F, A) \
	F(u64, start_ns, TIME) F(u64, offset, DEC) F(u64, inode, DEC) F(u32, asked, BYTES) \
	F(u32, dev, DEV) F(u32, mount, DEC) F(u32, fs, HEX) F(u32, mode, MODE) F(s32, fd, DEC) \
	F(u32, nth, DEC) F(u16, flags, FLAGS) F(u8, op, IO_URING_OP) F(u8, pad, PAD)

/* clang-format on */

/* struct rec_NAME for every record */
#define REC_MEMBER(type, name, fmt) rec_##type name;
#define REC_MEMBER_COMM(name)	    char name[REC_COMM_LEN];
#define REC_STRUCT(id, NAME, name, hook, tail, what)                                               \
	struct rec_##name {                                                                        \
		struct rec hdr;                                                                    \
		REC_FIELDS_##name(REC_MEMBER, REC_MEMBER_COMM)                                     \
	};
REC_RECORDS(REC_STRUCT)

enum rec_type {
#define REC_ENUM(id, NAME, name, hook, tail, what) REC_##NAME = id,
	REC_RECORDS(REC_ENUM)
#undef REC_ENUM
		REC_TYPE_MAX
};

/* a struct is as long as its fields: no padding that nobody fills */
#define REC_MEMBER_SIZE(type, name, fmt) +sizeof(rec_##type)
#define REC_COMM_SIZE(name)		 +REC_COMM_LEN
#define REC_CHECK(id, NAME, name, hook, tail, what)                                                \
	_Static_assert(sizeof(struct rec_##name) ==                                                \
			       sizeof(struct rec)                                                  \
				       REC_FIELDS_##name(REC_MEMBER_SIZE, REC_COMM_SIZE),          \
		       "struct rec_" #name " has padding");                                        \
	_Static_assert(sizeof(struct rec_##name) % REC_ALIGN == 0,                                 \
		       "struct rec_" #name " is not aligned");
REC_RECORDS(REC_CHECK)

#define REC_NO_STEP (~0ULL)
#define REC_NO_CPU  (~0U)

#define REC_NR_UNKNOWN (-2) /* for prev_nr where the kernel cannot be asked */

enum rec_lost_why {
	REC_LOST_RING = 1,  /* no room in a kernel ring */
	REC_LOST_STATE = 2, /* no memory for the state of a task */
	REC_LOST_MARK = 3,  /* no room in a program's mark ring */
	REC_LOST_WRITE = 4, /* the trace file took no more */
	REC_LOST_BAD = 5, /* bytes that cannot be a record: in a program's mark ring, in a trace */
	REC_LOST_NESTED = 6, /* a hook was hit while it ran on that cpu; cpu is REC_NO_CPU */
};

enum rec_hook_state {
	REC_HOOK_OFF = 0,      /* not asked for */
	REC_HOOK_ATTACHED = 1, /* rung 0: the best way there is */
	REC_HOOK_DEGRADED = 2, /* a later rung; the reason says what is missing */
	REC_HOOK_REFUSED = 3,  /* no rung worked */
};

enum rec_task_flags {
	REC_TASK_TARGET = 1,	/* belongs to what is recorded */
	REC_TASK_NEIGHBOUR = 2, /* woke or displaced a target */
	REC_TASK_KTHREAD = 4,
};

enum rec_row_state {
	REC_ROW_BEGIN = 1,
	REC_ROW_END = 2,
};

enum rec_sched_flags {
	REC_SCHED_PREEMPT = 1,	   /* prev was still runnable: an involuntary switch */
	REC_SCHED_PREV_TARGET = 2, /* hdr.tid is a target */
	REC_SCHED_NEXT_TARGET = 4, /* next_tid (wakee_tid) is a target */
	REC_SCHED_NEW = 8,	   /* the first wake-up of a new task */
	REC_SCHED_IRQ = 16,	   /* woken from interrupt context: hdr.tid only happened to run */
	REC_SCHED_COMPAT = 32,	   /* prev_nr is the number of a 32-bit system call */
	REC_SCHED_THROTTLED = 64,  /* prev's cgroup has used up its quota of cpu time */
	REC_SCHED_FROZEN = 128,	   /* prev is frozen by its cgroup, or by the whole system */
};

enum rec_irq_flags {
	REC_IRQ_TARGET = 1,  /* tid is a target: the handler took its time */
	REC_IRQ_WOKE = 2,    /* it woke a target */
	REC_IRQ_HANDLED = 4, /* the handler says that the interrupt was its device's */
};

/* the first six are the kernel's own, of include/trace/events/lock.h */
enum rec_lock_flags {
	REC_LOCK_SPIN = 1,
	REC_LOCK_READ = 2,
	REC_LOCK_WRITE = 4,
	REC_LOCK_RT = 8,
	REC_LOCK_PERCPU = 16,
	REC_LOCK_MUTEX = 32,
	REC_LOCK_MMAP = 256, /* of the address space of tid: mappings and page faults need it */
};

/* the operations of futex() that wait, and the calls that do */
enum rec_futex_op {
	REC_FUTEX_OP_UNKNOWN = 0,
	REC_FUTEX_OP_WAIT = 1,
	REC_FUTEX_OP_WAIT_BITSET = 2,
	REC_FUTEX_OP_LOCK_PI = 3, /* LOCK_PI, LOCK_PI2 */
	REC_FUTEX_OP_WAIT_REQUEUE_PI = 4,
	REC_FUTEX_OP_WAITV = 5, /* futex_waitv() */
	REC_FUTEX_OP_CALL = 6,	/* futex_wait() */
};

enum rec_futex_flags {
	REC_FUTEX_PRIVATE = 1, /* of one process only, as the caller says */
	REC_FUTEX_TIMED = 2,   /* it would end by itself */
	REC_FUTEX_SLEPT = 4,   /* tid left the cpu of its own will inside */
	REC_FUTEX_AGAIN = 8,   /* it goes on after a signal */
	/* how owner_tid is known: never just a number, but a thread that lived when it was read */
	REC_FUTEX_OWNER_PI = 16,   /* the word holds it, as the kernel wants it of PI futexes */
	REC_FUTEX_OWNER_WORD = 32, /* the word holds a thread of the process and that others wait */
	REC_FUTEX_OWNER_GLIBC = 64, /* it stands where mutexes of glibc keep it */
};

enum rec_fault_flags {
	REC_FAULT_MAJOR = 1,  /* it waited for a device */
	REC_FAULT_KERNEL = 2, /* in kernel mode: a system call touched memory of the program */
	REC_FAULT_WRITE = 4,  /* of the beginning, where that was seen */
	REC_FAULT_EXEC = 8,
};

enum rec_sample_event {
	REC_SAMPLE_UNKNOWN = 0,
	REC_SAMPLE_CYCLES = 1,	  /* of the processor, while it does not halt */
	REC_SAMPLE_CPU_CLOCK = 2, /* nanoseconds, by a timer of the kernel */
};

enum rec_sample_flags {
	REC_SAMPLE_KERNEL = 1, /* in kernel mode */
};

enum rec_stack_kind {
	REC_STACK_UNKNOWN = 0,
	REC_STACK_KERNEL = 1,
	REC_STACK_USER = 2,
};

/* how the frames were found */
enum rec_stack_by {
	REC_STACK_BY_UNKNOWN = 0,
	REC_STACK_BY_KERNEL = 1, /* the kernel's unwinder: frame pointers in user space */
	REC_STACK_BY_EH = 2,	 /* the program's .eh_frame */
};

enum rec_stack_flags {
	REC_STACK_CUT = 1, /* as many frames as are taken: it may go on */
};

enum rec_map_flags {
	REC_MAP_PRESENT = 1, /* it was there before: found when the process became a target */
	REC_MAP_EXEC = 2,    /* by running another program: what was mapped before is gone */
	REC_MAP_AGAIN = 4,   /* the trace told of it before, in a part that is another file now */
};

/* what lies at an address of a process, as far as the kernel's bounds of its areas tell */
enum rec_fault_area {
	REC_AREA_UNKNOWN = 0,
	REC_AREA_CODE = 1,  /* of the program itself */
	REC_AREA_DATA = 2,  /* of the program itself */
	REC_AREA_HEAP = 3,  /* what brk() made */
	REC_AREA_STACK = 4, /* of the main thread */
	REC_AREA_MMAP = 5,  /* mappings: libraries, files, large allocations, threads' stacks */
	REC_AREA_KERNEL = 6,
};

/* the calls that differ only in how they are passed have one name */
enum rec_file_call {
	REC_FILE_UNKNOWN = 0,
	REC_FILE_READ = 1,   /* read, readv */
	REC_FILE_PREAD = 2,  /* pread64, preadv, preadv2 */
	REC_FILE_WRITE = 3,  /* write, writev */
	REC_FILE_PWRITE = 4, /* pwrite64, pwritev, pwritev2 */
	REC_FILE_FSYNC = 5,
	REC_FILE_FDATASYNC = 6,
	REC_FILE_SYNC_RANGE = 7, /* sync_file_range */
	REC_FILE_SENDFILE = 8,
	REC_FILE_COPY = 9,  /* copy_file_range */
	REC_FILE_OPEN = 10, /* open, openat, openat2 */
};

enum rec_file_flags {
	REC_FILE_OFFSET = 1, /* offset is known */
	REC_FILE_DIRECT = 2, /* O_DIRECT */
	REC_FILE_APPEND = 4, /* O_APPEND: a write goes to the end, wherever offset is */
};

/* the calls that differ only in how they are passed have one name */
enum rec_stream_call {
	REC_STREAM_UNKNOWN = 0,
	REC_STREAM_READ = 1,  /* read, readv, preadv2 */
	REC_STREAM_WRITE = 2, /* write, writev, pwritev2 */
	REC_STREAM_SEND = 3,  /* sendto, which send() calls */
	REC_STREAM_RECV = 4,  /* recvfrom */
	REC_STREAM_SENDMSG = 5,
	REC_STREAM_RECVMSG = 6,
	REC_STREAM_SENDMMSG = 7, /* ret: messages */
	REC_STREAM_RECVMMSG = 8,
	REC_STREAM_SPLICE = 9,
	REC_STREAM_TEE = 10,
	REC_STREAM_VMSPLICE = 11,
	REC_STREAM_SENDFILE = 12,
	REC_STREAM_CONNECT = 13,
	REC_STREAM_ACCEPT = 14, /* accept, accept4 */
};

enum rec_stream_kind {
	REC_STREAM_NONE = 0,
	REC_STREAM_PIPE = 1,
	REC_STREAM_FIFO = 2, /* with a name: a FILE record tells which */
	REC_STREAM_UNIX = 3,
	REC_STREAM_TCP = 4,
	REC_STREAM_UDP = 5,
	REC_STREAM_INET = 6,   /* another protocol of IP */
	REC_STREAM_SOCKET = 7, /* of another family */
};

enum rec_stream_flags {
	REC_STREAM_OUT = 1,	 /* into what fd names, not out of it */
	REC_STREAM_NONBLOCK = 2, /* it was not to wait */
	REC_STREAM_PEEK = 4,	 /* what it got is still there */
	REC_STREAM_PART = 8,	 /* bytes are at least these: more messages than are looked at */
};

/* the kernel's own numbers, which sockets of all families have */
enum rec_socket_state {
	REC_SOCKET_NONE = 0,
	REC_SOCKET_ESTABLISHED = 1,
	REC_SOCKET_SYN_SENT = 2,
	REC_SOCKET_SYN_RECV = 3,
	REC_SOCKET_FIN_WAIT1 = 4,
	REC_SOCKET_FIN_WAIT2 = 5,
	REC_SOCKET_TIME_WAIT = 6,
	REC_SOCKET_CLOSE = 7, /* not connected */
	REC_SOCKET_CLOSE_WAIT = 8,
	REC_SOCKET_LAST_ACK = 9,
	REC_SOCKET_LISTEN = 10,
	REC_SOCKET_CLOSING = 11,
};

enum rec_wait_call {
	REC_WAIT_UNKNOWN = 0,
	REC_WAIT_POLL = 1,    /* poll, ppoll */
	REC_WAIT_SELECT = 2,  /* select, pselect6 */
	REC_WAIT_EPOLL = 3,   /* epoll_wait, epoll_pwait, epoll_pwait2 */
	REC_WAIT_SLEEP = 4,   /* nanosleep, clock_nanosleep */
	REC_WAIT_CHILD = 5,   /* wait4, waitid */
	REC_WAIT_RESTART = 6, /* restart_syscall: another, or a futex's, goes on after a signal */
};

enum rec_wait_flags {
	REC_WAIT_TIMEOUT = 1, /* timeout_ns is known */
	REC_WAIT_UNTIL = 2,   /* it sleeps until a moment, not for a time */
};

/* whatever function of the kernel it came through; _SG: a list of parts */
enum rec_dma_call {
	REC_DMA_UNKNOWN = 0,
	REC_DMA_MAP = 1,
	REC_DMA_MAP_SG = 2,
	REC_DMA_MAP_RESOURCE = 3, /* registers or memory of another device */
	REC_DMA_UNMAP = 4,
	REC_DMA_UNMAP_SG = 5,
	REC_DMA_UNMAP_RESOURCE = 6,
	REC_DMA_ALLOC = 7, /* of memory that program and device share for long */
	REC_DMA_FREE = 8,
	REC_DMA_SYNC_CPU = 9, /* what the device wrote may be read */
	REC_DMA_SYNC_DEVICE = 10,
	REC_DMA_SYNC_SG_CPU = 11,
	REC_DMA_SYNC_SG_DEVICE = 12,
};

/* the kernel's own numbers, one higher */
enum rec_dma_dir {
	REC_DMA_DIR_UNKNOWN = 0,
	REC_DMA_BOTH = 1,
	REC_DMA_TO_DEVICE = 2,
	REC_DMA_FROM_DEVICE = 3,
	REC_DMA_NO_DIR = 4,
};

enum rec_dma_flags {
	REC_DMA_FAILED = 1, /* it was not mapped */
	REC_DMA_PARTIAL =
		2, /* a list of which not all parts were looked at: bytes are at least these */
	REC_DMA_INTERRUPT = 4, /* undone or synchronised by an interrupt */
};

enum rec_fence_flags {
	REC_FENCE_MADE = 1,    /* tid, who made it, is a target */
	REC_FENCE_WAITED = 2,  /* a target waited for it before it was signalled, or does */
	REC_FENCE_DROPPED = 4, /* it came to its end without having been signalled */
};

enum rec_fence_wait_flags {
	REC_FENCE_WAIT_SIGNALLED =
		1,		 /* it was signalled before, so there was nothing to wait for */
	REC_FENCE_WAIT_VAIN = 2, /* time was up, or a signal came */
};

enum rec_agg_flags {
	REC_AGG_COMPAT = 1, /* nr is the number of a 32-bit system call */
};

enum rec_block_op {
	REC_BLOCK_OTHER = 0, /* commands to the disk itself, zones */
	REC_BLOCK_READ = 1,
	REC_BLOCK_WRITE = 2,
	REC_BLOCK_FLUSH = 3,
	REC_BLOCK_DISCARD = 4,
	REC_BLOCK_ERASE = 5,
	REC_BLOCK_ZEROES = 6,
};

enum rec_block_flags {
	REC_BLOCK_SYNC = 1,	/* somebody waits for it */
	REC_BLOCK_META = 2,	/* of the file system itself */
	REC_BLOCK_RAHEAD = 4,	/* read ahead of what was asked for */
	REC_BLOCK_PREFLUSH = 8, /* the disk's cache is flushed before */
	REC_BLOCK_FUA = 16,	/* written through the disk's cache */
	REC_BLOCK_SWAP = 32,	/* to or from swap space */
	REC_BLOCK_WRITEBACK =
		64, /* later, by a worker: tid is the target that last wrote the file */
};

/* clang-format off */

/* the operations of io_uring with the kernel's own numbers (include/uapi/linux/io_uring.h) */
#define REC_IO_URING_OPS(X) \
	X(0, NOP, nop) X(1, READV, readv) X(2, WRITEV, writev) X(3, FSYNC, fsync) \
	X(4, READ_FIXED, read_fixed) X(5, WRITE_FIXED, write_fixed) X(6, POLL_ADD, poll_add) \
	X(7, POLL_REMOVE, poll_remove) X(8, SYNC_FILE_RANGE, sync_file_range) \
	X(9, SENDMSG, sendmsg) X(10, RECVMSG, recvmsg) X(11, TIMEOUT, timeout) \
	X(12, TIMEOUT_REMOVE, timeout_remove) X(13, ACCEPT, accept) \
	X(14, ASYNC_CANCEL, async_cancel) X(15, LINK_TIMEOUT, link_timeout) \
	X(16, CONNECT, connect) X(17, FALLOCATE, fallocate) X(18, OPENAT, openat) \
	X(19, CLOSE, close) X(20, FILES_UPDATE, files_update) X(21, STATX, statx) \
	X(22, READ, read) X(23, WRITE, write) X(24, FADVISE, fadvise) X(25, MADVISE, madvise) \
	X(26, SEND, send) X(27, RECV, recv) X(28, OPENAT2, openat2) X(29, EPOLL_CTL, epoll_ctl) \
	X(30, SPLICE, splice) X(31, PROVIDE_BUFFERS, provide_buffers) \
	X(32, REMOVE_BUFFERS, remove_buffers) X(33, TEE, tee) X(34, SHUTDOWN, shutdown) \
	X(35, RENAMEAT, renameat) X(36, UNLINKAT, unlinkat) X(37, MKDIRAT, mkdirat) \
	X(38, SYMLINKAT, symlinkat) X(39, LINKAT, linkat) X(40, MSG_RING, msg_ring) \
	X(41, FSETXATTR, fsetxattr) X(42, SETXATTR, setxattr) X(43, FGETXATTR, fgetxattr) \
	X(44, GETXATTR, getxattr) X(45, SOCKET, socket) X(46, URING_CMD, uring_cmd) \
	X(47, SEND_ZC, send_zc) X(48, SENDMSG_ZC, sendmsg_zc) \
	X(49, READ_MULTISHOT, read_multishot) X(50, WAITID, waitid) \
	X(51, FUTEX_WAIT, futex_wait) X(52, FUTEX_WAKE, futex_wake) \
	X(53, FUTEX_WAITV, futex_waitv) X(54, FIXED_FD_INSTALL, fixed_fd_install) \
	X(55, FTRUNCATE, ftruncate) X(56, BIND, bind) X(57, LISTEN, listen) \
	X(58, RECV_ZC, recv_zc) X(59, EPOLL_WAIT, epoll_wait) X(60, READV_FIXED, readv_fixed) \
	X(61, WRITEV_FIXED, writev_fixed) X(62, PIPE, pipe) X(63, NOP128, nop128) \
	X(64, URING_CMD128, uring_cmd128)

/* clang-format on */

enum rec_io_uring_op {
#define X(num, NAME, name) REC_IO_URING_OP_##NAME = num,
	REC_IO_URING_OPS(X)
#undef X
};

enum rec_io_uring_flags {
	REC_IO_URING_OFFSET = 1,     /* offset is known */
	REC_IO_URING_ASYNC = 2,	     /* it was queued for a thread of io-wq */
	REC_IO_URING_SQPOLL = 4,     /* the kernel's thread that polls the ring submitted it: tid */
	REC_IO_URING_FIXED = 8,	     /* fd is a place in the ring's table of files */
	REC_IO_URING_LINK = 16,	     /* the next request of the chain waits for this one */
	REC_IO_URING_MORE = 32,	     /* a completion of several: it goes on */
	REC_IO_URING_SILENT = 64,    /* it was to post nothing if it succeeds */
	REC_IO_URING_UNSEEN = 128,   /* how it ended is not known: its place was given to another */
	REC_IO_URING_OVERFLOW = 256, /* there was no room in the queue of completions */
};

enum rec_span_kind {
	REC_SPAN_KERNEL = 0,
	REC_SPAN_H2D = 1,
	REC_SPAN_D2H = 2,
	REC_SPAN_D2D = 3,
	REC_SPAN_P2P = 4,
	REC_SPAN_COLLECTIVE = 5,
};

#endif /* XPUGAP_EVENTS_H */
