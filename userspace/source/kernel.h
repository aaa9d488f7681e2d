/* SPDX-License-Identifier: BSD-2-Clause */
/* What the running kernel has and lets us do: found out by looking, never by its version. */
#ifndef XPUGAP_SOURCE_KERNEL_H
#define XPUGAP_SOURCE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#define CPU_MASK_MAX 8192
#define PERF_UNKNOWN 100 /* no kernel knows of such a level */

struct cpu_mask {
	unsigned long bits[CPU_MASK_MAX / (8 * sizeof(unsigned long))];
	unsigned int n;	   /* cpus in the mask */
	unsigned int last; /* the highest, plus one */
};

/* Parse "0-3,7"; 0 or -EINVAL (-ERANGE: a cpu past CPU_MASK_MAX). */
int cpu_mask__parse(struct cpu_mask *m, const char *text);
bool cpu_mask__has(const struct cpu_mask *m, unsigned int cpu);

struct kernel_facts {
	struct cpu_mask online;
	unsigned int cpus_online;
	unsigned int cpus_possible;				/* the highest number plus one */
	bool cap_bpf, cap_perfmon, cap_sys_admin, cap_sys_nice; /* effective */
	int perf_paranoid; /* kernel.perf_event_paranoid; PERF_UNKNOWN where it cannot be read */
	bool btf;	   /* the kernel describes its types */
	bool switch_has_state;	  /* sched_switch passes the previous task's state */
	bool trace_page_fault;	  /* there are tracepoints where page faults begin */
	bool trace_memcg_reclaim; /* there are tracepoints where a cgroup frees memory */
	bool rq_after_queue;	  /* tracepoints of requests pass the queue before the request */
	bool rq_merge;		  /* there is block_rq_merge */
	bool rq_status;		  /* block_rq_complete passes a blk_status_t, not an errno */
	bool trace_fence;	  /* there are tracepoints of fences */
	bool trace_io_uring;	  /* ... of io_uring */
	bool uring_requests;	  /* these pass the requests */
	bool uring_submit_req;	  /* there is io_uring_submit_req, not io_uring_submit_sqe */
	bool uring_entry;	  /* io_uring_complete passes an entry of the queue */
	bool rdonly_cast;	  /* bpf_rdonly_cast() */
	bool var_preempt_count;	  /* there is a variable __preempt_count */
	bool var_pcpu_hot;	  /* ... or pcpu_hot */
	char lockdown[24];	  /* mode in force: none, integrity or confidentiality */
	char tracefs[64];	  /* where it is mounted and can be read; "" if nowhere */
};

void kernel_facts__get(struct kernel_facts *k);

/* Why performance events are refused to one who may do what @k says, and what to do. */
void kernel_facts__perf_lack(const struct kernel_facts *k, char *why, size_t size);
/* The same of this process. */
void kernel__perf_lack(char *why, size_t size);

/* How to make it readable to this user; where nothing is locked down. */
const char *kernel__tracefs_remedy(void);

/*
 * Does @btf describe what a program of that section is attached to: "tp_btf/EVENT", or
 * "fentry/FUNCTION" and so on?
 */
struct btf;
bool kernel__describes(const struct btf *btf, const char *section);

/* Whether it is locked down so far that hooks cannot read memory and tracefs cannot be read. */
bool kernel_facts__hides_memory(const struct kernel_facts *k);

#endif
