// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reclaim hook: a target that must free memory before it gets some, since the machine has too
 * little, or a cgroup has reached its limit.
 */
#include "bpf/include/filter.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* The cgroup that the memory of @task is charged to, of either version. */
static __always_inline __u64 memory_cgroup(struct task_struct *task)
{
	void *set = BPF_CORE_READ(task, cgroups), *css = NULL;
	__u32 id = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);

	set += bpf_core_field_offset(struct css_set, subsys);
	bpf_probe_read_kernel(&css, sizeof(css), set + id * sizeof(css));
	return css ? BPF_CORE_READ((struct cgroup_subsys_state *)css, cgroup, kn, id) : 0;
}

static __always_inline int begin(void)
{
	struct task_state *s = filter__find(bpf_get_current_task_btf());

	if (s)
		s->reclaim_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int end(__u64 pages, bool by_cgroup)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *s = filter__find(task);
	struct hook_counts *h = counts__get(REC_HOOK_RECLAIM);
	struct rec_reclaim *rec;
	__u64 start;

	if (!s || !h || !s->reclaim_ns)
		return 0;
	start = s->reclaim_ns;
	s->reclaim_ns = 0;
	h->hits++;
	rec = ring__reserve(h, REC_RECLAIM, sizeof(*rec));
	if (!rec)
		return 0;
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->duration_ns = rec->hdr.time_ns - start;
	rec->pages = pages;
	rec->cgroup = by_cgroup ? memory_cgroup(task) : 0;
	ring__submit(h, rec);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(direct_begin)
{
	return begin();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(direct_end, unsigned long pages)
{
	return end(pages, false);
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(memcg_begin)
{
	return begin();
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(memcg_end, unsigned long pages)
{
	return end(pages, true);
}
