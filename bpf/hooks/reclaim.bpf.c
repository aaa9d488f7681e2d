// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reclaim hook: a target that must free memory before it gets some, since the machine has too
 * little, or a cgroup has reached its limit.
 */
#include "bpf/include/filter.bpf.h"
#include "bpf/include/reclaim.bpf.h"

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

static __always_inline struct task_state *current_state(void)
{
	return filter__find(bpf_get_current_task_btf());
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(direct_begin)
{
	return reclaim__begin(current_state());
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(direct_end, unsigned long pages)
{
	return reclaim__end(current_state(), pages, 0);
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(memcg_begin)
{
	return reclaim__begin(current_state());
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(memcg_end, unsigned long pages)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *s = filter__find(task);

	return s ? reclaim__end(s, pages, memory_cgroup(task)) : 0;
}
